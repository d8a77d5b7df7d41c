"""Marginals measured with noise and fitted by mbi (private-pgm).  Run by marginals.py.

The noise is numpy's: mbi fits what was measured, and its examples draw the noise so.  The domain
has the listed values only, and rows with others are left out: with one cell more in each column
the table that is fitted would be five times as large.  The fit ends after a thousand steps, as the
library has it, or at the limit of time with what stands then.  Its residual is the root mean
square of what is left to the measured counts, in standard deviations of their noise.
"""

import contextlib
import json
import sys
import time
from importlib.metadata import version
from math import sqrt

import numpy as np
from mbi import Domain, LinearMeasurement, estimation


class EndedError(Exception):
    """The time is over."""


def main():
    task = json.loads(sys.stdin.read())
    names, listed = list(task["cells"]), task["cells"]
    table = np.loadtxt(task["file"], delimiter=",", skiprows=1, dtype=int)
    table = table[(table < [listed[name] for name in names]).all(axis=1)]
    column = dict(zip(names, table.T, strict=True))
    rng = np.random.default_rng()
    share = float(task["amount"]) / len(task["sets"])
    print(json.dumps({"version": version("mbi")}), flush=True)
    start = time.perf_counter()
    measured = []
    for chosen in task["sets"]:
        counts = np.zeros([listed[name] for name in chosen])
        np.add.at(counts, tuple(column[name] for name in chosen), 1)
        if task["kind"] == "rho":
            sigma = sqrt(1 / (2 * share))
            noise = rng.normal(0, sigma, counts.size)
        else:
            sigma = sqrt(2) / share
            noise = rng.laplace(0, 1 / share, counts.size)
        measured.append(LinearMeasurement(counts.ravel() + noise, tuple(chosen), stddev=sigma))
    domain = Domain(names, [listed[name] for name in names])
    steps, stands, residual = 0, [], None

    def look(marginals):
        nonlocal steps, stands, residual
        steps += estimation.CALLBACK_EVERY
        fits = [marginals.project(tuple(chosen)).datavector() for chosen in task["sets"]]
        both = zip(fits, measured, strict=True)
        off = [(fit - one.noisy_measurement) / one.stddev for fit, one in both]
        residual = float(np.sqrt(np.mean(np.concatenate(off) ** 2)))
        stands = [np.asarray(fit).tolist() for fit in fits]
        if time.perf_counter() - start > task["limit"]:
            raise EndedError

    with contextlib.suppress(EndedError):
        estimation.MirrorDescent().estimate(domain, measured, callback_fn=look)
    seconds = time.perf_counter() - start
    told = {"seconds": seconds, "steps": steps, "residual": residual, "answers": stands}
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()

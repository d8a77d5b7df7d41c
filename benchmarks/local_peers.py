"""Nanoseconds of CPU a report of pure-ldp and multi-freq-ldpy; prints JSON.  Run by local.py.

Versions under which both work, in an environment of their own (Python 3.11):

    pip install pure-ldp==1.2.0 multi-freq-ldpy==0.2.5 numpy==2.4.6 xxhash==3.5.0
    pip install scikit-learn statsmodels
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from time import thread_time

import numpy as np


def timed(run: Callable[[], object], reports: int, rounds: int = 3) -> float:
    """The least nanoseconds of CPU a report over some rounds, after one that warms up."""
    run()
    best = np.inf
    for _ in range(rounds):
        start = thread_time()
        run()
        best = min(best, thread_time() - start)
    return float(best / reports * 1e9)


def multi_freq(k: int, epsilon: float, x: list[int]) -> Iterator[tuple[str, float, float]]:
    """GRR, unary, hashing and subset selection of multi-freq-ldpy: name, client, server."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE

    pairs = {
        "GRR": (GRR.GRR_Client, GRR.GRR_Aggregator_MI, 20_000, 20_000),
        "unary": (UE.UE_Client, lambda r, _, e: UE.UE_Aggregator_MI(r, e), 4_000, 4_000),
        "hashing": (LH.LH_Client, LH.LH_Aggregator_MI, 20_000, 200),
        "subset": (SS.SS_Client, SS.SS_Aggregator_MI, 4_000, 1_000),
    }
    for name, (client, server, sent, added) in pairs.items():
        reports = [client(v, k, epsilon) for v in x[:added]]
        yield (
            name,
            timed(lambda c=client, n=sent: [c(v, k, epsilon) for v in x[:n]], sent),
            timed(lambda s=server, r=reports: s(r, k, epsilon), added),
        )


def pure_ldp(k: int, epsilon: float, x: list[int]) -> Iterator[tuple[str, float, float]]:
    """GRR, unary, hashing and Hadamard response of pure-ldp: name, client, server."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_response import (
        HadamardResponseClient,
        HadamardResponseServer,
    )
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    def whole(value: int) -> int:
        return value

    hadamard = HadamardResponseServer(epsilon, k, index_mapper=whole)
    shared = hadamard.get_hash_funcs()
    pairs = {
        "GRR": (DEClient(epsilon, k, whole), DEServer(epsilon, k, whole), 20_000, 20_000),
        "unary": (
            UEClient(epsilon, k, use_oue=True, index_mapper=whole),
            UEServer(epsilon, k, use_oue=True, index_mapper=whole),
            2_000,
            2_000,
        ),
        "hashing": (
            LHClient(epsilon, k, use_olh=True, index_mapper=whole),
            LHServer(epsilon, k, use_olh=True, index_mapper=whole),
            5_000,
            100,
        ),
        "hadamard": (
            HadamardResponseClient(epsilon, k, shared, index_mapper=whole),
            hadamard,
            20_000,
            20_000,
        ),
    }
    for name, (client, server, sent, added) in pairs.items():
        reports = [client.privatise(v) for v in x[:added]]
        yield (
            name,
            timed(lambda c=client, n=sent: [c.privatise(v) for v in x[:n]], sent),
            timed(lambda s=server, r=reports: [s.aggregate(v) for v in r], added),
        )


def main() -> None:
    k, epsilon = int(sys.argv[1]), float(sys.argv[2])
    x = np.random.default_rng(0).integers(0, k, 20_000).tolist()
    found: dict[str, dict[str, list[float]]] = {}
    for library in (multi_freq, pure_ldp):
        for name, client, server in library(k, epsilon, x):
            entry = found.setdefault(name, {"client": [], "server": []})
            entry["client"].append(client)
            entry["server"].append(server)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

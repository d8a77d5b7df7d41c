"""Certificates of every kind, made small: what the tests of verification read, change and refuse.

``python tests/support/certificates/certificate_kinds.py FOLDER`` writes all of them as JSON: so
were the files in ``report/fixtures`` made, before verification planned questions again.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tacit as tc

Made = tuple[tc.Certificate, Any]
"""A certificate, and the ledger that its release was paid from."""

BOTH = tc.epsilon_delta(4, "1e-6")
PERSON = tc.unit("person", rows=4, groups=2)


def table() -> pd.DataFrame:
    """Four rows a person, a few columns of every kind."""
    place = np.arange(400)
    first = datetime.date(2024, 1, 1)
    return pd.DataFrame(
        {
            "person": place // 4,
            "age": place % 50,
            "pay": (place % 97) * 1.5,
            "g": place % 2,
            "town": np.where(place % 3 == 0, "a", np.where(place % 3 == 1, "b", "c")),
            "day": [first + datetime.timedelta(days=int(i % 20)) for i in place],
            "old": place % 50 > 30,
        }
    )


def released(ask: Callable[[tc.Session], Any], budget: Any, unit: Any, **loss: Any) -> Made:
    """Release a question from a fresh session, after another release."""
    with tc.Session(table(), unit=unit, budget=budget, name="people") as session:
        session.agg(before=tc.count()).release(**{k: v for k, v in SMALL.items() if k in loss})
        return ask(session).release(**loss).certificate, session.ledger


SMALL = {"epsilon": "1/8", "rho": "1/64"}


def _asked(asked: dict[str, Any], by: Any = None, **loss: Any) -> Callable[[], Made]:
    budget = loss.pop("budget", tc.epsilon(4))
    unit = loss.pop("unit", tc.one_row_each)

    def ask(session: tc.Session) -> Any:
        return (session.group_by(*by[0], keys=by[1]) if by else session).agg(**asked)

    return lambda: released(ask, budget, unit, **(loss or {"epsilon": 1}))


def _derived() -> Made:
    def ask(session: tc.Session) -> Any:
        band = tc.col("age").cut([0, 18, 65], ["young", "old"])
        kept = session.filter((tc.col("pay") > 3) & tc.col("town").is_in(["a", "b"]))
        kept = kept.with_columns(band=band).with_columns(half=tc.col("pay") / 2)
        groups = kept.group_by("band", "old", keys={"band": ["young", "old"], "old": [False, True]})
        return groups.agg(
            n=tc.count(), m=tc.mean("half", 0, 75), s=tc.sum("half", 0, 75), p=tc.count_people()
        )  # fmt: skip

    return released(ask, tc.epsilon(4), PERSON, epsilon=1)


def _rest() -> Made:
    """All that is left, asked for as a float: the request is lowered to what remains."""
    with tc.Session(
        table(), unit=tc.one_row_each, budget=tc.epsilon("3/10"), name="people"
    ) as session:
        session.agg(n=tc.count()).release(epsilon=0.1)
        session.agg(m=tc.mean("age", 0, 50)).release(epsilon=0.1)
        last = session.agg(n=tc.sum("pay", 0, 150)).release(epsilon=0.1)
        return last.certificate, session.ledger


def _over_time(budget: Any, unit: Any, **loss: Any) -> Callable[[], Made]:
    def make() -> Made:
        with tc.Session(table(), unit=unit, budget=budget, name="people") as session:
            counter = session.filter(tc.col("age") > 5).count_over_time(
                "day", start="2024-01-01", every="1d", periods=30, **loss
            )
            return counter.update(now="2024-01-12").certificate, session.ledger

    return make


TOWNS = (("town",), ["a", "b", "d"])
SITES = (("g",), [0, 1])
UNKNOWN = (("town",), None)

KINDS: dict[str, Callable[[], Made]] = {
    "count": _asked({"n": tc.count()}),
    "people": _asked({"n": tc.count_people(), "rows": tc.count()}, TOWNS, unit=PERSON),
    "sum": _asked({"s": tc.sum("pay", 0, 150)}),
    "sum_below_zero": _asked({"s": tc.sum("age", -20, 30), "t": tc.sum("pay", "-1/4", 100)}, SITES),
    "mean": _asked({"m": tc.mean("age", 0, 50)}),
    "mean_by": _asked(
        {"n": tc.count(), "m": tc.mean("pay", 0, 150), "s": tc.sum("pay", 0, 150)},
        TOWNS,
        unit=PERSON,
    ),
    "variance": _asked({"v": tc.var("age", 0, 50), "d": tc.std("age", 0, 50)}, unit=PERSON),
    "two_families": _asked(
        {"n": tc.count(), "m": tc.mean("age", 0, 50), "v": tc.var("pay", 0, 150)}, SITES
    ),
    "median": _asked({"q": tc.median("age", 0, 50)}),
    "quantiles": _asked(
        {
            "low": tc.min("pay", 0, 150),
            "high": tc.max("pay", 0, 150),
            "most": tc.percentile("pay", "99.99", 0, 150),
        },
        SITES,
        unit=PERSON,
    ),
    "histogram": _asked({"h": tc.histogram("pay", [0, 10, "20.5", 150])}, TOWNS, unit=PERSON),
    "dates": _asked(
        {"n": tc.count()}, (("day",), [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)])
    ),
    "derived": _derived,
    "unknown_keys": _asked(
        {"n": tc.count(), "m": tc.mean("age", 0, 50)},
        UNKNOWN,
        unit=PERSON,
        budget=BOTH,
        epsilon=3,
        delta="1e-7",
    ),
    "rho": _asked(
        {"n": tc.count_people(), "m": tc.mean("age", 0, 50), "q": tc.median("pay", 0, 150)},
        TOWNS,
        unit=PERSON,
        budget=tc.rho(1),
        rho="1/10",
    ),
    "epsilon_from_rho": _asked({"n": tc.count()}, budget=tc.rho(2), epsilon="1/2"),
    "epsilon_delta": _asked({"n": tc.count()}, budget=BOTH, epsilon=1, delta="1e-7"),
    "smooth": _asked({"q": tc.median("pay", 0, 150, method="smooth")}, SITES),
    "smooth_delta": _asked(
        {"q": tc.mean("pay", 0, 150, method="smooth", distribution="laplace")},
        budget=BOTH,
        epsilon=1,
        delta="1e-7",
    ),
    "smooth_rho": _asked(
        {"q": tc.median("age", 0, 50, method="smooth")}, budget=tc.rho(1), rho="1/4"
    ),
    "ptr": _asked(
        {"m": tc.mean("pay", 0, 150, method="ptr", bound="1/2"), "n": tc.count()},
        SITES,
        budget=BOTH,
        epsilon=3,
        delta="1e-7",
    ),
    "ptr_search": _asked(
        {"m": tc.median("pay", 0, 150, method="ptr", bound="search")},
        budget=BOTH,
        epsilon=2,
        delta="1e-7",
    ),
    "sample": _asked({"m": tc.median("pay", 0, 150, method="sample_and_aggregate", bins=10)}),
    "sample_people": _asked(
        {"m": tc.std("pay", 0, 150, method="sample_and_aggregate")}, SITES, unit=PERSON
    ),
    "auto": _asked(
        {"m": tc.mean("pay", 0, 150, method="auto", rows=400), "n": tc.count()},
        SITES,
        budget=BOTH,
        epsilon=3,
        delta="1e-7",
    ),
    "over_time": _over_time(tc.epsilon(2), tc.one_row_each, epsilon=1),
    "over_time_people": _over_time(tc.rho(1), PERSON, rho="1/2"),
    "rest": _rest,
}  # fmt: skip


def main(folder: str) -> None:
    """Write every kind as JSON."""
    for name, make in KINDS.items():
        certificate, _ = make()
        certificate.save(Path(folder) / f"{name}.json")


if __name__ == "__main__":
    main(sys.argv[1])

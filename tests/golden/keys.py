"""Questions, and the ledger keys that they must have for ever: a key that changes makes people pay
again for what they were answered."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import tacit as tc
from tacit.tables.question_formats import condition

from . import data
from .private import key_and_question, key_of_plan, key_over_time

HERE = Path(__file__).parent
COL = tc.col
AGE, PAY = ("age", 0, 100), ("pay", "-1/2", 150)
PAY_FROM_0 = ("pay", 0, 150)

STATISTICS: dict[str, Any] = {
    "count": lambda: tc.count(),
    "count_people": lambda: tc.count_people(),
    "count_distinct": lambda: tc.count_distinct("town"),
    "sum": lambda: tc.sum(*PAY),
    "sum of whole numbers": lambda: tc.sum(*AGE),
    "sum, bounds as floats": lambda: tc.sum("pay", 0.5, 99.25),
    "mean": lambda: tc.mean(*PAY),
    "var": lambda: tc.var(*PAY),
    "var, ddof 1": lambda: tc.var(*PAY, ddof=1),
    "std": lambda: tc.std(*AGE),
    "std, ddof 1": lambda: tc.std(*AGE, ddof=1),
    "trimmed_mean": lambda: tc.trimmed_mean("pay", "1/10", 0, 150),
    "winsorized_mean": lambda: tc.winsorized_mean("age", "0.05", 0, 100),
    "geometric_mean": lambda: tc.geometric_mean("pay", "1/2", 150),
    "gini": lambda: tc.gini("pay", 0, 150),
    "median": lambda: tc.median(*PAY),
    "percentile": lambda: tc.percentile("pay", "99.9", 0, 150),
    "percentile 25": lambda: tc.percentile("age", 25, 0, 100),
    "quantile 1/4": lambda: tc.quantile("age", 0.25, 0, 100),
    "percentiles": lambda: tc.percentiles("pay", [25, "62.5", 90], 0, 150),
    "min": lambda: tc.min(*AGE),
    "max": lambda: tc.max(*PAY),
    "interquartile_range": lambda: tc.interquartile_range(*PAY),
    "mad": lambda: tc.mad(*PAY),
    "value_range": lambda: tc.value_range(*PAY),
    "histogram": lambda: tc.histogram("pay", [0, 10, "20.5", 150]),
    "bounds": lambda: tc.bounds("pay"),
    "bounds between": lambda: tc.bounds("age", 0, 1000),
    "top_k": lambda: tc.top_k("town", 2, ["a", "b", "c", "d"]),
    "covariance": lambda: tc.covariance("age", "pay", {"age": (0, 100), "pay": (0, 150)}),
    "correlation": lambda: tc.correlation("age", "pay", {"age": (0, 100), "pay": (0, 150)}),
    "linear_regression": lambda: tc.linear_regression(
        "pay", ["age", "site"], {"age": (0, 100), "pay": (0, 150), "site": (1, 5)}
    ),
    "weighted_count": lambda: tc.weighted_count(*PAY_FROM_0),
    "weighted_sum": lambda: tc.weighted_sum("age", "pay", {"age": (0, 100), "pay": (0, 150)}),
    "weighted_mean": lambda: tc.weighted_mean("age", "pay", {"age": (-5, 100), "pay": (1, 150)}),
    "ratio": lambda: tc.ratio("pay", "age", {"age": (0, 100), "pay": ("-1/2", 150)}),
    "ratio to rows, per 1000": lambda: tc.ratio("pay", bounds={"pay": (0, 150)}, per=1000),
    "cdf": lambda: tc.cdf("age", [0, 20, 40, 100]),
    "ranges": lambda: tc.ranges("age", [0, 20, 40, 100]),
    "prefix_sums": lambda: tc.prefix_sums("age", [0, 20, 40, 100]),
    "mean, smooth": lambda: tc.mean(*PAY, method="smooth"),
    "mean, smooth, laplace": lambda: tc.mean(*PAY, method="smooth", distribution="laplace"),
    "median, smooth": lambda: tc.median(*PAY, method="smooth"),
    "std, smooth": lambda: tc.std(*PAY, method="smooth"),
    "mean, ptr": lambda: tc.mean(*PAY, method="ptr", bound="1/2"),
    "median, ptr, search": lambda: tc.median(*PAY, method="ptr", bound="search"),
    "median, sample_and_aggregate": lambda: tc.median(*PAY, method="sample_and_aggregate", bins=10),
    "var, sample_and_aggregate": lambda: tc.var(*PAY, method="sample_and_aggregate"),
    "mean, auto": lambda: tc.mean(*PAY, method="auto", rows=400),
    "percentile, auto": lambda: tc.percentile("pay", 90, 0, 150, method="auto", rows=400),
}

TOWNS = ["a", "b", "z", None]
GROUPED: dict[str, Any] = {
    "in all": lambda s: s,
    "by town": lambda s: s.group_by("town", keys=TOWNS),
    "by found keys": lambda s: s.group_by("town"),
}
PRICES: dict[str, dict[str, Any]] = {
    "epsilon": {"epsilon": "1/2"},
    "epsilon and delta": {"epsilon": 1, "delta": "1e-7"},
}

PREPARED: dict[str, Callable[[Any], Any]] = {
    # groups
    "keys of two columns": lambda s: s.group_by("town", "site", keys=[("a", 1), ("b", 2)]),
    "all combinations": lambda s: s.group_by(
        ["town", "old"], keys={"town": ["a", "b"], "old": [False, True]}
    ),
    "keys in a table": lambda s: s.group_by("site", keys=data.frame().select(["site"]).slice(0, 4)),
    "keys of dates": lambda s: s.group_by("day", keys=[date(2024, 1, 1), "2024-01-02"]),
    "keys of whole numbers as floats": lambda s: s.group_by("site", keys=[1.0, 2]),
    "keys of booleans": lambda s: s.group_by("old", keys=[True, False]),
    "found keys of two columns": lambda s: s.group_by("town", "site"),
    "found keys in two rounds": lambda s: s.group_by("town", rounds=2),
    "keys of a cut": lambda s: s.with_columns(
        band=COL("age").cut([0, 18, 65], ["young", "grown"])
    ).group_by("band"),
    "keys of a cut without labels": lambda s: s.with_columns(
        band=COL("pay").cut([0, "10.5", 65])
    ).group_by("band"),
    "keys of a weekday": lambda s: s.with_columns(w=COL("day").dt.weekday()).group_by("w"),
    # filters
    "equal": lambda s: s.filter(COL("town") == "a"),
    "unequal": lambda s: s.filter(COL("town") != "a"),
    "less": lambda s: s.filter(COL("pay") < 1.5, COL("age") <= 30),
    "greater": lambda s: s.filter(COL("pay") > 0.1),
    "at least": lambda s: s.filter(COL("age") >= 18),
    "and, or, not": lambda s: s.filter((COL("age") > 1) & ~(COL("old") | (COL("site") == 2))),
    "between": lambda s: s.filter(COL("age").is_between(10, 20)),
    "is_in": lambda s: s.filter(COL("site").is_in([3, 1, 2])),
    "is_in of texts": lambda s: s.filter(COL("town").is_in(["b", "a"])),
    "is_null": lambda s: s.filter(COL("town").is_null()),
    "a boolean column": lambda s: s.filter(COL("old")),
    "a day": lambda s: s.filter(COL("day") >= date(2024, 1, 5)),
    "two filters": lambda s: s.filter(COL("age") > 1).filter(COL("age") < 9),
    "other letters": lambda s: s.filter(COL("town") == "Grün 'ß' \"\\ \u2028"),
    # expressions
    "arithmetic": lambda s: s.filter((COL("age") + 1) * 2 - COL("pay") / 3 > -COL("site")),
    "abs and clamp": lambda s: s.filter(abs(COL("age") - 50).clip(0, "9.5") > 3),
    "rounding": lambda s: s.filter(COL("pay").floor() + COL("pay").ceil() + COL("pay").round() > 3),
    "to_integer and modulo": lambda s: s.filter((COL("pay").cast(int) % 7) == 3),
    "text": lambda s: s.filter(
        COL("town").str.to_lowercase() == "a",
        COL("town").str.to_uppercase() != "B",
        COL("town").str.strip_chars().str.slice(0, 2).str.len_chars() > 0,
    ),
    "parts of text": lambda s: s.filter(
        COL("town").str.starts_with("a")
        | COL("town").str.ends_with("b")
        | COL("town").str.contains("c")
    ),
    "like": lambda s: s.filter(COL("town").str.like("A_%")),
    "to_text": lambda s: s.filter(COL("age").cast(str) == "12"),
    "parts of a day": lambda s: s.filter(
        COL("day").dt.year() + COL("day").dt.month() + COL("day").dt.day() > 0,
        COL("day").dt.quarter() + COL("day").dt.ordinal_day() + COL("day").dt.weekday() > 0,
    ),
    "parts of a time": lambda s: s.filter(
        COL("at").dt.hour() + COL("at").dt.minute() + COL("at").dt.second() > 0,
        COL("at").dt.date() == date(2024, 3, 1),
    ),
    "days_until": lambda s: s.filter(COL("day").dt.days_until(date(2024, 2, 1)) > 3),
    "seconds_until": lambda s: s.filter(COL("at").dt.seconds_until(COL("at")) == 0),
    "reading text": lambda s: s.filter(
        COL("town").cast(float) > 1, COL("town").str.to_date() == date(2024, 1, 1)
    ),
    "reading times and booleans": lambda s: s.filter(
        COL("town").cast(bool) | (COL("town").str.to_datetime().dt.hour() == 1)
    ),
    "fill": lambda s: s.filter(COL("pay").fill_null(0) == 0),
    "when": lambda s: s.with_columns(
        kind=tc.when(COL("age") < 18)
        .then("minor")
        .otherwise(tc.when(COL("old")).then("old").otherwise("z")),
    ).group_by("kind"),
    "a derived column of a derived one": lambda s: (
        s.with_columns(half=COL("pay") / 2)
        .with_columns(quarter=COL("half") / 2)
        .filter(COL("quarter") > 1)
    ),
}

PEOPLE: dict[str, Callable[[Any], Any]] = {
    "count and sum": lambda s: s.per_person(n=tc.count(), t=tc.sum("pay", 0, 500)).agg(
        n=tc.mean("n", 0, 9), t=tc.median("t")
    ),
    "mean, min, max, distinct": lambda s: s.per_person(
        m=tc.mean("pay", 0, 150),
        low=tc.min("age", 0, 99),
        high=tc.max("age", 0, 99),
        d=tc.count_distinct("site"),
    ).agg(m=tc.mean("m"), low=tc.mean("low"), high=tc.mean("high"), d=tc.mean("d", 0, 5)),
    "filtered before and after": lambda s: (
        s.filter(COL("age") > 9).per_person(n=tc.count()).filter(COL("n") > 1).agg(c=tc.count())
    ),
    "grouped": lambda s: (
        s.per_person(n=tc.count(), first=tc.min("town"), day=tc.max("day"))
        .group_by("first", keys=["a", "b"])
        .agg(c=tc.count(), n=tc.mean("n", 0, 4))
    ),
}

OVER_TIME: dict[str, Callable[[Any], Any]] = {
    "days": lambda s: s.count_over_time(
        "day", start="2024-01-01", every="1d", periods=30, epsilon=1
    ),
    "weeks with grace": lambda s: s.count_over_time(
        "day", start="2024-01-01", every="1w", periods=5, epsilon=1, grace="2d"
    ),
    "hours": lambda s: s.count_over_time(
        "at", start="2024-03-01 00:00", every="6h", periods=40, epsilon="1/3"
    ),
    "whole numbers": lambda s: s.filter(COL("old")).count_over_time(
        "age", start=0, every=5, periods=20, epsilon=2, branching=3, tag="again"
    ),
}

PLANS: dict[str, Callable[[Any], Any]] = {
    "counts by two columns": lambda s: s.plan(
        [
            s.agg(n=tc.count()),
            s.group_by("town", keys=["a", "b"]).agg(n=tc.count()),
            s.group_by("town", "site", keys={"town": ["a", "b"], "site": [1, 2]}).agg(
                n=tc.count(), ages=tc.histogram("age", [0, 20, 50, 90])
            ),
        ]
    ),
    "with means and filters": lambda s: s.plan(
        [
            s.filter(COL("age") >= 65).agg(old=tc.count()),
            s.group_by("old", keys=[False, True]).agg(m=tc.mean(*PAY)),
            s.agg(q=tc.median(*AGE), r=tc.ranges("age", [0, 10, 20, 30])),
        ],
        {"old": 10},
    ),
    "unlisted dropped, not negative": lambda s: s.plan(
        [s.group_by("site", keys=[1, 2]).agg(n=tc.count()), s.agg(c=tc.cdf("age", [0, 9, 99]))],
        unlisted="drop",
        nonnegative=True,
    ),
}

DATASET: dict[str, Callable[[Any], Any]] = {
    "declared bounds": lambda s: s.agg(m=tc.mean("cost"), v=tc.var("age")),
    "declared keys": lambda s: s.group_by("site").agg(n=tc.count(), c=tc.sum("cost")),
    "declared keys of two columns": lambda s: s.group_by("site", "sex").agg(n=tc.count()),
    "bounds of a derived column": lambda s: s.with_columns(twice=COL("cost") * 2).agg(
        m=tc.mean("twice")
    ),
    "join with people": lambda s: s.join("patients").agg(m=tc.mean("born"), n=tc.count_people()),
    "left join with people": lambda s: s.join("patients", how="left").agg(n=tc.count()),
    "join with a public table": lambda s: s.join("sites").group_by("region").agg(n=tc.count()),
    "inner join with a public table": lambda s: (
        s.join("sites", how="inner").group_by("region").agg(m=tc.mean("cost"))
    ),
    "join on a named column": lambda s: s.join("sites", on={"site": "site"}).agg(n=tc.count()),
    "two joins": lambda s: (
        s.join("patients").join("sites").group_by("region").agg(m=tc.mean("born"))
    ),
    "another table": lambda s: s.table("patients").agg(m=tc.mean("born")),
    "people of a join": lambda s: (
        s.join("sites").per_person(n=tc.count()).agg(m=tc.mean("n", 0, 5))
    ),
}

READINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "types": {"types": data.CSV_TYPES},
    "delimiter": {"types": data.CSV_TYPES, "delimiter": ";"},
    "null": {"types": data.CSV_TYPES, "null": ["NA", "-"]},
    "quote and multiline": {"types": data.CSV_TYPES, "quote": "'", "multiline": 3},
    "encoding": {"types": data.CSV_TYPES, "encoding": "latin-1"},
    "formats": {
        "types": data.CSV_TYPES,
        "date_format": "%d.%m.%Y",
        "time_format": "%d.%m.%Y %H:%M",
    },
    "header": {"types": data.CSV_TYPES, "header": list(data.CSV_TYPES)},
}


def asked(question: Any, **price: Any) -> dict[str, Any]:
    """The key of a question at a price, and what it is the hash of."""
    key, described = key_and_question(question, **(price or {"epsilon": 1}))
    return {"key": key, "query": described}


@cache
def session(unit: str, budget: str = "BOTH") -> Any:
    """A session that many questions share; nothing is released from it."""
    return data.opened(unit, getattr(data, budget))


def on_file(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The key of a mean by day, of the rows in a CSV file that is read in some way."""
    with TemporaryDirectory() as folder:
        path = data.write_csv(Path(folder) / name, delimiter=options.get("delimiter", ","))
        with data.opened(source=path, **options) as opened:
            question = opened.filter(COL("day") > date(2024, 1, 3)).group_by("town", keys=["a"])
            return asked(question.agg(m=tc.mean(*PAY)))


@cache
def declared() -> Any:
    """A session on the declared data set, whose folder is there until the process ends."""
    folder = mkdtemp()
    atexit.register(rmtree, folder, ignore_errors=True)
    return tc.open(data.write_dataset(Path(folder)), ledger=tc.in_memory)


def of_dataset(ask: Callable[[Any], Any]) -> dict[str, Any]:
    """The key of a question to the declared data set, and how that data set is named."""
    return asked(ask(declared()), epsilon=1, delta="1e-9")


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every question by a name of its own."""
    for by, group in GROUPED.items():
        for name, statistic in STATISTICS.items():
            price = PRICES["epsilon and delta" if by == "by found keys" else "epsilon"]
            for unit in data.UNITS if by == "in all" else ["person"]:
                yield (
                    f"{name}; {by}; {unit}",
                    lambda u=unit, g=group, s=statistic, p=price: asked(
                        g(session(u)).agg(x=s()), **p
                    ),
                )
    for name, prepare in PREPARED.items():
        yield (
            f"prepared: {name}",
            lambda p=prepare: asked(
                p(session("person")).agg(n=tc.count()), epsilon=1, delta="1e-7"
            ),
        )
    for name, ask in PEOPLE.items():
        yield f"per person: {name}", lambda a=ask: asked(a(session("person")))
    for name, ask in OVER_TIME.items():
        yield (
            f"over time: {name}",
            lambda a=ask: dict(
                zip(("key", "query"), key_over_time(a(session("person", "PURE"))), strict=True)
            ),
        )
    for name, ask in PLANS.items():
        for budget, price in {"PURE": {"epsilon": 1}, "RHO": {"rho": "1/8"}}.items():
            yield (
                f"plan: {name}; {budget.lower()}",
                lambda a=ask, b=budget, p=price: dict(
                    zip(("key", "query"), key_of_plan(a(session("row", b)), **p), strict=True)
                ),
            )
    for name, ask in DATASET.items():
        yield f"data set: {name}", lambda a=ask: of_dataset(a)
    for text in (HERE / "sql.txt").read_text(encoding="utf-8").splitlines():
        yield f"sql: {text}", lambda t=text: of_dataset(lambda s: s.sql(t))
    for text in (HERE / "conditions.txt").read_text(encoding="utf-8").splitlines():
        yield f"condition: {text}", lambda t=text: condition(t).to_json()
    for name, options in READINGS.items():
        yield f"csv: {name}", lambda o=options: on_file("rows.csv", o)
    yield "csv: a folder and its files", folder_of_files
    yield "prices", prices
    yield "names of data sets", names


def folder_of_files() -> dict[str, Any]:
    """The keys of one question about a file named .tsv, a pattern and a folder."""
    found = {"tsv": on_file("rows.tsv", {"delimiter": "\t"})["key"]}
    with TemporaryDirectory() as outer:
        folder = Path(outer) / "parts"  # its name is in the key, and the path to it is not
        folder.mkdir()
        data.write_csv(folder / "part1.csv")
        data.write_csv(folder / "part2.csv")
        for name, path in {"folder": folder, "pattern": folder / "part*.csv"}.items():
            with data.opened(source=path) as opened:
                found[name] = asked(opened.agg(m=tc.mean(*PAY)))["key"]
    return found


def prices() -> dict[str, Any]:
    """The keys of one question at every way to say a price."""
    several = {"n": tc.count(), "m": tc.mean(*PAY), "q": tc.median(*AGE)}
    given: dict[str, tuple[str, dict[str, Any]]] = {
        "epsilon": ("PURE", {"epsilon": 1}),
        "epsilon as a float": ("PURE", {"epsilon": 0.1}),
        "epsilon as text": ("PURE", {"epsilon": "1/3"}),
        "epsilon by weight": ("PURE", {"epsilon": {"n": 1, "m": 3, "q": "1/2"}, "total": 2}),
        "epsilon of both": ("BOTH", {"epsilon": 1}),
        "epsilon and delta": ("BOTH", {"epsilon": 1, "delta": "1e-9"}),
        "epsilon of a rho": ("RHO", {"epsilon": "1/2"}),
        "rho": ("RHO", {"rho": "1/8"}),
        "rho by weight": ("RHO", {"rho": {"n": 1, "m": 3, "q": 2}, "total": "1/2"}),
        "tag": ("PURE", {"epsilon": 1, "tag": "2024, second"}),
    }
    return {
        name: asked(session("person", budget).agg(**several), **price)
        for name, (budget, price) in given.items()
    }


def names() -> dict[str, str]:
    """How data sets are told from one another in ledgers, where nothing else tells it."""
    found = {"in memory": session("row").dataset}
    with data.opened(name=None) as opened:
        found["without a name"] = opened.dataset
    with TemporaryDirectory() as folder:
        path = data.write_csv(Path(folder) / "rows.csv")
        with data.opened(source=path, name=None) as opened:
            found["a file"] = opened.dataset
        with tc.open(data.write_dataset(Path(folder)), ledger=tc.in_memory) as opened:
            found["a declared one"] = opened.dataset
    return found

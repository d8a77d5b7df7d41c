"""A session from end to end: every aggregate, every unit, every budget."""

from __future__ import annotations

import json
import math
import warnings
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tacit as tc
from support.accounting.interrupted import Crash, Interrupted, Memory
from support.tables.engine_tables import in_duckdb, in_postgres
from tacit.accounting import Budget
from tacit.cli import run
from tacit.errors import BudgetError, LedgerError, UsageError, WeakGuaranteeWarning
from tacit.mechanisms.partition_selection import GaussianKeys, SelectKeys
from tacit.report.odds import weak_guarantee
from tacit.tables.session import Session

EDGES = [0, 10, "25/2", 50]
ASKED = {
    "n": lambda: tc.count(),
    "people": lambda: tc.count_people(),
    "total": lambda: tc.sum("x", 0, 50),
    "average": lambda: tc.mean("x", 0, 50),
    "variance": lambda: tc.var("x", 0, 50),
    "spread": lambda: tc.std("x", 0, 50),
    "middle": lambda: tc.median("x", 0, 50),
    "ninth": lambda: tc.percentile("x", 90, 0, 50),
    "least": lambda: tc.min("x", 0, 50),
    "most": lambda: tc.max("x", 0, 50),
    "bars": lambda: tc.histogram("x", EDGES),
}
UNITS = {
    "rows": lambda: tc.one_row_each,
    "people": lambda: tc.unit("person", rows=4, groups=2),
}


def table(rows=3000):
    place = np.arange(rows)
    return pd.DataFrame(
        {
            "x": place % 50,
            "y": (place % 7) / 2 - 1,
            "g": np.where(place % 3 == 0, "a", "b"),
            "h": place % 2 == 0,
            "person": place // 4,
        }
    )


def session(budget=None, unit=None, data=None, **more):
    return tc.Session(
        table() if data is None else data,
        unit=unit or tc.one_row_each,
        budget=budget or tc.epsilon(10_000),
        **more,
    )


@pytest.fixture(params=UNITS, name="unit")
def _unit(request):
    return UNITS[request.param]()


EXACT = {
    "n": lambda d: len(d),
    "people": lambda d: d.person.nunique(),
    "total": lambda d: d.x.sum(),
    "average": lambda d: d.x.mean(),
    "variance": lambda d: d.x.var(ddof=0),
    "spread": lambda d: d.x.std(ddof=0),
    "middle": lambda d: d.x.median(),
    "ninth": lambda d: d.x.quantile(0.9),
    "least": lambda d: d.x.min(),
    "most": lambda d: d.x.max(),
}


@pytest.mark.few(12)
@pytest.mark.parametrize("label", EXACT)
@pytest.mark.parametrize("grouped", [False, True])
def test_with_much_budget_each_aggregate_is_what_numpy_says(label, grouped, unit):
    with session(unit=unit) as s:
        question = s.group_by("g", keys=["a", "b"]) if grouped else s
        answer = question.agg(**{label: ASKED[label]()}).release(epsilon=1000)
        data = table()
        if label == "people" and unit is tc.one_row_each:
            data["person"] = np.arange(len(data))
        for key in answer.keys:
            true = EXACT[label](data[data.g == key[0]] if grouped else data)
            assert answer.value(label, *key) == pytest.approx(true, rel=0.02, abs=1)
            low, high = answer.interval(label, *key)
            assert low <= high
        assert answer.certificate.verify(s.ledger), answer.certificate.verify(s.ledger)


def test_histograms_count_whole_numbers_below_an_edge_between_them(unit):
    with session(unit=unit) as s:
        answer = s.agg(bars=ASKED["bars"]()).release(epsilon=1000)
        assert answer.value("bars") == [600, 180, 2220]
        assert list(answer.to_dict()) == [
            f"bars {name}{suffix}"
            for name in ("[0, 10)", "[10, 12.5)", "[12.5, 50]")
            for suffix in ("", "_error", "_low", "_high")
        ]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "keys",
    [
        [("a", True), ("b", False), ("zz", True)],
        {"g": ["a", "b"], "h": [True, False]},
        pd.DataFrame({"h": [True, False, True], "g": ["a", "b", "a"]}),
    ],
    ids=["tuples", "mapping", "pandas"],
)
def test_two_columns_of_keys_in_every_form(keys, unit):
    with session(unit=unit) as s:
        answer = s.group_by("g", "h", keys=keys).agg(n=tc.count()).release(epsilon=1000)
        data = table()
        for g, h in answer.keys:
            true = ((data.g == g) & (data.h == h)).sum()
            assert abs(answer.value("n", g, h) - true) <= 2
        assert answer.to_pandas().columns[:2].tolist() == ["g", "h"]


def test_unknown_keys_are_released_where_enough_people_share_them():
    data = table()
    data.loc[0, "g"] = "only one"
    for unit in (UNITS["rows"](), UNITS["people"]()):
        with session(tc.epsilon_delta(100, "1e-3"), unit=unit, data=data) as s:
            question = s.group_by("g").agg(n=tc.count(), x=tc.mean("x", 0, 50), q=ASKED["middle"]())
            answer = question.release(epsilon=40, delta="1e-6")
            assert answer.keys == [("a",), ("b",)]
            assert answer.cost.delta <= Fraction(1, 10**6)
            assert answer.cost.delta > 0
            report = answer.certificate.verify(s.ledger)
            assert report, str(report)
            assert not question.release(epsilon=40, delta="1e-6").cost.is_nothing


def test_no_key_passes_in_a_small_table():
    with session(tc.epsilon_delta(1, "1e-9"), data=table(5)) as s:
        answer = s.group_by("g").agg(n=tc.count(), q=ASKED["middle"]()).release(1, "1e-9")
        assert answer.keys == []
        assert answer.to_pandas().columns[:2].tolist() == ["g", "n"]
        assert answer.certificate.verify(s.ledger)


@pytest.mark.few(9)
@pytest.mark.parametrize(
    ("budget", "paid"),
    [
        (tc.epsilon(2), {"epsilon": "1/3"}),
        (tc.epsilon_delta(2, "1e-5"), {"epsilon": "1/3"}),
        (tc.rho(2), {"rho": "1/3"}),
        (tc.rho(2), {"epsilon": "1/3"}),
    ],
)
def test_every_budget_pays_for_all_aggregates_at_once(budget, paid, unit):
    with session(budget, unit=unit) as s:
        answer = s.group_by("g", keys=["a", "nobody"]).agg(
            **{label: make() for label, make in ASKED.items()}
        )
        released = answer.release(**paid)
        assert released.labels == tuple(ASKED)
        assert len(released) == 2
        spent = s.spent
        assert spent == released.cost
        if "epsilon" in paid and budget.kind != "concentrated":
            assert spent.amount == Fraction(1, 3)
        if "rho" in paid or budget.kind != "concentrated":
            assert Fraction(33, 100) < spent.amount <= Fraction(1, 3)
        else:  # the rhos of its chains: 1/2 of their squares, 1/8 where quantiles are chosen
            chains = released.certificate.body["chains"]
            squares = sum(Fraction(chain["steps"][-1]["distance"]) ** 2 for chain in chains)
            assert squares / 8 < spent.amount <= squares / 2
            assert spent.amount < Fraction(1, 18) / 8
        report = released.certificate.verify(s.ledger)
        assert report, str(report)


@pytest.mark.full
def test_the_cost_is_the_request_in_pure_dp_whatever_is_asked(unit):
    for label, make in ASKED.items():
        with session(tc.epsilon(1), unit=unit) as s:
            s.agg(**{label: make()}).release(epsilon="1/7")
            assert s.remaining == tc.epsilon("6/7"), label


def test_filters_and_columns_of_ones_own(unit):
    data = table()
    with session(unit=unit) as s:
        x, y = tc.col("x"), tc.col("y")
        question = s.filter(x >= 10, y < 1).filter(tc.col("g") == "b").with_columns(z=x * 2 + y)
        question = question.with_columns(band=x.cut([0, 25, 50]))
        kept = data[(data.x >= 10) & (data.y < 1) & (data.g == "b")]
        answer = question.agg(n=tc.count(), z=tc.mean("z", 0, 120)).release(epsilon=1000)
        assert abs(answer.value("n") - len(kept)) <= 1
        assert answer.value("z") == pytest.approx((kept.x * 2 + kept.y).mean(), abs=0.1)
        assert answer.certificate.verify(s.ledger)
        nested = question.filter(tc.col("z") > 60).agg(n=tc.count()).release(epsilon=1000)
        assert abs(nested.value("n") - (kept.x * 2 + kept.y > 60).sum()) <= 1


def test_a_replay_is_free_and_identical_and_a_tag_is_another_release():
    with session(tc.epsilon(1)) as s:
        question = s.agg(x=tc.mean("x", 0, 50))
        first = question.release(epsilon="1/10")
        again = question.release(epsilon="1/10")
        assert again.replayed
        assert not first.replayed
        assert again.to_dict() == first.to_dict()
        assert again.certificate == first.certificate
        assert s.spent == tc.epsilon("1/10")
        other = question.release(epsilon="1/10", tag="Tuesday")
        assert not other.replayed
        assert other.to_dict() != first.to_dict()
        assert len(s.history()) == 2
        assert s.remaining == tc.epsilon("8/10")
        rebuilt = s.agg(x=tc.mean("x", 0.0, "50")).release(epsilon=Fraction(1, 10))
        assert rebuilt.replayed


@pytest.mark.few(3)
@pytest.mark.parametrize("price", [0.1, "1/10", Fraction(1, 10)])
def test_ten_releases_at_a_tenth_of_a_budget_of_one(price):
    with session(tc.epsilon(1)) as s:
        for i in range(10):
            s.agg(n=tc.count()).release(epsilon=price, tag=str(i))
        assert s.remaining.is_nothing
        with pytest.raises(BudgetError, match="nothing was spent"):
            s.agg(n=tc.count()).release(epsilon=price, tag="eleventh")
        assert len(s.history()) == 10


def test_a_refused_release_spends_nothing_and_touches_no_data(monkeypatch):
    with session(tc.epsilon(1)) as s:
        monkeypatch.setattr(s.source.engine, "_run", _never)
        with pytest.raises(BudgetError, match=r"1\.5.*is left"):
            s.agg(n=tc.count()).release(epsilon="3/2")
        assert s.spent.is_nothing
        assert s.history() == []


def _never(*_):
    raise AssertionError("the table was read")


def test_a_preview_touches_no_private_value(monkeypatch, unit):
    with session(tc.epsilon_delta(1, "1e-6"), unit=unit) as s:
        monkeypatch.setattr(s.source.engine, "_run", _never)
        grouped = s.filter(tc.col("x") > 3).group_by("g").agg(**{k: v() for k, v in ASKED.items()})
        shown = grouped.preview(epsilon=1, delta="1e-7")
        assert set(shown.errors) == set(ASKED)
        assert shown.threshold > 10
        assert shown.affordable
        assert "a key is released" in str(shown)
        assert len(shown.to_pandas()) == len(ASKED)
        assert s.spent.is_nothing
        assert s.history() == []
        assert not grouped.preview(epsilon=2, delta="1e-7").affordable


@pytest.mark.few(4)
@pytest.mark.parametrize("budget", [tc.epsilon(10_000), tc.rho(10_000)], ids=["epsilon", "rho"])
def test_previews_say_what_is_measured(budget, unit):
    """The errors of a release of evenly spread values, over many groups with equal rows."""
    groups, rows = 400, 48
    place = np.arange(groups * rows)
    data = pd.DataFrame(
        {"g": place // rows, "x": (place % rows + 0.5) * 50 / rows, "person": place // 4}
    )
    price = {"rho": "1/2"} if budget.kind == "concentrated" else {"epsilon": 4}
    with session(budget, unit=unit, data=data) as s:
        asked = {label: ASKED[label]() for label in ("n", "people", "average", "bars")}
        asked["total"] = tc.sum("x", 0, 50)
        question = s.group_by("g", keys=list(range(groups))).agg(**asked)
        expected = question.preview(**price, rows=[rows]).errors
        found = question.release(**price)
        true = {"n": rows, "total": rows * 25.0, "average": 25.0}
        true["people"] = rows if unit is tc.one_row_each else rows / 4
        for label, exact in true.items():
            wrong = np.array(found.column(label)["value"]) - exact
            measured = np.sqrt((wrong**2).mean())
            assert measured == pytest.approx(expected[label][0], rel=0.3), label
            claimed = np.median(found.column(label)["standard_error"])
            assert claimed == pytest.approx(expected[label][0], rel=0.15), label


@pytest.mark.full
def test_counts_of_two_families_share_their_noise_and_say_so():
    data = table()
    asked = {"n": tc.count(), "x": tc.mean("x", 0, 50), "y": tc.var("y", -1, 2)}
    with session(tc.epsilon(10_000), data=data) as s:
        question = s.agg(**asked)
        claimed = question.preview(epsilon=1).errors["n"][0]
        drawn = [question.release(epsilon=1, tag=str(i)) for i in range(60)]
        assert drawn[0].column("n")["standard_error"][0] == pytest.approx(claimed, rel=1e-6)
        wrong = np.array([a.value("n") - len(data) for a in drawn])
        assert np.sqrt((wrong**2).mean()) == pytest.approx(claimed, rel=0.4)


def test_released_shapes_do_not_depend_on_the_data():
    shapes = set()
    for data in (table(), table(1), table(0), table().assign(g=None)):
        with session(unit=tc.one_row_each, data=data, types=None) as s:
            question = s.group_by("g", keys=["a", "b", "c"])
            answer = question.agg(n=tc.count(), bars=tc.histogram("person", EDGES))
            released = answer.release(epsilon=1).to_dict()
            shapes.add(tuple((k, len(v)) for k, v in released.items()))
    assert len(shapes) == 1


def test_every_table_says_the_same():
    with session(unit=UNITS["people"]()) as s:
        answer = s.group_by("g", keys=["a", "b"]).agg(n=tc.count(), q=ASKED["middle"]())
        released = answer.release(epsilon=1)
    columns = released.to_dict()
    assert released.to_pandas().to_dict("list")["n"] == columns["n"]
    assert released.to_polars()["n_low"].to_list() == columns["n_low"]
    assert released.to_arrow().column("q").to_pylist() == columns["q"]
    assert columns["q_error"] == [None, None]
    lines = released.to_csv().splitlines()
    assert lines[0] == "g,n,n_error,n_low,n_high,q,q_error,q_low,q_high"
    assert lines[1].startswith(f"a,{columns['n'][0]},")
    assert json.loads(json.dumps(columns)) == columns
    assert "95% intervals" in str(released)
    assert "2 groups" in repr(released)
    assert released.value("n", "b") == columns["n"][1]
    assert released.interval("n", "b") == (columns["n_low"][1], columns["n_high"][1])
    with pytest.raises(UsageError, match="no group"):
        released.value("n", "c")
    with pytest.raises(UsageError, match="no group"):
        released.value("n")
    with pytest.raises(UsageError, match=r"did you mean|known"):
        released.value("nn", "a")


def test_one_column_asked_in_two_ways_is_one_choice():
    with session(tc.epsilon(1)) as s:
        answer = s.agg(a=tc.median("x", 0, 50), b=tc.percentile("x", 50, 0, 50)).release(epsilon=1)
        assert answer.value("a") == answer.value("b")
        low = s.agg(a=tc.min("y", -1, 2), b=tc.percentile("y", 0, -1, 2))
        assert low.preview(epsilon=1).cost == tc.epsilon(1)


def test_bad_questions_are_refused_before_anything_is_spent():
    with session(tc.epsilon(1)) as s:
        asked = s.agg(n=tc.count())
        for question, message in [
            (lambda: s.agg(x=tc.mean("xx", 0, 1)), "did you mean 'x'|known"),
            (lambda: s.agg(g=tc.mean("g", 0, 1)).release(1), "needs numbers"),
            (lambda: s.agg(x=tc.mean("x", 5, 1)), "must be in order"),
            (lambda: s.agg(x=tc.mean("x")), "public bounds"),
            (lambda: s.agg(x=tc.mean()), "needs a column"),
            (lambda: s.agg(x=3), "must be an aggregate"),
            (lambda: s.agg(**{"": tc.count()}), "not empty"),
            (lambda: s.agg(n=tc.count(), n_low=tc.count()), "label_low"),
            (lambda: s.group_by("g", keys=["a"]).agg(g=tc.count()), "label of its own"),
            (lambda: s.agg().release(1), "nothing is asked"),
            (lambda: s.group_by("g").agg(n=tc.count()).release(1), "delta"),
            (lambda: s.group_by("y", keys=["a"]).agg(n=tc.count()).release(1), "bins"),
            (lambda: s.group_by("g", "g", keys=["a"]), "given twice"),
            (lambda: s.group_by(), "at least one column"),
            (lambda: s.group_by("g", keys=[]), "list of keys is empty"),
            (lambda: s.group_by("g", keys="ab"), "list"),
            (lambda: s.group_by("g", keys=["a", "a"]), "given twice"),
            (lambda: s.group_by("g", keys=[1.5]), "a key is"),
            (lambda: s.group_by("g", keys=[("a", "b")]), "value for each"),
            (lambda: s.group_by("g", "h", keys=["a"]), "tuple"),
            (lambda: s.group_by("g", "h", keys={"g": ["a"]}), "no values for h"),
            (lambda: s.filter("x > 3"), "expression"),
            (lambda: s.filter(tc.col("x")), "true or false"),
            (lambda: s.with_columns(x=tc.col("y")), "already"),
            (lambda: s.with_columns(z=3), "expression"),
            (lambda: asked.release(), "may spend"),
            (lambda: asked.release(epsilon=0), "above zero"),
            (lambda: asked.release(epsilon=-1), "above zero|not negative"),
            (lambda: asked.release(epsilon=float("nan")), "finite"),
            (lambda: asked.release(epsilon="much"), "must be a number"),
            (lambda: asked.release(epsilon="1e999999999"), "power of ten"),
            (lambda: asked.release(epsilon=1, rho=1), "not both"),
            (lambda: asked.release(rho="1/10"), "rho|concentrated|pay"),
            (lambda: asked.preview(epsilon=1, rows=[0]), "above zero"),
        ]:
            with pytest.raises(UsageError, match=message):
                question()
        assert s.history() == []
        assert s.spent.is_nothing


def test_a_session_needs_a_unit_a_budget_and_its_own_ledger(tmp_path):
    with pytest.raises(UsageError, match="say whom an answer protects"):
        tc.Session(table(), unit="person", budget=tc.epsilon(1))
    with pytest.raises(UsageError, match="each row is another person"):
        tc.Session(table(), budget=tc.epsilon(1))
    with pytest.raises(UsageError, match="how much may be spent"):
        tc.Session(table(), unit=tc.one_row_each)
    with pytest.raises(UsageError, match=r"tc\.epsilon\(1\)"):
        tc.Session(table(), unit=tc.one_row_each, budget=1.0)
    with pytest.raises(UsageError, match="did you mean 'person'"):
        tc.Session(table(), unit=tc.unit("persn", rows=1), budget=tc.epsilon(1))
    path = tmp_path / "a.ledger"
    with session(tc.epsilon(1), ledger=path) as s:
        s.agg(n=tc.count()).release(epsilon="1/2")
        with pytest.raises(LedgerError, match="other terms"):
            session(tc.epsilon(1), unit=UNITS["people"](), ledger=path)
        with pytest.raises(LedgerError, match="other terms"):
            session(None, unit=UNITS["people"](), ledger=s.ledger)
        with pytest.raises(LedgerError, match="budget"):
            session(tc.epsilon(2), ledger=path)
        with pytest.raises(LedgerError, match="belongs to the data set"):
            session(tc.epsilon(1), data=table().rename(columns={"y": "z"}), ledger=path)
        again = tc.Session(table(), unit=tc.one_row_each, ledger=path)
        assert again.remaining == tc.epsilon("1/2")
        assert again.agg(n=tc.count()).release(epsilon="1/2").replayed
        again.close()
        shared = tc.Session(table(), unit=tc.one_row_each, ledger=s.ledger)
        assert shared.remaining == s.remaining
        shared.source.close()


# Attacks on plans, unlisted keys, bounds, percentiles and synthetic tables: what one row can show.
#
# What is seen of a release is whether it comes out, its shape, its charge and its certificate; none
# of that may depend on a row, whatever stands in it.


TYPES = {"person": "bigint", "g": "varchar", "x": "double", "i": "bigint"}
PLAIN = [{"person": p, "g": "ab"[p % 2], "x": p % 50 + 0.5, "i": p % 7} for p in range(60)]
HOSTILE: list[dict[str, Any]] = [
    {"person": 999, "g": "a", "x": math.nan, "i": None},
    {"person": 999, "g": None, "x": math.inf, "i": 2**63 - 1},
    {"person": 999, "g": "x" * 70_000, "x": -math.inf, "i": -(2**63)},
    {"person": 999, "g": "", "x": 5e-324, "i": 0},
    {"person": None, "g": "a\u0308", "x": -0.0, "i": 2**62},
    {"person": 999, "g": "A", "x": -1.7e308, "i": -(2**62)},
]
"""Each of them joins the table, alone."""
ATTACKS_ON_UNITS = {"rows": tc.one_row_each, "people": tc.unit("person", rows=3, groups=2)}
LOADERS = {"duckdb": in_duckdb, "postgres": in_postgres}


def opened(request: Any, engine: str, rows: Any, unit: Any) -> Session:
    source = LOADERS[engine](request)(rows, TYPES)
    return Session(source, unit, tc.epsilon_delta(10**6, "1/100"), name="d", ledger=tc.in_memory)


def asked(session: Session) -> list[Any]:
    """Questions of the kinds that came last, each by listed groups or of all rows."""
    by = session.group_by("g", keys=["a", "b", "absent"])
    plan = session.plan(
        [
            by.agg(n=tc.count()),
            session.agg(r=tc.ranges("x", [0, 10, 50])),
            session.agg(c=tc.cdf("i", [0, 3, 7])),
            by.agg(m=tc.mean("x", 0, 50), q=tc.median("x", 0, 50)),
        ],
        nonnegative=True,
    )
    return [
        by.agg(b=tc.bounds("x", 0, 1000)),
        by.agg(b=tc.bounds("i")),
        session.agg(p=tc.percentiles("x", [5, 50, 95], 0, 50)),
        by.agg(p=tc.percentiles("i", [1, 99], -(2**40), 2**40)),
        session.agg(c=tc.cdf("x", [0, 10, 50])),
        plan,
    ]


def seen(session: Session) -> list[Any]:
    """Return what the answers to all questions show but for their numbers."""
    found: list[Any] = []
    for place, question in enumerate(asked(session)):
        answers = question.release(epsilon=place + 1)
        for answer in answers if isinstance(answers, list) else [answers]:
            body = answer.certificate.body
            columns = [
                {name: _length(one) for name, one in column.items() if name != "value"}
                for column in body["answer"]["columns"]
            ]
            found.append((body["answer"]["keys"], [sorted(c) for c in columns], body["spent"]))
    return [*found, len(session.ledger.events()), session.spent]


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


@pytest.mark.full
@pytest.mark.parametrize("unit", ATTACKS_ON_UNITS.values(), ids=ATTACKS_ON_UNITS)
@pytest.mark.parametrize("engine", LOADERS)
def test_one_row_changes_neither_fate_nor_shape_nor_charge(request, engine, unit) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", tc.errors.WeakGuaranteeWarning)
        with opened(request, engine, PLAIN, unit) as session:
            usual = seen(session)
        for row in HOSTILE:
            with opened(request, engine, [*PLAIN, row], unit) as session:
                assert seen(session) == usual, row
        with opened(request, engine, [], unit) as session:
            assert seen(session) == usual


# --- keys that nobody listed ---------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize(("groups", "way"), [(1, SelectKeys), (20, GaussianKeys)])
@pytest.mark.parametrize("engine", LOADERS)
def test_hostile_keys_of_one_person_merge_with_nobodys(request, engine, groups, way) -> None:
    """Keys that are nearly others' are keys of their own, of one person: they do not pass."""
    many = [{"person": p, "g": g, "x": 1.0, "i": 1} for p in range(400) for g in ("a", "é", "")]
    near = ["A", "a ", " a", "a\u200b", "e\u0301", "\u00e9\u200d", " ", "x" * 70_000, None, "a\t"]
    odd = [{"person": 10_000, "g": g, "x": 1.0, "i": 1} for g in near]
    unit = tc.unit("person", rows=20, groups=groups)
    told = []
    for rows in (many, [*many, *odd]):
        with opened(request, engine, rows, unit) as session:
            question = session.group_by("g").agg(n=tc.count())
            answer = question.release(epsilon=8, delta="1e-9")
            steps = str(answer.certificate.body)
            assert way.name in steps
            told.append(sorted(answer.keys))
            assert answer.certificate.verify(session.ledger)
    assert set(told[1]) <= {("a",), ("é",), ("",)}
    assert told[0] == told[1]


@pytest.mark.full
def test_a_key_of_one_person_passes_as_seldom_as_delta_says(request) -> None:
    """In a session, not in the mechanism alone: 6,000 people with a key of their own each."""
    rows = [{"person": p, "g": f"k{p}", "x": 1.0, "i": 1} for p in range(6000)]
    with opened(request, "duckdb", rows, tc.unit("person", rows=1, groups=1)) as session:
        delta = 0.005
        question = session.group_by("g").agg(n=tc.count())
        passed = len(question.release(epsilon="1/2", delta=str(delta)).keys)
    mean = delta * 6000
    assert passed <= mean + 5 * math.sqrt(mean)


# --- a plan is one charge ----------------------------------------------------------------------


def plan_of(session: Session) -> Any:
    by = session.group_by("g", keys=["a", "b"])
    return session.plan([by.agg(n=tc.count()), session.agg(h=tc.histogram("x", [0, 10, 50]))])


@pytest.mark.full
def test_a_plan_that_is_killed_anywhere_is_charged_once_and_answered_once(tmp_path) -> None:
    """Never a part of it: no charge and nothing is read, or the whole charge and one answer."""
    table = pa.table({name: [row[name] for row in PLAIN] for name in ("g", "x")})

    def session() -> Session:
        return Session(
            table, tc.one_row_each, tc.epsilon(1), name="d", ledger=tmp_path / "plan.ledger"
        )

    def killed() -> None:
        raise Crash

    states = set()
    for at in range(1, 4200, 150):
        for path in tmp_path.iterdir():
            path.unlink()
        with Memory().used(), session() as first:
            plan = plan_of(first)
            with suppress(Crash), Interrupted(at, killed):
                plan.release(epsilon="1/4")
        with Memory().used(), session() as again:
            history = again.history()
            states.add(tuple(entry.state for entry in history))
            assert again.spent.amount in (0, tc.epsilon("1/4").amount)
            one, two = plan_of(again).release(epsilon="1/4")
            assert again.spent == tc.epsilon("1/4")
            (entry,) = again.history()
            assert entry.state == "answered"
            assert not history or history[0].answer in (None, entry.answer)
            once_more = plan_of(again).release(epsilon="1/4")
            assert [a.to_dict() for a in once_more] == [one.to_dict(), two.to_dict()]
            again.ledger.verify_chain()
    assert states == {(), ("open",), ("answered",)}


@pytest.mark.full
def test_nothing_of_a_plan_is_read_before_its_one_charge(monkeypatch) -> None:
    table = pa.table({name: [row[name] for row in PLAIN] for name in ("g", "x")})
    with Session(table, tc.one_row_each, tc.epsilon(1), name="d", ledger=tc.in_memory) as session:
        read: list[int] = []
        from tacit.tables.release.release import PlanRunner

        real = PlanRunner.collect

        def collect(self: Any, *given: Any) -> Any:
            read.append(len(session.history()))
            return real(self, *given)

        monkeypatch.setattr(PlanRunner, "collect", collect)
        plan_of(session).release(epsilon="1/4")
        assert read
        assert set(read) == {1}


def test_a_synthetic_table_reads_and_spends_nothing() -> None:
    """It is made of what was published alone: the table is closed, and gone."""
    table = pa.table({"g": ["a", "b"] * 20, "x": [1.0] * 40})
    session = Session(table, tc.one_row_each, tc.epsilon(1), name="d", ledger=tc.in_memory)
    answers = plan_of(session).release(epsilon=1)
    before = len(session.ledger.events())
    session.source.close()
    made = tc.synthetic_table(answers)
    assert session.spent == tc.epsilon(1)
    assert len(session.ledger.events()) == before
    assert set(made.table.column_names) == {"g", "x"}


# A loss that protects hardly anybody is told: in a preview, with a warning, and before --yes.


def weak_guarantee_session(budget):
    return tc.Session(pa.table({"x": [1, 2]}), unit=tc.one_row_each, budget=budget, name="two")


@pytest.mark.parametrize("amount", ["10.01", "11", "12", "15", "19", "20", "21", "1000"])
def test_the_odds_are_never_understated(amount):
    told = weak_guarantee(tc.epsilon(amount))
    assert told is not None
    if float(amount) > 20:
        assert told.endswith("someone who is 10% sure could become practically certain")
        return
    shown = Fraction(told.rpartition("at most ")[2].partition("%")[0])
    doubt = Fraction(9 * math.exp(-float(amount)))
    truth = 100 / (1 + doubt)
    assert truth - Fraction(1, 10**12) <= shown <= 100
    assert shown < 100
    assert 100 - shown >= (100 - truth) / 10


def test_where_it_begins():
    assert weak_guarantee(tc.epsilon(10)) is None
    assert weak_guarantee(tc.rho("0.1")) is None
    assert "an epsilon of" in (weak_guarantee(tc.rho(3)) or "")
    assert weak_guarantee(tc.epsilon_delta(1, "1e-5")) is None
    assert "a data set may declare" in (weak_guarantee(tc.epsilon_delta(1, "1.1e-5")) or "")
    assert weak_guarantee(tc.epsilon_delta(1, "1/5001"), 5000) is None
    assert "is 1/5000, one divided" in (weak_guarantee(tc.epsilon_delta(1, "1/5000"), 5000) or "")
    assert "1/5000" in (weak_guarantee(tc.epsilon_delta(1, "1/4999"), 5000) or "")
    assert weak_guarantee(Budget.nothing("approximate")) is None


def test_a_release_warns_before_it_is_charged_and_a_preview_says_it():
    with weak_guarantee_session(tc.epsilon(100)) as s:
        question = s.agg(n=tc.count())
        assert "someone who is 10% sure" in str(question.preview(epsilon=11))
        assert question.preview(epsilon=10).weak is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(WeakGuaranteeWarning, match=r"99\.99% sure"):
                question.release(epsilon=11)
            assert s.history() == []
            question.release(epsilon=10)
        with pytest.warns(WeakGuaranteeWarning) as told:
            question.release(epsilon=11)
        assert told[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert question.release(epsilon=11).replayed


def test_a_preview_says_of_a_delta_that_no_answer_uses_that_it_is_too_large():
    with weak_guarantee_session(tc.epsilon_delta(3, "1/2")) as s:
        question = s.agg(n=tc.count())
        for asked in (question, s.plan([question])):
            assert "no answer uses this delta" in asked.preview(epsilon=1, delta="1/2").weak
            assert asked.preview(epsilon=1, delta="1e-6").weak is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            question.release(epsilon=1, delta="1/2")  # which costs no delta


@pytest.mark.full
def test_a_budget_warns_where_the_size_is_declared(people, capsys):
    (people / "people.toml").write_text(
        'unit = "row"\nbudget = { epsilon = 1, delta = "1/2000" }\nname = "p"\n'
        '[tables.people]\npath = "people.csv"\nsize = 2000\n'
        '[tables.people.columns]\nage = { kind = "integer" }\nsite = { kind = "text" }\n'
    )
    with pytest.warns(WeakGuaranteeWarning, match="0.0005 is 1/2000, one divided") as told:
        tc.open(people / "people.toml", ledger=tc.in_memory).close()
    assert told[0].filename == __file__
    assert run(["check", "people.toml"]) == 0
    assert "1/2000" in capsys.readouterr().err
    for delta, size in (("1/2001", 2000), ("1/2000", None)):
        said = (people / "people.toml").read_text().replace('"1/2000"', f'"{delta}"')
        said = said if size else said.replace("size = 2000\n", "")
        (people / "other.toml").write_text(said)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tc.open(people / "other.toml", ledger=tc.in_memory).close()


def test_counts_over_time_warn_once():
    with weak_guarantee_session(tc.epsilon(100)) as s:
        counter = s.count_over_time("x", start=0, every=1, periods=4, epsilon=11)
        with pytest.warns(WeakGuaranteeWarning) as told:
            counter.update(now=2)
        assert told[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            counter.update(now=3)


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age,site\n31,a\n45,b\n")
    return tmp_path


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--count --epsilon 11", "99.99% sure"),
        ("--count --rho 3", "rho 3, an epsilon of"),
        ("--count --by site --epsilon 1 --delta 1e-4", "delta 0.0001 is above 1/100000"),
        ("--count --epsilon 1 --delta 0.5", "delta 0.5 is above"),  # which no count needs
    ],
)
def test_the_command_asks_for_a_yes(people, capsys, flags, says):
    words = f"release people.csv --one-row-each {flags}".split()
    assert run(words) == 2
    told = capsys.readouterr()
    assert says in told.err
    assert "--yes" in told.err
    assert told.out == ""
    assert list(people.glob("*.ledger")) == []
    assert run([*words, "--yes"]) == 0
    assert "Warning" not in capsys.readouterr().err
    assert run(words) == 0  # answered from the ledger: there is nothing to ask


def typed(words, *more):
    return run([*words.split(), *more])


def test_counts_over_time_ask_too(people, capsys):
    words = (
        "count-over-time people.csv --one-row-each --types age=integer --time age --start 0 "
        "--every 50 --periods 2 --now 50 --epsilon 11"
    )
    assert typed(words) == 2
    assert "--yes" in capsys.readouterr().err
    assert list(people.glob("*.ledger")) == []
    assert typed(words, "--yes") == 0
    assert typed(words) == 0


def test_a_terminal_is_asked(people, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    words = ["release", "people.csv", "--one-row-each", "--count", "--epsilon", "11", "--csv"]
    asked = []

    def answer(text, **_):
        asked.append(text)
        return len(asked) > 1

    monkeypatch.setattr("typer.confirm", answer)
    assert run(words) == 2
    assert "nothing was spent" in capsys.readouterr().err
    assert run(words) == 0
    assert all("10% sure" in text for text in asked)


def test_a_declared_size_says_what_is_too_much(people, capsys):
    (people / "p.toml").write_text(
        'name = "p"\nunit = "row"\nbudget = { epsilon = 5, delta = "0.1" }\n'
        '[tables.people]\npath = "people.csv"\nsize = 2000\n'
    )
    words = ["release", "p.toml", "--count", "--by", "site", "--epsilon", "1", "--delta"]
    assert run([*words, "1/1999"]) == 2
    assert "1/2000, one divided by the number of people" in capsys.readouterr().err
    assert run([*words, "1/2000"]) == 2
    assert "is 1/2000, one divided" in capsys.readouterr().err
    assert run([*words, "1/2001"]) == 0


def test_a_large_budget_is_told_when_its_ledger_begins(people, capsys):
    words = "release people.csv --one-row-each --count --epsilon 1 --budget-epsilon 50"
    assert typed(words) == 0
    assert "The total budget is large: epsilon 50 is above 10" in capsys.readouterr().err

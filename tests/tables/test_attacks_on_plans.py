"""Attacks on plans, unlisted keys, bounds, percentiles and synthetic tables: what one row can show.

What is seen of a release is whether it comes out, its shape, its charge and its certificate; none
of that may depend on a row, whatever stands in it.
"""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest

import tacit as tc
from support.accounting.interrupted import Crash, Interrupted, Memory
from support.tables.engine_tables import in_duckdb, in_postgres
from tacit.mechanisms.partition_selection import GaussianKeys, SelectKeys
from tacit.tables.session import Session

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
UNITS = {"rows": tc.one_row_each, "people": tc.unit("person", rows=3, groups=2)}
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
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
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
        from tacit.tables.release.release import Collector

        real = Collector.collect

        def collect(self: Any, *given: Any) -> Any:
            read.append(len(session.history()))
            return real(self, *given)

        monkeypatch.setattr(Collector, "collect", collect)
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

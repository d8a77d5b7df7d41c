"""Columns that are not declared, in plans and free answers: read as each question reads them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tacit as tc
from support.tables.engine_tables import ENGINES, in_duckdb
from tacit.errors import UsageError

# A cell is in the groups of several keys: `1` in those of "1", 1 and true.  What is no whole number
# is missing beside keys that are whole numbers, and a text beside keys that are texts.
CELLS = (
    *("1", "1.0", "01", " 1", "true", "yes", "2", "a", "A", "2024-01-01", "2024-01-01 08:30"),
    *("2024-01-01T00:00:00+01:00", "", "0", "no", "1e0", "2.5", "-1"),
)
DAY = datetime.date(2024, 1, 1)
FEW: tuple[list[Any], ...] = (["1"], [1], [True], ["a", "2024-01-01"], [DAY], [None, 1])
MANY: tuple[list[Any], ...] = (
    *(*FEW, ["a"], ["2024-01-01"], [None], [None, True], [None, "a"], [None, DAY], [1, 2]),
    *(["1", "2"], [True, False, None], ["true"]),
)
BUDGETS = [tc.epsilon(10**12), tc.rho(10**18)]


@pytest.fixture
def path(tmp_path: Path) -> str:
    rows = [f'"{cell}",{i % 7}\n' for i, cell in enumerate(CELLS) for _ in range(i + 1)]
    (tmp_path / "odd.csv").write_text("k,x\n" + "".join(rows))
    return str(tmp_path / "odd.csv")


def questions(session: tc.Session, keys: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {
        f"by {k}": session.group_by("k", keys=k).agg(n=tc.count()) for k in keys
    }
    k = tc.col("k")
    filters = [k == 1, k == "2024-01-01", k.is_null()]
    if keys is MANY:
        filters += [k == "1", k == True, k == DAY, k == 2.5, k.is_in([1, 2])]  # noqa: E712
        filters += [k.is_in(["a", "2024-01-01"])]
    return asked | {f"where {f}": session.filter(f).agg(n=tc.count()) for f in filters}


def opened(path: str, budget: Any = None) -> tc.Session:
    return tc.Session(path, tc.one_row_each, budget or tc.epsilon(10**12), ledger=tc.in_memory)


def price(budget: Any) -> dict[str, Any]:
    return {"rho": 10**15} if budget.kind == "concentrated" else {"epsilon": 10**9}


def counts(answer: Any) -> list[int]:
    return [round(value) for value in answer.column("n")["value"]]


def truths(path: str, keys: Any) -> dict[str, list[int]]:
    with opened(path) as session:
        asked = questions(session, keys)
        return {n: counts(q.release(epsilon=10**6, tag=n)) for n, q in asked.items()}


def check_plan(path: str, budget: Any, keys: Any) -> None:
    with opened(path, budget) as session:
        asked = questions(session, keys)
        answers = session.plan(list(asked.values())).release(**price(budget))
        assert dict(zip(asked, map(counts, answers), strict=True)) == truths(path, keys)
        assert answers[0].certificate.verify(session.ledger)


def test_a_plan_reads_cells_as_each_of_its_questions_does(path: str) -> None:
    check_plan(path, tc.rho(10**18), FEW)


@pytest.mark.full
@pytest.mark.parametrize("budget", BUDGETS, ids=["laplace", "gaussian"])
def test_a_plan_of_many_readings_reads_as_each_question_does(path: str, budget: Any) -> None:
    check_plan(path, budget, MANY)


def test_statistics_of_several_readings_are_those_of_each(path: str) -> None:
    with opened(path) as session:
        asked = [session.group_by("k", keys=k).agg(n=tc.sum("x", 0, 6)) for k in FEW[1:4]]
        answers = session.plan(asked).release(epsilon=10**9)
        alone = [q.release(epsilon=10**6, tag=str(i)) for i, q in enumerate(asked)]
        assert list(map(counts, answers)) == list(map(counts, alone))


def test_rows_that_are_dropped_are_those_of_no_key(path: str) -> None:
    with opened(path) as session:
        # 1e0 is a number and not in the group of 1
        asked = session.group_by("k", keys=[1, 2]).agg(n=tc.count())
        (answer,) = session.plan([asked], unlisted="drop").release(epsilon=10**9)
        assert counts(answer) == counts(asked.release(epsilon=10**6))


def check_free(path: str, first: Any, keys: Any) -> int:
    """Ask each of some questions first, and count the answers that follow from it."""
    true, free = truths(path, keys), 0
    for name in (name for name in true if name in {f"by {k}" for k in first}):
        with opened(path) as session:
            asked = questions(session, keys)
            asked[name].release(epsilon=10**6)
            for other in true:
                answer = asked[other].free_answer()
                if answer is not None:
                    free += other != name
                    assert counts(answer) == true[other], (name, other)
    return free


def test_a_free_answer_is_of_the_same_reading(path: str) -> None:
    check_free(path, [FEW[1], FEW[3], FEW[5]], FEW)


@pytest.mark.full
def test_free_answers_of_many_readings_are_of_the_same(path: str) -> None:
    assert check_free(path, MANY, MANY) > 20


def test_the_axes_of_a_plan_with_one_reading_are_the_columns(path: str) -> None:
    with opened(path) as session:
        asked = [session.group_by("k", keys=k).agg(n=tc.count()) for k in ([1], [1, 2], [-1])]
        certificate = session.plan(asked).release(epsilon=10**9)[0].certificate
        assert certificate.body["question"]["query"]["derived"] == []


def test_answers_of_two_readings_make_no_synthetic_table(path: str) -> None:
    with opened(path) as session:
        asked = [session.group_by("k", keys=k).agg(n=tc.count()) for k in FEW[:2]]
        answers = session.plan(asked).release(epsilon=10**9)
        with pytest.raises(UsageError, match="read in two ways"):
            tc.synthetic_table(answers)
        assert tc.synthetic_table([answers[0]]).errors


# What cannot be written as a key (a text of 70,000 bytes, a date after the year 9999, a whole
# number of 127 bits) is in the group of what is missing, though it is not missing.


NO_KEYS = {
    "t": ("varchar", ["a", "b", "x" * 70_000, None, "a"]),
    "big": ("hugeint", [1, 2, 10**38 - 1, None, 1]),
    "d": ("date", ["2024-01-01", "2024-01-02", "infinity", None, "2024-01-01"]),
}


ANSWERS = [[12], [17, 12], [17], [8], [17]]


def of_column(session: tc.Session, name: str) -> list[Any]:
    x, first = tc.col(name), NO_KEYS[name][1][0]
    asked = [session.group_by(name, keys=keys) for keys in ([None], [first, None], [first])]
    asked += [session.filter(x.is_null()), session.filter(x == first)]
    return [question.agg(n=tc.count()) for question in asked]


def check_no_keys(load: Any, name: str) -> None:
    kind, values = NO_KEYS[name]
    rows = [{name: value} for i, value in enumerate(values) for _ in range(1 << i)]
    with load(rows, {name: kind}) as source:

        def session() -> tc.Session:
            return tc.Session(source, tc.one_row_each, tc.epsilon(10**12), tc.in_memory, name="t")

        asked = of_column(session(), name)
        assert [counts(q.release(epsilon=10**6)) for q in asked] == ANSWERS
        for unlisted, taken in (("count", 5), ("drop", 3)):
            fresh = session()
            planned = fresh.plan(of_column(fresh, name)[:taken], unlisted=unlisted)
            assert [counts(a) for a in planned.release(epsilon=10**9)] == ANSWERS[:taken]
        for first in range(len(ANSWERS)):
            asked = of_column(session(), name)
            asked[first].release(epsilon=10**6)
            for question, true in zip(asked, ANSWERS, strict=True):
                free = question.free_answer()
                assert free is None or counts(free) == true


@pytest.mark.few(3)
@pytest.mark.parametrize("name", NO_KEYS)
def test_what_cannot_be_written_as_a_key_is_in_the_cells_of_none(name: str, request: Any) -> None:
    check_no_keys(in_duckdb(request), name)


@pytest.mark.full
@pytest.mark.parametrize("engine", ["postgresql", "spark"])
def test_elsewhere_it_is_in_the_cells_of_none_too(engine: str, request: Any) -> None:
    """All columns in one table, and most questions in one plan: a free answer reads no table."""
    names = [
        name for name in NO_KEYS if (engine, name) != ("spark", "d")
    ]  # Python has no such date
    rows = [{n: NO_KEYS[n][1][i] for n in names} for i in range(5) for _ in range(1 << i)]
    with ENGINES[engine](request)(rows, {n: NO_KEYS[n][0] for n in names}) as source:
        session = tc.Session(source, tc.one_row_each, tc.epsilon(10**12), tc.in_memory, name="t")
        asked = {name: of_column(session, name) for name in names}
        whole = session.plan([each for name in names for each in asked[name]])
        assert [counts(a) for a in whole.release(epsilon=10**9)] == ANSWERS * len(names)
        for name in names:
            dropped = session.plan(asked[name][:3], unlisted="drop").release(epsilon=10**9)
            assert [counts(a) for a in dropped] == ANSWERS[:3]
            for place in (1, 3, 4):  # asked alone: by keys, and by each filter
                alone = asked[name][place].release(epsilon=10**6)
                assert counts(alone) == ANSWERS[place], (name, place)


def test_true_and_false_are_numbers_by_groups_and_filters_too():
    table = pa.table({"b": [True, False, True, None] * 9, "x": [1, 2, 3, 1] * 9})
    with tc.Session(table, tc.one_row_each, tc.rho(10**9), tc.in_memory, name="p") as session:
        asked = [
            session.group_by("x", keys=[1, 2]).agg(a=tc.sum("b", 0, 10)),
            session.with_columns(o=~tc.col("b")).group_by("x", keys=[3]).agg(a=tc.sum("o")),
        ]
        answers = session.plan(asked).release(rho=10**8)
        values = [list(answer.column("a")["value"]) for answer in answers]
        assert values == [pytest.approx(v, abs=0.1) for v in ([9, 0], [0])]

"""What people type first who come from pandas, dplyr or SQL: each is answered in a sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import UsageError, shown_value

SECRET = 987654321
ROWS = pd.DataFrame(
    {"person": [1, 2], "age": [SECRET, 3], "ethn": ["a", "other"], "cost": [1.0, 2.0]}
)


@pytest.fixture(scope="module")
def s() -> Iterator[tc.Session]:
    unit = tc.unit("person", rows=5, groups=2)
    with tc.Session(ROWS, unit, tc.epsilon(100), tc.in_memory, name="t") as opened:
        yield opened


def n(s: tc.Session) -> Any:
    return s.agg(n=tc.count())


A: Any = tc.col("age")
ANY: Any = tc
PEOPLE = "select avg(t) from (select person, clamp(count(*), 0, 500) as t from t group by person)"
TYPED: dict[str, tuple[Callable[[Any], object], str]] = {
    "question.plot()": (lambda s: n(s).plot(), r"release it first: .*answer\.plot\(\)"),
    "question.to_pandas()": (lambda s: n(s).to_pandas(), r"first: .*answer\.to_pandas\(\)"),
    "question.value('n')": (lambda s: n(s).value("n"), r"release it first"),
    "question.collect()": (lambda s: n(s).collect(), "answered by release"),
    "session.plot()": (lambda s: s.plot(), "say first what is asked"),
    "session.age": (lambda s: s.age, r'named by tc\.col\("age"\)'),
    "session.Age": (lambda s: s.Age, r'tc\.col\("age"\)'),
    "question.ethn": (lambda s: n(s).ethn, r'tc\.col\("ethn"\)'),
    "answer.n": (lambda s: n(s).release(1).n, r"answer\.value\('n'\)"),
    "answer.head()": (lambda s: n(s).release(1).head(), r"answer\.to_pandas\(\)"),
    "isna": (lambda s: A.isna(), r"is_null\(\)"),
    "isnull": (lambda s: A.isnull(), r"is_null\(\)"),
    "notna": (lambda s: A.notna(), r"tc\.col\('age'\)\.is_not_null\(\)"),
    "isin": (lambda s: A.isin([1]), "is_in"),
    "fillna": (lambda s: A.fillna(0), r"fill_null\(0\)"),
    "clamp": (lambda s: A.clamp(0, 9), r"clip\(0, 100\)"),
    "str.lower": (lambda s: A.str.lower(), r"str\.to_lowercase\(\)"),
    "dt.dayofweek": (lambda s: A.dt.dayofweek, r"dt\.weekday\(\)"),
    "cast(date)": (lambda s: A.cast("date"), r"str\.to_date\(\)"),
    "str.contains": (lambda s: A.str.contains("a|b", literal=False), r"str\.like"),
    "astype": (lambda s: A.astype(int), r"cast\(float\)"),
    "col.mean()": (lambda s: A.mean(), r"session\.agg\(age=tc\.mean"),
    "split": (lambda s: A.split(","), r"text has str\.contains"),
    "apply": (lambda s: A.apply(len), r"tc\.when"),
    "**": (lambda s: A**2, r"write age \* age"),
    "//": (lambda s: A // 2, r"\(age / 2\)\.floor\(\)"),
    "%": (lambda s: A % 0, "modulo cannot take 0"),
    "round": (lambda s: round(A, 2), r"\.round\(\) / 100"),
    "round(2)": (lambda s: A.round(2), r"\* 100\)\.round\(\) / 100"),
    "mean(bounds=)": (lambda s: ANY.mean("age", bounds=(0, 9)), "two arguments: lower=0, upper"),
    "mean(epsilon=)": (lambda s: ANY.mean("age", 0, 9, epsilon=1), r"release\(epsilon="),
    "mean(na_rm=)": (lambda s: ANY.mean("age", 0, 9, na_rm=True), "leave na_rm out"),
    "histogram(bins=)": (lambda s: ANY.histogram("age", bins=9), r"edges=\[0, 20, 40\]"),
    "sum(x, 5, 5)": (lambda s: tc.sum("age", 5, 5), "are equal, both 5: .*tc.sum"),
    "mean(column)": (lambda s: ANY.mean(ROWS.age, 0, 9), "not by a value of type Series"),
    "groupby": (lambda s: s.groupby("ethn"), r'group_by\("site"\)'),
    "mutate": (lambda s: s.mutate(a=A), "with_columns"),
    "summarise": (lambda s: s.summarise(n=1), r"agg\(n=tc\.count\(\)"),
    "dropna": (lambda s: s.dropna(), "is_not_null"),
    "merge": (lambda s: s.merge(1), r'join\("sites"'),
    "sort_values": (lambda s: n(s).sort_values("n"), r"answer\.to_pandas\(\)\.sort_values"),
    "dtypes": (lambda s: s.dtypes, r"session\.columns"),
    "schema": (lambda s: s.schema, r"session\.columns"),
    "columns of a question": (lambda s: s.filter().columns, r"question\.schema"),
    "tc.n()": (lambda s: ANY.n(), r"tc\.count\(\)"),
    "tc.if_else": (lambda s: ANY.if_else(1, 2, 3), r"tc\.when"),
    "tc.sd": (lambda s: ANY.sd("age"), r"tc\.std"),
    "group_by(x, keys)": (lambda s: s.group_by("ethn", ["a"]), r'group_by\("ethn", keys='),
    "percentile of a list": (
        lambda s: ANY.percentile("age", [25, 50], 0, 9),
        r"tc\.percentiles\('age', \[25, 50\], 0, 100\)",
    ),
    "age > '3'": (lambda s: s.filter(A > "3"), "write a number without quotes"),
    "ethn > 3": (lambda s: s.filter(tc.col("ethn") > 3), r"cast\(float\)"),
    "open(frame)": (lambda s: ANY.open(ROWS), "a path is text, not a value of type DataFrame"),
    "open(csv)": (lambda s: tc.open("visits.csv"), r"open a table with tc\.Session\(path"),
    "keys of text": (lambda s: s.group_by("age", keys=["3"]), "write it without quotes, 3"),
    "relation='add-remove'": (
        lambda s: ANY.sensitivity("mean", tc.Interval(0, 1, size=3), relation="add-remove"),
        "did you mean 'unbounded'",
    ),
    "relation='swap'": (
        lambda s: ANY.smooth_sensitivity("mean", [1], (0, 9), 1, relation="swap"),
        "did you mean 'bounded'",
    ),
    "a day without quotes": (
        lambda s: s.sql("select count(*) from t where age > 2024-02-01"),
        "write a day as date '2024-02-01'",
    ),
    "clamp(count(*))": (lambda s: s.sql(PEOPLE), r"avg\(clamp\(n, 0, 500\)\)"),
    "= other": (
        lambda s: s.sql("select count(*) from t where ethn = other"),
        "A text has single quotes: 'other'",
    ),
    '= "other"': (
        lambda s: s.sql('select count(*) from t where ethn = "other"'),
        "A text has single quotes: 'other'",
    ),
}


@pytest.mark.parametrize("typed", TYPED)
def test_it_says_what_to_write(s: tc.Session, typed: str) -> None:
    ask, told = TYPED[typed]
    with pytest.raises((UsageError, AttributeError), match=told):
        ask(s)


def test_what_they_say_works(s: tc.Session) -> None:
    asked = "select avg(clamp(n, 0, 500)) as m from (select person, count(*) as n from t "
    assert s.sql(f"{asked} group by person)").preview(epsilon=1)
    for column in (~A.is_null(), (A * 100).round() / 100 > 2, (A / 2).floor() == 3):
        assert s.filter(column).agg(n=tc.count()).preview(epsilon=1)
    assert s.filter((A % 2) == 1).agg(n=tc.count()).preview(epsilon=1)


def test_a_name_of_an_object_that_is_not_made_is_an_attribute_error() -> None:
    half = tc.Session.__new__(tc.Session)
    with pytest.raises(AttributeError, match="has no attribute 'nobody'"):
        half.nobody  # type: ignore[attr-defined]  # noqa: B018


TABLES = [ROWS, ROWS.age, ROWS.age.to_numpy(), pa.table(ROWS), ROWS.age > 3, [ROWS.age]]


@pytest.mark.full
def test_no_message_shows_a_table_that_was_given_for_something_else(s: tc.Session) -> None:
    """A frame or a column of it in any place of any function: its rows are in no error."""
    told = [
        (name, str(error))
        for at in (tc, A, n(s), n(s).release(1))
        for name in dir(at)
        if not name.startswith("_")
        for error in _errors(getattr(at, name, None))
    ]
    assert len(told) > 500
    single = "a percentile must be from 0 to 100, not"  # one of a list of public numbers
    assert not [each for each in told if str(SECRET) in each[1] and single not in each[1]]
    assert shown_value(np.zeros(3)) == "a value of type ndarray"


def _errors(called: Any) -> Iterator[Exception]:
    """The errors of a call with a table in each of its places, by place and by name."""
    try:
        taken = list(inspect.signature(called).parameters)
    except (TypeError, ValueError):
        return
    for place, parameter in enumerate(taken):
        before = ["age", *range(10, 90, 10)][:place]
        for given in TABLES:
            for more, named in ((), {parameter: given}), ((given,), {}):
                try:
                    called(*before, *more, **named)
                except Exception as error:
                    yield error


@pytest.mark.parametrize("given", TABLES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(
    "ask", [tc.col, tc.count_distinct, tc.median, tc.unit, A.str.contains, A.str.slice]
)
def test_no_message_shows_a_table(ask: Any, given: Any) -> None:
    """The small form."""
    for error in _errors(ask):
        assert str(SECRET) not in str(error)
    with pytest.raises(UsageError, match=f"of type {type(given).__name__}"):
        tc.sum(given, 0, 9)


NOTEBOOK = [
    's.agg(n=tc.mean("agee", 0, 1))',
    "s.group_by(\n    'etnh',\n)",
    "def f():\n    return s.filter(tc.col('agee') > 3)\nf()",
    "s.age",
    "tc.averge",
    "s.sql('select count(*) from t where agee > 3')",
    "tc.mean('age', bounds=(0, 1))",
    "tc.mean('age', 9, 1)",
    "n.release(epsilon=1000)",
]


@pytest.mark.parametrize("cell", NOTEBOOK)
def test_a_notebook_shows_few_lines_of_an_error(s: tc.Session, cell: str) -> None:
    """IPython asks an error for its lines; those of Tacit's own code are not among them."""
    known = {"s": s, "tc": tc, "n": n(s)}
    with pytest.raises((tc.errors.TacitError, AttributeError)) as caught:
        exec(compile(cell, "<ipython-input-1>", "exec"), known)
    lines = caught.value._render_traceback_()  # type: ignore[union-attr]
    assert str(caught.value) in lines[-1]
    shown = "\n".join(lines)
    assert 2 <= len(shown.splitlines()) <= 10
    assert shown.startswith("in this cell, line ")
    assert "src" not in shown

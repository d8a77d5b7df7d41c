"""Exact integers of a question: the same in any order, never shown, refused on public facts."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacit.errors import UsageError
from tacit.expressions.expression import col, from_json
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, People, Rows

GRID = Grid.for_bounds(0, 100)
AGE = Moments(col("age"), GRID)


def test_csv_without_rows_or_values_fits_every_use(tmp_path):
    path = tmp_path / "none.csv"
    path.write_text("age,sex\n")
    with open_source(path) as source:
        assert source.columns == {"age": "undeclared", "sex": "undeclared"}
        query = Query(
            source,
            PersonUnit("sex", rows=2),
            where=col("age") > 3,
            by={"s": col("sex")},
            keys=["f"],
        )
        exact = query.run([Rows(), AGE, People()])
        assert exact.of(Rows()).tolist() == [0]
        assert exact.of(AGE).tolist() == [[0, 0, 0, 0]]


def test_exact_answers_are_never_shown_or_pickled():
    with open_source(pd.DataFrame({"age": [77.0]})) as source:
        exact = Query(source, OneRowEach()).run([AGE])
        assert (
            repr(exact) == str(exact) == "<exact aggregates of 1 requests in 1 groups, not shown>"
        )
        with pytest.raises(TypeError, match="not private"):
            pickle.dumps(exact)


def test_order_of_rows_and_threads_do_not_change_one_bit():
    random = np.random.default_rng(3)
    age = random.normal(40, 1e3, 20_000) * 10.0 ** random.integers(-300, 300, 20_000)
    frame = pd.DataFrame({"age": age, "p": random.integers(0, 500, 20_000)})
    answers = set()
    for threads, table in ((1, frame), (4, frame.sample(frac=1, random_state=1))):
        with open_source(table, threads=threads) as source:
            for unit in (OneRowEach(), PersonUnit("p", rows=7)):
                found = Query(source, unit).run([AGE]).of(AGE)
                answers.add((type(unit).__name__, tuple(found[0])))
    assert len(answers) == 2


def test_names_with_quotes_unicode_and_keywords():
    name = 'select "a" from ; drop table -- é'
    frame = pd.DataFrame({name: [1.0, 2.0], "group": ["x'); --", "ß"]})
    with open_source(frame) as source:
        request = Moments(col(name), GRID)
        query = Query(source, OneRowEach(), by={"g": col("group")}, keys=["x'); --", "ß", '"'])
        assert query.run([request]).of(request)[:, 0].tolist() == [1, 1, 0]


def test_unknown_keys_and_people_are_bounded_by_the_groups_of_a_person():
    frame = pd.DataFrame({"p": [1] * 50 + [2], "g": [str(i) for i in range(50)] + ["0"]})
    with open_source(frame) as source:
        unit = PersonUnit("p", rows=5, most_groups=3)
        by = {"g": col("g")}
        assert sum(Query(source, unit, by=by).people_by_key().values()) == 4
        keys = [str(i) for i in range(50)]
        assert Query(source, unit, by=by, keys=keys).run([People()]).of(People()).sum() == 4
        assert Query(source, unit).run([People()]).of(People()).tolist() == [2]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: Query(s, OneRowEach(), where=col("agee") > 1), "did you mean 'age'"),
        (lambda s: Query(s, OneRowEach(), where=col("sex") > 1), "mixes values of kind"),
        (lambda s: Query(s, OneRowEach(), where=col("sex") < "b"), "needs a value of kind"),
        (lambda s: Query(s, OneRowEach(), where=col("age") + 1), "a filter is a condition"),
        (lambda s: Query(s, OneRowEach(), by={"w": col("wage")}), "too many to be groups"),
        (lambda s: Query(s, OneRowEach(), by={"s": col("sex")}, keys=[]), "empty"),
        (
            lambda s: Query(s, OneRowEach(), by={"s": col("sex")}, keys=[1]),
            "holds text, and the key 1",
        ),
        (lambda s: Query(s, OneRowEach(), by={"s": col("sex")}, keys=["f", "f"]), "given twice"),
        (lambda s: Query(s, OneRowEach(), by={"s": col("sex")}).run([Rows()]), "not known"),
        (lambda s: Query(s, PersonUnit("who", rows=1)), "no column 'who'"),
        (lambda s: Query(s, OneRowEach()).check(Moments(col("sex"), GRID)), "needs numbers"),
        (lambda s: Grid.for_bounds(3, 3), "must be below"),
        (lambda s: Grid.for_bounds(0, "1e-400"), "rescale"),
        (lambda s: bool(col("age") > 1), "no truth value"),
        (lambda s: from_json(["system", [], []]), "not an operation"),
    ],
)
def test_questions_are_refused_on_public_facts(build, message):
    with (
        open_source(pd.DataFrame({"age": [1], "wage": [0.5], "sex": ["f"]})) as source,
        pytest.raises(UsageError, match=message),
    ):
        build(source)


def test_sums_beyond_64_bits_are_exact():
    huge = pa.table({"x": pa.array([1 << 62] * 4, pa.int64())})
    grid = Grid.for_bounds(0, 1 << 62, whole=True)
    request = Moments(col("x"), grid)
    with open_source(huge) as source:
        assert Query(source, OneRowEach()).run([request]).of(request)[0][2] == 4 * grid.cells
        assert grid.value(grid.cells) == 1 << 62

"""Synthetic tables: made of answers alone, with the values of keys and bins."""

import json

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import UsageError

ROWS = 400
DATA = pa.table(
    {
        "sex": ["f", "m"] * (ROWS // 2),
        "site": [1, 2, 1, None] * (ROWS // 4),
        "age": [5 + 7 * (i % 11) for i in range(ROWS)],
        "cost": [0.25 * (i % 40) for i in range(ROWS)],
    }
)
SEX, SITE = {"sex": ["f", "m"]}, {"site": [1, 2, None]}


@pytest.fixture
def session():
    with tc.Session(DATA, tc.one_row_each, tc.rho(10**7), tc.in_memory, name="p") as opened:
        yield opened


def by(session, **keys):
    return session.group_by(*keys, keys=keys)


def test_a_plan_becomes_rows_of_its_values(session):
    plan = session.plan(
        [
            by(session, **SEX, **SITE).agg(n=tc.count()),
            by(session, **SEX).agg(ages=tc.histogram("age", [0, 20, 40, 90])),
            session.agg(costs=tc.histogram("cost", [0, "2.5", 10]), spent=tc.sum("cost", 0, 10)),
        ]
    )
    answers = plan.release(rho=10**6)
    made = tc.synthetic_table(answers, rows=300, seed=4)
    rows = made.table.to_pylist()
    assert made.table.column_names == ["sex", "site", "age", "cost"]
    assert len(rows) == 300
    assert {row["site"] for row in rows} == {1, 2, None}
    assert all(type(row["age"]) is int and 0 <= row["age"] <= 90 for row in rows)
    assert all(isinstance(row["cost"], float) and 0 <= row["cost"] <= 10 for row in rows)
    assert made.unused == ("spent",)
    assert [error["label"] for error in made.errors] == ["n", "ages", "costs"]
    assert all(error["distance"] < 6 for error in made.errors)
    young = sum(row["age"] < 20 and row["sex"] == "f" for row in rows) / 300
    pairs = zip(DATA["age"].to_pylist(), DATA["sex"].to_pylist(), strict=True)
    true = np.mean([age < 20 and sex == "f" for age, sex in pairs])
    assert abs(young - true) < 0.02
    told = json.loads(made.table.schema.metadata[b"tacit synthetic table"])
    assert told == {"made of certificates": [answers[0].certificate.body["digest"]]}
    assert tc.synthetic_table(answers, rows=300, seed=4).table.equals(made.table)
    assert "300 made-up rows" in made._repr_html_()
    assert repr(made) == "<SyntheticTable of 300 rows: sex, site, age, cost>"


def test_single_answers_do_too_and_cost_nothing(session):
    answer = by(session, **SEX).agg(n=tc.count()).release(rho=10**6)
    before = session.spent
    made = tc.synthetic_table(answer)
    assert abs(made.table.num_rows - ROWS) <= 2
    assert session.spent == before


def test_bad_input(session):
    counts = by(session, **SEX).agg(n=tc.count()).release(rho=10)
    mean = by(session, **SEX).agg(m=tc.mean("age", 0, 90)).release(rho=10)
    total = session.agg(n=tc.count()).release(rho=10)
    bins = session.agg(h=tc.histogram("age", [0, 40, 90])).release(rho=10)
    other = session.agg(h=tc.histogram("age", [0, 50, 90])).release(rho=10)
    keyed = session.group_by("age", keys=[5, 12]).agg(n=tc.count()).release(rho=10)
    some = session.filter(tc.col("age") > 20).group_by("sex", keys=["f", "m"]).agg(n=tc.count())
    for wrong, said in [
        ([], "made of answers"),
        ([counts, 3], "made of answers"),
        ([mean, total], "counts rows by group or in bins"),
        ([bins, other], "different bins"),
        ([bins, keyed], "in bins in another"),
        ([keyed, bins], "in bins in another"),
        ([counts, some.release(rho=10)], "different rows"),
    ]:
        with pytest.raises(UsageError, match=said):
            tc.synthetic_table(wrong)
    for rows in (0, -1, 10**9, "x"):
        with pytest.raises(UsageError):
            tc.synthetic_table(counts, rows=rows)

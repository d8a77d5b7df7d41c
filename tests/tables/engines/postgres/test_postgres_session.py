"""A session on PostgreSQL from end to end: each aggregate, with much budget, is what numpy says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.errors import UsageError

PLACE = np.arange(3000)
FRAME = pd.DataFrame(
    {"x": PLACE % 50, "g": np.where(PLACE % 3 == 0, "a", "b"), "person": PLACE // 4}
)
ASKED = {
    "n": (tc.count(), len),
    "people": (tc.count_people(), lambda d: d.person.nunique()),
    "total": (tc.sum("x", 0, 50), lambda d: d.x.sum()),
    "average": (tc.mean("x", 0, 50), lambda d: d.x.mean()),
    "spread": (tc.std("x", 0, 50), lambda d: d.x.std(ddof=0)),
    "middle": (tc.median("x", 0, 50), lambda d: d.x.median()),
    "ninth": (tc.percentile("x", 90, 0, 50), lambda d: d.x.quantile(0.9)),
    "most": (tc.max("x", 0, 50), lambda d: d.x.max()),
}
METHODS = {
    "smooth": {"method": "smooth"},
    "sample_and_aggregate": {"method": "sample_and_aggregate", "bins": 50},
}


@pytest.fixture(name="visits")
def _visits(postgres):
    reader = postgres.server.role("reader")
    postgres.run("create table visits (x integer, g text, person bigint)")
    with postgres.connect() as connection, connection.cursor().copy("copy visits from stdin") as c:
        for row in FRAME.itertuples(index=False):
            c.write_row(tuple(row))
    postgres.run(f"grant select on visits to {reader}")
    return postgres.dsn(reader)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("person", rows=4, groups=2)], ids=str)
def test_each_aggregate_is_what_numpy_says(visits, unit, grouped):
    with tc.Session(visits, table="visits", unit=unit, budget=tc.epsilon(10**6)) as session:
        asked = session.group_by("g", keys=["a", "b"]) if grouped else session
        answer = asked.agg(
            bars=tc.histogram("x", [0, 10, 25, 50]), **{n: a for n, (a, _) in ASKED.items()}
        ).release(epsilon=10**6)
        groups = [FRAME[FRAME.g == g] for g in "ab"] if grouped else [FRAME]
        for label, (_, truth) in ASKED.items():
            if label == "people" and unit.column is None:
                continue
            expected = [float(truth(group)) for group in groups]
            assert answer.column(label)["value"] == pytest.approx(expected, abs=1), label
        bars = [np.histogram(group.x, [0, 10, 25, 50])[0].tolist() for group in groups]
        assert answer.column("bars")["value"] == bars


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("person", rows=4)], ids=str)
def test_methods_of_a_question_run_there_too(visits, unit, method):
    with tc.Session(
        visits, table="visits", unit=unit, budget=tc.epsilon_delta(10**4, "1e-3")
    ) as session:
        asked = session.agg(m=tc.median("x", 0, 50, **METHODS[method]))
        value = asked.release(epsilon=20, delta="1e-4").value("m")
        assert value == pytest.approx(24.5, abs=5)


def test_unknown_keys_are_released(visits):
    with tc.Session(
        visits, unit=tc.one_row_each, table="visits", budget=tc.epsilon_delta(100, "1e-3")
    ) as session:
        answer = session.group_by("g").agg(n=tc.count()).release(epsilon=50, delta="1e-4")
        assert answer.keys == [("a",), ("b",)]
        assert answer.column("n")["value"] == pytest.approx([1000, 2000], abs=5)


def test_a_person_column_that_cannot_be_read_is_refused_when_the_session_is_made(postgres):
    postgres.run("create table t (who jsonb)")
    with pytest.raises(UsageError, match="'who' has the type jsonb, which identifies nobody"):
        tc.Session(postgres.dsn(), table="t", unit=tc.unit("who", rows=1), budget=tc.epsilon(1))

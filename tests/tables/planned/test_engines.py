"""Plans on every engine: groups, filters, ranges and rows that are left out."""

import numpy as np
import pytest

import tacit as tc
from support.tables.engine_tables import ENGINES

ROWS = {
    "sex": ["fmx"[i % 7 % 3] for i in range(200)],
    "age": [(i * 37) % 97 if i % 13 else None for i in range(200)],
    "pay": [float("nan") if i % 17 == 0 else i / 7 for i in range(200)],
}

TYPES = {"sex": "varchar", "age": "integer", "pay": "double"}


@pytest.mark.parametrize("engine", list(ENGINES))
def test_a_plan_answers_the_same_on_every_engine(engine, request):
    listed = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    source = ENGINES[engine](request)(listed, TYPES)
    with tc.Session(source, tc.one_row_each, tc.rho(10**7), tc.in_memory, name="t") as session:
        by = session.group_by("sex", keys=["f", "m"])
        asked = [
            by.agg(n=tc.count(), age=tc.mean("age", 0, 100), pay=tc.sum("pay", 0, 20)),
            session.filter(tc.col("age") >= 50).agg(old=tc.count(), paid=tc.mean("pay", 0, 20)),
            session.agg(up_to=tc.prefix_sums("age", [0, 30, 97])),
        ]
        groups, old, up_to = session.plan(asked, unlisted="drop").release(rho=10**6)
        assert groups.certificate.verify(session.ledger)
    rows = zip(*ROWS.values(), strict=True)
    kept = [(s, a, p) for s, a, p in rows if s in "fm" and a is not None]
    for sex in "fm":
        ages = [a for s, a, _ in kept if s == sex]
        pays = [min(p, 20) for s, _, p in kept if s == sex and p == p]
        assert groups.value("n", sex) == pytest.approx(len(ages), abs=1)
        assert groups.value("age", sex) == pytest.approx(np.mean(ages), abs=0.3)
        assert groups.value("pay", sex) == pytest.approx(sum(pays), abs=2)
    paid = [min(p, 20) for _, a, p in kept if a >= 50 and p == p]
    assert old.value("old") == pytest.approx(sum(a >= 50 for _, a, _ in kept), abs=1)
    assert old.value("paid") == pytest.approx(np.mean(paid), abs=0.3)
    assert up_to.column("up_to")["value"][0][1] == pytest.approx(len(kept), abs=1)


@pytest.mark.parametrize("engine", list(ENGINES))
def test_true_and_false_are_cut_as_the_numbers_that_a_histogram_counts(engine, request):
    rows = [{"b": value} for value in [True, False, None, True] * 50]
    source = ENGINES[engine](request)(rows, {"b": "boolean"})
    edges = [0, 1, 2]
    made = {
        "bins": tc.histogram("b", edges),
        "below": tc.cdf("b", edges),
        "ranges": tc.ranges("b", edges),
    }
    with tc.Session(source, tc.one_row_each, tc.rho(10**9), tc.in_memory, name="t") as session:
        (answer,) = session.plan([session.agg(**made)], unlisted="drop").release(rho=10**8)
    assert [round(x) for x in answer.column("bins")["value"][0]] == [50, 100]
    assert answer.column("below")["value"][0] == pytest.approx([1 / 3, 1], abs=0.01)
    assert {50, 100, 150} == {round(x) for x in answer.column("ranges")["value"][0]}

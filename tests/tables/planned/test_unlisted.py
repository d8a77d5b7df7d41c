"""Rows with values that are not listed: counted, or left out of the whole plan."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import UsageError

ROWS = [
    {"sex": "fmx"[i % 7 % 3], "site": i * i % 5, "age": (i * 37) % 97 if i % 11 else None}
    for i in range(400)
]
EDGES = [0, 20, 50, 90]
PRICES = [(tc.rho(10**6), {"rho": 10**5}), (tc.epsilon(10**5), {"epsilon": 10**4})]


def asked(session):
    keys = {"sex": ["m", "f"], "site": [0, 1]}
    return [
        session.agg(n=tc.count()),
        session.group_by("sex", "site", keys=keys).agg(n=tc.count()),
        session.group_by("site", keys=[4]).agg(ages=tc.histogram("age", EDGES)),
        session.filter(tc.col("age") >= 30).agg(old=tc.count()),
        session.agg(up_to=tc.prefix_sums("age", EDGES)),
    ]


def opened(budget):
    return tc.Session(pa.Table.from_pylist(ROWS), tc.one_row_each, budget, tc.in_memory, name="t")


def complete(row):
    return (
        row["sex"] in "mf"
        and row["site"] in (0, 1, 4)
        and row["age"] is not None
        and row["age"] <= 90
    )


@pytest.mark.parametrize(("budget", "price"), PRICES, ids=["gaussian", "laplace"])
def test_dropped_rows_count_nowhere(budget, price):
    kept = [row for row in ROWS if complete(row)]
    assert 0 < len(kept) < len(ROWS)
    with opened(budget) as session:
        plan = session.plan(asked(session), unlisted="drop")
        total, both, ages, old, up_to = plan.release(**price)
        found = total.certificate.verify(session.ledger)
        assert found, str(found)
        assert both.certificate.body["question"]["query"]["where"]
    assert total.value("n") == pytest.approx(len(kept), abs=1)
    for sex, site in itertools.product("mf", (0, 1)):
        truth = sum(row["sex"] == sex and row["site"] == site for row in kept)
        assert both.value("n", sex, site) == pytest.approx(truth, abs=1)
    bins = [
        sum(row["site"] == 4 and low <= row["age"] < high for row in kept)
        for low, high in ((0, 20), (20, 50), (50, 91))
    ]
    assert ages.value("ages", 4) == pytest.approx(bins, abs=1)
    assert old.value("old") == pytest.approx(sum(row["age"] >= 30 for row in kept), abs=1)
    sums = [sum(row["age"] < end for row in kept) for end in (20, 50, 91)]
    assert up_to.column("up_to")["value"][0] == pytest.approx(sums, abs=1)


def test_it_is_another_question_with_less_error():
    with opened(tc.rho(2)) as session:
        keys = {"sex": ["f", "m"], "site": [0, 1, 2]}
        question = session.group_by("sex", "site", keys=keys).agg(n=tc.count())
        plain, drop = (
            session.plan([question, session.agg(m=tc.count())], unlisted=u)
            for u in ("count", "drop")
        )
        errors = [plan.preview(rho=1).errors["n"][0] for plan in (plain, drop)]
        assert errors[1] < errors[0]
        plain.release(rho=1)
        assert drop.cost(rho=1).amount > 0
        with pytest.raises(UsageError, match="unlisted is"):
            session.plan([question], unlisted="keep")


def test_without_columns_nothing_is_dropped():
    with opened(tc.rho(10**6)) as session:
        (answer,) = session.plan([session.agg(n=tc.count())], unlisted="drop").release(rho=10**5)
        assert answer.value("n") == pytest.approx(len(ROWS), abs=1)


def dual_bound(sizes, marginals, rounds=60):
    """A lower bound on the total squared error of every strategy, one cell of each axis unlisted.

    It is ``(trace (R G R)^(1/2))^2 / sum v`` of the convex program (Denisov et al. 2022) at the
    numbers v that its fixed point goes to; by symmetry v is one number for each set of axes with an
    unlisted value, and G falls into blocks, one for each set of axes without their mean.
    """
    axes = range(len(sizes))
    listed, every = np.diag([1.0, 0.0]), [np.array([[n, n**0.5], [n**0.5, 1]]) for n in sizes]
    cells = np.ones(())
    for n in sizes:
        cells = np.multiply.outer(cells, [n, 1.0])
    blocks = []
    for part in {
        b for a in marginals for w in range(len(a) + 1) for b in itertools.combinations(a, w)
    }:
        rest = [i for i in axes if i not in part]
        gram = np.zeros((2 ** len(rest),) * 2)
        for one in marginals:
            if set(part) <= set(one):
                product = np.ones((1, 1))
                for i in rest:
                    product = np.kron(product, listed if i in one else every[i])
                gram += product
        where = tuple(0 if i in part else slice(None) for i in axes)
        blocks.append((where, math.prod(sizes[i] - 1 for i in part), gram))
    v, best = np.ones(cells.shape), 0.0
    for _ in range(rounds):
        told, trace = np.zeros(cells.shape), 0.0
        for where, often, gram in blocks:
            root = np.sqrt(v[where].ravel())
            values, vectors = np.linalg.eigh(root[:, None] * gram * root)
            roots = np.sqrt(np.maximum(values, values[-1] * 1e-15))
            trace += often * roots.sum()
            told[where] += often * ((vectors**2) @ roots).reshape(told[where].shape)
        best = max(best, trace**2 / float((v * cells).sum()))
        v = told / cells
    return best


@pytest.mark.full
@pytest.mark.parametrize(("sizes", "near"), [((7, 16, 7, 14, 6, 5, 2, 2), 1.01), ((3, 4, 5), 1.03)])
def test_a_plan_of_marginals_is_near_the_least_error_there_is(sizes, near):
    names = [f"c{i}" for i in range(len(sizes))]
    table = pa.table({name: [0] for name in names})
    keys = {name: list(range(n)) for name, n in zip(names, sizes, strict=True)}
    pairs = [pair for ways in (1, 2) for pair in itertools.combinations(names, ways)]
    cells = [math.prod(len(keys[name]) for name in pair) for pair in pairs]
    domain = tc.workload.marginals(dict(zip(names, sizes, strict=True)), ways=(1, 2))
    found = {}
    with tc.Session(table, tc.one_row_each, tc.rho(1), tc.in_memory, name="t") as session:
        each = [session.group_by(*p, keys={n: keys[n] for n in p}).agg(n=tc.count()) for p in pairs]
        for unlisted in ("count", "drop"):
            errors = session.plan(each, unlisted=unlisted).preview(rho="1/2").errors.values()
            found[unlisted] = sum(n * e[0] ** 2 for n, e in zip(cells, errors, strict=True))
    assert found["drop"] == pytest.approx(domain.lower_bound(rho="1/2") ** 2 * sum(cells), rel=1e-4)
    marginals = [tuple(names.index(name) for name in pair) for pair in pairs]
    bound = dual_bound(sizes, marginals)
    assert bound * (1 - 1e-6) <= found["count"] <= bound * near**2


@pytest.mark.full
def test_pairs_of_a_hundred_columns_are_planned():
    names = [f"c{i}" for i in range(100)]
    table = pa.table({name: [0] for name in names})
    with tc.Session(table, tc.one_row_each, tc.rho(1), tc.in_memory, name="wide") as session:
        each = [
            session.group_by(*pair, keys={name: [0, 1, 2] for name in pair}).agg(n=tc.count())
            for pair in itertools.combinations(names, 2)
        ]
        told = session.plan(each).strategy
    assert len(told) == 1 + 100 + 4950
    assert sum(one["share"] for one in told) == 1

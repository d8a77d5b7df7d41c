"""Sets of axes that the engine counts: every wanted one lies within, and its counts are sums."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.arithmetic.mixing import Repeatable
from tacit.tables.together.strategy import counted_sets, largest_sets, summed

SIZES = [3, 2, 5, 4, 2, 7, 300, 2000, 3, 6]


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_every_set_lies_within_the_counted_one(ways):
    wanted = [*itertools.combinations(range(len(SIZES)), ways), (0,), ()]
    for found in (largest_sets(wanted), counted_sets(wanted, SIZES)):
        for part, held in found.items():
            assert set(part) <= set(held)
        assert set(wanted) <= set(found)
    for subset, held in counted_sets(wanted, SIZES).items():
        cells = math.prod(SIZES[i] for i in held)
        assert cells <= 1 << 20 or any(set(subset) <= set(one) and held == one for one in wanted)


def test_pairs_of_many_columns_take_few_queries():
    pairs = list(itertools.combinations(range(100), 2))
    assert len(set(counted_sets(pairs, [5] * 100).values())) <= 25 * 26 / 2
    few = pairs[:10]
    assert counted_sets(few, [5] * 100) == largest_sets(few)


def test_sums_are_those_of_the_whole_table():
    stream, sizes = Repeatable(4), [3, 2, 4]
    whole = np.array([int(stream.uniform(0, 9)) * (1 << 40) for _ in range(24)])
    occur = np.flatnonzero(whole)
    for ways in range(4):
        for subset in itertools.combinations(range(3), ways):
            gone = tuple(i for i in range(3) if i not in subset)
            right = whole.reshape(sizes).sum(axis=gone)
            found = summed(occur, whole[occur], (0, 1, 2), subset, sizes)
            assert found.dtype == object
            assert np.array_equal(found, right)
    assert not summed([], [], (0, 1, 2), (0, 2), sizes).any()


@pytest.mark.full
@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("c0", rows=2)], ids=str)
def test_a_plan_of_many_pairs_counts_what_each_pair_counts(unit):
    columns = {
        f"c{i}": [(j * (i + 2) + j // 5) % (3 + i % 2) for j in range(200)] for i in range(8)
    }
    keys = [0, 1, 3]
    with tc.Session(pa.table(columns), unit, tc.rho(10**8), tc.in_memory, name="p") as session:
        asked = {
            (a, b): session.group_by(a, b, keys={a: keys, b: keys}).agg(**{f"{a}_{b}": tc.count()})
            for a, b in itertools.combinations(columns, 2)
        }
        answers = session.plan(list(asked.values())).release(rho=10**7)
        for (a, b), answer in zip(asked, answers, strict=True):
            if unit is tc.one_row_each:
                rows = list(zip(columns[a], columns[b], strict=True))
                right = [rows.count(key) for key in answer.keys]
                assert np.allclose(answer.column(f"{a}_{b}")["value"], right, atol=0.5)
            else:
                assert len(answer.keys) == 9
        assert answers[0].certificate.verify(session.ledger)

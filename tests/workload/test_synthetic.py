"""Rows of a graphical model: what was not asked is independent, what was asked is kept."""

import itertools
import logging
import math
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.optimize import nnls

from tacit.arithmetic.mixing import Repeatable
from tacit.errors import MissingExtraError, UsageError
from tacit.workload.range_strategies import best_strategy
from tacit.workload.synthetic import (
    counts_of,
    drawn_given,
    fitted_rows,
    graphical_rows,
    nonnegative_cells,
    nonnegative_marginals,
)

SIZES = [3, 4, 2]
with_mbi = pytest.mark.skipif(find_spec("mbi") is None, reason="pip install 'tacit-dp[synthetic]'")


def joint():
    """Return a distribution of three columns, the outer ones independent given the middle one."""
    stream = Repeatable(3)
    left = np.array([[1 + stream.random() * 9 for _ in range(4)] for _ in range(3)])
    right = np.array([[1 + stream.random() * 9 for _ in range(2)] for _ in range(4)])
    both = left[:, :, None] * right[None]
    return both / both.sum()


def asked(table):
    return [((0, 1), table.sum(axis=2)), ((2, 1), table.sum(axis=0).T)]


def known(marginals, spread=1.0):
    return [np.full(counts.shape, spread) for _, counts in marginals]


def test_a_column_is_drawn_as_the_ones_before_it_say():
    stream = Repeatable(1)
    told = np.array([[[0.0, 3.0, 1.0], [2.0, 2.0, 4.0]], [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]])
    given = np.array([[0, 0]] * 400 + [[0, 1]] * 800 + [[1, 0]] * 30 + [[1, 1]] * 5)
    given = given[np.argsort(stream.words(len(given)))]
    column = drawn_given(given, told, stream)
    held = counts_of(np.column_stack([given, column]), (0, 1, 2), told.shape)
    assert np.abs(held[0] - [[0, 300, 100], [200, 200, 400]]).max() <= 1
    assert held[0, 0, 0] == 0
    assert np.abs(held[1] - [[10, 10, 10], [5, 0, 0]]).max() <= 1
    alone = drawn_given(np.zeros((8, 0), dtype=np.int64), np.array([1.0, 3.0]), Repeatable(2))
    assert np.abs(np.bincount(alone) - [2, 6]).max() <= 1
    # as likely in each place: the place of a row says nothing of its column
    firsts = [drawn_given(given[:0], told, stream).size]
    tries = [drawn_given(np.array([[0, 0]] * 4), told, stream)[0] for _ in range(400)]
    assert firsts == [0]
    assert abs(np.mean(np.array(tries) == 1) - 0.75) < 0.1


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mbi", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tacit-dp\[synthetic\]'"):
        graphical_rows([2], [((0,), np.ones(2))], [np.ones(2)], 10, Repeatable(1))


@with_mbi
@pytest.mark.full
def test_what_was_not_asked_is_independent_given_what_was():
    table = joint()
    marginals = asked(2000 * table)
    made = graphical_rows(SIZES, marginals, known(marginals), 4000, Repeatable(1))
    off = counts_of(made, (0, 1, 2), SIZES) - 4000 * table
    assert np.abs(off).max() < 12
    for axes, counts in marginals:
        assert np.abs(counts_of(made, axes, counts.shape) - 2 * counts).max() < 5


@with_mbi
@pytest.mark.full
def test_the_choices_are_those_of_the_stream_and_nothing_is_said(capfd, caplog):
    marginals = asked(500 * joint())
    state = repr(np.random.get_state())
    with caplog.at_level(logging.INFO):
        again = [
            graphical_rows(SIZES, marginals, known(marginals), 100, Repeatable(seed))
            for seed in (9, 9, 10)
        ]
    assert np.array_equal(again[0], again[1])
    assert not np.array_equal(again[0], again[2])
    assert repr(np.random.get_state()) == state
    assert "".join(capfd.readouterr()) == ""
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]


@with_mbi
@pytest.mark.full
def test_odd_marginals():
    spread = np.array([1.0, np.inf, 1.0])
    rest = [((), np.array(300.0)), ((1,), np.array([-5.0, 400.0]))]
    made = graphical_rows(
        [3, 2],
        [((0,), np.array([200.0, 0.0, 50.0])), *rest],
        [spread, *known(rest)],
        70,
        Repeatable(1),
    )
    held = np.bincount(made[:, 0], minlength=3) / 70
    assert held[1] > 0.05  # of which nothing was said, not that there are none
    assert np.bincount(made[:, 1], minlength=2)[0] <= 1
    zero = [((0, 1), np.full((1, 2), -3.0))]
    made = graphical_rows([1, 2], zero, known(zero, 1e-3), 10, Repeatable(1))
    assert made.shape == (10, 2)


@with_mbi
def test_a_model_too_large_is_refused_with_its_size():
    sizes = [200, 200, 200]
    pairs = [((i, j), np.ones((200, 200))) for i, j in ((0, 1), (1, 2), (0, 2))]
    with pytest.raises(UsageError, match="8,000,000 cells; at most"):
        graphical_rows(sizes, pairs, known(pairs), 10, Repeatable(1))


# The nearest counts that are not below zero: against their definition, and against scipy.


NONNEGATIVE_SIZES = (3, 2, 4)
PAIRS = list(itertools.combinations(range(3), 2))
SETS = [(), (0,), (1,), (2,), *PAIRS]


def drawn(stream, shape, low=-3, high=6):
    return np.array([stream.uniform(low, high) for _ in range(math.prod(shape))]).reshape(shape)


@pytest.mark.full
@pytest.mark.parametrize("norm", ["L1", "L2"])
@pytest.mark.parametrize("bins", [1, 7, 40])
def test_cells_are_those_of_least_squares_above_zero(bins, norm):
    strategy, stream = best_strategy({"ranges": 1}, bins, norm), Repeatable(bins)
    noisy = [drawn(stream, (len(strategy.matrix),), -30, 50) for _ in range(5)]
    counts = np.array([strategy.inverse @ each for each in noisy])
    found = nonnegative_cells(counts, strategy.covariance, along=1)
    for each, one in zip(noisy, found, strict=True):
        right, _ = nnls(strategy.matrix.astype(float), each)
        assert np.abs(one - right).max() < 1e-6
    assert found.min() >= 0


def residuals(marginals):
    found = {}
    for part in SETS:
        subset = next(s for s in marginals if set(part) <= set(s))
        told = marginals[subset].sum(axis=tuple(p for p, i in enumerate(subset) if i not in part))
        told = np.asarray(told)
        for axis in range(told.ndim):
            told = told - told.mean(axis=axis, keepdims=True)
        found[part] = told
    return found


def pairs_of(table):
    return {s: table.sum(axis=next(i for i in range(3) if i not in s)) for s in PAIRS}


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_marginals_are_the_nearest_ones(seed):
    """A point is the nearest of a convex set where no direction into the set leads back."""
    stream = Repeatable(seed)
    variances = {part: float(drawn(stream, (1,), 1, 40)[0]) for part in SETS}
    noisy = pairs_of(drawn(stream, NONNEGATIVE_SIZES))
    found = nonnegative_marginals(noisy, variances)
    assert min(each.min() for each in noisy.values()) < 0 <= min(x.min() for x in found.values())
    for (s, a), (t, b) in itertools.combinations(found.items(), 2):  # they agree
        (same,) = set(s) & set(t)
        one, two = a.sum(axis=1 - s.index(same)), b.sum(axis=1 - t.index(same))
        assert np.abs(one - two).max() < 1e-6
    point, start = residuals(found), residuals(noisy)
    for _ in range(50):
        other = residuals(pairs_of(np.maximum(drawn(stream, NONNEGATIVE_SIZES, -4, 4), 0)))
        told = sum(
            float(((start[p] - point[p]) * (other[p] - point[p])).sum()) / variances[p]
            for p in SETS
        )
        assert told < 1e-6


@pytest.mark.full
def test_counts_above_zero_stay_as_they_are():
    table = np.array([[1.5, 2.0], [0.25, 3.0]])
    same = nonnegative_marginals({(0, 1): table}, dict.fromkeys([(), (0,), (1,), (0, 1)], 1.0))
    assert np.array_equal(same[0, 1], table)
    assert nonnegative_cells(np.array([0.0, 2.0]), np.eye(2)).tolist() == [0.0, 2.0]


@pytest.mark.full
def test_hopeless_counts_are_all_zero():
    table = -np.ones((3, 2))
    same = nonnegative_marginals({(0, 1): table}, dict.fromkeys([(), (0,), (1,), (0, 1)], 2.0))
    assert not same[0, 1].any()
    assert not nonnegative_cells(-np.ones(4), np.eye(4)).any()


# Rows fitted to marginals: exact where these are counts of a table, near where they are noisy.


SYNTHETIC_ROWS_SIZES = [3, 4, 2, 5]


def people(rows):
    stream = Repeatable(5)
    hidden = np.array([int(stream.random() * 4) for _ in range(rows)])
    turns = [
        np.array([int(stream.random() * 2) for _ in range(rows)]) for _ in SYNTHETIC_ROWS_SIZES
    ]
    return np.stack(
        [(hidden + t) % size for t, size in zip(turns, SYNTHETIC_ROWS_SIZES, strict=True)], axis=1
    )


def marginals(table, ways):
    sets = itertools.combinations(range(len(SYNTHETIC_ROWS_SIZES)), ways)
    return [
        (axes, counts_of(table, axes, [SYNTHETIC_ROWS_SIZES[i] for i in axes]).astype(float))
        for axes in sets
    ]


@pytest.mark.few(3)
@pytest.mark.parametrize(("ways", "most"), [(1, 1.01), (2, 6.0), (3, 12.0)])
def test_counts_of_a_table_are_kept_within_a_few_rows(ways, most):
    table = people(3000)
    wanted = marginals(table, ways)
    made = fitted_rows(SYNTHETIC_ROWS_SIZES, wanted, 3000, Repeatable(1))
    for axes, counts in wanted:
        assert np.abs(counts_of(made, axes, counts.shape) - counts).max() <= most


@pytest.mark.parametrize(
    ("rows", "scale"), [(2000, 10), pytest.param(20_000, 30, marks=pytest.mark.full)]
)
def test_noise_is_not_added_to(rows, scale):
    table, stream = people(rows), Repeatable(2)
    exact = marginals(table, 2)
    noisy = []
    for axes, counts in exact:
        noise = np.array([stream.gauss(0, scale) for _ in range(counts.size)])
        noisy.append((axes, counts + noise.reshape(counts.shape)))
    made = fitted_rows(SYNTHETIC_ROWS_SIZES, noisy, rows, Repeatable(3))
    found = [np.abs(counts_of(made, a, c.shape) - c).mean() for a, c in exact]
    direct = [np.abs(c - d).mean() for (_, c), (_, d) in zip(exact, noisy, strict=True)]
    assert np.mean(found) < 1.1 * np.mean(direct)


def test_synthetic_rows_odd_marginals():
    zero = [((0,), np.zeros(3)), ((1, 0), np.full((4, 3), -5.0)), ((), np.array(7.0))]
    made = fitted_rows(SYNTHETIC_ROWS_SIZES[:2], zero, 10, Repeatable(1))
    assert made.shape == (10, 2)
    one = fitted_rows([1, 2], [((0, 1), np.array([[0.0, 3.0]]))], 1, Repeatable(1))
    assert one.tolist() == [[0, 1]]
    again = [
        fitted_rows(SYNTHETIC_ROWS_SIZES, marginals(people(50), 2), 50, Repeatable(9))
        for _ in range(2)
    ]
    assert np.array_equal(*again)


def test_the_order_of_axes_is_that_of_the_counts():
    counts = np.array([[10.0, 0.0], [0.0, 0.0], [0.0, 20.0]])
    made = fitted_rows([2, 3], [((1, 0), counts)], 30, Repeatable(1))
    assert np.array_equal(counts_of(made, (1, 0), (3, 2)), counts)

"""Rows of a graphical model: what was not asked is independent, what was asked is kept."""

import logging
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from tacit.arithmetic.mixing import Repeatable
from tacit.errors import MissingExtraError, UsageError
from tacit.workload.synthetic import counts_of, drawn_given, graphical_rows

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

"""What every mechanism of the local model does alike: reports, states, sums, refusals."""

import os
import ssl
from itertools import pairwise

import numpy as np
import pytest

from local.oracles import NAMES, ORACLES, truth
from tacit.errors import MismatchError, UsageError
from tacit.local import (
    DirectEncoding,
    OptimizedLocalHashing,
    SubsetSelection,
    UnaryEncoding,
)
from tacit.noise import bits


@pytest.mark.parametrize("oracle", ORACLES, ids=NAMES)
def test_states_merge_in_any_order_and_stay_small(oracle):
    reports = oracle.perturb_many(truth(12, 5000))
    whole = oracle.aggregate(reports)
    cuts = [0, 1, 1, 700, 3001, 5000]
    parts = [oracle.aggregate(reports[a:b]) for a, b in pairwise(cuts)]
    merged = oracle.empty()
    for part in reversed(parts):
        merged = merged + part
    assert merged == whole
    assert merged.sums.nbytes <= 8 * max(64, 12)
    assert merged.sums.dtype == np.int64
    estimate = oracle.estimate(whole)
    exact = [float(c) for c in oracle.exact_counts(whole)]
    assert estimate.counts == pytest.approx(exact, abs=1e-9)


def test_states_of_other_questions_do_not_add_up():
    a, b = DirectEncoding(4, epsilon=1), DirectEncoding(4, epsilon=2)
    with pytest.raises(MismatchError):
        a.empty() + b.empty()
    with pytest.raises(MismatchError):
        a.estimate(b.empty())


@pytest.mark.parametrize("oracle", ORACLES, ids=NAMES)
def test_one_report_is_as_one_of_many(oracle):
    report = oracle.perturb(3)
    batch = oracle.perturb_many([3])
    assert np.asarray(report).shape == batch[0].shape
    assert oracle.aggregate([report]).n == 1


@pytest.mark.parametrize("oracle", ORACLES, ids=NAMES)
@pytest.mark.parametrize(
    "bad",
    [
        [10**9],
        [-1],
        [float("nan")],
        [[[1]]],
        ["report"],
        [10**30],
        [None],
    ],
    ids=str,
)
def test_impossible_reports_are_refused(oracle, bad):
    rows = [[bad[0]] * oracle.layout.columns] if oracle.layout.columns else bad
    if isinstance(oracle, OptimizedLocalHashing) and bad == [10**9]:
        rows = [1 << 34]
    with pytest.raises(UsageError):
        oracle.aggregate(rows)


def test_stray_bits_and_wrong_weights_are_refused_and_told():
    unary, subset = UnaryEncoding(12, epsilon=1), SubsetSelection(12, p="3/4", size=3)
    rows = np.array([[7, 0], [0, 16], [255, 15]], np.uint8)
    assert unary.valid(rows).tolist() == [True, False, True]
    assert subset.valid(rows).tolist() == [True, False, False]
    with pytest.raises(UsageError, match="1 of 3"):
        unary.aggregate(rows)


def test_every_answer_draws_its_own_bits():
    """Reports of forked or repeated calls do not repeat: bits come from the system alone."""
    oracle = UnaryEncoding(256, p="1/2", q="1/4")
    one, two = oracle.perturb_many([0] * 50), oracle.perturb_many([0] * 50)
    assert len({row.tobytes() for row in np.concatenate((one, two))}) == 100
    assert bits._generator.get() in (ssl.RAND_bytes, os.urandom)

"""Events learned from outputs: by counting where they repeat, by regression where not."""

from __future__ import annotations

import math

import numpy as np

from tacit.audit.events import learned_event, learned_score
from tacit.audit.features import numbers_of


def test_repeating_outputs_are_told_apart_by_counting():
    event = learned_event(["a"] * 90 + ["b"] * 10, ["a"] * 10 + ["b"] * 90, 0.0)
    found = event(["a", "b"]).tolist()
    assert found in ([True, False], [False, True])


def test_outputs_that_cannot_be_hashed_are_named_by_their_text():
    event = learned_event([{"a": 1}] * 50, [{"a": 2}] * 50, 0.0)
    assert len(set(event([{"a": 1}, {"a": 2}]).tolist())) == 2


def test_numbers_that_never_repeat_are_told_apart_by_regression():
    left = [i / 977 for i in range(200)]
    right = [5 + i / 977 for i in range(200)]
    event = learned_event(left, right, 0.0)
    assert event([0.05]).tolist() != event([5.05]).tolist()


def test_what_float_noise_leaves_behind_is_a_feature():
    """Multiples of 2^-53 beside numbers that are finer, of the same size."""
    coarse = [(2 * i + 1) * 2.0**-20 for i in range(200)]
    fine = [((2 * i + 1) * 2.0**-20) * (1 + 2.0**-52) * 2.0**-1 for i in range(200)]
    event = learned_event(coarse, fine, 0.0)
    assert event(coarse).mean() != event(fine).mean()


def test_features_take_every_output():
    table = numbers_of(
        [1, -2.5, math.nan, math.inf, None, "text", [1, 2], np.arange(3), {"a": 1e300}]
    )
    assert table.shape[0] == 9
    assert np.isfinite(table).all()


def test_a_rare_event_is_not_chosen_below_delta():
    left = ["rare"] * 5 + ["a"] * 60 + ["b"] * 35
    right = ["a"] * 35 + ["b"] * 65
    event = learned_event(left, right, 0.1)
    assert event(["a"]).tolist() != event(["b"]).tolist()


def test_a_score_reads_outputs_of_other_lengths_as_those_that_it_was_learned_from():
    lists = [[(i * (k + 3) % 101) / 7 + i % 2 for k in range(2 + i % 3)] for i in range(900)]
    score = learned_score(lists[::2], lists[1::2])
    short = [one[:2] for one in lists[:50]]
    assert np.array_equal(score(short), score([*short, [0.0] * 4])[:-1])

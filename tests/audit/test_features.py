"""Features of outputs, and the scales on which they are compared."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.audit.events import learned_event
from tacit.audit.features import Design, FewFeatures, numbers_of


def test_arrays_lists_and_tuples_of_one_shape_have_the_same_features():
    rows = [[1.0, -2.0, 3.0], [0.0, 0.5, 7.0]]
    expected = numbers_of(rows)
    assert np.array_equal(numbers_of([np.array(row) for row in rows]), expected)
    assert np.array_equal(numbers_of(list(map(tuple, rows))), expected)
    keyed = numbers_of([{"a": 1.0, "b": -2.0, "c": 3.0}, rows[1]])
    assert keyed[0, 0] > expected[0, 0] == np.floor(keyed[0, 0])  # the keys
    assert np.array_equal(keyed[:, 1:], expected[:, 1:])


def test_the_summary_is_of_the_whole_output():
    """Size, odd, positive, place of the first positive, of the largest, sum, ends, last."""
    found = numbers_of([[-1.0, math.nan, 2.0, 5.0]])[0, :9]
    assert found.tolist() == [4, 1, 2, 2, 3, 6, 5, -1, 5]
    assert numbers_of([[1.0], [1.0, 2.0]])[:, 0].tolist() == [1, 2]


def test_what_is_the_same_for_all_is_left_out():
    left, right = [[0, 1], [1, 1]] * 5, [[0, 1], [0, 1]] * 5
    design = Design.of(left, right)
    assert design.kept.sum() < len(design.kept) / 2
    assert not design.cut[9:].any()  # bits have no median to be above of
    found = design([[1, 1], [0, 1]])
    assert found.shape[0] == 2
    assert not np.array_equal(found[0], found[1])


def test_a_product_of_two_summaries_is_found():
    """The number of failures times the number behind them: neither alone tells u from v."""
    places = [(i * 7919) % 13 - 6 for i in range(2000)]
    ends = [((i * 104729) % 997) / 100 - 5 for i in range(2000)]
    pairs = [(float(i + 6), e) for i, e in zip(places, ends, strict=True)]
    left = [(k, e) for k, e in pairs if (k - 6) * e > 0][:800]
    right = [(k, e) for k, e in pairs if (k - 6) * e < 0][:800]
    event = learned_event(left, right, 0.0, epsilon=1.0)
    assert abs(event(left).mean() - event(right).mean()) > 0.8


def test_against_a_claim_a_common_event_is_worth_more_than_a_rare_one():
    """Of u 40 in 100 against 20, and 1 against none: a claim of 1/10 falls by the first."""
    left = ["a"] * 4000 + ["rare"] * 100 + ["b"] * 5900
    right = ["a"] * 2000 + ["b"] * 8000
    event = learned_event(left, right, 0.0, epsilon=0.1)
    found = event(["a", "b"]).tolist()
    assert found[0] != found[1]


def test_what_a_program_prints_is_read_as_numbers():
    plain = numbers_of([[2.5, -1.0], [3.0, 0.0]])
    assert np.array_equal(numbers_of(["[2.5, -1]", "3.0\n0"]), plain)
    left, right = [f"{i / 977}" for i in range(99)], [f"{9 + i / 977}" for i in range(99)]
    event = learned_event(left, right, 0.0)
    assert event(["9.05"]).tolist() != event(["0.05"]).tolist()


def test_few_features_are_counts_as_they_are_ranks_and_their_products():
    """Failures, with the first number above the threshold behind them, or 0 where there is none."""
    ends = [i / 7 for i in range(90)] + [0.0] * 10
    outputs = [(i % 6, end) for i, end in enumerate(ends)]
    few = FewFeatures.of(outputs[::2], outputs[1::2])
    found = few([(0, 0.0), (5, 0.0), (2, 9.0), (2, 1e9)])
    assert found.shape == (4, 1 + 1 + 2 + 3)
    assert found[:, 1].tolist() == [0, 5, 2, 2]  # and not their ranks
    assert found[:, 3].tolist() == [1, 1, 0, 0]  # nothing to tell
    low, inside, out = found[[0, 2, 3], 2]
    assert 0 < low < inside < out < 1
    assert found[:, 5] == pytest.approx(found[:, 1] * found[:, 2])


def test_of_long_outputs_the_numbers_and_products_of_the_summary():
    outputs = [[float(i >> k & 1) for k in range(5)] for i in range(32)]
    few = FewFeatures.of(outputs, outputs)
    assert few.kept[9:13].all()  # the last number is in the summary too
    summary = int(few.kept[:9].sum())
    assert summary > 0
    assert few(outputs).shape[1] == 1 + few.kept.sum() + summary * (summary + 1) // 2
    assert few(outputs).shape[1] < Design.of(outputs, outputs)(outputs).shape[1] + 10


@pytest.mark.parametrize("kind", [Design, FewFeatures])
@pytest.mark.parametrize("longest", [3, 9])
def test_outputs_have_the_same_features_whatever_the_lengths_of_those_beside_them(kind, longest):
    """Lists that end with a first success: the next outputs may all be shorter, or one longer."""
    lists = [[float(k * i % 7) for k in range(2 + i % 4)] for i in range(200)]
    design = kind.of(lists[::2], lists[1::2])
    few = [one[:2] for one in lists[:20]]
    beside = design([*few, [1.0] * longest])
    assert np.array_equal(design(few), beside[:-1])
    assert np.array_equal(design(lists)[0], design(lists[:1])[0])


def test_few_large_whole_numbers_have_finite_features_that_differ():
    """The square of 2^64 is no number of single precision: the fit was of infinities."""
    for pair in ([-1, 2**64 - 1], [0, 1e200], [2**53, 2**53 + 2], [-(10**400), 10**9]):
        few = FewFeatures.of(pair * 20, pair * 20)
        found = few(pair)
        assert np.isfinite(found).all()
        assert not np.array_equal(found[0], found[1])


def test_numbers_next_to_zero_are_no_numbers_that_a_fit_fails_on():
    pair = [5e-324 * k for k in range(2000)]
    for kind in (Design, FewFeatures):
        assert np.isfinite(kind.of(pair[::2], pair[1::2])(pair)).all()
    assert not np.array_equal(numbers_of([1e-320]), numbers_of([0.0]))


def test_numbers_in_lists_of_lists_are_read():
    deep = numbers_of([[[0.5], [1, {"a": [2.0]}]], [[0.5], [1, {"a": [3.0]}]]])
    assert np.array_equal(deep, numbers_of([[0.5, 1, 2.0], [0.5, 1, 3.0]]))


@pytest.mark.parametrize(
    "named",
    [
        lambda name, value: {name: value},
        lambda name, value: {"all": value, name: 1.0},
        lambda name, value: f"{name}: {value}",
        lambda name, value: [value, name],
    ],
)
def test_keys_and_words_as_long_as_others_are_seen(named):
    """Beside noise, so that no output comes twice."""
    left, right = ([named(name, i / 997 - 3) for i in range(300)] for name in ("flu", "hiv"))
    event = learned_event(left, right, 0.0)
    shares = [
        event([named(name, i / 991 - 3) for i in range(200)]).mean() for name in ("flu", "hiv")
    ]
    assert abs(shares[0] - shares[1]) > 0.98

"""Bets on grades: a fair game against every true claim, and the fastest against a false one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tacit.audit.bets import (
    Bets,
    FittedBets,
    GradedBets,
    _chances,
    _fitted_chances,
    expected_bound,
    grid_up_to,
    payoffs,
)
from tacit.audit.events import boosted, learned_event, learned_score
from tacit.audit.features import Design, FewFeatures, numbers_of

DRAW = np.random.default_rng(5)


def corners(bins: int, epsilon: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs (P, Q) at the border of the claim: each ratio is exp(epsilon) or its inverse.

    The mean of a factor is bilinear, and its worst case lies where the claim is tight: Q / P takes
    the values c and 1 / c, and one bin in between makes both sum to 1.
    """
    c, found = math.exp(epsilon), []
    for pattern in itertools.product((-1, 1), repeat=bins):
        for masses in DRAW.dirichlet(np.ones(bins), size=4):
            ratio = c ** np.array(pattern, dtype=float)
            up, down = masses[ratio > 1], masses[ratio <= 1]
            if not len(up) or not len(down):
                found.append((masses, masses))
                continue
            # scale both groups so that P and Q = P / ratio sum to 1
            share = (1 - 1 / c) / (c - 1 / c) if c > 1 else 0.5
            p = np.where(ratio > 1, masses / up.sum() * c * share, masses / down.sum())
            p = np.where(ratio > 1, p, p * (1 - c * share))
            found.append((p, p / ratio))
    return found


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_no_factor_has_a_mean_above_1_under_a_true_claim(epsilon):
    """Whatever was estimated: by the definition, over the pairs at the border of the claim."""
    truths = corners(4, epsilon)
    for p, q in truths:
        assert p.sum() == pytest.approx(1)
        assert q.sum() == pytest.approx(1)
        assert np.abs(np.log(p / q)).max() <= epsilon + 1e-9
    for _ in range(30):
        guess = DRAW.dirichlet(np.ones(4) / 2, size=2) + 1e-6
        a, b = payoffs(guess[0], guess[1], np.array([epsilon]))
        assert (a >= 0).all()
        assert (b >= 0).all()
        means = [float(a[0] @ p) * float(b[0] @ q) for p, q in truths]
        assert max(means) <= 1 + 1e-12


def test_the_payoffs_are_the_best_against_the_claim():
    """No other numbers r and s of the form of the proof let the wealth grow faster."""
    p, q, epsilon = np.array([0.6, 0.25, 0.15]), np.array([0.2, 0.2, 0.6]), 0.7
    c = math.exp(epsilon)
    a, b = payoffs(p, q, np.array([epsilon]))
    growth = float(p @ np.log(a[0]) + q @ np.log(b[0]))
    assert growth > 0
    for _ in range(1_000):
        share = DRAW.uniform(0.2, 1.8)
        r, s = DRAW.uniform(0, 0.8, (2, 3)) * (DRAW.random((2, 3)) < 0.5)
        one, other = share + r - c * s, 2 - share + s - c * r
        if (one > 0).all() and (other > 0).all():
            assert float(p @ np.log(one) + q @ np.log(other)) <= growth + 1e-9


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.2), (0.3, 0.01), (2.0, 0.1)])
def test_no_factor_has_a_mean_above_1_under_a_true_claim_at_a_delta(epsilon, delta):
    """Pairs within (epsilon, delta): a pair within epsilon, and delta of each on one output.

    P = (1 - delta) P0 + delta e_i <= exp(epsilon) (1 - delta) Q0 + delta, on every event.
    """
    truths = [
        ((1 - delta) * p + delta * np.eye(4)[i], (1 - delta) * q + delta * np.eye(4)[j])
        for p, q in corners(4, epsilon)[::3]
        for i in range(4)
        for j in range(4)
    ]
    loss = math.exp(epsilon)
    p, q = (np.array(side) for side in zip(*truths, strict=True))
    for one, other in ((p, q), (q, p)):
        assert np.maximum(one - loss * other, 0).sum(axis=1).max() <= delta + 1e-9
    for _ in range(20):
        guess = DRAW.dirichlet(np.ones(4) / 2, size=2) + 1e-6
        a, b = payoffs(guess[0], guess[1], np.array([epsilon]), delta)
        assert (a >= 0).all()
        assert (b >= 0).all()
        assert ((p @ a[0]) * (q @ b[0])).max() <= 1 + 1e-12


def test_what_tells_all_is_bet_on_at_a_small_delta_and_not_at_its_own():
    """An output in one run of ten tells all: (0, 0.1), and no finite epsilon below that delta."""
    p, q = np.array([0.1, 0.9, 1e-9]), np.array([1e-9, 0.9, 0.1])
    grows = []
    for delta in (0.0, 0.05, 0.09, 0.11):
        a, b = payoffs(p, q, np.array([1.0]), delta)
        grows.append(float(p @ np.log(np.maximum(a[0], 1e-9)) + q @ np.log(np.maximum(b[0], 1e-9))))
    assert grows[0] > grows[1] > grows[2] > 1e-4
    assert grows[3] == pytest.approx(0, abs=1e-12)


def test_within_the_claim_nothing_is_bet():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.35, 0.25])
    a, b = payoffs(p, q, np.array([1.0]))
    assert np.allclose(a, 1, atol=1e-9)
    assert np.allclose(b, 1, atol=1e-9)


def test_both_directions_count_and_a_bet_is_made_before_its_rounds():
    def score(outputs):
        return np.asarray(outputs, dtype=float)

    bets = GradedBets(np.array([0.1, 5.0]))
    bets.add([1] * 10, [0] * 10)
    assert not bets.log_wealth().any()
    left, right = [1] * 70 + [0] * 30, [1] * 30 + [0] * 70
    bets.learn(score, left, right)
    assert not bets.log_wealth().any()
    bets.add(left, right)
    both = bets.log_wealth()[0]
    assert both > 4
    assert bets.log_wealth()[1] < both
    bets.add([0] * 500, [1] * 500)
    assert bets.log_wealth()[0] < both


def test_the_expected_bound_rises_to_the_loss_and_is_smaller_at_a_delta():
    grades = np.repeat([0.0, 1.0], [1000, 3000]), np.repeat([0.0, 1.0], [3000, 1000])
    bounds = [expected_bound(grades, runs, 0.0, 0.99) for runs in (5, 100, 10_000, 10**7)]
    assert bounds[0] == 0
    assert sorted(bounds) == bounds
    assert 0.95 * math.log(3) < bounds[-1] <= math.log(3)
    assert 0.4 < expected_bound(grades, 10_000, 0.1, 0.99) < bounds[2]


def test_ratios_rise_with_the_score_and_bins_against_the_order_are_joined():
    counts = np.array([[10.0, 30.0, 20.0, 90.0], [90.0, 50.0, 60.0, 10.0]])
    p, q = _chances(counts)
    ratio = p / q
    assert (np.diff(ratio) >= -1e-12).all()
    assert ratio[1] == pytest.approx(ratio[2])
    assert (p + q).sum() == pytest.approx(2)


def test_beside_other_bets_no_more_than_log_2_is_given_away():
    alone, mixed = (Bets(0.0, 0.99, np.array([0.5])) for _ in range(2))
    left, right = [True] * 30 + [False] * 10, [True] * 4 + [False] * 36
    alone.add(left, right)
    mixed.add(left, right, np.array([-1e9]))
    assert alone.lower == 0.5 == mixed.lower
    only = Bets(0.0, 0.99, np.array([0.5]))
    only.add([], [], np.array([math.log(2 * 100) + 0.1]))
    assert only.refutes(0.5)
    less = Bets(0.0, 0.99, np.array([0.5]))
    less.add([], [], np.array([math.log(2 * 100) - 0.1]))
    assert not less.refutes(0.0)


# Bets on a fitted ratio, learned from rounds before alone.


FITTED_DRAW = np.random.default_rng(11)
GRID = np.array([0.0, 0.1, 0.5])


def normal(shift, runs):
    return FITTED_DRAW.normal(shift, 1, (runs, 2))


def test_nothing_is_bet_before_anything_is_learned_or_where_nothing_differs():
    bets = FittedBets(GRID)
    bets.add(normal(0.5, 100), normal(0, 100))
    assert not bets.log_wealth().any()
    bets.learn(normal(0, 400), normal(0, 400))
    assert not bets.log_wealth().any()
    bets.add(normal(0, 400), normal(0, 400))
    assert (bets.log_wealth() < 4).all()
    assert (bets.log_wealth() > -4).all()


def test_rounds_are_bet_on_before_they_are_learned_from():
    """Rounds that differ the other way than all before lose all that was not saved."""
    bets = FittedBets(GRID)
    bets.learn(normal(0.5, 1000), normal(0, 1000))
    bets.add(normal(0, 2000), normal(0.5, 2000))
    assert bets.wealth.at_stake[0] < -20
    assert bets.log_wealth()[0] == pytest.approx(math.log(1 / 2), abs=1e-8)
    bets.add(normal(0, 2000), normal(0.5, 2000))
    assert np.diff(bets.wealth.at_stake[:2]) < 0


def test_savings_are_added_when_bets_are_learned_again():
    """After a loss a later start gains as if it were new, with its share of the savings."""
    bets = GradedBets(np.array([0.0]))
    side, other = [0, 1, 1, 1] * 50, [1, 0, 0, 0] * 50
    bets.learn(np.asarray, side, other)
    bets.add(other, side)
    assert bets.log_wealth()[0] == pytest.approx(math.log(1 / 2), abs=1e-8)
    bets.learn(np.asarray, side, other)
    lost = bets.log_wealth()[0]
    bets.add(side, other)
    new = GradedBets(np.array([0.0]))
    new.learn(np.asarray, side, other)
    new.add(side, other)
    assert lost == pytest.approx(math.log(1 / 2), abs=1e-8)
    assert bets.log_wealth()[0] == pytest.approx(new.log_wealth()[0] + math.log(1 / 8), abs=1e-3)


def fit_to_the_end(rows, of_u, prior):
    """Return the weights of one precision, and the logarithm of the probability of what was seen.

    By Newton's method on all outputs at once, and Laplace's approximation at its end.
    """
    weights = np.zeros(rows.shape[1])
    for _ in range(30):
        scores = rows @ weights
        chance = 1 / (1 + np.exp(-scores))
        bend = (rows * (chance * (1 - chance))[:, None]).T @ rows + prior * np.eye(len(weights))
        weights += np.linalg.solve(bend, rows.T @ (of_u - chance) - prior * weights)
    seen = -np.logaddexp(0, np.where(of_u, -scores, scores)).sum() - prior * weights @ weights / 2
    return weights, seen + (len(weights) * np.log(prior) - np.linalg.slogdet(bend)[1]) / 2


@pytest.mark.full
def test_one_step_from_the_pilot_is_as_good_as_a_fit_to_all():
    """The weights after three batches, against fits to all outputs, a mean over the precisions."""
    bets = FittedBets(GRID)
    sides = [normal(0.3, 3000), normal(0, 3000)]
    bets.learn(*(side[:1000] for side in sides))
    for start in (1000, 2000):
        bets.add(*(side[start : start + 1000] for side in sides))
    rows = np.concatenate([bets._rows(side) for side in sides]).astype(float)
    fits = [fit_to_the_end(rows, np.arange(6000) < 3000, len(rows.T) * 4.0**k) for k in range(10)]
    each, seen = (np.array(part) for part in zip(*fits, strict=True))
    likely = np.exp(seen - seen.max())
    weights = likely @ each / likely.sum()
    apart = rows @ weights - rows @ bets._weights()
    assert np.abs(apart).max() < 0.1 * np.abs(rows @ weights).max()


@pytest.mark.few(2)
@pytest.mark.parametrize("runs", [500, 20_000])
def test_outputs_that_tell_nothing_cost_nothing(runs):
    """After few runs and after many; a prior of one precision lost 1.5 and 7.8."""
    draw = np.random.default_rng(runs)
    u, v = (draw.normal(0, 1, (2 * runs, 6)) for _ in "uv")
    bets = FittedBets(GRID)
    bets.learn(u[:runs], v[:runs])
    bets.add(u[runs:], v[runs:])
    assert (bets.log_wealth() > -0.2).all()


def test_at_a_delta_the_bets_are_smaller_and_a_claim_with_it_true_is_left_alone():
    """Normal outputs half a deviation apart are (0, 0.2) apart."""
    ends = []
    for delta in (0.0, 0.05, 0.3):
        bets = FittedBets(GRID, delta)
        bets.learn(normal(0.5, 2000)[:, :1], normal(0, 2000)[:, :1])
        bets.add(normal(0.5, 2000)[:, :1], normal(0, 2000)[:, :1])
        ends.append(bets.log_wealth()[0])
    assert ends[0] > ends[1] > 5
    assert ends[2] == pytest.approx(0, abs=1e-6)


def test_a_cell_that_no_output_seen_fell_into_tells_nothing():
    p, q = _fitted_chances(np.array([1.0, 1.0], dtype=np.float32), np.array([0.5, 2.0]))
    assert p[[0, 2]] == pytest.approx(q[[0, 2]])
    assert p[1] > 2 * q[1]


def test_one_wild_score_moves_its_cell_by_no_more_than_itself():
    scores = np.array([0.1] * 50 + [1e6] + [-0.1] * 50, dtype=np.float32)
    with np.errstate(all="raise"):
        p, q = _fitted_chances(scores, np.array([0.0]))
    assert np.abs(np.log(p / q)).max() < 0.2


@pytest.mark.few(4)
@pytest.mark.parametrize("features", [Design.of, FewFeatures.of])
@pytest.mark.parametrize("odd", [np.nan, 40])
def test_what_one_output_of_many_shows_is_no_reason_to_bet_much(features, odd):
    """One output of u has a value that no other has, and then some of v have it."""
    draw = np.random.default_rng(3)
    first, then = ([draw.integers(0, 2, (n, 3)) * 1.0 for _ in "uv"] for n in (20_000, 2_000))
    first[0][7, 1] = odd
    then[1][:40, 1] = odd
    bets = FittedBets(GRID, features=features)
    bets.learn(*first)
    bets.add(*then)
    assert (bets.log_wealth() > -20).all()


# The bets are a fair game against a true claim, and win against a false one.


@pytest.mark.parametrize(
    ("epsilon", "delta", "q"), [(0.0, 0.0, 0.5), (1.0, 0.0, 0.1), (0.5, 0.2, 0.3)]
)
def test_the_wealth_never_grows_on_average_at_the_border_of_the_claim(epsilon, delta, q):
    """By the definition: over all outcomes of four rounds, weighted by their probabilities."""
    p = math.exp(epsilon) * q + delta
    rounds = list(itertools.product((False, True), repeat=2))
    mass = {(x, y): (p if x else 1 - p) * (q if y else 1 - q) for x, y in rounds}
    total = 0.0
    for history in itertools.product(rounds, repeat=4):
        bets = Bets(delta, 0.99, np.array([epsilon]))
        bets.add([x for x, _ in history], [y for _, y in history])
        total += math.prod(mass[r] for r in history) * math.exp(bets.log_wealth()[0])
    assert total <= 1 + 1e-9  # the way back, v against u, loses on average


def test_the_wealth_at_the_border_is_fair_when_both_ways_are():
    """At epsilon 0 the claim is equality: each way is a fair game, so the mean is 1 exactly."""
    rounds = list(itertools.product((False, True), repeat=2))
    total = 0.0
    for history in itertools.product(rounds, repeat=3):
        bets = Bets(0.0, 0.99, np.array([0.0]))
        bets.add([x for x, _ in history], [y for _, y in history])
        total += 0.25**3 * math.exp(bets.log_wealth()[0])
    assert total == pytest.approx(1, abs=1e-9)


def test_claims_are_refuted_in_order_and_stay_refuted():
    bets = Bets(0.0, 0.99, grid_up_to(10))
    seen = []
    for _ in range(40):
        bets.add([True] * 5, [False] * 5)
        seen.append(bets.lower)
    assert seen == sorted(seen)
    assert seen[-1] > 3
    bets.add([False] * 500, [True] * 500)
    assert bets.lower >= seen[-1]


def test_either_way_counts_and_equal_shares_show_nothing():
    one, other, equal = (Bets(0.0, 0.99) for _ in range(3))
    one.add([True] * 50, [False] * 50)
    other.add([False] * 50, [True] * 50)
    assert one.lower == other.lower > 1
    equal.add([True, False] * 500, [False, True] * 500)
    assert equal.lower == 0
    assert equal.shares == (0.5, 0.5)


def test_a_delta_pays_for_what_is_rare():
    strict, lenient = Bets(0.0, 0.99), Bets(0.3, 0.99)
    for bets in (strict, lenient):
        bets.add([True] * 20 + [False] * 80, [False] * 100)
    assert strict.lower > 0
    assert lenient.lower == 0
    assert strict.refutes(strict.lower)
    assert not lenient.refutes(0.0)


@pytest.mark.slow
def test_a_true_claim_is_refuted_in_no_more_than_its_share_of_audits():
    """2,000 audits of an event with p = exp(1) q, looked at 40 times: 1 in 100 may fail.

    Failing by chance needs more than 45 of 2,000 at 0.01: probability below 1e-6.
    """
    source = np.random.default_rng()
    wrong = 0
    for _ in range(2000):
        bets = Bets(0.0, 0.99, grid_up_to(3, 60))
        for _ in range(40):
            bets.add(source.random(25) < 0.1 * math.e, list(source.random(25) < 0.1))
        wrong += bets.lower >= 1
    assert wrong <= 45


# Features of outputs, and the scales on which they are compared.


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
    assert design.informative.sum() < len(design.informative) / 2
    assert not design.cut[9:].any()  # bits have no median to be above of
    found = design([[1, 1], [0, 1]])
    assert found.shape[0] == 2
    assert not np.array_equal(found[0], found[1])


def test_a_product_of_two_summaries_is_found():
    """The number of failures times the number behind them: neither alone tells u from v."""
    places = [(i * 7919) % 13 - 6 for i in range(1000)]
    ends = [((i * 104729) % 997) / 100 - 5 for i in range(1000)]
    pairs = [(float(i + 6), e) for i, e in zip(places, ends, strict=True)]
    left = [(k, e) for k, e in pairs if (k - 6) * e > 0][:400]
    right = [(k, e) for k, e in pairs if (k - 6) * e < 0][:400]
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
    assert few.informative[9:13].all()  # the last number is in the summary too
    summary = int(few.informative[:9].sum())
    assert summary > 0
    assert few(outputs).shape[1] == 1 + few.informative.sum() + summary * (summary + 1) // 2
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
    left, right = ([named(name, i / 997 - 3) for i in range(150)] for name in ("flu", "hiv"))
    event = learned_event(left, right, 0.0)
    shares = [
        event([named(name, i / 991 - 3) for i in range(200)]).mean() for name in ("flu", "hiv")
    ]
    assert abs(shares[0] - shares[1]) > 0.98


# Events learned from outputs: by counting where they repeat, by regression where not.


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
    lists = [[(i * (k + 3) % 101) / 7 + i % 2 for k in range(2 + i % 3)] for i in range(300)]
    score = learned_score(lists[::2], lists[1::2])
    short = [one[:2] for one in lists[:50]]
    assert np.array_equal(score(short), score([*short, [0.0] * 4])[:-1])


# Trees add what a sum of features cannot say, and nothing where there is nothing.


BOOSTED_DRAW = np.random.default_rng(11)


def test_a_product_of_two_signs_is_learned():
    rows = BOOSTED_DRAW.normal(size=(4000, 3))
    of_u = rows[:, 0] * rows[:, 1] > 0
    trees = boosted(rows, of_u, np.zeros(4000))
    fresh = BOOSTED_DRAW.normal(size=(2000, 3))
    right = (trees(fresh) > 0) == (fresh[:, 0] * fresh[:, 1] > 0)
    assert right.mean() > 0.9


def test_noise_is_left_alone():
    rows, of_u = BOOSTED_DRAW.normal(size=(4000, 4)), BOOSTED_DRAW.random(4000) < 0.5
    trees = boosted(rows, of_u, np.zeros(4000))
    assert len(trees.trees) <= 3
    assert np.abs(trees(rows)).max() < 1


def test_what_a_first_score_says_already_is_not_said_again():
    rows = BOOSTED_DRAW.normal(size=(4000, 2))
    of_u = BOOSTED_DRAW.random(4000) < 1 / (1 + np.exp(-3 * rows[:, 0]))
    assert np.abs(boosted(rows, of_u, 3 * rows[:, 0])(rows)).mean() < 0.2

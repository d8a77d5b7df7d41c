"""Replays find what depends on the data and is hidden by no noise, and nothing else."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit import noise
from tacit.audit.replay import Diverged, Tape, TracedNoise, coins, cost_of, replay, run_once
from tacit.errors import UsageError
from tacit.noise.bits import watched

U, V = [3, 5], [3, 5, 9]


def laplace(scale=1):
    return noise.discrete_laplace(scale)


def total(scale):
    return lambda rows: sum(rows) + laplace(scale)


# --- mechanisms that are wrong, and what is told of them ---------------------------------------


def data_scale(rows):
    return sum(rows) + laplace(max(rows))


def data_factor(rows):
    return sum(rows) + max(rows) * laplace(5)


def one_draw_each_row(rows):
    return [x + laplace(9) for x in rows]


def branch(rows):
    if len(rows) > 2:
        return len(rows) + laplace(2)
    return len(rows) + laplace(2)


def exact_beside_noise(rows):
    return {"n": len(rows) + laplace(2), "max": max(rows)}


def rounded_after(rows):
    return (sum(rows) + laplace(9)) // len(rows)


def only_where_large(rows):
    return sum(rows) + laplace(9) if sum(rows) > 10 else 0


def one_draw_for_two(rows):
    drawn = laplace(9)
    return len(rows) + drawn, sum(rows) + drawn


def off_the_grid(rows):
    return sum(rows) / 7 + laplace(9)


def raises(rows):
    return 1 / (len(rows) - 2) + laplace(9)


def choice_of_two_sizes(rows):
    return noise.exponential_choice(rows, "1/10")


def coin_of_the_data(rows):
    return noise.bernoulli(1 if len(rows) > 2 else 0)


def coins_as_many_as_rows(rows):
    return int(noise.bernoulli("1/2", len(rows)).sum()) * 0


def other_dice(rows):
    return noise.uniform(len(rows)) * 0


def one_sided(rows):
    return len(rows) + noise.geometric(3)


def order_of_noise(rows):
    drawn = [laplace(9), laplace(9)]
    return drawn[len(rows) % 2] + 1, drawn[1 - len(rows) % 2] + 2


WRONG = {
    data_scale: "another scale",
    data_factor: "multiplied by another number",
    one_draw_each_row: "draw",
    branch: "is made at",
    exact_beside_noise: "goes around it",
    rounded_after: "goes around it",
    only_where_large: "draw",
    one_draw_for_two: "does not hide",
    off_the_grid: "does not hide",
    raises: "is raised",
    choice_of_two_sizes: "another scale or probability",
    coin_of_the_data: "does not hide",
    coins_as_many_as_rows: "number of draws",
    other_dice: "another scale or probability",
    one_sided: "does not hide",
    order_of_noise: "another order",
}


@pytest.mark.parametrize("mechanism", WRONG, ids=lambda m: m.__name__)
def test_what_depends_on_the_data_is_found_and_named(mechanism):
    found = replay(mechanism, U, V, runs=2)
    assert not found
    assert any(WRONG[mechanism] in message for message in found.findings), found.findings
    assert str(found).startswith("FOUND")


def test_the_line_is_named_and_no_number_of_the_data_is():
    found = replay(data_scale, [3, 50003], [3, 70009], runs=1)
    assert "test_replay.py:" in str(found)
    assert not any(number in str(found) + repr(found) for number in ("50003", "70009", "50006"))


# --- mechanisms that are right -----------------------------------------------------------------


def test_a_clamped_sum_costs_what_its_noise_is_for():
    found = replay(total(18), U, V, epsilon="1/2")
    assert found
    assert found.complete
    assert (found.epsilon, found.draws, found.runs) == (Fraction(1, 2), 1, 20)
    assert "nothing found" in str(found)


def test_a_claim_below_the_cost_is_told():
    found = replay(total(18), U, V, epsilon="49/100")
    assert not found
    assert "0.5 together, and 0.49 is claimed" in str(found)
    assert replay(total(18), U, V, rho="1/8")
    assert not replay(total(18), U, V, rho="1/9")


def test_gaussian_noise_costs_rho():
    found = replay(lambda rows: len(rows) + noise.discrete_gaussian(2), U, V, rho="1/8")
    assert found
    assert found.rho == Fraction(1, 8)
    assert found.epsilon == math.inf


def test_choices_between_outcomes_cost_their_largest_ratio():
    def choice(rows):
        return noise.exponential_choice([0, len(rows)], 1)

    found = replay(choice, U, V)
    u, v = (np.array([1, math.exp(-n)]) / (1 + math.exp(-n)) for n in (2, 3))
    assert float(found.epsilon) == pytest.approx(np.abs(np.log(u / v)).max(), rel=1e-9)
    for law, shares in (
        (lambda p: noise.bernoulli(p), lambda p: (p, 1 - p)),
        (lambda p: noise.bernoulli_exp(p), lambda p: (math.exp(-p), 1 - math.exp(-p))),
        (lambda p: noise.categorical([p, 2]), lambda p: (p / (p + 2), 2 / (p + 2))),
    ):
        found = replay(lambda p, law=law: law(p), Fraction(1, 2), Fraction(1, 4), runs=1)
        pair = zip(shares(0.5), shares(0.25), strict=True)
        assert float(found.epsilon) == pytest.approx(max(abs(math.log(a / b)) for a, b in pair))


def test_branches_on_released_numbers_are_post_processing():
    """Above threshold, written out: where it stops depends on what was released alone."""

    def first_above(queries):
        level = 5 + laplace(20)
        for place, query in enumerate(queries):
            if query + laplace(40) >= level:
                return place
        return None

    found = replay(first_above, [1, 9, 2], [0, 8, 3], runs=20)
    assert found, str(found)
    assert found.complete


def test_noise_on_its_way_may_be_scaled_added_and_compared():
    def scaled(rows):
        many = np.asarray(noise.discrete_laplace(3, size=(2, 2)))
        parts = np.array([[len(rows), 0], [0, 0]]) + many
        other = -(2 * laplace(4) / 2) + noise.discrete_gaussian(1) + len(rows)
        return parts.tolist(), other, laplace(2) <= -len(rows), len(rows) - laplace(2) > 0

    found = replay(scaled, U, V)
    assert found, str(found)
    assert found.complete
    # 1/3 of the cell, the least of 1/4 and Gaussian noise, and 1/2 for each comparison
    assert found.epsilon in (Fraction(1, 3) + Fraction(1, 4) + 1, math.inf)


def test_noise_that_leaves_the_sight_is_told_and_outputs_are_not_judged():
    for hidden in (lambda: int(laplace(9)), lambda: abs(laplace(9)), lambda: random.random()):
        found = replay(lambda rows, hidden=hidden: len(rows) + hidden(), U, V, runs=1)
        assert found
        assert not found.complete
        assert "were not compared" in str(found)
    assert "test_replay.py" in replay(lambda rows: int(laplace()), U, V, runs=1).unseen[0]


def test_a_coin_of_the_person_is_not_judged():
    def warner(bit):
        return bit if noise.bernoulli("3/4") else 1 - bit

    found = replay(warner, 0, 1)
    assert found
    assert not found.complete
    assert len(found.unseen) == 1


def test_refusals_of_both_are_equal_and_nan_is_itself():
    assert replay(lambda rows: math.nan, U, V, runs=1)
    often = replay(lambda rows: 1 // int(max(0, laplace() + len(rows))), U, V, runs=20)
    assert often
    assert often.complete
    assert not replay(lambda rows: len(rows), U, V, runs=1)


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"epsilon": -1}, {"rho": -1}])
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(UsageError):
        replay(total(1), U, V, **wrong)


def test_draws_outside_of_a_replay_are_plain_numbers():
    replay(total(1), U, V, runs=1)
    assert type(laplace(1)) is int
    assert noise.discrete_laplace(1, size=2).dtype == np.int64


@pytest.mark.full
def test_a_session_holds():
    """Counts, sums and medians by group of public keys, in a session over rows with one more."""

    def release(rows):
        table = pa.table({"g": [g for g, _ in rows], "x": [x for _, x in rows]})
        budget = tc.epsilon(2)
        with tc.Session(
            table, unit=tc.one_row_each, budget=budget, ledger=tc.in_memory, name="t"
        ) as session:
            question = session.group_by("g", keys=["a", "b"]).agg(
                n=tc.count(),
                s=tc.sum("x", 0, 10),
                counted=tc.median("x", 0, 10),
                chosen=tc.value_range("x", 0, 10),
            )
            return question.release(epsilon=1).to_dict()

    rows = [("a", 1), ("b", 9), ("a", 4), ("c", 2)]
    found = replay(release, rows, [*rows, ("a", 10)], epsilon=1, runs=1)
    assert found, str(found)
    assert found.complete
    assert found.draws > 2
    assert 0.5 < float(found.epsilon) <= 1


# --- what cannot be seen is told, and is no verdict -------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [5, lambda: 1, lambda rows: 1 // 0],
    ids=["no function", "no argument", "raises"],
)
def test_a_mechanism_that_always_raises_has_no_verdict(wrong):
    with pytest.raises(UsageError, match=r"cannot be|raises in all of 20 runs"):
        replay(wrong, U, V)


@pytest.mark.parametrize(
    "around",
    [
        lambda rows: laplace() // 2 + sum(rows),
        lambda rows: laplace() % 2 + sum(rows),
        lambda rows: 7 // (1 + laplace() ** 2) + sum(rows),
        lambda rows: 2.0 ** laplace() + sum(rows),
        lambda rows: laplace().bit_length() + sum(rows),
    ],
    ids=["//", "%", "**", "base", "method"],
)
def test_noise_that_becomes_a_number_in_any_operation_is_told(around):
    """It raised in the replay alone, in both runs, and nothing was found."""
    found = replay(around, U, V)
    assert not found.complete
    assert found.unseen


def test_noise_alone_may_be_an_output():
    assert replay(lambda rows: [laplace(), {"a": (laplace(),)}], U, V).complete
    assert replay(lambda rows: sorted([laplace(), laplace()]), U, V)
    assert replay(lambda rows: laplace(3) if len(rows) > 2 else laplace(2), U, V).findings


def test_numbers_of_numpy_do_not_wrap_around():
    """A move of 2^40 under a part of 2^-40 of the noise is one of 2^80."""

    def wide(rows):
        return laplace(2**80) * 2.0**-40 + np.int64(len(rows)) * np.int64(2**40)

    assert replay(wide, U, V).epsilon == 1
    assert replay(
        lambda rows: (
            laplace(
                6,
            )
            / 3
            + np.int64(len(rows))
        ),
        U,
        V,
    ).epsilon == Fraction(1, 2)


def test_a_move_that_is_no_double_is_hidden_by_nothing():
    found = replay(lambda rows: 10**400 * len(rows) + laplace(), U, V, epsilon=1)
    assert found.epsilon == math.inf
    assert "does not hide" in str(found)


def test_outputs_may_be_tables():
    pandas = pytest.importorskip("pandas")
    right = replay(lambda rows: pandas.DataFrame({"a": [sum(rows) + laplace(9)]}), U, V)
    assert right
    assert right.complete
    assert not replay(lambda rows: pandas.DataFrame({"a": [sum(rows)]}), U, V)


def test_a_coin_that_is_not_seen_is_no_finding():
    """One run of two repeats a coin by chance; then the neighbour's output differed by it."""
    found = replay(lambda rows: random.random() < 0.5, U, V, runs=20)
    assert found
    assert not found.complete


# A tape hands out noise that notes what it is added to, and freezes the sums in a replay.


def run(action, recorded=None):
    tape = Tape(recorded)
    return run_once(lambda _: action(), None, tape), tape


def test_a_sum_is_noted_with_its_number_and_frozen_in_the_replay():
    first, tape = run(lambda: 5 + noise.discrete_laplace(3))
    assert [(m.value, m.released) for m in tape.meetings] == [(5, first)]
    assert tape.draws[0].line.startswith("test_replay.py:")
    with pytest.raises(Diverged, match="instead of"):
        run(lambda: 7 + noise.discrete_laplace(3), tape)  # of another line


def test_the_same_line_is_answered_as_before():
    def release(value):
        return run(lambda: value + noise.discrete_laplace(3), recorded)

    recorded = None
    first, recorded = release(5)
    second, replayed = release(8)
    assert second == first
    assert replayed.meetings[0].value == 8


def test_arrays_keep_their_shape_and_every_cell_is_followed():
    released, tape = run(lambda: np.arange(4).reshape(2, 2) + noise.discrete_laplace(1, (2, 2)))
    assert released.shape == (2, 2)
    assert [m.value for m in tape.meetings] == [0, 1, 2, 3]


def test_factors_and_sums_of_draws_are_kept():
    def release():
        return 10 - (noise.discrete_laplace(2) * 3 + noise.discrete_gaussian(1) / 4)

    _, tape = run(release)
    (meeting,) = tape.meetings
    assert [factor for _, _, factor in meeting.draws] == [-3, Fraction(-1, 4)]
    assert meeting.value == 10


@pytest.mark.parametrize("taken", [int, float, abs, bool, round, hash])
def test_what_becomes_a_plain_number_is_noted(taken):
    _, tape = run(lambda: taken(noise.discrete_laplace(2)))
    assert len(tape.lost) == 1


def test_noise_shows_nothing_of_itself():
    shown, _ = run(lambda: repr(noise.discrete_laplace(1000)))
    assert shown == "Noise()"
    is_one, _ = run(lambda: isinstance(+noise.discrete_laplace(1000), TracedNoise))
    assert is_one
    alone, _ = run(lambda: +noise.discrete_laplace(1000))
    assert type(alone) is int  # what is given out is released


def test_another_order_of_draws_is_no_replay():
    def release(rows):
        def inside():
            for _ in range(rows):
                noise.bernoulli("1/2")

        return run(inside, recorded)

    recorded = None
    _, recorded = release(2)
    with pytest.raises(Diverged, match="a draw more"):
        release(3)


# What draws cost follows from how far the numbers under them moved, by the definition.


def tapes(mechanism, u, v):
    found = []
    for data in (u, v):
        found.append(Tape(found[0] if found else None))
        with watched(found[-1].watch):
            mechanism(data)
    return found


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(25)])
@pytest.mark.parametrize("moved", [0, 1, -4])
def test_laplace_noise_costs_the_largest_ratio_of_probabilities(scale, moved):
    cost = cost_of(*tapes(lambda x: x + noise.discrete_laplace(scale), 10, 10 + moved))
    law = noise.DiscreteLaplace(scale)
    ratios = [
        math.log(float(law.probability(k)) / float(law.probability(k - moved)))
        for k in range(-6, 7)
    ]
    assert float(cost.epsilon) == pytest.approx(max(ratios), abs=1e-9)


def test_gaussian_noise_costs_its_renyi_divergence():
    moved, sigma, alpha = 3, 4, 2
    cost = cost_of(*tapes(lambda x: x + noise.discrete_gaussian(sigma), 0, moved))
    law = noise.DiscreteGaussian(sigma)
    total = sum(
        float(law.probability(k)) ** alpha * float(law.probability(k - moved)) ** (1 - alpha)
        for k in range(-60, 61)
    )
    assert math.log(total) / (alpha - 1) == pytest.approx(alpha * float(cost.rho), rel=1e-6)
    assert cost.epsilon == math.inf


def test_draws_add_up_and_one_draw_under_equal_moves_counts_once():
    cost = cost_of(
        *tapes(lambda x: [x + noise.discrete_laplace(4), x + noise.discrete_laplace(2)], 0, 1)
    )
    assert cost.epsilon == Fraction(3, 4)

    def shared(x):
        drawn = noise.discrete_laplace(4)
        return x + drawn, x + 5 + drawn

    assert cost_of(*tapes(shared, 0, 1)).epsilon == Fraction(1, 4)


def test_parts_of_a_step_texts_and_other_lengths_are_not_hidden():
    for u, v in ((0, 0.5), (0, math.nan), (0, math.inf)):
        cost = cost_of(*tapes(lambda x: x + noise.discrete_laplace(9), u, v))
        assert cost.epsilon == math.inf
        assert cost.lines
    same = cost_of(*tapes(lambda x: x + noise.discrete_laplace(9), math.nan, math.nan))
    assert same.epsilon == 0


def test_coins_of_one_law_are_told_from_those_of_the_data():
    public = tapes(lambda x: noise.bernoulli("1/2"), 0, 1)
    private = tapes(lambda x: noise.bernoulli(Fraction(1 + x, 4)), 0, 1)
    assert len(coins(*public)) == 1
    assert coins(*private) == []
    assert cost_of(*private).epsilon == pytest.approx(math.log(2))

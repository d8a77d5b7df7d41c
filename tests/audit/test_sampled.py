"""Audits by runs: what is wrong is refuted, what is right is not, at whatever time one looks."""

from __future__ import annotations

import itertools
import math
import sys
from itertools import pairwise

import numpy as np
import pytest

import tacit as tc
from tacit.audit.sampled import TradeOff, command, mean_below, sampled
from tacit.errors import UsageError


def geometric(scale):
    return lambda x, n: (x + np.asarray(tc.noise.discrete_laplace(scale, size=n))).tolist()


def float_laplace(x, n):
    """Noise as the textbook draws it, in doubles (Mironov 2012)."""
    return (x + np.random.default_rng().laplace(0, 1, n)).tolist()


def test_noise_of_a_third_of_its_scale_is_refuted_in_some_hundred_runs():
    found = sampled(geometric(1), 0, 3, epsilon=1, batch=True, confidence=1 - 1e-6, samples=3000)
    assert not found
    assert found.refuted
    assert 1 <= found.lower <= 3
    assert "REFUTED" in str(found)
    assert [n for n, _ in found.path] == sorted({n for n, _ in found.path})


def test_a_true_claim_stands():
    """At confidence 1 - 1e-6 a true claim is refuted with probability 1e-6."""
    found = sampled(geometric(1), 0, 1, epsilon=1, batch=True, confidence=1 - 1e-6, samples=1000)
    assert found
    assert 0 < found.lower < 1
    assert "stands" in str(found)


def test_float_noise_is_found_by_its_gaps():
    """The event is learned; P = 0.27 on one side and 0 on the other."""
    found = sampled(float_laplace, 0.0, 1.0, epsilon=1, batch=True, samples=20_000)
    assert found.refuted
    assert found.samples < 5000


def in_bfloat16(numbers):
    """Numbers rounded to 8 significant bits, ties to even."""
    bits = np.asarray(numbers, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


WIDTHS = {"float64": np.float64, "float32": np.float32, "float16": np.float16}


@pytest.mark.full
@pytest.mark.parametrize("width", [*WIDTHS, "bfloat16"])
def test_the_grid_of_numbers_of_any_width_is_found(width):
    """Gaussian noise of scale 4 for a sensitivity of 1: the curve holds the claim, rounding not."""
    rounded = WIDTHS.get(width, in_bfloat16)
    draw = {x: np.random.default_rng(int(x) + 1) for x in (0.0, 1.0)}

    def gaussian(x, n):
        return rounded(rounded(draw[x].normal(0, 4, n)) + rounded(np.array([x]))).tolist()

    found = sampled(gaussian, 0.0, 1.0, epsilon=1, delta="1e-5", batch=True, samples=2_000)
    assert found.refuted


@pytest.mark.full
def test_noise_that_is_cut_is_refuted_by_its_tails():
    """Laplace noise cut at 5, on a grid: no loss above 1 but in tails that hold 1 in 170 each."""
    draw = {x: np.random.default_rng(int(x) + 3) for x in (0.0, 1.0)}

    def cut(x, n):
        noise = draw[x].laplace(0, 1, 2 * n + 50)
        return (np.round(noise[np.abs(noise) <= 5][:n] * 2**20) / 2**20 + x).tolist()

    found = sampled(cut, 0.0, 1.0, epsilon=1, batch=True, samples=10_000)
    assert found.refuted
    assert found.samples > 1000


def test_no_claim_bounds_epsilon_and_an_event_may_be_given():
    found = sampled(
        geometric(1), 0, 4, batch=True, event=lambda x: x <= 0, samples=2000, confidence=1 - 1e-6
    )
    assert found.epsilon is None
    assert not found.refuted
    assert 0.2 < found.lower < 4
    assert found.shares[0] > found.shares[1]


@pytest.mark.full
def test_delta_pays_for_a_rare_failure():
    """An output that tells all, in one run of ten: (0, 0.1), and no finite epsilon at delta 0."""

    def leaky(x, n):
        return [x if rare else 0 for rare in np.asarray(tc.noise.bernoulli("1/10", size=n))]

    assert sampled(leaky, 1, 2, epsilon=1, batch=True, samples=20_000).refuted
    kept = sampled(
        leaky, 1, 2, epsilon=1, delta="1/10", batch=True, samples=1500, confidence=1 - 1e-6
    )
    assert not kept.refuted


def test_a_command_is_audited_and_its_failure_is_an_output():
    program = f'{sys.executable} -c "import sys; sys.exit(int(input()) > 0)"'
    run = command(program)
    assert run("0") == ""
    assert run("1") == "exit 1"
    with pytest.raises(UsageError):
        command("")


PRINTS_A_SUM = r"""read x
set -- $(od -An -N8 -tu4 /dev/urandom); a=$1 b=$2
while [ $((a % 2)) -eq 1 ]; do x=$((x + 1)) a=$((a / 2)); done
while [ $((b % 2)) -eq 1 ]; do x=$((x - 1)) b=$((b / 2)); done
echo "sum: $((x + 100))"
"""
"""Geometric noise that loses ln 2 for each step, in a text that is of one length on both sides."""


@pytest.mark.full
def test_a_number_that_a_program_prints_is_read():
    """A step of 5 loses 3.47, and the claim of 1 falls in a hundred runs of a shell."""
    found = sampled(command(["sh", "-c", PRINTS_A_SUM]), "0", "5", epsilon=1, samples=150)
    assert found.refuted


@pytest.mark.full
def test_a_program_that_prints_what_it_claims_stands():
    run = command(["sh", "-c", PRINTS_A_SUM])
    assert not sampled(run, "0", "1", epsilon=1, samples=300, confidence=1 - 1e-6).refuted


@pytest.mark.full
def test_a_command_that_fails_on_one_neighbour_is_refuted():
    found = sampled(command("grep -q x"), "", "x", epsilon=1, samples=120)
    assert found.refuted


@pytest.mark.parametrize(
    "wrong",
    [{"confidence": 1}, {"confidence": "much"}, {"samples": 50}, {"delta": 1}, {"epsilon": -1}],
    ids=str,
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(UsageError):
        sampled(geometric(1), 0, 1, batch=True, **wrong)


def test_a_batch_of_another_size_is_refused():
    with pytest.raises(UsageError, match="gave 1"):
        sampled(lambda x, n: [x], 0, 1, batch=True)


@pytest.mark.full
@pytest.mark.parametrize("delta", [0, "1/100"])
def test_the_shares_and_the_curve_are_of_what_was_found(delta):
    """The shares alone show most of the bound, and the curve is on or above the true one."""
    found = sampled(geometric(2), 0, 2, delta=delta, batch=True, samples=4000, confidence=1 - 1e-6)
    assert 0.3 < found.lower < 1
    assert np.log(found.shares[0] / found.shares[1]) > found.lower
    for type_i, type_ii in found.trade_off:
        assert type_ii >= 1 - np.e * type_i - 1e-9
        assert type_ii >= (1 - type_i) / np.e - 1e-9
    assert min(a + b for a, b in found.trade_off) < 0.75


@pytest.mark.full
def test_the_bound_and_the_trade_off_are_drawn():
    found = sampled(geometric(1), 0, 3, epsilon=1, batch=True, samples=1000)
    drawn = found.plot().axes
    assert len(drawn) == 2
    assert [text.get_text() for text in drawn[0].get_xticklabels()][:2] == ["50", "100"]
    assert not drawn[0].get_xticks(minor=True).size
    names = [[text.get_text() for text in one.get_legend().get_texts()] for one in drawn]
    assert names == [
        ["lower bound", "claim: 1"],
        ["of the claim", "of the lower bound on epsilon", "upper bound on the true one"],
    ]


SCALE = 20
"""1/epsilon for two halves of 1/10, in grid steps of 1."""


def above_threshold(kind, cut=1):
    """The variants of Lyu, Su and Li (2017), figure 1, at a claim of 1/10, sensitivity 1."""

    def run(queries, n):
        draws = {
            1: (SCALE, 2 * cut * SCALE),
            4: (40, 13),
            5: (SCALE, None),
            6: (SCALE, SCALE),
        }[kind]
        level = np.asarray(tc.noise.discrete_laplace(draws[0], size=n))[:, None]
        noise = 0
        if draws[1] is not None:
            size = n * len(queries)
            noise = np.asarray(tc.noise.discrete_laplace(draws[1], size=size)).reshape(n, -1)
        above = np.asarray(queries) + noise >= level
        if kind in (1, 4):
            stop = np.where(above.any(axis=1), above.argmax(axis=1), len(queries))
            return stop.tolist()
        return list(map(tuple, above.tolist()))

    return run


LEFT, RIGHT = [0] * 5 + [1] * 5, [1] * 5 + [0] * 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", [4, 5, 6])
def test_wrong_sparse_vectors_are_refuted_with_a_hundredth_of_published_samples(kind):
    found = sampled(
        above_threshold(kind), LEFT, RIGHT, epsilon="1/10", batch=True, samples=2_000_000
    )
    assert found.refuted
    assert found.samples <= 2_000_000


@pytest.mark.slow
def test_controls_are_never_flagged():
    """1,000 audits, each at confidence 1 - 1e-9: fails by chance with probability 1e-6."""
    sure = 1 - 1e-9
    for _ in range(500):
        noisy = sampled(geometric(1), 0, 1, epsilon=1, batch=True, confidence=sure, samples=400)
        assert noisy
        right = above_threshold(1)
        assert sampled(right, LEFT, RIGHT, epsilon="1/10", batch=True, confidence=sure, samples=400)


def test_that_a_mechanism_raises_is_an_output():
    found = sampled(lambda rows: 1 / rows, 0, 1, epsilon=1, samples=200)
    assert found.refuted
    always = sampled(lambda rows: 1 / tc.noise.bernoulli("1/2"), 0, 1, epsilon=1, samples=100)
    assert not always.refuted


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (5, "cannot be"),
        (lambda: 1, "all of its first 100 runs: TypeError"),
        (lambda rows: 1 / 0, "ZeroDivisionError: division by zero"),
        (command("/no/such/program"), "cannot be run: No such file"),
    ],
    ids=["no function", "no argument", "raises", "no program"],
)
def test_what_gives_no_output_at_all_is_refused(wrong, told):
    with pytest.raises(UsageError, match=told):
        sampled(wrong, 0, 1)


def test_a_batch_that_is_one_output_is_refused():
    with pytest.raises(UsageError, match="many outputs, not a float"):
        sampled(lambda rows, n: 3.0, 0, 1, batch=True)
    assert sampled(lambda rows, n: (0 for _ in range(n)), 0, 1, batch=True, samples=100)


def test_what_changes_with_time_alone_is_no_difference_of_the_data():
    """Fifty runs of u and then fifty of v: each saw one half of a period of a hundred."""
    turn = itertools.cycle([0] * 50 + [1] * 50)
    stands = sampled(lambda rows: next(turn), 0, 1, epsilon=1, samples=300, confidence=1 - 1e-6)
    assert not stands.refuted


def test_what_a_program_printed_before_it_failed_is_an_output():
    assert command(["sh", "-c", "cat; exit 3"])("7") == "7 exit 3"


def test_bytes_that_are_no_text_are_an_output():
    one, other = (command(["printf", code])("") for code in (r"\351", r"\352"))
    assert one != other


@pytest.mark.parametrize(
    ("line", "timeout"),
    [("a 'b", 1), (None, 1), ("cat", 0), ("cat", -1), ("cat", "soon"), ("cat", math.nan)],
)
def test_commands_that_make_no_sense_are_refused(line, timeout):
    with pytest.raises(UsageError):
        command(line, timeout=timeout)


def test_a_claim_larger_than_any_double_stands():
    assert sampled(lambda rows: rows, 0, 1, epsilon=10**400, samples=100)


# The bound on the trade-off curve: on the right side at all times, for events that change.


DRAW = np.random.default_rng(3)


@pytest.mark.full
def test_the_bound_fails_at_no_more_than_alpha_over_all_times_and_all_plans():
    """Exactly: the most that a gambler reaches who sets each chance by all that came before."""
    rounds, alpha, chances = 8, 0.3, (0.02, 0.4, 0.9)
    table = {
        n: mean_below(np.arange(n + 1.0), np.full(n + 1, float(n)), alpha)
        for n in range(1, rounds + 1)
    }

    def worst(n, count, total):
        """The largest probability that the mean is above its bound at some time from now on."""
        if n and total / n > table[n][count]:
            return 1.0
        if n == rounds:
            return 0.0
        return max(
            m * worst(n + 1, count + 1, total + m) + (1 - m) * worst(n + 1, count, total + m)
            for m in chances
        )

    assert 0.01 < worst(0, 0, 0.0) <= alpha


def test_the_bound_is_near_the_mean_after_many_runs():
    runs = np.full(3, 1e6)
    above = mean_below(np.array([1e3, 1e5, 5e5]), runs, 1e-3)
    assert above[0] == pytest.approx(1e-3, rel=0.2)
    assert above[1] == pytest.approx(0.1, rel=0.02)
    assert above[2] == pytest.approx(0.5, rel=0.01)
    assert (above > np.array([1e-3, 0.1, 0.5])).all()


def test_the_curve_is_above_the_true_one_for_thresholds_that_move():
    """Laplace noise of scale 1 and a shift of 1: type II error max of two exponentials (Dong)."""
    curve = TradeOff(3)
    for _ in range(20):
        cuts = DRAW.uniform(-1, 2, 3)
        u, v = DRAW.laplace(1, 1, 1000), DRAW.laplace(0, 1, 1000)
        inside = np.array([(side[:, None] > cuts).sum(axis=0) for side in (u, v)])
        curve.add(slice(0, 3), inside, 1000)
    corners = curve.corners(1 - 1e-6)
    for type_i, type_ii in corners:
        if type_i < math.exp(-1) / 2:
            least = 1 - math.e * type_i
        elif type_i <= 0.5:
            least = math.exp(-1) / (4 * type_i)
        else:
            least = math.exp(-1) * (1 - type_i)
        assert type_ii >= least - 1e-12
    assert corners[0] == (0, 1)
    assert corners[-1] == (1, 0)
    slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(corners)]
    assert slopes == sorted(slopes)
    assert min(a + b for a, b in corners) < 0.8


def test_nothing_counted_says_nothing_and_the_shares_are_of_what_shows_the_most():
    curve = TradeOff(2)
    assert curve.corners(0.99) == ((0, 1), (1, 0))
    assert curve.shares(0.99, 0.0) == (0, 0)
    curve.add(slice(0, 1), np.array([[520], [500]]), 1000)
    curve.add(slice(1, 2), np.array([[990], [700]]), 1000)
    assert curve.shares(0.99, 0.0) == pytest.approx((0.3, 0.01))

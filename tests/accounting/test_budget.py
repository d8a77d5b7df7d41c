"""Budgets: exact arithmetic, honest refusals, and rounding that never forgives."""

from __future__ import annotations

import itertools
import math
import pickle
import random
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.examples import examples
from tacit.accounting.budget import Budget, Kind, epsilon, epsilon_delta, fit, nearly_equal, rho
from tacit.accounting.choose_epsilon import EpsilonChoice, choose_epsilon
from tacit.accounting.gaussian_filter import after, before, delta_of, epsilon_of, largest, whole
from tacit.core.losses.distribution import BoundedRange
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.domains import Records
from tacit.statistics.global_sensitivity import lookup, sensitivity

GRID = 2**1200
amounts = st.fractions(min_value=0, max_value=100, max_denominator=10**9)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 3), max_denominator=10**12)


@st.composite
def budgets(draw: st.DrawFn, kind: Kind | None = None) -> Budget:
    kind = kind or draw(st.sampled_from(get_args(Kind)))
    return Budget(kind, draw(amounts), draw(deltas) if kind == "approximate" else Fraction(0))


@pytest.mark.parametrize("make", [epsilon, rho, lambda value: epsilon_delta(value, 0)])
@pytest.mark.parametrize(
    "value",
    [0, -1, 0.0, -0.5, float("nan"), float("inf"), "-inf", "one", "", "1/0", True, None, [1]],
)
def test_a_budget_must_be_a_finite_number_above_zero(make, value):
    with pytest.raises(UsageError):
        make(value)


@pytest.mark.parametrize("delta", [1, 1.5, -1e-9, float("nan"), "x", False])
def test_delta_is_at_least_zero_and_below_one(delta):
    with pytest.raises(UsageError, match="delta"):
        epsilon_delta(1, delta)


def test_numbers_without_end_are_refused():
    with pytest.raises(UsageError, match="too long"):
        epsilon("1e-400")
    with pytest.raises(UsageError, match="too long"):
        epsilon("1e400")
    assert epsilon(5e-324).amount == Fraction(5e-324)  # every float is short enough
    assert rho(1.7976931348623157e308).amount > 1


def test_the_kinds_do_not_mix():
    with pytest.raises(UsageError, match="counted differently"):
        epsilon(1) + rho(1)
    with pytest.raises(UsageError, match="counted differently"):
        epsilon(1).covers(epsilon_delta(1, 0))
    with pytest.raises(UsageError, match="no delta"):
        Budget("pure", Fraction(1), Fraction(1, 10))
    with pytest.raises(UsageError, match="kind"):
        Budget("renyi", Fraction(1))
    assert epsilon(1).__add__(1) is NotImplemented
    assert epsilon(1).__sub__(1) is NotImplemented


def test_a_number_is_read_exactly():
    assert epsilon("0.1").amount == Fraction(1, 10)
    assert epsilon(0.1).amount == Fraction(0.1) != Fraction(1, 10)
    assert epsilon_delta(1, "1e-6").delta == Fraction(1, 10**6)
    assert epsilon("1/3").epsilon == Fraction(1, 3)
    assert rho("1/3").rho == Fraction(1, 3)


def test_epsilon_and_rho_are_asked_of_the_right_kind():
    with pytest.raises(UsageError, match="at a delta"):
        _ = rho(1).epsilon
    with pytest.raises(UsageError, match="not rho"):
        _ = epsilon(1).rho


@pytest.mark.full
@given(budgets())
def test_description_round_trip(budget):
    assert Budget.from_json(budget.to_json()) == budget
    assert pickle.loads(pickle.dumps(budget)) == budget


@pytest.mark.parametrize(
    "described",
    [
        None,
        "pure",
        [],
        {},
        {"kind": "pure"},
        {"kind": "pure", "epsilon": 1},
        {"kind": "pure", "epsilon": "-1"},
        {"kind": "pure", "epsilon": "1", "delta": "0"},
        {"kind": "approximate", "epsilon": "1"},
        {"kind": "approximate", "epsilon": "1", "delta": "1"},
        {"kind": "concentrated", "epsilon": "1"},
        {"kind": "renyi", "epsilon": "1"},
        {"kind": ["pure"], "epsilon": "1"},
        {"kind": "pure", "epsilon": "nan"},
    ],
)
def test_what_is_no_description_is_refused(described):
    with pytest.raises(UsageError):
        Budget.from_json(described)


def test_a_repr_reads_as_one_would_type_it():
    assert repr(epsilon("1/3")) == "epsilon('1/3')"
    assert repr(epsilon(0.1)) == "epsilon(0.1)"
    assert repr(epsilon_delta(1, "1e-6")) == "epsilon_delta(1, 1e-06)"
    assert str(rho("1/10")) == "rho 0.1"
    assert str(epsilon_delta("1/2", "1/4")) == "epsilon 0.5, delta 0.25"


@given(st.data())
def test_the_sum_is_exact_and_the_difference_undoes_it(data):
    first = data.draw(budgets())
    second = data.draw(budgets(first.kind))
    both = first + second
    assert both.amount == first.amount + second.amount
    assert both.delta == first.delta + second.delta
    assert both.covers(first)
    assert both - second == first
    assert both == second + first


@given(st.data())
def test_cover_is_the_order_of_both_numbers(data):
    total = data.draw(budgets())
    cost = data.draw(budgets(total.kind))
    covered = cost.amount <= total.amount and cost.delta <= total.delta
    assert total.covers(cost) == covered
    if covered:
        assert (total - cost) + cost == total
    else:
        with pytest.raises(UsageError, match="does not cover"):
            total - cost


@given(st.integers(2**1199, GRID - 1), st.integers(2**1199, GRID - 1))
def test_a_sum_too_long_to_keep_is_rounded_up_and_a_remainder_down(first, second):
    small = Budget("pure", Fraction(1, first))
    large = Budget("pure", 1 + Fraction(1, second))
    exact = small.amount + large.amount
    assert exact <= (small + large).amount <= exact + Fraction(1, GRID)
    exact = large.amount - small.amount
    assert exact - Fraction(1, GRID) <= (large - small).amount <= exact


def test_a_long_history_of_coprime_costs_stays_short():
    spent, exact = Budget.nothing("pure"), Fraction(0)
    for denominator in range(10**6 + 1, 10**6 + 4001, 2):
        cost = epsilon(Fraction(1, denominator))
        spent, exact = spent + cost, exact + cost.amount
    assert exact.denominator > GRID
    assert spent.amount.denominator <= GRID
    assert exact <= spent.amount <= exact + Fraction(2000, GRID)
    assert Budget.from_json(spent.to_json()) == spent


def test_what_a_release_costs_in_a_budget_of_another_kind():
    assert epsilon(1).cost_in("approximate") == epsilon_delta(1, 0)
    assert epsilon_delta(1, 0).cost_in("pure") == epsilon(1)
    assert float(epsilon(1).cost_in("concentrated").amount) == pytest.approx(0.46211715726)
    assert epsilon_delta(2, 0).cost_in("concentrated") == epsilon(2).cost_in("concentrated")
    for budget in (epsilon(1), epsilon_delta(1, "1e-6"), rho(1)):
        assert budget.cost_in(budget.kind) is budget


@pytest.mark.parametrize(
    ("cost", "kind", "remedy"),
    [
        (rho(1), "pure", r"rho\(\.\.\.\)"),
        (rho(1), "approximate", r"rho\(\.\.\.\)"),
        (epsilon_delta(1, "1e-6"), "pure", "epsilon_delta"),
        (epsilon_delta(1, "1e-6"), "concentrated", "epsilon_delta"),
    ],
)
def test_a_budget_that_cannot_pay_says_which_one_could(cost, kind, remedy):
    with pytest.raises(UsageError, match=f"cannot pay for that mechanism.*Open it as {remedy}"):
        cost.cost_in(kind)


def test_the_smallest_epsilon_costs_a_rho_that_can_be_written_down():
    assert epsilon(5e-324).cost_in("concentrated").amount == Fraction(1, GRID)


def test_an_unknown_kind_of_budget_is_refused():
    with pytest.raises(UsageError, match="no budget of kind"):
        epsilon(1).cost_in("renyi")


def test_reporting_at_a_delta():
    assert epsilon("1/3").epsilon_at(0) == Fraction(1, 3)
    assert epsilon_delta(1, "1e-6").epsilon_at("1e-5") == 1
    with pytest.raises(UsageError, match="delta of 1e-06 or more"):
        epsilon_delta(1, "1e-6").epsilon_at("1e-7")
    with pytest.raises(UsageError, match="above 0"):
        rho(1).epsilon_at(0)
    with pytest.raises(UsageError, match="delta"):
        rho(1).epsilon_at(2)


@pytest.mark.few(5)
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 10, 49, 100, 1000, 8191, 8192])
def test_equal_float_parts_spend_the_whole_and_never_more(parts):
    total, spent = epsilon(1), Budget.nothing("pure")
    for _ in range(parts):
        cost = fit(epsilon(1 / parts), total - spent)
        assert (total - spent).covers(cost)
        spent += cost
    assert total.covers(spent)
    assert 1 - spent.amount <= Fraction(parts, 2**53)


def test_without_fit_the_tenth_float_part_does_not_fit():
    nine = Budget("pure", 9 * Fraction(0.1))
    assert not (epsilon(1) - nine).covers(epsilon(0.1))


@given(st.data())
def test_fit_gives_the_request_or_the_remainder(data):
    remaining = data.draw(budgets())
    requested = data.draw(budgets(remaining.kind))
    fitted = fit(requested, remaining)
    assert requested.covers(fitted)
    if fitted != requested:
        slack = 1 + Fraction(1, 2**40)
        assert remaining.covers(fitted)
        assert requested.amount <= remaining.amount * slack
        assert requested.delta <= remaining.delta * slack


@given(st.data(), st.sampled_from(get_args(Kind)))
def test_fit_at_the_edge_of_its_tolerance(data, kind):
    remaining = data.draw(budgets(kind).filter(lambda budget: budget.amount > 0))
    edge = Budget(kind, remaining.amount * (1 + Fraction(1, 2**40)), remaining.delta)
    beyond = Budget(kind, remaining.amount * (1 + Fraction(1, 2**39)), remaining.delta)
    assert fit(edge, remaining) == remaining
    assert fit(beyond, remaining) == beyond


def test_fit_does_not_give_away_what_is_not_there():
    assert fit(epsilon(1), Budget.nothing("pure")) == epsilon(1)
    nothing_of_delta = epsilon_delta(1, 0)
    assert fit(epsilon_delta(1, "1e-9"), nothing_of_delta) == epsilon_delta(1, "1e-9")
    with pytest.raises(UsageError, match="counted differently"):
        fit(epsilon(1), rho(1))


def test_nearly_equal_allows_only_rounding():
    assert nearly_equal(rho(0.1), rho("0.1"))
    assert not nearly_equal(rho(0.1), rho("0.1000001"))
    assert not nearly_equal(epsilon_delta(1, "1e-6"), epsilon_delta(1, "1e-7"))
    assert not nearly_equal(epsilon(1), epsilon_delta(1, 0))


# Epsilon from a disclosure risk: reference values, brute force over worlds, safety of rounding.


def posterior(values: list[float], scale: float, epsilon: Any, output: float) -> list[Any]:
    """The posterior of every world after an output, to 40 digits."""
    with mpmath.workdps(40):
        weights = [mpmath.exp(-mpmath.mpf(epsilon) * abs(output - v) / scale) for v in values]
        total = mpmath.fsum(weights)
        return [w / total for w in weights]


@pytest.mark.parametrize(
    ("population", "statistic", "bound", "tight"),
    [
        ([1, 2, 3, 4], "mean", 0.337888, 0.525150),
        ([1, 2, 3, 10], "mean", 0.382939, 0.431720),
        ([1, 2, 3, 4], "median", 0.405465, math.log(2)),
        ([1, 2, 3, 10], "median", 1.621860, 4 * math.log(2)),
    ],
)
def test_reference_values(
    population: list[int], statistic: str, bound: float, tight: float
) -> None:
    choice = choose_epsilon(statistic, population, size=3, risk="1/3")
    assert float(choice.bound) == pytest.approx(bound, abs=5e-7)
    assert float(choice.tight) == pytest.approx(tight, abs=5e-7)
    assert choice.worlds == 4


@pytest.mark.few(3)
@pytest.mark.parametrize("statistic", ["mean", "median", "sum", "std", "max", np.ptp])
@examples(0.2)
@given(
    population=st.lists(st.integers(0, 12), min_size=3, max_size=6),
    size=st.integers(1, 5),
    risk=st.fractions("0.05", "0.9", max_denominator=20),
)
def test_no_output_exceeds_the_risk(
    statistic: Any, population: list[int], size: int, risk: Fraction
) -> None:
    size = min(size, len(population) - 1)
    worlds = list(itertools.combinations(population, size))
    assume(risk * len(worlds) > 1)
    asked = lookup(statistic)
    values = [float(asked.exact([Fraction(v) for v in sorted(w)])) for w in worlds]  # type: ignore[arg-type]
    choice = choose_epsilon(statistic, population, size, risk)
    assert choice.worlds == len(worlds) == sum(count for _, count in choice.values)
    scale = float(sensitivity(statistic, over=Records(population, size)).value)
    if choice.tight == math.inf:
        counts = [values.count(v) for v in values]
        assert min(counts) * risk >= 1
        return
    assert choice.bound <= choice.tight
    outputs = [*values, *np.linspace(min(values) - 1, max(values) + 1, 25)]
    for each_epsilon in (float(choice.bound), float(choice.tight)):
        worst = max(max(posterior(values, scale, each_epsilon, o)) for o in outputs)
        assert worst <= float(risk) + 1e-12
    over = float(choice.tight) * (1 + 1e-9)
    assert max(max(posterior(values, scale, over, o)) for o in values) > float(risk)


def test_rounding_is_toward_safety() -> None:
    """``ln 2`` and ``4 ln 2`` are the truth; what is returned is just below."""
    with mpmath.workdps(60):
        for population, times in (([1, 2, 3, 4], 1), ([1, 2, 3, 10], 4)):
            tight = choose_epsilon("median", population, 3, "1/3").tight
            assert isinstance(tight, Fraction)
            truth = times * mpmath.log(2)
            found = mpmath.mpf(tight.numerator) / tight.denominator
            assert truth * (1 - mpmath.mpf("1e-12")) < found <= truth


def test_all_worlds_count_not_only_some() -> None:
    """Over the worlds that leave out one given record each, the median would allow more."""
    choice = choose_epsilon("median", [1, 2, 3, 10, 11], 3, "1/4")
    assert choice.worlds == 10
    assert choice.posterior(choice.tight) == pytest.approx(0.25, rel=1e-9)


def test_equal_values_are_different_people() -> None:
    choice = choose_epsilon("sum", [1, 1, 1, 5], 2, "1/2")
    assert sorted(choice.values) == [(Fraction(2), 3), (Fraction(6), 3)]
    assert choice.tight == math.inf  # three worlds share every value
    assert choice.bound < math.inf
    assert "any" in str(choice)
    assert choose_epsilon("mean", [3, 3, 3], 2, "1/2").bound == math.inf


def test_the_posterior_rises_with_epsilon() -> None:
    choice = choose_epsilon("mean", [1, 4, 6, 9], 2, "1/2")
    found = [choice.posterior(e) for e in ("0.001", "0.1", 1, 5, 1000)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(1 / 6, rel=1e-3)
    assert found[-1] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"risk": 0}, "above 0 and below 1"),
        ({"risk": 1}, "above 0 and below 1"),
        ({"risk": "1/4"}, "above 1/4"),
        ({"risk": 0.1}, "above 1/4"),
        ({"size": 4}, "nothing to hide"),
        ({"size": 5}, "larger than the population"),
        ({"size": 0}, "at least 1"),
        ({"statistic": "mediann"}, "did you mean"),
        ({"population": []}, "empty"),
        ({"population": [1, math.nan]}, "finite"),
    ],
)
def test_bad_questions_say_what_to_do(change: dict[str, Any], message: str) -> None:
    question = {"statistic": "median", "population": [1, 2, 3, 4], "size": 3, "risk": "1/3"}
    with pytest.raises(UsageError, match=message):
        choose_epsilon(**{**question, **change})


def test_too_many_worlds_are_refused_before_they_are_made() -> None:
    with pytest.raises(InfeasibleError, match="fewer records"):
        choose_epsilon("mean", range(40), 20, "1/2")
    choice = choose_epsilon("median", [0] * 500 + [1] * 500, 100, "1/1000")
    assert isinstance(choice, EpsilonChoice)
    assert choice.worlds == math.comb(1000, 100)


# The picture of the choice of an epsilon.


@pytest.mark.full
@pytest.mark.parametrize("statistic", ["median", "std"])
def test_the_picture_is_drawn(statistic: str, tmp_path: Path) -> None:
    choice = choose_epsilon(statistic, [1, 2, 3, 10, 11], 3, "1/4")
    figure = choice.plot()
    left, right = figure.axes
    assert left.get_xlabel() == "epsilon"
    assert len(right.get_legend().get_texts()) == min(8, len(choice.values))
    for kind in ("png", "svg"):
        figure.savefig(tmp_path / f"choice.{kind}")
        assert (tmp_path / f"choice.{kind}").stat().st_size > 5_000


# The filter against the definition: profiles at every epsilon, and analysts who adapt.


ONE = Fraction(1)
LEVELS = [Fraction(k, 16) for k in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 64)]
epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=3, max_denominator=1000)
variances = st.fractions(min_value=0, max_value=4, max_denominator=1000)


def normal(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def profile(variance, level):
    """The textbook's delta of a Gaussian, also at a level below zero."""
    if not variance:
        return max(0.0, -math.expm1(level))
    root = math.sqrt(variance)
    return normal(root / 2 - level / root) - math.exp(level) * normal(-root / 2 - level / root)


def together(epsilon, variance, level):
    """Delta of randomized response and a Gaussian, at a level: their mixture."""
    high = 1 / (1 + math.exp(-epsilon))
    return high * profile(variance, level - epsilon) + (1 - high) * profile(
        variance, level + epsilon
    )


def dominated(epsilon, left, variance):
    # rounding takes a level's delta below another's by no more than this
    return all(
        together(float(epsilon), float(left), float(level))
        <= profile(float(variance), float(level)) + 1e-13
        for level in LEVELS
    )


@given(epsilons, variances)
def test_what_a_release_leaves_and_the_release_are_dominated(epsilon, variance):
    left = after(variance, epsilon)
    if left is None:
        assert largest(variance) < epsilon
        return
    assert largest(variance) * (1 + Fraction(1, 2**30)) >= epsilon
    assert dominated(epsilon, left, variance)


@given(epsilons, variances)
def test_a_release_before_a_gaussian_is_dominated(epsilon, variance):
    assert dominated(epsilon, variance, before(variance, epsilon))


@given(epsilons, variances)
def test_little_more_is_taken_than_must_be(epsilon, variance):
    left = after(variance, epsilon)
    assume(left is not None and left > 0)
    taken = variance - left
    more = left + taken * Fraction(1, 1000)
    if epsilon**2 * 256 > variance:  # the search is as near as its steps
        assert not dominated(epsilon, more, variance) or taken < Fraction(1, 10**6)
    else:
        assert taken <= epsilon**2 * Fraction(1003, 1000)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/10", "1e-3"), ("8", "1e-15")])
def test_a_budget_begins_with_the_largest_gaussian(epsilon, delta):
    level, target = Fraction(epsilon), Fraction(delta)
    held = whole(level, target)
    assert delta_of(held, level, 256).upper <= target
    assert delta_of(held * (1 + Fraction(1, 10**6)), level, 256).lower > target
    back = epsilon_of(held, target)
    assert level * (1 - Fraction(1, 10**5)) <= back <= level * (1 + Fraction(1, 2**20))


def test_what_no_gaussian_holds():
    assert whole(ONE, Fraction(0)) == 0
    assert whole(Fraction(65), Fraction(1, 2)) == 0
    assert after(ONE, Fraction(10**6)) is None
    assert after(Fraction(0), Fraction(1, 10**30)) is None
    assert largest(Fraction(0)) == 0
    tiny = after(ONE, Fraction(1, 10**30))
    assert tiny is not None
    assert 1 - tiny < Fraction(1, 2**79)


def test_the_same_on_every_machine():
    left = after(Fraction(1, 20), Fraction(1, 50))
    step = Fraction(1, 2**32)
    assert left is not None
    assert (Fraction(1, 20) - left) % step == 0
    assert round((Fraction(1, 20) - left) / step) == 1720264


def delta_of_analyst(rng, level, variance, epsilons, releases):
    """Delta at a level of an analyst who picks each epsilon by the answers so far, exactly.

    Each answer is that of randomized response, so that a run is a path of losses.
    """

    def rest(loss, mass, left, turns):
        # mass under P of this run; under Q it is mass / e^loss
        pick = rng.choice(epsilons) if turns else None
        remaining = None if pick is None else after(left, pick)
        if remaining is None:
            return max(0.0, mass * -math.expm1(level - loss))
        high = 1 / (1 + math.exp(-pick))
        up = rest(loss + float(pick), mass * high, remaining, turns - 1)
        return up + rest(loss - float(pick), mass * (1 - high), remaining, turns - 1)

    return rest(0.0, 1.0, variance, releases)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_no_analyst_who_adapts_passes_the_budget(seed):
    rng = random.Random(seed)
    level, delta = Fraction(rng.choice(["1/10", "1/5", "2/5"])), rng.choice([0.2, 0.1, 0.05])
    variance = whole(level, Fraction(delta))
    step = largest(variance)
    epsilons = [step * Fraction(k, 8) for k in (2, 3, 4)]
    reached = delta_of_analyst(rng, float(level), variance, epsilons, 8)
    assert reached <= delta
    assert reached > 0


@pytest.mark.full
def test_the_greediest_analyst_of_a_small_budget():
    """All strategies at once: at each turn the epsilon with the most delta to come."""
    level, delta = 0.25, Fraction(1, 20)
    variance = whole(Fraction(1, 4), delta)
    step = largest(variance)
    epsilons = [step, step / 2, step / 3]

    def best(loss, left, turns):
        found = max(0.0, -math.expm1(level - loss))
        for pick in epsilons if turns else ():
            remaining = after(left, pick)
            if remaining is None:
                continue
            high = 1 / (1 + math.exp(-pick))
            up = best(loss + float(pick), remaining, turns - 1)
            down = best(loss - float(pick), remaining, turns - 1)
            found = max(found, high * up + (1 - high) * down)
        return found

    reached = best(0.0, variance, 6)
    assert 0.7 * float(delta) < reached <= float(delta)


def together_with_range(epsilon, variance, level, places=400):
    """Delta of a release of bounded range and a Gaussian, from its losses.

    Those of the dominating pair have the density ``e^(l/2) / (4 sinh(epsilon/2))`` under P; the
    integral is taken by Simpson's rule.
    """
    width = 2 * epsilon / places
    found = 0.0
    for place in range(places + 1):
        loss = -epsilon + place * width
        share = 1 if place in (0, places) else 4 if place % 2 else 2
        found += share * math.exp(loss / 2) * profile(variance, level - loss)
    return found * width / 3 / (4 * math.sinh(epsilon / 2))


def test_the_losses_of_a_range_are_those_of_its_profile():
    for each_epsilon, level in [(0.5, 0.1), (1.0, 0.7), (3.0, 2.0)]:
        known = float(BoundedRange(Fraction(each_epsilon)).delta(Fraction(level)))
        assert together_with_range(each_epsilon, 1e-8, level, 40_000) == pytest.approx(
            known, rel=1e-3
        )


@pytest.mark.parametrize(
    ("epsilon", "variance"),
    [("1/10", "1/200"), ("1/2", "1/10"), ("1", "2/5"), ("1", "4"), ("3", "4"), ("1/4", "3")],
)
def test_what_a_release_of_bounded_range_leaves_and_the_release_are_dominated(epsilon, variance):
    epsilon, variance = Fraction(epsilon), Fraction(variance)
    left = after(variance, epsilon, 1, True)
    assert left is not None
    plain = after(variance, epsilon)
    assert plain is None or left > plain
    for level in LEVELS:
        reached = together_with_range(float(epsilon), float(left), float(level))
        assert reached <= profile(float(variance), float(level)) + 1e-11
    if epsilon**2 / 3 * 256 > variance:  # the search is as near as its steps
        more = float(left + (variance - left) / 1000)
        assert together_with_range(float(epsilon), more, 0.0) > profile(float(variance), 0.0)
    there = before(left, epsilon, 1, True)
    assert variance * Fraction(999, 1000) <= there <= variance * Fraction(1001, 1000)


def test_a_range_that_does_not_fit():
    assert after(Fraction(1, 100), Fraction(1, 4), 1, True) is None
    assert after(Fraction(1, 100), Fraction(1, 8), 1, True) is not None
    assert after(Fraction(1, 100), Fraction(1, 8)) is None


@pytest.mark.parametrize(("ranged", "variance"), [(False, "1/38"), (True, "3")])
def test_several_at_once_take_what_they_take_one_by_one(ranged, variance):
    epsilon, alone = Fraction(1, 100), Fraction(variance)
    at_once = after(alone, epsilon, 8, ranged)
    back = Fraction(1, 300)
    added = before(back, epsilon, 8, ranged)
    for _ in range(8):
        alone, back = after(alone, epsilon, 1, ranged), before(back, epsilon, 1, ranged)
    assert alone * Fraction(99, 100) <= at_once <= alone
    assert back <= added <= back * Fraction(101, 100)

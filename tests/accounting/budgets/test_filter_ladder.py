"""What is spent at a delta whenever one looks, against all runs of analysts who adapt and stop."""

import math
from fractions import Fraction

import pytest

from tacit.accounting import Odometer, epsilon, epsilon_delta
from tacit.accounting.budgets import filter_ladder
from tacit.accounting.budgets.budget import Budget
from tacit.accounting.budgets.filter_ladder import FilterLadder
from tacit.accounting.budgets.gaussian_filter import epsilon_of
from tacit.errors import BudgetError, UsageError

STEPS = 7


def until_it_looks_bad(bits):
    """Go on while the answers speak for one side, with larger epsilons."""
    lead = 2 * sum(bits) - len(bits)
    return None if lead >= 4 else Fraction(1, 4 if lead < 2 else 2)


def after_bad_luck(bits):
    return Fraction(1, 2) if not bits or bits[-1] else Fraction(1, 8)


def steadily(bits):
    return Fraction(2, 5)


def excess(ladder, choose, bits=(), p=1.0, q=1.0):
    """Return the sum over all runs of what P has beyond e^E Q, where E is reported at the end."""
    cost = choose(bits) if len(bits) < STEPS else None
    if cost is None:
        return max(p - math.exp(ladder.spent.amount) * q, 0.0)
    after = ladder.charged(Budget("approximate", cost))
    up = 1 / (1 + math.exp(-float(cost)))
    return excess(after, choose, (*bits, 1), p * up, q * (1 - up)) + excess(
        after, choose, (*bits, 0), p * (1 - up), q * up
    )


@pytest.mark.full
@pytest.mark.parametrize("choose", [until_it_looks_bad, after_bad_luck, steadily])
@pytest.mark.parametrize("delta", [Fraction(1, 2), Fraction(1, 10)])
def test_no_analyst_who_stops_at_will_beats_what_is_reported(monkeypatch, choose, delta):
    monkeypatch.setattr(filter_ladder, "_VARIANCES", (Fraction(1, 2), Fraction(1), Fraction(2)))
    ladder = FilterLadder.begun(delta)
    assert excess(ladder, choose) <= delta / 2  # all of it is the filters' half
    run = ladder
    for _ in range(STEPS):
        run = run.charged(Budget("approximate", Fraction(2, 5)))
    if delta == Fraction(1, 2):
        assert run.spent.amount < run.added.amount
        assert 0 < excess(ladder, steadily) <= delta / 2


@pytest.mark.full
def test_many_small_releases_are_reported_together_and_never_beyond_their_sum():
    odometer = Odometer("approximate", delta="1e-6")
    assert odometer.spent.is_nothing
    assert odometer.remaining is None
    reports = []
    for count in range(1, 61):
        odometer.spend(epsilon("1/20"))
        assert odometer.spent.amount <= Fraction(count, 20)
        reports.append(odometer.spent.amount)
    assert reports == sorted(reports)
    assert odometer.spent.delta == Fraction(1, 10**6)
    assert reports[0] == Fraction(1, 20)
    fixed = epsilon_of(Fraction(60, 20**2), Fraction(1, 10**6))
    assert fixed < reports[-1] < fixed * Fraction(8, 5)  # added up, it is 3


def test_deltas_of_releases_fit_in_their_half():
    odometer = Odometer("approximate", delta="1e-6")
    odometer.spend(epsilon_delta("1/10", "4e-7"))
    with pytest.raises(BudgetError, match="nothing was spent"):
        odometer.spend(epsilon_delta("1/10", "2e-7"))
    assert odometer.spent.amount == Fraction(1, 10)


def test_a_delta_is_for_an_odometer_that_counts_approximately():
    for total in ("pure", "concentrated", epsilon(1), epsilon_delta(1, "1e-6")):
        with pytest.raises(UsageError):
            Odometer(total, delta="1e-6")
    for delta in (0, 1, 2, -1):
        with pytest.raises(UsageError):
            Odometer("approximate", delta=delta)

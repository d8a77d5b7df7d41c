"""The odometer adds up; as a filter it stops before the total is passed."""

import os
import threading
import time
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import Budget, Odometer, epsilon, epsilon_delta, rho
from tacit.accounting.odometer import Spending
from tacit.errors import BudgetError, UsageError

costs = st.lists(
    st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=50), max_size=30
)


@given(costs)
def test_a_filter_grants_exactly_what_fits(amounts):
    odometer, spent = Odometer(epsilon(2)), Fraction(0)
    for amount in amounts:
        if spent + amount <= 2:
            assert odometer.spend(epsilon(amount)) == epsilon(amount)
            spent += amount
        else:
            with pytest.raises(BudgetError, match="nothing was spent"):
                odometer.spend(epsilon(amount))
        assert odometer.spent.amount == spent
        assert odometer.remaining == Budget("pure", 2 - spent)


def test_both_numbers_of_an_approximate_budget_are_held():
    odometer = Odometer(epsilon_delta(1, "1e-6"))
    odometer.spend(epsilon("1/2"))
    with pytest.raises(BudgetError, match="delta 1e-05"):
        odometer.spend(epsilon_delta("1/4", "1e-5"))
    with pytest.raises(BudgetError, match="delta 1e-06"):
        odometer.spend(epsilon_delta("1/2", "1e-6"))  # half of delta pays for the filter
    odometer.spend(epsilon_delta("1/2", "5e-7"))
    assert odometer.remaining == Budget.nothing("approximate")


def test_a_first_charge_that_takes_much_of_delta_has_all_of_it():
    odometer = Odometer(epsilon_delta(1, "1e-6"))
    odometer.spend(epsilon_delta("1/2", "5e-7"))
    odometer.spend(epsilon_delta("1/2", "5e-7"))
    assert odometer.remaining == Budget.nothing("approximate")
    assert odometer.spent == epsilon_delta(1, "1e-6")


@pytest.mark.full
def test_small_charges_cost_what_they_cost_together():
    odometer = Odometer(epsilon_delta(1, "1e-6"))
    for _ in range(100):
        odometer.spend(epsilon("1/50"))
    assert Fraction(86, 100) < odometer.spent.amount < Fraction(88, 100)
    assert odometer.spent.delta == Fraction(1, 2 * 10**6)
    assert odometer.remaining.amount > Fraction(1, 50)
    for _ in range(29):
        odometer.spend(epsilon("1/50"))
    with pytest.raises(BudgetError, match="nothing was spent"):
        odometer.spend(epsilon("1/50"))  # no accounting grants more than 131 at half of delta


def test_without_a_total_it_only_counts():
    odometer = Odometer("concentrated")
    for _ in range(100):
        odometer.spend(rho(1))
    assert odometer.spent == rho(100)
    assert odometer.remaining is None
    assert odometer.total is None
    with pytest.raises(UsageError, match="cannot pay"):
        odometer.spend(epsilon_delta(1, "1e-6"))
    with pytest.raises(UsageError, match="kind"):
        Odometer("renyi")


def test_what_a_pure_release_takes_of_a_concentrated_total():
    odometer = Odometer(rho("1/2"))
    assert odometer.spend(epsilon(1)) == epsilon(1).cost_in("concentrated")
    assert odometer.total == rho("1/2")


def test_threads_together_never_pass_the_total(monkeypatch):
    require = Spending.require

    def slowly(spending, cost):
        require(spending, cost)
        time.sleep(0.0005)  # time for the others to see the same remainder

    monkeypatch.setattr(Spending, "require", slowly)
    odometer, granted, start = Odometer(epsilon(1)), [], threading.Barrier(8)

    def work() -> None:
        start.wait()
        for _ in range(50):
            try:
                granted.append(odometer.spend(epsilon("1/100")))
            except BudgetError:
                return

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 100
    assert odometer.spent == epsilon(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("counts", [epsilon(1), "pure"])
def test_a_forked_process_spends_nothing_again(counts: Any, forked: Any) -> None:
    odometer = Odometer(counts)
    odometer.spend(epsilon("1/2"))

    def child() -> None:
        with pytest.raises(UsageError, match="cannot follow into a forked process"):
            odometer.spend(epsilon("1/2"))

    forked(child)
    odometer.spend(epsilon("1/2"))
    assert odometer.spent == epsilon(1)

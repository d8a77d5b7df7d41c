"""Requests that pass what remains by float rounding alone, and budgets that differ by it."""

from __future__ import annotations

from fractions import Fraction

from tacit.accounting.budgets.budget import Budget

__all__ = ["fit", "nearly_equal"]

_TOLERANCE = Fraction(1, 2**40)
"""How far, relatively, a request may pass what remains and still count as float rounding."""


def fit(requested: Budget, remaining: Budget) -> Budget:
    """Return the request, lowered to what remains if only rounding takes it above.

    A request that passes what remains by at most a relative 2^-40, in epsilon or rho and in delta,
    comes back as the remaining amount; any other comes back unchanged, and will be refused where
    it does not fit.  So n releases at the float ``1 / n`` can spend a budget of 1 for every n to
    8192 (their sum is above 1 by at most a relative n 2^-53).

    This is safe since nothing is forgiven: what comes back is what must be *both* charged and
    used to calibrate the noise.  The release then has the smaller epsilon, noise wider by one
    part in 10^12, and the budget is never passed by any amount.

    Raises:
        UsageError: the kinds differ.

    >>> from tacit.accounting.budgets.budget import epsilon
    >>> spent = Budget.nothing("pure")
    >>> for _ in range(10):
    ...     spent += fit(epsilon(0.1), epsilon(1) - spent)
    >>> spent
    epsilon(1)
    """
    if remaining.covers(requested) or not _nearly_covers(remaining, requested):
        return requested
    amount = min(requested.amount, remaining.amount)
    return Budget(requested.kind, amount, min(requested.delta, remaining.delta))


def nearly_equal(left: Budget, right: Budget) -> bool:
    """Return whether two budgets are of one kind and differ by float rounding at most.

    >>> from tacit.accounting.budgets.budget import epsilon, rho
    >>> nearly_equal(rho(0.1), rho("1/10")), nearly_equal(rho(0.1), epsilon(0.1))
    (True, False)
    """
    if left.kind != right.kind:
        return False
    return _nearly_covers(left, right) and _nearly_covers(right, left)


def _nearly_covers(remaining: Budget, requested: Budget) -> bool:
    slack = 1 + _TOLERANCE
    amount_fits = requested.amount <= remaining.amount * slack
    return amount_fits and requested.delta <= remaining.delta * slack

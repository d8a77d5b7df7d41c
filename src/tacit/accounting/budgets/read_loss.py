"""A privacy loss as people say it: an epsilon, an epsilon with a delta, or a rho."""

from __future__ import annotations

from tacit.accounting.budgets.budget import Budget, epsilon_delta
from tacit.accounting.budgets.budget import epsilon as pure
from tacit.accounting.budgets.budget import rho as concentrated
from tacit.arithmetic.exact import Number
from tacit.errors import UsageError

__all__ = ["read_loss"]


def read_loss(
    epsilon: Number | None, delta: Number | None, rho: Number | None, flag: str = ""
) -> Budget | None:
    """Return the loss that was said; None where none was.

    Args:
        epsilon: of pure differential privacy, or with a delta.
        delta: what is added to it.
        rho: of zero-concentrated differential privacy.
        flag: what stands before these names in an error, such as ``"--budget-"``.

    Raises:
        UsageError: two of them, a delta alone, or an amount that is none.

    >>> read_loss("1/2", None, None), read_loss(1, "1e-6", None), read_loss(None, None, "1/10")
    (epsilon(0.5), epsilon_delta(1, 1e-06), rho(0.1))
    """
    if rho is not None:
        if epsilon is not None or delta is not None:
            raise UsageError(f"give {flag}rho, or {flag}epsilon (with {flag}delta), not both")
        return concentrated(rho)
    if epsilon is None:
        if delta is not None:
            raise UsageError(f"{flag}delta goes with {flag}epsilon")
        return None
    return pure(epsilon) if delta is None else epsilon_delta(epsilon, delta)

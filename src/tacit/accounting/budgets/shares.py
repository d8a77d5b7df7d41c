"""A budget as a bar: what is spent of it, and what is left."""

from __future__ import annotations

from tacit.accounting.budgets.budget import Budget
from tacit.display.card import Share, Shares

__all__ = ["share", "shares"]


def shares(total: Budget, spent: Budget, left: Budget) -> Shares:
    """Return the bar of a budget.

    >>> from tacit.accounting import epsilon
    >>> shares(epsilon(1), epsilon("1/4"), epsilon("3/4")).text()
    ['[######------------------] spent: epsilon 0.25, left: epsilon 0.75, of epsilon 1']
    """
    parts = (("before", "spent", spent), ("left", "left", left))
    return Shares(str(total), [Share(css, name, str(b), share(b, total)) for css, name, b in parts])


def share(part: Budget, total: Budget) -> float:
    """Return which share of a budget a part of it is, from 0 to 1.

    >>> from tacit.accounting import Budget, epsilon
    >>> share(epsilon(3), epsilon(4)), share(Budget.nothing("pure"), Budget.nothing("pure"))
    (0.75, 0.0)
    """
    return min(1.0, float(part.amount / total.amount)) if total.amount else 0.0

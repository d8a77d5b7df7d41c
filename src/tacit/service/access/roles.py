"""Roles and rights: one table, and everything that does not stand in it is denied."""

from __future__ import annotations

from tacit.errors import UsageError, did_you_mean

__all__ = ["ACTIONS", "RIGHTS", "WITHOUT_DATASET", "read_role", "roles_with"]

ACTIONS: dict[str, str] = {
    "see_dataset": "see what a data set holds and whom it protects",
    "see_budget": "see the budget and what is left of it",
    "preview": "see the expected error of a question before it is asked",
    "ask": "ask a question, and spend the budget",
    "see_own_releases": "see the answers to one's own questions",
    "see_releases": "see all answers",
    "see_certificates": "see all certificates",
    "approve": "approve or refuse a question of somebody else",
    "declare": "declare a data set",
    "set_budget": "set the budget, and the shares of teams and analysts in it",
    "refresh": "have a data set read again where it grows",
    "tokens": "create, list and revoke tokens",
    "audit": "read the audit log",
    "observe": "read the metrics",
    "report": "send a report of the local model",
}
"""What can be done, and its words."""

_READING = ("see_dataset", "see_budget", "see_own_releases", "see_releases", "see_certificates")

RIGHTS: dict[str, frozenset[str]] = {
    "curator": frozenset(
        (*_READING, "preview", "ask", "approve", "declare", "set_budget", "refresh", "tokens")
    ),
    "analyst": frozenset(("see_dataset", "see_budget", "preview", "ask", "see_own_releases")),
    "reviewer": frozenset((*_READING, "approve")),
    "auditor": frozenset((*_READING, "audit", "observe")),
    "device": frozenset(("report",)),
}
"""The table: what each role may do, on the data sets that it is granted for."""

WITHOUT_DATASET = frozenset(("audit", "observe"))
"""What concerns the whole service: a grant for one data set is not enough."""


def read_role(name: str) -> str:
    """Return a role by its name.

    Raises:
        UsageError: there is no such role.

    >>> read_role("analyst")
    'analyst'
    >>> read_role("analist")
    Traceback (most recent call last):
    tacit.errors.UsageError: there is no role 'analist'; did you mean 'analyst'?
    """
    if name not in RIGHTS:
        raise UsageError(f"there is no role {name!r}; {did_you_mean(name, RIGHTS)}")
    return name


def roles_with(action: str) -> list[str]:
    """Return the roles that may do something.

    >>> roles_with("approve")
    ['curator', 'reviewer']
    """
    return [role for role, rights in RIGHTS.items() if action in rights]

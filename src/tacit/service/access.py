"""Callers, their roles, and what each may do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from tacit.errors import UsageError, did_you_mean
from tacit.service.problem import Problem
from tacit.tables.dataset.table import known_fields

# Roles and rights: one table, and everything that does not be in it is denied.


# Actions, in words.
ACTIONS: dict[str, str] = {
    "see_dataset": "see what a data set contains and whom it protects",
    "see_budget": "see the budget and what is left of it",
    "preview": "see the expected error of a question before it is asked",
    "ask": "ask a question, and spend the budget",
    "see_own_releases": "see the answers to one's own questions",
    "see_releases": "see all answers",
    "see_certificates": "see all certificates",
    "approve": "approve or refuse a question of another person",
    "declare": "declare a data set",
    "set_budget": "set the budget, and the shares of teams and analysts in it",
    "refresh": "have a data set read again where it grows",
    "tokens": "create, list and revoke tokens",
    "audit": "read the audit log",
    "observe": "read the metrics",
    "report": "send a report of the local model",
}

_READING = ("see_dataset", "see_budget", "see_own_releases", "see_releases", "see_certificates")

# The table: what each role may do, on the data sets that it is granted for.
RIGHTS: dict[str, frozenset[str]] = {
    "curator": frozenset(
        (*_READING, "preview", "ask", "approve", "declare", "set_budget", "refresh", "tokens")
    ),
    "analyst": frozenset(("see_dataset", "see_budget", "preview", "ask", "see_own_releases")),
    "reviewer": frozenset((*_READING, "approve")),
    "auditor": frozenset((*_READING, "audit", "observe")),
    "device": frozenset(("report",)),
}

# What concerns the whole service: a grant for one data set is not enough.
WITHOUT_DATASET = frozenset(("audit", "observe"))


def read_role(name: str) -> str:
    """Return a role by its name.

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


# Who calls: a name, a team, and what they were granted.


EVERYTHING = "*"  # in a grant: every data set of the service, also those that come later
_MAX_NAME_LENGTH = 100


@dataclass(frozen=True, order=True)
class Grant:
    """A role on a data set, or on all of them.

    >>> Grant("analyst", "visits").covers(Grant("analyst", "visits"))
    True
    >>> Grant("analyst", "visits").covers(Grant("analyst", "*"))
    False
    """

    role: str
    dataset: str

    def covers(self, other: Grant) -> bool:
        """Return whether this grant gives all that another one does."""
        return self.role == other.role and self.dataset in (EVERYTHING, other.dataset)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Grant:
        """Read a grant: ``{"role": "analyst", "dataset": "visits"}``."""
        known_fields(fields, ("role", "dataset"), "a grant")
        dataset = fields.get("dataset")
        if not isinstance(dataset, str) or not dataset:
            raise UsageError("a grant names its data set, or '*' for all: dataset = 'visits'")
        return cls(read_role(str(fields.get("role"))), dataset)

    def to_fields(self) -> dict[str, str]:
        return {"role": self.role, "dataset": self.dataset}


@dataclass(frozen=True)
class Caller:
    """A person or program whose token or sign-in was checked."""

    # of the person or program: the account that releases are charged to
    name: str
    team: str | None
    grants: tuple[Grant, ...]  # what they may do, and where
    token_id: str  # the public name of the token that they came with
    expires: float  # seconds since 1970 in UTC, from which the token is void
    # who created the token; ``operator`` from the command line next to the service
    issued_by: str = "operator"

    @property
    def datasets(self) -> frozenset[str]:
        """The data sets that any grant names; ``*`` among them stands for all."""
        return frozenset(grant.dataset for grant in self.grants)

    @property
    def roles(self) -> list[str]:
        """The roles that they have somewhere."""
        return sorted({grant.role for grant in self.grants})

    def roles_on(self, dataset: str) -> list[str]:
        """Return the roles that they have on a data set.

        >>> ada = Caller("ada", None, (Grant("analyst", "visits"), Grant("auditor", "*")), "t", 0)
        >>> ada.roles_on("visits"), ada.roles_on("births")
        (['analyst', 'auditor'], ['auditor'])
        """
        return sorted({g.role for g in self.grants if g.dataset in (EVERYTHING, dataset)})

    def covers(self, grants: Iterable[Grant]) -> bool:
        """Return whether everything of some grants is theirs."""
        return all(any(own.covers(grant) for own in self.grants) for grant in grants)


def plain_name(name: str, what: str) -> str:
    """Return the name of a person or a team, as accounts and logs may show it.

    >>> plain_name("ada", "a name")
    'ada'
    """
    if not name or len(name) > _MAX_NAME_LENGTH or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"{what} has 1 to {_MAX_NAME_LENGTH} printable characters, and no space at its ends"
        )
    if f":{name}".endswith(":*"):
        raise UsageError(f"{what} cannot be {name!r}: 'analyst:*' is the cap of every analyst")
    return name


# The one place that decides who may do what; what is not granted is denied.


@dataclass(frozen=True)
class Decision:
    """A decision, its reason, and what would change it."""

    allowed: bool
    because: str
    remedy: str = ""


def decide(caller: Caller | None, action: str, dataset: str | None = None) -> Decision:
    """Decide whether a caller may do something.

    >>> from tacit.service.access import Grant
    >>> ada = Caller("ada", None, (Grant("analyst", "visits"),), "t", 0)
    >>> decide(ada, "ask", "visits")
    Decision(allowed=True, because="'ada' is analyst on 'visits', who may ask", remedy='')
    >>> decide(ada, "ask", "births").allowed, decide(ada, "approve", "visits").allowed
    (False, False)
    """
    if action not in ACTIONS:
        raise Problem(
            "invalid_request", f"there is no action {action!r}", did_you_mean(action, ACTIONS)
        )
    if caller is None:
        return Decision(
            False,
            "no one is signed in",
            "send a token, Authorization: Bearer ...; the operator creates one with tacit token "
            "create",
        )
    if action in WITHOUT_DATASET:
        dataset = EVERYTHING
    roles = caller.roles if dataset is None else caller.roles_on(dataset)
    able = [role for role in roles if action in RIGHTS[role]]
    where = "on a data set" if dataset is None else f"on {dataset!r}"
    where = "on the whole service" if dataset == EVERYTHING else where
    if able:
        return Decision(True, f"{caller.name!r} is {able[0]} {where}, who may {action}")
    has = f"{caller.name!r} is {' and '.join(roles)} {where}" if roles else ""
    because = (
        f"{has or f'{caller.name!r} has no role {where}'}; to {ACTIONS[action]} is for "
        + " or ".join(roles_with(action))
    )
    remedy = f"ask a curator for a token with such a role {where}"
    own = sorted(caller.datasets - {EVERYTHING})[:20]
    if own and not roles:  # the name may be mistyped
        remedy = f"you have roles on {', '.join(map(repr, own))}; or {remedy}"
    return Decision(False, because, remedy)


def demand(caller: Caller, action: str, dataset: str | None = None) -> None:
    """Raise if a caller may not do something."""
    # A caller without any right to a data set learns only that it is not for them: the
    # answer is the same whether there is such a data set or not.
    decision = decide(caller, action, dataset)
    if not decision.allowed:
        raise Problem("forbidden", decision.because, decision.remedy)


def visible(caller: Caller, dataset: str) -> bool:
    """Return whether a caller has any role on a data set."""
    return bool(caller.roles_on(dataset))


# Who asked for something that someone else decides on, and who may be that someone else.


@dataclass(frozen=True)
class UserRequest:
    """A request, with its requester and their token."""

    id: str  # what callers call it
    dataset: str  # the name of the data set
    asked_by: str
    team: str | None
    token: str  # the public name of the token that they came with
    asked_at: float  # in seconds since 1970


def request_columns(name: str = "asked_by", *, index: bool = False) -> list[sa.Column[Any]]:
    """Return the columns of a table for who asked, and when."""
    return [
        sa.Column(name, sa.String(100), key="asked_by", nullable=False, index=index),
        sa.Column("team", sa.String(100)),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("asked", sa.Float, key="asked_at", nullable=False),
    ]


def request_values(caller: Caller, when: float) -> dict[str, Any]:
    """Return the values of :func:`request_columns` for a caller, at seconds since 1970."""
    return {
        "asked_by": caller.name,
        "team": caller.team,
        "token": caller.token_id,
        "asked_at": when,
    }


def requester_of(request: UserRequest) -> Caller:
    """Return the requester as the caller whose accounts are charged, without rights."""
    return Caller(request.asked_by, request.team, (), request.token, 0.0)


class Decisions:
    """Prevents decisions on one's own requests.

    >>> from types import SimpleNamespace
    >>> decisions = Decisions(lambda token, name: frozenset({name}))
    >>> asked = SimpleNamespace(asked_by="ada", team=None, token="t1")
    >>> decisions.is_own(asked, Caller("ada", None, (), "t2", 0)), decisions.is_own(
    ...     asked, Caller("rita", None, (), "t3", 0)
    ... )
    (True, False)
    """

    # behind: returns of a token, by its public name and whose it is, who can have used it: that
    #   person, whoever made it for them, and so on.

    def __init__(self, behind: Callable[[str, str], frozenset[str]]) -> None:
        self._behind = behind

    def is_own(self, request: UserRequest, caller: Caller) -> bool:
        """Return True if one person can be behind the request and the caller."""
        # A curator can make a token under any name, ask with it or decide with it.  So no one
        # decides who made the token that asked, or with a token that the asker made, or where
        # someone made both.  (The operator makes tokens too, and is trusted with all of it.)
        who = self._behind(request.token, request.asked_by)
        return not who.isdisjoint(self._behind(caller.token_id, caller.name))

    def refuse_own(self, request: UserRequest, caller: Caller, what: str) -> None:
        """Raise if a caller decides on their own request."""
        if self.is_own(request, caller):
            raise Problem(
                "forbidden",
                f"who asked {what}, or made the token that did, does not decide on it; nor does "
                "a token that was made by the same person",
                "ask a reviewer whose token the operator made, or who comes by the login",
            )

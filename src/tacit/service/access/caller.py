"""Who calls: a name, a team, and what they were granted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tacit.errors import UsageError
from tacit.service.access.roles import read_role
from tacit.tables.dataset.fields import known_fields

__all__ = ["EVERYTHING", "Caller", "Grant", "plain_name"]

EVERYTHING = "*"
"""In a grant: every data set of the service, also those that come later."""
_LONGEST = 100


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
    def from_fields(cls, said: Mapping[str, Any]) -> Grant:
        """Read a grant: ``{"role": "analyst", "dataset": "visits"}``.

        Raises:
            UsageError: a field that is unknown or missing, or a role that does not exist.
        """
        known_fields(said, ("role", "dataset"), "a grant")
        dataset = said.get("dataset")
        if not isinstance(dataset, str) or not dataset:
            raise UsageError("a grant names its data set, or '*' for all: dataset = 'visits'")
        return cls(read_role(str(said.get("role"))), dataset)

    def to_fields(self) -> dict[str, str]:
        """Return what :meth:`from_fields` reads."""
        return {"role": self.role, "dataset": self.dataset}


@dataclass(frozen=True)
class Caller:
    """Somebody whose token or sign-in was checked.

    Attributes:
        name: of the person or program: the account that releases are charged to.
        team: theirs, or None.
        grants: what they may do, and where.
        token_id: the public name of the token that they came with.
        expires: seconds since 1970 in UTC, from which the token is void.
        issued_by: who created the token; ``operator`` from the command line beside the service.
    """

    name: str
    team: str | None
    grants: tuple[Grant, ...]
    token_id: str
    expires: float
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

    Raises:
        UsageError: empty, too long, with blanks around it or characters that print nothing; or one
            that stands for everybody in the names of accounts.

    >>> plain_name("ada", "a name")
    'ada'
    """
    if not name or len(name) > _LONGEST or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"{what} has 1 to {_LONGEST} characters that can be printed, and no space at its ends"
        )
    if f":{name}".endswith(":*"):
        raise UsageError(f"{what} cannot be {name!r}: the cap of 'analyst:*' is that of everybody")
    return name

"""Who asked for something that somebody else decides on, and who may be that somebody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import sqlalchemy as sa

from tacit.service.access.caller import Caller
from tacit.service.problem import Problem

__all__ = ["Asked", "Decisions", "asked_by", "asked_columns", "asker_of"]


class Asked(Protocol):
    """What somebody asked for, with the token that they came with."""

    @property
    def asked_by(self) -> str:
        """Who asked."""

    @property
    def team(self) -> str | None:
        """Theirs, or None."""

    @property
    def token(self) -> str:
        """The public name of their token."""


def asked_columns(name: str = "asked_by", *, index: bool = False) -> list[sa.Column[Any]]:
    """Return the columns of a table that say who asked, and when.

    Args:
        name: of the column of who asked; in Python it is ``asked_by`` in every table.
        index: whether rows are looked up by who asked.
    """
    return [
        sa.Column(name, sa.String(100), key="asked_by", nullable=False, index=index),
        sa.Column("team", sa.String(100)),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("asked", sa.Float, nullable=False),
    ]


def asked_by(caller: Caller, when: float) -> dict[str, Any]:
    """Return what stands in :func:`asked_columns` where a caller asks, at seconds since 1970."""
    return {
        "asked_by": caller.name,
        "team": caller.team,
        "token": caller.token_id,
        "asked": when,
    }


def asker_of(asked: Asked) -> Caller:
    """Return who asked, as the caller that accounts are charged for: with no right of their own."""
    return Caller(asked.asked_by, asked.team, (), asked.token, 0.0)


class Decisions:
    """Keeps who asked for something from deciding on it.

    Args:
        behind: returns of a token, by its public name and whose it is, who can have used it: that
            person, whoever made it for them, and so on.

    >>> from types import SimpleNamespace
    >>> decisions = Decisions(lambda token, name: frozenset({name}))
    >>> asked = SimpleNamespace(asked_by="ada", team=None, token="t1")
    >>> decisions.is_own(asked, Caller("ada", None, (), "t2", 0)), decisions.is_own(
    ...     asked, Caller("rita", None, (), "t3", 0)
    ... )
    (True, False)
    """

    def __init__(self, behind: Callable[[str, str], frozenset[str]]) -> None:
        self._behind = behind

    def is_own(self, asked: Asked, caller: Caller) -> bool:
        """Return whether one person can be behind what was asked and whoever would decide on it.

        A curator can make a token under any name, ask with it or decide with it.  So nobody decides
        who made the token that asked, or with a token that the asker made, or where somebody made
        both.  (The operator makes tokens too, and is trusted with all of it.)
        """
        who = self._behind(asked.token, asked.asked_by)
        return not who.isdisjoint(self._behind(caller.token_id, caller.name))

    def refuse_own(self, asked: Asked, caller: Caller, what: str) -> None:
        """Refuse a decision on what one asked for oneself.

        Args:
            asked: what was asked for.
            caller: who would decide.
            what: what it is, after "who asked": ``a question``, ``for a dashboard``.

        Raises:
            Problem: one person can be behind both.
        """
        if self.is_own(asked, caller):
            raise Problem(
                "forbidden",
                f"who asked {what}, or made the token that did, does not decide on it; nor does "
                "a token that was made by the same person",
                "ask a reviewer whose token the operator made, or who comes by the login",
            )

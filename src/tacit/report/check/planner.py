"""Who plans the question of a certificate again: the room of tables, which stands above this one.

It makes itself known when it is loaded, and is loaded when the first certificate is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.accounting import Budget
from tacit.report.text.vocabulary import load_tables

__all__ = ["Planner", "Replanned", "planner", "register_planner"]

_KNOWN: list[Planner] = []


class Replanned(Protocol):
    """What follows from a question, its request and the numbers that were released."""

    grows: bool

    @property
    def joins_public(self) -> bool:
        """Whether the rows of a public table stand beside those that were asked."""

    @property
    def unknown_keys(self) -> bool:
        """Whether the groups were found in the data."""

    @property
    def chooses(self) -> bool:
        """Whether a method, or an option of one, was chosen by expected errors."""

    @property
    def cost(self) -> Budget:
        """The privacy loss of the release."""

    @property
    def steps(self) -> int:
        """How many steps all chains have together."""

    def describe(self) -> dict[str, Any]:
        """Return the chains and their privacy loss, as the release recorded them."""

    def answer(self, keys: Any, released: Any, level: float = ...) -> dict[str, Any]:
        """Return the answer that released numbers make, with intervals of a level."""

    def columns(self, keys: Any) -> list[dict[str, Any]]:
        """Return what is known of the answer's columns without the numbers."""


@dataclass(frozen=True)
class Planner:
    """What a check asks of the room of tables.

    Attributes:
        identity: the digest of a data set, from its name and its columns.
        replan: the release that a certificate's body describes, planned again.
        published: the keys and columns of a count over time, from its question, the recorded parts
            and the most periods to state.
        follow: the answer to a question from the certificates of earlier releases, and of each
            label the place of its release; from the description of the question, the columns of
            the table, and the certificates.  None where it does not follow.
    """

    identity: Callable[[str, Any], str]
    replan: Callable[[Mapping[str, Any]], Replanned]
    published: Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]], int], dict[str, Any]]
    follow: Callable[
        [Mapping[str, Any], Any, Sequence[Mapping[str, Any]]],
        tuple[dict[str, Any], dict[str, int]] | None,
    ]


def register_planner(found: Planner) -> None:
    """Make the planner known."""
    _KNOWN[:] = [found]


def planner() -> Planner:
    """Return the planner, loaded where it is not yet."""
    if not _KNOWN:
        load_tables()
    return _KNOWN[0]

"""Questions of a plan file that are answered together, under one price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.errors import UsageError
from tacit.tables.plan.price import Price
from tacit.tables.session import Session
from tacit.tables.written.asked import Asked
from tacit.tables.written.question_fields import PRICE, listed, text_of

__all__ = ["FIELDS", "AskedTogether", "asked_together"]

_PRICE = tuple(name for name in PRICE if name != "total")
_OPTIONS = ("weights", "least", "unlisted", "nonnegative")
FIELDS = (*_PRICE, *_OPTIONS, "certificate")


@dataclass(frozen=True)
class AskedTogether(Asked):
    """Several questions at one price, as ``session.plan([...])`` answers them.

    Attributes:
        several: the questions, none of them with a price.
        options: what ``session.plan`` takes beside them.
    """

    several: tuple[Asked, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[Asked, ...]:
        """The questions, whose answers go to places of their own."""
        return self.several

    def question(self, session: Session) -> Any:
        """Return the plan of the questions.

        Raises:
            UsageError: questions that are not planned together.
        """
        return session.plan([each.question(session) for each in self.several], **self.options)

    @property
    def price(self) -> Price:
        """What all of them may spend."""
        return {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}


def asked_together(said: Mapping[str, Any], several: tuple[Asked, ...]) -> AskedTogether:
    """Return the questions of a plan file as one, by the fields of ``[together]``.

    Raises:
        UsageError: a question with a price of its own, or a loss that is not said.
    """
    for each in several:
        if each.loss() is not None or each.tag is not None:
            name = each.name or "a question"
            raise UsageError(
                f"[together] says what all questions may spend, and {name} says it too: leave "
                f"{', '.join(PRICE)} out of the [[question]]"
            )
        if each.free:
            raise UsageError(
                "[together] pays for all questions: ask those that are free in a plan file of "
                "their own, without [together]"
            )
    if isinstance(said.get("epsilon"), Mapping) or isinstance(said.get("rho"), Mapping):
        raise UsageError("[together] takes one epsilon or rho; weights = { n = 10 } are beside it")
    options = {name: said[name] for name in _OPTIONS if name in said}
    found = AskedTogether(
        aggregates={},
        epsilon=said.get("epsilon"),
        delta=said.get("delta"),
        rho=said.get("rho"),
        tag=text_of(said, "tag", "[together]"),
        certificates=listed(said, "certificate"),
        several=several,
        options=options,
    )
    if found.loss() is None:
        raise UsageError('[together] says what all questions may spend: rho = "1/10", or epsilon')
    return found

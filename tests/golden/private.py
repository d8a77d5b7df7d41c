"""The private names that the golden files need, imported here alone: a move changes one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import shake_128
from itertools import count
from typing import Any

from tacit.accounting.ledger_chain import key_of
from tacit.noise.bits import injected
from tacit.tables.question import charge_of

__all__ = ["key_and_question", "key_of", "key_of_plan", "key_over_time", "seeded"]


@contextmanager
def seeded(seed: str = "golden") -> Iterator[None]:
    """Draw all noise inside the block from fixed bytes: as many per request as it asks for."""
    numbers = count()

    def generator(n: int) -> bytes:
        return shake_128(f"{seed}/{next(numbers)}".encode()).digest(n)

    with injected(generator):
        yield


def key_and_question(question: Any, **price: Any) -> tuple[str, dict[str, Any]]:
    """The ledger key of a question at a price, and the description that it is the hash of."""
    charge = charge_of(question, **price)
    return charge.key, charge.public


def key_over_time(counter: Any) -> tuple[str, dict[str, Any]]:
    """The same of a count over time."""
    return counter._charge.key, counter._charge.public


def key_of_plan(plan: Any, **price: Any) -> tuple[str, dict[str, Any]]:
    """The same of a plan of several questions."""
    return key_and_question(plan._question, **price)

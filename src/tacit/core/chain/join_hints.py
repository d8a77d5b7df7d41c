"""What would join two parts of a chain that do not fit: looked up, so that an error can name it.

Rooms above make their steps known with :func:`register_join`; when a step is refused on a space,
each of them is tried between the two.  Only public things are touched: spaces and recipes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from tacit.core.chain.protocols import Recipe, Start
from tacit.errors import MismatchError, TacitError

__all__ = ["build_or_advise", "register_join", "steps_between"]

_JOINS: dict[str, Recipe] = {}
_MOST = 4


def register_join(text: str, step: Recipe) -> None:
    """Make a step known as one that may join two parts of a chain.

    Args:
        text: how a person would write it, with names for what they choose: ``clamp(lower, upper)``.
        step: the step with some admissible parameters, to try it with.
    """
    _JOINS[text] = step


def steps_between(space: Start, fits: Callable[[Start], bool]) -> tuple[str, ...]:
    """Name the steps after which ``fits`` holds: single ones, else pairs written ``a >> b``."""
    first = list(_one_further(space))
    found = [text for text, reached in first if fits(reached)]
    if not found:
        found = [
            f"{text} >> {more}"
            for text, reached in first
            for more, further in _one_further(reached)
            if fits(further)
        ]
    return tuple(itertools.islice(found, _MOST))


def build_or_advise(step: Recipe, space: Start) -> Any:
    """Build a step on a space; if it does not fit, say which step before it would make it fit.

    Raises:
        MismatchError: the step does not fit; names both sides and what would join them.
    """
    try:
        return step.build(space)
    except MismatchError as error:
        if error.joins:
            raise
        joins = steps_between(space, lambda reached: _built(step, reached) is not None)
        if not joins:
            raise
        raise advised(str(error), error.left, error.right, joins) from None


def advised(message: str, left: object, right: object, joins: tuple[str, ...]) -> MismatchError:
    """Write a mismatch together with the steps that would join its sides."""
    if joins:
        message = f"{message}. What would join them: {', or '.join(joins)}"
    return MismatchError(message, left, right, joins)


def _one_further(space: Start) -> Iterator[tuple[str, Start]]:
    for text, step in _JOINS.items():
        built = _built(step, space)
        if built is not None and built.output != space:
            yield text, built.output


def _built(step: Recipe, space: Start) -> Any:
    try:
        return step.build(space)
    except TacitError:
        return None

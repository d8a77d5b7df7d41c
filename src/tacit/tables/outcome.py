"""What an error of the engine says of the budget: the engine knows what broke, not the price."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tacit.errors import DataSourceError

__all__ = ["settled"]

_T = TypeVar("_T")


def settled(ask: Callable[[], _T], outcome: str) -> _T:
    """Return what ``ask`` returns; where the engine fails, say what became of the budget.

    >>> def ask():
    ...     raise DataSourceError("the connection was cut")
    >>> settled(ask, "nothing was spent")
    Traceback (most recent call last):
    tacit.errors.DataSourceError: the connection was cut; nothing was spent
    """
    try:
        return ask()
    except DataSourceError as error:
        failed, message = type(error), f"{error}; {outcome}"
    raise failed(message)

"""What a person reads where a release stops between its charge and its answer: it stays open."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tacit.accounting.budgets.budget import Budget
from tacit.errors import TacitError

__all__ = ["staying_open"]

_T = TypeVar("_T")


def staying_open(cost: Budget, work: Callable[[], _T]) -> _T:
    """Do what a charge has paid for; say of whatever stops it that the release stays open.

    An error of ours says it in its message; any other (an interrupt, an error that nobody foresaw)
    carries it as a note, and its type stays.

    >>> from tacit.accounting.budgets.budget import epsilon
    >>> from tacit.errors import DataSourceError
    >>> def cut():
    ...     raise DataSourceError("the connection was cut")
    >>> staying_open(epsilon("1/2"), cut)
    Traceback (most recent call last):
    tacit.errors.DataSourceError: the connection was cut. epsilon 0.5 was charged for this release,
    and it stays open: ask the same again, and it is answered at no further cost
    """
    try:
        return work()
    except TacitError as error:
        failed, message = type(error), f"{str(error).rstrip('.')}. {_told(cost)}"
    except BaseException as error:
        error.add_note(_told(cost))
        raise
    # Raised here and not above: what the engine said must not hang on it as its context.
    raise failed(message)


def _told(cost: Budget) -> str:
    return (
        f"{cost} was charged for this release, and it stays open: ask the same again, and it is "
        "answered at no further cost"
    )

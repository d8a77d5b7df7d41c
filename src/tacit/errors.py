"""Every exception that Tacit raises on purpose, and every warning of its own.

The tree::

    TacitError
    +-- UsageError (also ValueError)      the question itself is wrong; nothing was spent
    |   +-- CallError (also TypeError)    a call whose arguments do not fit
    |   +-- MismatchError                 two parts of a chain do not fit together
    |   +-- InfeasibleError               a distance, size or search that cannot be made
    |   +-- DataSourceError               a file or table that cannot be read as asked
    |   +-- LedgerError                   a ledger that cannot be opened, or is another data set's
    |   +-- UnsupportedQueryError         SQL that has no translation to a question
    +-- RefusedError                      understood, and refused
    |   +-- BudgetError                   the budget does not cover the release
    |   +-- VerificationError             a claim that was checked and does not hold
    |   +-- AccessError                   a service does not grant it to this caller
    +-- ServiceError                      a service that does not answer, or not now
    +-- MissingExtraError (also ImportError)   an optional dependency is not installed
    UserWarning
    +-- DataSourceWarning                 read as asked, and the columns' names look wrong
    +-- WeakGuaranteeWarning              released as asked, at a loss that protects hardly anyone

A message says what was wrong, where, and what to do.  No message carries a value of the
private data: only names, bounds and numbers that the caller gave or that are public.

The command line exits with 2 for a :class:`UsageError` or :class:`MissingExtraError` and with 1
for a :class:`RefusedError` or :class:`ServiceError`.
"""

from __future__ import annotations

import datetime
import difflib
import importlib
import linecache
import traceback
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from types import ModuleType
from typing import Any

__all__ = [
    "AccessError",
    "BudgetError",
    "CallError",
    "DataSourceError",
    "DataSourceWarning",
    "InfeasibleError",
    "LedgerError",
    "MismatchError",
    "MissingExtraError",
    "RefusedError",
    "ServiceError",
    "TacitError",
    "UnsupportedQueryError",
    "UsageError",
    "VerificationError",
    "WeakGuaranteeWarning",
]


class ShortTraceback:
    """An error that a notebook shows with the line that raised it, and not with Tacit's own."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython prints in the place of a traceback."""
        error: Any = self
        names = (kind.__name__ for kind in type(self).__mro__ if issubclass(kind, Exception))
        message = f"{next(name for name in names if not name.startswith('_'))}: {self}"
        own = [
            (frame, line)
            for frame, line in traceback.walk_tb(error.__traceback__)
            if str(frame.f_globals.get("__name__")).partition(".")[0] not in _WITHIN
        ]
        if not own:
            return [message]
        frame, number = own[-1]
        name = frame.f_code.co_filename
        text = linecache.getline(name, number, frame.f_globals).strip()
        # IPython and Jupyter give a cell a made-up name
        where = "in this cell" if "ipy" in name or name.startswith("<") else f"in {name}"
        return [f"{where}, line {number}:", f"    {text}", "", message]


_WITHIN = ("tacit", "IPython", "ipykernel")


class TacitError(ShortTraceback, Exception):
    """The base class: catch this to catch every error that Tacit raises on purpose."""


class UsageError(TacitError, ValueError):
    """The question itself is wrong; nothing was spent."""


class CallError(UsageError, TypeError):
    """A call whose arguments do not fit; the message names the nearest one and the form."""


class MismatchError(UsageError):
    """Two parts of a chain do not fit together; carries both sides as ``left`` and ``right``.

    ``joins`` names the steps that would join them, where there are any.
    """

    def __init__(
        self,
        message: str,
        left: object = None,
        right: object = None,
        joins: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.left = left
        self.right = right
        self.joins = joins


class DataSourceWarning(UserWarning):
    """A table may be read otherwise than was meant.

    The names of its columns look like a record, or like names that are not separated; or a
    statistic of numbers, a comparison with a number, or a count over time, is asked of a column
    that was never declared to hold such; or a release is replayed whose
    ledger entry does not record how the table was read.
    """


class WeakGuaranteeWarning(UserWarning):
    """An epsilon above 10, or a delta above 1 / (number of people); nothing is spent yet."""


class InfeasibleError(UsageError):
    """A distance, size or search that cannot be made; the message says what can."""


class DataSourceError(UsageError):
    """A file or table that cannot be read as asked."""


class LedgerError(UsageError):
    """A ledger that cannot be opened or written, or that belongs to another data set."""


class UnsupportedQueryError(UsageError):
    """SQL that has no translation to a question; nothing was spent.

    Attributes:
        reason: what cannot be asked, and the nearest thing that can.
        position: line and column of the place in the text, both from 1.
    """

    def __init__(self, reason: str, position: tuple[int, int] | None = None) -> None:
        where = "" if position is None else f"line {position[0]}, column {position[1]}: "
        super().__init__(where + reason)
        self.reason = reason
        self.position = position or (1, 1)
        self._given = reason, position

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given


class RefusedError(TacitError):
    """A request that is understood and refused: the base class of BudgetError and others."""


class BudgetError(RefusedError):
    """The budget does not cover the release; nothing was spent."""


class VerificationError(RefusedError):
    """A claim that was checked and does not hold."""


class AccessError(RefusedError):
    """A service does not permit the request to this caller; the message says who can."""


class ServiceError(TacitError):
    """A service that does not answer, or not now; nothing was charged twice.

    Attributes:
        retry_after: in how many seconds to ask again, where the service says it.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class MissingExtraError(TacitError, ImportError):
    """An optional dependency is not installed; the message names the ``pip install`` to run."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the nearest known names, or lists them.

    >>> did_you_mean("agee", ["age", "wage", "sex"])
    "did you mean 'age'?"
    >>> did_you_mean("x", ["age", "sex"])
    "known: 'age', 'sex'"
    """
    # Only for public names: columns, statistics, options; never for values of the data.
    names = [str(k) for k in known]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(repr(n) for n in names[:20])
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return f"known: {shown}{more}" if names else "there are none"


def shown_value(given: object) -> str:
    """Return an argument as a message shows it: what may hold rows, such as a table, as its type.

    >>> shown_value("age"), shown_value(3.5), shown_value([1, 2])
    ("'age'", '3.5', '[1, 2]')
    >>> import numpy
    >>> shown_value(numpy.zeros(3)), shown_value([numpy.zeros(3)])
    ('a value of type ndarray', 'a value of type list')
    """
    plain = (str, bytes, int, float, complex, type(None), type, Real, Decimal, datetime.date)
    inner = given if isinstance(given, (list, tuple)) else [given]
    if len(inner) <= _FEW and all(isinstance(each, plain) for each in inner):
        return repr(given)
    return f"a value of type {type(given).__name__}"


_FEW = 4


def need(module: str, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    >>> need("json", "plot").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{module.split('.')[0]} is not installed; run: pip install 'tacit-dp[{extra}]'"
        ) from error

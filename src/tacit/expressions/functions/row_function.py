"""What a function of a row is: what it takes, its SQL, its value in Python, its range.

Every function is *total*: it has a value for each operand that is there, the same on every engine,
or it is missing; none can raise.  Each of its file's rows says so beside the SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from tacit.errors import UsageError, said
from tacit.expressions.dialect import Dialect
from tacit.expressions.node import NUMBERS

__all__ = ["Ends", "Range", "RowFunction"]

Range: TypeAlias = tuple[Fraction, Fraction]
Ends: TypeAlias = Callable[[Sequence[Range | None], Sequence[Any]], Range | None]

_KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "text": (("text",), "read_text"),
    "date": (("date",), "read_date"),
    "seconds": (("date",), "read_seconds"),
    "double": (NUMBERS[:3], "read_numeric"),
    "integer": (("integer",), "read_whole"),
    "exact": (("integer", "boolean", "text"), "read_text"),
}


@dataclass(frozen=True)
class RowFunction:
    """One function.

    Attributes:
        form: how it has its operands: as ``text``; as a ``date``; as whole ``seconds`` since 1970
            of a column of times; as a ``double``; as an ``integer``; or ``exact``: as a whole
            number, a truth value or text.
        gives: the kind of its value.
        sql: the dialect, the SQL of each operand in that form, and the parameters, to SQL.
        value: the same in Python, of operands that are there and the parameters.
        operands: how many it has.
        checks: whether each parameter is one.
        range: the least and the greatest value, or what gives them from the operands' ranges (None
            for an operand that nothing bounds) and the parameters; None where nothing bounds it.
    """

    form: Literal["text", "date", "seconds", "double", "integer", "exact"]
    gives: str
    sql: Callable[[Dialect, Sequence[str], Sequence[Any]], str]
    value: Callable[..., Any]
    operands: int = 1
    checks: tuple[Callable[[Any], bool], ...] = ()
    range: tuple[int, int] | Ends | None = None

    @property
    def takes(self) -> tuple[str, ...]:
        """The kinds of its operands."""
        return _KINDS[self.form][0]

    @property
    def reading(self) -> str:
        """How an operand is read that nobody declared."""
        return _KINDS[self.form][1]

    def check(self, name: str, parameters: Sequence[Any]) -> None:
        """Refuse parameters that the function does not have."""
        fits = len(parameters) == len(self.checks) and all(
            check(given) for check, given in zip(self.checks, parameters, strict=True)
        )
        if not fits:
            raise UsageError(f"{name} cannot take {', '.join(map(said, parameters)) or 'nothing'}")

"""Cast: read a column as another type, totally."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit.core import Category, Number, Space, Step, Transformation, Vector, register
from tacit.core.spaces.domain import element
from tacit.errors import MismatchError, UsageError, said
from tacit.transformations.rows.row_by_row import row_by_row

__all__ = ["Cast"]

_TYPES = {"float": float, "int": int, "str": str, "bool": bool}
_TRUE = frozenset({"true", "yes", "t", "y", "1", "1.0"})


@register
@dataclass(frozen=True)
class Cast(Step):
    """Read every value as ``float``, ``int``, ``str`` or ``bool``; none can fail.

    Text is parsed as a number (``" 3.5 "``, ``"1e3"``).  What is not a number becomes missing (NaN)
    as a float and zero as an int; floats are rounded to the nearest whole number (halves up) and
    clipped to 64 bits.  A bool is true for numbers other than zero and for true, yes, t, y in any
    case.

    **Map.** ``d -> d`` under every metric on records: each record is read alone.

    Args:
        to: one of these types, or its name.

    Raises:
        UsageError: another type.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> column = Space(Vector(str), SymmetricDistance()) >> Cast(float)
        >>> column(["3.5", "x"]).tolist()
        [3.5, nan]
    """

    to: type | str

    name: ClassVar[str] = "cast"

    def __post_init__(self) -> None:
        name = self.to if isinstance(self.to, str) else getattr(self.to, "__name__", None)
        if name not in _TYPES:
            raise UsageError(f"cast leads to float, int, str or bool, not to {said(self.to)}")
        object.__setattr__(self, "to", name)

    def build(self, space: Space) -> Transformation:
        """Return the cast of a column.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space is not a column.
        """
        domain = space.domain
        if not isinstance(domain, Vector) or not isinstance(domain.element, (Number, Category)):
            raise MismatchError(f"cast works on a column, not on {domain}", space, self)
        target = element(_TYPES[str(self.to)])
        present = domain.element.present
        readers = {"float": _to_float, "int": _to_float, "str": _to_text, "bool": _to_bool}
        reader = readers[str(self.to)]
        output = Vector(target, size=domain.size)

        def cast(column: Any) -> Any:
            listed = column.tolist() if hasattr(column, "tolist") else column
            if self.to == "int":
                whole = [v if type(v) is int else reader(v) for v in map(present, listed)]
                return output.read(whole)
            return output.read([reader(v) for v in map(present, listed)])

        return row_by_row(self, space, Space(output, space.metric), cast)


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def _to_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None or value != value else str(value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, str) and value.strip().lower() in _TRUE:
        return True
    number = _to_float(value)
    return not math.isnan(number) and number != 0

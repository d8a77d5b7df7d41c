"""What is public of one column: kind, meaning, bounds, categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import as_fraction
from tacit.errors import UsageError
from tacit.tables.dataset.fields import OPEN, Open, flag, known_fields, text
from tacit.tables.engines.csv.format import TYPES

__all__ = ["ColumnDeclaration"]

_FIELDS = ("kind", "meaning", "unit", "bounds", "keys", "public")
_BOUNDED = ("integer", "float", "decimal", None)


@dataclass(frozen=True)
class ColumnDeclaration:
    """What is public of a column.

    Attributes:
        kind: integer, float, text, boolean, date or timestamp; of a table that declares its own
            types, decimal too; None leaves it to the table, or to each question of a CSV file.
        meaning: what the column says of a person, in words.
        unit: the physical unit of its numbers, such as ``"euro"``.
        bounds: the least and the greatest number; questions without bounds of their own use them.
        keys: the categories; questions grouped by the column without keys use them.
        public: whether its values are known to everyone; told to readers, it changes no guarantee.
    """

    kind: str | Open | None = None
    meaning: str | Open | None = None
    unit: str | Open | None = None
    bounds: tuple[Fraction, Fraction] | Open | None = None
    keys: tuple[Any, ...] | Open | None = None
    public: bool | Open = False

    @classmethod
    def from_fields(cls, said: Mapping[str, Any], where: str) -> ColumnDeclaration:
        """Read a column as a file declares it.

        Raises:
            UsageError: a field that is unknown, or of another kind.
        """
        known_fields(said, _FIELDS, where)
        kind = text(said, "kind", where)
        if isinstance(kind, str) and kind not in (*TYPES, "decimal"):
            raise UsageError(f"kind of {where} is one of {', '.join(TYPES)}, not {kind!r}")
        return cls(
            kind,
            text(said, "meaning", where),
            text(said, "unit", where),
            _bounds(said.get("bounds"), kind, where),
            _keys(said.get("keys"), where),
            flag(said, "public", where),
        )

    def to_fields(self) -> dict[str, Any]:
        """Return what :meth:`from_fields` reads, without what is not said."""
        said = {name: getattr(self, name) for name in _FIELDS}
        return {name: value for name, value in said.items() if value not in (None, False)}


def _bounds(given: Any, kind: Any, where: str) -> tuple[Fraction, Fraction] | Open | None:
    if given is None or given == OPEN.sign:
        return None if given is None else OPEN
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise UsageError(f"bounds of {where} are two numbers, such as bounds = [0, 100]")
    if kind is not OPEN and kind not in _BOUNDED:
        raise UsageError(f"{where} has bounds, and holds {kind}; only numbers have bounds")
    if any(isinstance(end, bool) for end in given):
        raise UsageError(f"bounds of {where} are two numbers, such as bounds = [0, 100]")
    lower, upper = (as_fraction(end, f"bounds of {where}") for end in given)
    if lower >= upper:
        raise UsageError(f"bounds of {where}: the lower must be below the upper")
    return lower, upper


def _keys(given: Any, where: str) -> tuple[Any, ...] | Open | None:
    if given is None or given == OPEN.sign:
        return None if given is None else OPEN
    if not isinstance(given, (list, tuple)) or not given:
        raise UsageError(f'keys of {where} are its categories, such as keys = ["a", "b"]')
    if len({(type(key), key) for key in given if isinstance(key, (str, int, bool))}) < len(given):
        raise UsageError(f"keys of {where} are texts, whole numbers or true and false, each once")
    return tuple(given)

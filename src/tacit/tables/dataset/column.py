"""What is public of one column: kind, meaning, bounds, categories."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import as_fraction, show
from tacit.errors import UsageError
from tacit.tables.dataset.fields import OPEN, Declared, Open, flag, known_fields, line, text
from tacit.tables.engines.csv.format import TYPES
from tacit.tables.query.keys_sql import fit_number, key_of_kind

__all__ = ["ColumnDeclaration"]

_FIELDS = ("kind", "meaning", "unit", "bounds", "keys", "public")
_GROUPED = {
    **{kind: kind for kind in ("integer", "text", "boolean", "date")},
    "timestamp": "date",
}
"""Kinds that make groups, as the query of a release calls them."""
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
        public: whether its values are known to everyone; shown to readers, it changes no guarantee.
    """

    kind: str | Open | None = None
    meaning: str | Open | None = None
    unit: str | Open | None = None
    bounds: tuple[Fraction, Fraction] | Open | None = None
    keys: tuple[str | int, ...] | Open | None = None
    public: bool | Open = False

    @classmethod
    def from_fields(cls, said: Mapping[str, object], where: str) -> ColumnDeclaration:
        """Read a column as a file declares it.

        Raises:
            UsageError: a field that is unknown, or of another kind.
        """
        if "zone" in said:
            raise UsageError(
                f"{where} has a zone: times are read in UTC, or as written where they have no "
                "zone; a question converts them, as in tc.col('at').in_zone('Europe/Berlin')"
            )
        known_fields(said, _FIELDS, where)
        kind = text(said, "kind", where)
        if isinstance(kind, str) and kind not in (*TYPES, "decimal"):
            raise UsageError(f"kind of {where} is one of {', '.join(TYPES)}, not {kind!r}")
        found = cls(
            kind,
            line(said, "meaning", where),
            line(said, "unit", where),
            _bounds(said.get("bounds"), kind, where),
            _keys(said.get("keys"), where),
            flag(said, "public", where),
        )
        found._agrees(where)
        return found

    def _agrees(self, where: str) -> None:
        """Refuse keys of another kind than is declared, and keys out of bounds."""
        if isinstance(self.kind, str):
            self.refuse_keys(self.kind, where)
        if isinstance(self.bounds, tuple) and isinstance(self.keys, tuple):
            low, high = self.bounds
            out = [key for key in self.keys if isinstance(key, int) and not low <= key <= high]
            if out:
                raise UsageError(
                    f"{where} has the key {out[0]} and the bounds [{show(low)}, {show(high)}], "
                    "which exclude it"
                )

    def refuse_keys(self, kind: str, where: str) -> None:
        """Refuse keys that a column of a kind cannot hold.

        Args:
            kind: as a declaration says it, or a schema.
            where: what to call the column in a message.

        Raises:
            UsageError: such a column makes no groups, or a key is of another kind.
        """
        if not isinstance(self.keys, tuple) or kind in ("undeclared", "missing"):
            return
        if kind in ("float", "decimal"):
            for key in self.keys:
                fit_number(key, where, kind)
            return
        if kind not in _GROUPED:
            raise UsageError(
                f"{where} has keys, and holds {kind}, which cannot be grouped by: leave the keys "
                "out, and cut it into bins where a question groups by it"
            )
        for key in self.keys:
            key_of_kind(key, where, _GROUPED[kind])

    @property
    def told(self) -> dict[str, str]:
        """What readers are shown: the meaning and the unit, where they are said."""
        said = {"meaning": self.meaning, "unit": self.unit}
        return {name: text for name, text in said.items() if isinstance(text, str)}

    def to_fields(self) -> dict[str, Declared]:
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


def _keys(given: Any, where: str) -> tuple[str | int, ...] | Open | None:
    if given is None or given == OPEN.sign:
        return None if given is None else OPEN
    if not isinstance(given, (list, tuple)) or not given:
        raise UsageError(f'keys of {where} are its categories, such as keys = ["a", "b"]')
    # TOML has days and times of its own; a day as a key is the text that a question would give.
    days = [key.isoformat() if type(key) is datetime.date else key for key in given]
    if len({(type(key), key) for key in days if isinstance(key, (str, int, bool))}) < len(days):
        raise UsageError(
            f"keys of {where} are texts, whole numbers, days or true and false, each once"
        )
    return tuple(days)

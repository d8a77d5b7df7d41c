"""A data set: all that is public of it, declared once.

A declaration is made of public facts alone.  What a question leaves out (bounds, keys, the unit,
the budget, the ledger) comes from here, and nothing here is read from a row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.budgets.read_loss import read_loss
from tacit.calls import public
from tacit.errors import UsageError, did_you_mean
from tacit.tables.dataset.fields import OPEN, Declared, Open, known_fields, mapping, text, whole
from tacit.tables.dataset.table import TableDeclaration
from tacit.tables.dataset.table_opening import open_table
from tacit.tables.dataset.toml_text import read_toml, toml_of, write_new
from tacit.tables.engines.files import typed
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit, one_row_each

__all__ = ["Dataset"]

_FIELDS = ("name", "unit", "budget", "ledger", "purpose", "owner", "tables")
_PLAIN = re.compile(r"\w[\w .-]{0,99}")
_TAKEN = ("null", "quote", "delimiter")
"""Fields of a table in which a question mark is what it is."""
_UNIT = ("person", "rows", "groups")
_BUDGET = ("epsilon", "delta", "rho")


@public
@dataclass(frozen=True)
class Dataset:
    """The public declaration of a data set: its tables, its unit of privacy, and its budget.

    Made by :meth:`load` from a file, or by hand from the fields that such a file has.

    Args:
        name: the public name of the data set.
        unit: whom an answer protects: ``"row"``, or ``{"person": "person_id", "rows": 5,
            "groups": 3}``, as :func:`tacit.unit` takes them.
        tables: of each table by name its fields: ``path`` (or ``url`` and ``table``, or
            ``spark``), how it is read, and of each of its ``columns`` the ``kind``, ``bounds``,
            ``keys``, ``meaning`` and ``unit``.  The first that is protected is the default.
        budget: ``{"epsilon": 1}``, ``{"epsilon": 1, "delta": "1e-6"}`` or ``{"rho": "0.1"}``.
        ledger: the file or the address of the ledger; by default ``NAME.ledger`` beside the file
            of the declaration.
        purpose: what the data set is used for.
        owner: who is responsible for it.
        folder: where relative paths start; for a loaded declaration, the folder of its file.

    Raises:
        UsageError: a field that is unknown, missing, of the wrong kind, or contradicts another
            field.

    Example:
        >>> import tacit as tc
        >>> visits = tc.Dataset(
        ...     "visits",
        ...     unit={"person": "person", "rows": 5},
        ...     budget={"epsilon": 1},
        ...     tables={"visits": {"path": "visits.csv", "columns": {"cost": {"bounds": [0, 99]}}}},
        ... )
        >>> visits.unit, visits.tables["visits"].columns["cost"].bounds
        ({'person': 'person', 'rows': 5}, (Fraction(0, 1), Fraction(99, 1)))
    """

    name: str
    unit: str | Mapping[str, str | int]
    tables: Mapping[str, TableDeclaration]
    budget: str | Mapping[str, str | float | Fraction] | None = None
    ledger: str | None = None
    purpose: str | Open | None = None
    owner: str | Open | None = None
    folder: Path = field(default_factory=Path, compare=False)

    if TYPE_CHECKING:  # what is given may be the fields of each table; what is kept never is

        def __init__(
            self,
            name: str,
            unit: str | Mapping[str, str | int],
            tables: Mapping[str, TableDeclaration | Mapping[str, Declared]],
            budget: str | Mapping[str, str | float | Fraction] | None = None,
            ledger: str | None = None,
            purpose: str | Open | None = None,
            owner: str | Open | None = None,
            folder: Path = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        where = "the data set"
        said = {"name": self.name, "ledger": self.ledger}
        if not isinstance(text(said, "name", where), str):
            raise UsageError("a data set needs a public name: name = 'visits'")
        if not _PLAIN.fullmatch(self.name):
            raise UsageError(
                "the name of a data set has letters, digits, spaces, dots, - and _: its ledger is "
                "named after it"
            )
        if text(said, "ledger", where) is OPEN:
            raise UsageError("ledger of the data set is a file or an address, or left out")
        for part in ("purpose", "owner"):
            object.__setattr__(self, part, text({part: _sign(getattr(self, part))}, part, where))
        _unit(self.unit)
        _budget(self.budget)
        tables = {
            name: said
            if isinstance(said, TableDeclaration)
            else TableDeclaration.from_fields(said, f"the table {name!r}")
            for name, said in mapping(self.tables, "tables").items()
        }
        if not any(table.public is not True for table in tables.values()):
            raise UsageError(
                "a data set has at least one table that is not public: [tables.visits]"
            )
        object.__setattr__(self, "tables", tables)
        object.__setattr__(self, "folder", Path(self.folder))
        people = {(t.source, t.table): n for n, t in tables.items() if t.public is not True}
        for name, table in tables.items():
            if not _PLAIN.fullmatch(name):
                raise UsageError(
                    f"the name of a table has letters, digits, spaces, dots, - and _, not {name!r}"
                )
            twin = people.get((table.source, table.table), name)
            if table.public is True and twin != name:
                raise UsageError(
                    f"the tables {twin!r} and {name!r} are the same table: it holds people, and "
                    "is not public"
                )
            if table.person is not None and self.unit == "row":
                raise UsageError(
                    f"the table {name!r} has a person, and the unit is a row: say whom an answer "
                    "protects, unit = { person = 'person_id', rows = 5 }"
                )

    @classmethod
    def from_fields(
        cls, said: Mapping[str, object], folder: str | os.PathLike[str] = "."
    ) -> Dataset:
        """Read a data set from the fields that a file holds.

        Args:
            said: the fields by name, as plain values.
            folder: that paths are relative to.

        Raises:
            UsageError: as the class.
        """
        fields = mapping(said, "the data set")
        known_fields(fields, _FIELDS, "the data set")
        for name, example in (("name", "'visits'"), ("unit", "'row'"), ("tables", "")):
            if name not in fields:
                raise UsageError(
                    f"the data set lacks {name}"
                    + (f": {name} = {example}" if example else ": add one with [tables.visits]")
                    + (_UNIT_HELP if name == "unit" else "")
                )
        return cls(**fields, folder=Path(folder))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Dataset:
        """Read the declaration of a data set from a TOML file.

        Args:
            path: of the file of TOML.

        Raises:
            UsageError: the file does not exist, is not TOML, or is refused by :class:`Dataset`.
        """
        place = Path(typed(path))
        said = read_toml(place, str(place))
        try:
            return cls.from_fields(said, place.parent)
        except UsageError as error:
            raise type(error)(f"{place}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the declaration to a TOML file, with paths relative to its folder.

        Args:
            path: of the new file of TOML.

        Raises:
            UsageError: the file cannot be written, or exists.
        """
        place = Path(typed(path))
        moved = Path(os.path.relpath(self.folder, place.parent))
        write_new(place, toml_of(self.to_fields(moved)))

    def to_fields(self, folder: Path | None = None) -> dict[str, Declared]:
        """Return what :meth:`from_fields` reads, with paths relative to ``folder`` if given.

        Args:
            folder: that paths become relative to; by default they stay as they are.
        """
        tables = {name: table.to_fields() for name, table in self.tables.items()}
        for fields in tables.values():
            if folder is not None and "path" in fields:
                fields["path"] = _from(folder, str(fields["path"]))
        ledger = self.ledger
        if ledger is not None and folder is not None:
            ledger = _from(folder, ledger)
        said: dict[str, Declared] = {
            "name": self.name,
            "unit": self.unit,
            "budget": self.budget,
            "ledger": ledger,
            "purpose": self.purpose,
            "owner": self.owner,
            "tables": tables,
        }
        return {name: value for name, value in said.items() if value is not None}

    def open_fields(self) -> list[str]:
        """Return the places of the fields of a draft that a person still has to fill in."""
        fields: Any = self.to_fields()
        for table in fields["tables"].values():
            for taken in _TAKEN:
                table.pop(taken, None)
        return _open_in(fields, "")

    def check(self) -> None:
        """Check that the declaration is finished, and that it fits its tables.

        Opens each table, and reads no row of it.

        Raises:
            UsageError: a field that is still open, or a column that does not exist or is of another
                kind.
            DataSourceError: a table does not exist.
        """
        self.refuse_open()
        for name, said in self.tables.items():
            with open_table(said, name, self.folder).source as source:
                if name in self.protected:
                    self.unit_of(name).person(source.schema, source.engine.dialect)

    def refuse_open(self) -> None:
        """Raise if a field of the draft is still open.

        Raises:
            UsageError: a field that is still open.
        """
        left = self.open_fields()
        if left:
            raise UsageError(
                f"{self.name!r} is not finished: decide {', '.join(left[:8])}"
                + (f" and {len(left) - 8} more" if len(left) > 8 else "")
                + ', each marked with "?"'
            )

    @property
    def protected(self) -> list[str]:
        """The names of the protected tables, in their order."""
        return [name for name, said in self.tables.items() if said.public is not True]

    def table(self, name: str | None = None) -> str:
        """Return the name of a protected table: by default the first.

        Args:
            name: of a table; None for the first protected one.

        Raises:
            UsageError: no table has that name, or it is public.
        """
        if name is None:
            return self.protected[0]
        if name not in self.tables:
            raise UsageError(f"there is no table {name!r}; {did_you_mean(name, self.protected)}")
        if name not in self.protected:
            raise UsageError(f"{name!r} is a public table: read it as it is")
        return name

    def unit_of(self, name: str) -> OneRowEach | PersonUnit:
        """Return whom an answer about a table protects, by the column of that table.

        Args:
            name: of a protected table.
        """
        if self.unit == "row":
            return one_row_each
        unit: Any = self.unit
        column: Any = self.tables[name].person or unit["person"]
        return PersonUnit(column, unit["rows"], unit.get("groups"))

    @property
    def whole_budget(self) -> Budget | None:
        """The budget of all releases together; None where none is declared."""
        return _budget(self.budget)

    @property
    def ledger_place(self) -> str:
        """The file or address of the ledger, as it is opened."""
        place = self.ledger or f"{self.name}.ledger"
        return place if "://" in place else os.path.join(self.folder, typed(place))


_UNIT_HELP = (
    ", where each row is a person of its own, or unit = { person = 'person_id', rows = 5 } where "
    "a person has several"
)


def _sign(value: Any) -> Any:
    return OPEN.sign if value is OPEN else value


def _from(folder: Path, path: str) -> str:
    whole = "://" in path or os.path.isabs(typed(path))
    return path if whole else os.path.normpath(folder / path)


def _unit(said: Any) -> None:
    """Check the unit of privacy."""
    if said in ("row", OPEN.sign):
        return
    if not isinstance(said, Mapping):
        raise UsageError("unit of the data set is 'row'" + _UNIT_HELP)
    known_fields(said, _UNIT, "unit")
    person, rows = text(said, "person", "unit"), whole(said, "rows", "unit")
    groups = whole(said, "groups", "unit")
    if person is None or rows is None:
        raise UsageError(
            "unit lacks the person column, or the largest number of rows that count per person: "
            "unit = { person = 'person_id', rows = 5 }"
        )
    if isinstance(person, str) and isinstance(rows, int) and groups is not OPEN:
        PersonUnit(person, rows, groups)


def _budget(said: Any) -> Budget | None:
    """Return a budget; None where none is said, or one is left open."""
    if said is None or said == OPEN.sign:
        return None
    fields = mapping(said, "budget")
    known_fields(fields, _BUDGET, "budget")
    if OPEN.sign in fields.values():
        return None
    if set(fields) not in ({"epsilon"}, {"epsilon", "delta"}, {"rho"}):
        raise UsageError(
            "budget is { epsilon = 1 }, { epsilon = 1, delta = '1e-6' } or { rho = '0.1' }"
        )
    return read_loss(fields.get("epsilon"), fields.get("delta"), fields.get("rho"))


def _open_in(value: Any, place: str) -> list[str]:
    if value is OPEN or value == OPEN.sign:
        return [place]
    if isinstance(value, Mapping):
        found: list[str] = []
        for name, one in value.items():
            found += _open_in(one, f"{place}.{name}" if place else str(name))
        return found
    return []

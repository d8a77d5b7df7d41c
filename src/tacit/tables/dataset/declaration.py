"""Declarations of data sets, and their opening."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.accounting.budget import Budget, read_loss
from tacit.accounting.ledger import Ledger
from tacit.accounting.open_ledger import InMemory, has_ledger
from tacit.calls import public
from tacit.errors import LedgerError, UsageError, did_you_mean
from tacit.tables.dataset.table import (
    OPEN,
    ColumnDeclaration,
    Declared,
    Open,
    TableDeclaration,
    known_fields,
    mapping,
    person,
    read_toml,
    text,
    toml_of,
    whole,
    write_new,
)
from tacit.tables.engines.files import PACKED, typed
from tacit.tables.missing_codes import refuse_as_keys
from tacit.tables.open_source import Source, identity_of, open_beside
from tacit.tables.plan.query import LABELS, labelled_keys
from tacit.tables.plan.query import Declared as AskedDeclared
from tacit.tables.privacy_unit import (
    OneRowEach,
    Person,
    PersonUnit,
    one_row_each,
    person_columns,
    person_from,
    person_json,
)
from tacit.tables.release.opened_table import OpenedTable, OtherTable
from tacit.tables.session import NEIGHBOURS, Session

# Open a declared table where it is, and hold it against its declaration.


_KINDS = {"timestamp": "date"}  # what the schema calls a declared kind, where it has another word
NUMERIC = ("integer", "float", "decimal", "boolean", "undeclared", "missing")


def open_table(table: TableDeclaration, name: str, folder: Path) -> OpenedTable:
    """Open a declared table, and refuse it where it is not as declared; no row is read."""
    # The label is in messages and pictures; the ledger goes by the data set.
    opened = OpenedTable(table.within(folder), table.options(name, folder))
    try:
        _as_declared(opened.source, table, name, folder)
    except BaseException:
        opened.source.close()
        raise
    return opened


def open_public(spec: TableDeclaration, name: str, folder: Path, beside: Source) -> Source:
    """Open a public table, to be brought next to another, wherever that is."""
    return open_table(spec, name, folder).source


def open_joined(
    spec: TableDeclaration, name: str, folder: Path, first: TableDeclaration, beside: Source
) -> Source:
    """Open a protected table in the engine of another one, so that one statement reads both."""
    if spec.source_kind != first.source_kind or (
        spec.source_kind == "url" and spec.source != first.source
    ):
        raise UsageError(
            f"{name!r} cannot be joined where it is: protected tables are joined within one "
            "engine: two files, two tables of one PostgreSQL database under the same url, or two "
            "tables of Spark. Copy one of them to where the other is"
        )
    source = open_beside(beside, spec.within(folder), spec.options(name, folder))
    _as_declared(source, spec, name, folder)
    return source


def _as_declared(source: Source, table: TableDeclaration, name: str, folder: Path) -> None:
    if table.source_kind == "spark":
        source.label = table.source
    source.reading = source.reading_from(os.path.realpath(folder))
    for key in table.key:
        source.schema.column(key)
    # refuses labels that are not there, and keys that the file itself declares as missing
    for column, keys in keys_of(table, source).items():
        refuse_as_keys(keys, source.reading.missing.get(column, []), f"{column!r} of {name!r}")
    for column, one in table.columns.items():
        _fits(source.schema.column(column).kind, column, one, name)


def _fits(kind: str, column: str, spec: ColumnDeclaration, table: str) -> None:
    """Raise if a column has another kind than is declared."""
    declared = _KINDS.get(str(spec.kind), spec.kind)
    if isinstance(declared, str) and kind not in (declared, "missing"):
        raise UsageError(f"{column!r} of {table!r} is declared {spec.kind}, and holds {kind}")
    spec.refuse_keys(kind, f"{column!r} of {table!r}")
    if spec.bounds is not None and kind not in NUMERIC:
        raise UsageError(f"{column!r} of {table!r} has bounds, and holds {kind}")


# A data set: all that is public of it, declared once.
#
# A declaration is made of public facts alone.  What a question leaves out (bounds, keys, the unit,
# the budget, the ledger) comes from here, and nothing here is read from a row.


_FIELDS = ("name", "unit", "budget", "ledger", "purpose", "owner", "tables")
# Ends of names that are never those of TOML.
_TABLES = (".csv", ".db", ".duckdb", ".parquet", ".pq", ".tab", ".tsv", *PACKED)
_PLAIN = re.compile(r"\w[\w .-]{0,99}")
# Fields of a table in which a question mark is what it is.
_TAKEN = ("null", "quote", "delimiter", "comment", "missing")
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
            "groups": 3}``, as :func:`tacit.unit` takes them; ``person`` may be a list of columns.
        tables: of each table by name its fields: ``path`` (or ``url`` and ``table``, or
            ``spark``), how it is read, and of each of its ``columns`` the ``kind``, ``bounds``,
            ``keys``, ``meaning`` and ``unit``.  The first that is protected is the default.
        budget: ``{"epsilon": 1}``, ``{"epsilon": 1, "delta": "1e-6"}`` or ``{"rho": "0.1"}``.
        ledger: the file or the address of the ledger; by default ``NAME.ledger`` next to the file
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
    unit: str | Mapping[str, str | int | Sequence[str]]
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
            unit: str | Mapping[str, str | int | Sequence[str]],
            tables: Mapping[str, TableDeclaration | Mapping[str, Declared]],
            budget: str | Mapping[str, str | float | Fraction] | None = None,
            ledger: str | None = None,
            purpose: str | Open | None = None,
            owner: str | Open | None = None,
            folder: Path = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        where = "the data set"
        spec = {"name": self.name, "ledger": self.ledger}
        if not isinstance(text(spec, "name", where), str):
            raise UsageError("a data set needs a public name: name = 'visits'")
        if not _PLAIN.fullmatch(self.name):
            raise UsageError(
                "the name of a data set has letters, digits, spaces, dots, - and _: its ledger is "
                "named after it"
            )
        if text(spec, "ledger", where) is OPEN:
            raise UsageError("ledger of the data set is a file or an address, or left out")
        for part in ("purpose", "owner"):
            object.__setattr__(self, part, text({part: _sign(getattr(self, part))}, part, where))
        _unit(self.unit)
        _budget(self.budget)
        tables = {
            name: spec
            if isinstance(spec, TableDeclaration)
            else TableDeclaration.from_fields(spec, f"the table {name!r}")
            for name, spec in mapping(self.tables, "tables").items()
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
            self._same_parts(name, table)

    def _same_parts(self, name: str, table: TableDeclaration) -> None:
        """Raise if a table names a person by more or fewer columns, or by them in another order."""
        named = self.unit.get("person") if isinstance(self.unit, Mapping) else None
        if table.person is None or table.person is OPEN or named in (None, OPEN, OPEN.sign):
            return
        own, shared = person_columns(table.person), person_columns(person_from(named))
        if len(own) != len(shared):
            raise UsageError(
                f"the table {name!r} names a person by {' and '.join(own)}, and the unit by "
                f"{' and '.join(shared)}: name the same people by as many columns in each table"
            )
        people = (t.person for t in self.tables.values() if t.person is not OPEN)
        for other in (shared, *map(person_columns, people)):
            if own != other and sorted(own) == sorted(other):
                raise UsageError(
                    f"the table {name!r} names a person by {' and '.join(own)}, which are "
                    f"{' and '.join(other)} elsewhere: people of several columns are matched in "
                    "their order, so name them in one order in all tables"
                )

    @classmethod
    def from_fields(
        cls, spec: Mapping[str, object], folder: str | os.PathLike[str] = "."
    ) -> Dataset:
        """Read a data set from the fields that a file holds.

        Args:
            spec: the fields by name, as plain values.
            folder: that paths are relative to.

        Raises:
            UsageError: as the class.
        """
        fields = mapping(spec, "the data set")
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

        Raises:
            UsageError: the file does not exist, is not TOML, or is refused by :class:`Dataset`.
        """
        location = Path(typed(path))
        if location.suffix.lower() in _TABLES:
            raise UsageError(
                f"{location} is not a declaration of a data set, which is a file of TOML: open a "
                "table with tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(1)), or draft "
                f"its declaration with tacit init {location}"
            )
        fields = read_toml(location, str(location))
        if "tables" not in fields and not {"source", "question"}.isdisjoint(fields):
            raise UsageError(
                f"{location} is a plan of questions, not the declaration of a data set: run it "
                f"with tacit release --plan {location}"
            )
        try:
            return cls.from_fields(fields, location.parent)
        except UsageError as error:
            raise type(error)(f"{location}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the declaration to a TOML file, with paths relative to its folder.

        Args:
            path: of the new file of TOML.

        Raises:
            UsageError: the file cannot be written, or exists.
        """
        location = Path(typed(path))
        moved = Path(os.path.relpath(self.folder, location.parent))
        write_new(location, toml_of(self.to_fields(moved)))

    def to_fields(self, folder: Path | None = None) -> dict[str, Declared]:
        """Return what :meth:`from_fields` reads, with paths relative to ``folder`` if given.

        Args:
            folder: that paths become relative to; by default they stay as they are.
        """
        tables = {name: table.to_fields() for name, table in self.tables.items()}
        for fields in tables.values():
            for path in ("path", "codebook"):
                if folder is not None and path in fields:
                    fields[path] = _from(folder, str(fields[path]))
        ledger = self.ledger
        if ledger is not None and folder is not None:
            ledger = _from(folder, ledger)
        spec: dict[str, Declared] = {
            "name": self.name,
            "unit": self.unit,
            "budget": self.budget,
            "ledger": ledger,
            "purpose": self.purpose,
            "owner": self.owner,
            "tables": tables,
        }
        return {name: value for name, value in spec.items() if value is not None}

    def open_fields(self) -> list[str]:
        """Return the positions of the fields of a draft that a person still has to fill in."""
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
        for name, spec in self.tables.items():
            with open_table(spec, name, self.folder).source as source:
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
        return [name for name, spec in self.tables.items() if spec.public is not True]

    def table(self, name: str | None = None) -> str:
        """Return the name of a protected table: by default the first.

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
        """Return whom an answer about a table protects, by the column of that table."""
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
    def ledger_location(self) -> str:
        """The file or address of the ledger, as it is opened."""
        location = self.ledger or f"{self.name}.ledger"
        return location if "://" in location else os.path.join(self.folder, typed(location))


_UNIT_HELP = (
    ", where each row is a person of its own, or unit = { person = 'person_id', rows = 5 } where "
    "a person has several"
)


def _sign(value: Any) -> Any:
    return OPEN.sign if value is OPEN else value


def _from(folder: Path, path: str) -> str:
    complete = "://" in path or os.path.isabs(typed(path))
    return path if complete else os.path.normpath(folder / path)


def _unit(spec: Any) -> None:
    """Check the unit of privacy."""
    if spec in ("row", OPEN.sign):
        return
    if not isinstance(spec, Mapping):
        raise UsageError("unit of the data set is 'row'" + _UNIT_HELP)
    known_fields(spec, _UNIT, "unit")
    named, rows = person(spec, "unit"), whole(spec, "rows", "unit")
    groups = whole(spec, "groups", "unit")
    if named is None or rows is None:
        raise UsageError(
            "unit lacks the person column, or the largest number of rows that count per person: "
            "unit = { person = 'person_id', rows = 5 }"
        )
    if named is not OPEN and isinstance(rows, int) and groups is not OPEN:
        PersonUnit(named, rows, groups)


def _budget(spec: Any) -> Budget | None:
    """Return a budget; None where none is said, or one is left open."""
    if spec is None or spec == OPEN.sign:
        return None
    fields = mapping(spec, "budget")
    known_fields(fields, _BUDGET, "budget")
    if OPEN.sign in fields.values():
        return None
    if set(fields) not in ({"epsilon"}, {"epsilon", "delta"}, {"rho"}):
        raise UsageError(
            "budget is { epsilon = 1 }, { epsilon = 1, delta = '1e-6' } or { rho = '0.1' }"
        )
    return read_loss(fields.get("epsilon"), fields.get("delta"), fields.get("rho"))


def _open_in(value: Any, path: str) -> list[str]:
    if value is OPEN or value == OPEN.sign:
        return [path]
    if isinstance(value, Mapping):
        positions: list[str] = []
        for name, one in value.items():
            positions += _open_in(one, f"{path}.{name}" if path else str(name))
        return positions
    return []


# Open a declared data set: its tables in their engines, one budget for all of them.


@public
def open_dataset(
    source: str | os.PathLike[str] | Dataset,
    *,
    table: str | None = None,
    ledger: Ledger | InMemory | None = None,
) -> Session:
    r"""Open a data set that is declared in a TOML file.

    The session asks the first protected table, or the one that is named; questions take the bounds
    and keys that the data set declares where they have none of their own.  All tables share one
    ledger, ``NAME.ledger`` next to the file unless the declaration names another place.

    Args:
        source: the path of the file, or a :class:`tacit.Dataset`.
        table: the table to ask; :meth:`tacit.Session.table` asks another one.
        ledger: :data:`tacit.in_memory` to try questions without the ledger of the data set, or one
            that is open already.

    Raises:
        UsageError: the declaration is unfinished, contradicts itself, or does not fit the table.
        DataSourceError: the table does not exist.
        LedgerError: the ledger belongs to another data set, or has another unit or budget.

    Example:
        >>> import pathlib, tempfile
        >>> import tacit as tc
        >>> folder = tempfile.TemporaryDirectory()
        >>> place = pathlib.Path(folder.name)
        >>> _ = (place / "visits.csv").write_text("person,cost\n1,20\n2,35\n")
        >>> _ = (place / "visits.toml").write_text('''
        ... name = "visits"
        ... unit = { person = "person", rows = 5 }
        ... budget = { epsilon = 1 }
        ... [tables.visits]
        ... path = "visits.csv"
        ... [tables.visits.columns]
        ... cost = { kind = "float", bounds = [0, 100], unit = "euro" }
        ... ''')
        >>> session = tc.open(place / "visits.toml")
        >>> answer = session.agg(cost=tc.mean("cost")).release(epsilon="1/2")
        >>> 0 <= answer.value("cost") <= 100, session.remaining
        (True, epsilon(0.5))
        >>> session.close()
        >>> folder.cleanup()
    """
    dataset = source if isinstance(source, Dataset) else Dataset.load(source)
    dataset.refuse_open()
    chosen = dataset.ledger_location if ledger is None else ledger
    if dataset.whole_budget is None and not (isinstance(chosen, Ledger) or has_ledger(chosen)):
        raise UsageError(f"{dataset.name!r} has no budget: declare it, budget = {{ epsilon = 1 }}")
    return _session(dataset, dataset.table(table), chosen)


def _session(dataset: Dataset, name: str, ledger: str | Ledger | InMemory) -> Session:
    """Return a session on one table of a data set."""
    protected = dataset.protected
    spec, tables = dataset.tables[name], _people(dataset)
    table = open_table(spec, name, dataset.folder)
    declared = AskedDeclared(
        dataset=identity(dataset),
        unit=dataset.unit_of(protected[0]).describe(),
        table=name,
        tables=tables,
        bounds=_bounds(spec),
        keys=keys_of(spec, table.source),
        descriptions=_descriptions(spec),
        size=spec.size if isinstance(spec.size, int) else None,
        reading=table.source.reading,
    )
    others = {o: partial(_session, dataset, o) for o in protected if o != name}
    table.others = {o: _beside(dataset, o, spec) for o in dataset.tables if o != name}
    unit, budget = dataset.unit_of(name), dataset.whole_budget
    try:
        return Session.of_dataset(table, unit, budget, ledger, declared, others)
    except LedgerError as error:
        raise type(error)(
            f"{error}. It is the ledger of the data set {dataset.name!r}, and counts in the unit, "
            "the tables and the budget that it began with: declare these as they were. Other "
            "people have a ledger of their own, which ledger = '...' there names"
        ) from None


def _bounds(spec: TableDeclaration) -> dict[str, tuple[Fraction, Fraction]]:
    return {c: one.bounds for c, one in spec.columns.items() if isinstance(one.bounds, tuple)}


def _keys(spec: TableDeclaration) -> dict[str, tuple[Any, ...]]:
    return {c: one.keys for c, one in spec.columns.items() if isinstance(one.keys, tuple)}


def keys_of(spec: TableDeclaration, source: Source) -> dict[str, tuple[Any, ...]]:
    """Return the declared keys of the columns of an open table, from its labels where so said."""
    known = source.labels
    return _keys(spec) | {c: tuple(labelled_keys(c, known.get(c, {}))) for c in _labelled(spec)}


def _descriptions(spec: TableDeclaration) -> dict[str, dict[str, str]]:
    return {c: one.description for c, one in spec.columns.items()}


def _beside(dataset: Dataset, name: str, first: TableDeclaration) -> OtherTable:
    """Return a table as one that another may be joined with."""
    spec, folder = dataset.tables[name], dataset.folder
    public = spec.public is True
    opened = (
        partial(open_public, spec, name, folder)
        if public
        else partial(open_joined, spec, name, folder, first)
    )
    key = spec.key if public else dataset.unit_of(name).columns
    known = _bounds(spec), _keys(spec), _labelled(spec), _descriptions(spec)
    return OtherTable(name, key, public, opened, *known)


def _labelled(spec: TableDeclaration) -> tuple[str, ...]:
    """Return the columns whose keys are declared as the values with a label."""
    return tuple(column for column, one in spec.columns.items() if one.keys == LABELS)


def _people(dataset: Dataset) -> tuple[tuple[str, Person | None], ...]:
    """Return the protected tables of a data set, each with its person column."""
    return tuple((name, dataset.unit_of(name).column) for name in dataset.protected)


def identity(dataset: Dataset) -> str:
    """Return what the ledger of a data set protects: its name, and a digest of its tables."""
    # All protected tables are in it with their person columns, because one budget is that of the
    # same people in all of them.
    people = [[name, person_json(person)] for name, person in _people(dataset)]
    digest = identity_of(dataset.name, people)
    return f"{dataset.name} ({digest[:16]})"


def terms(dataset: Dataset) -> dict[str, Any]:
    """Return what a charge means in the ledger of a data set: whom it protects, from what."""
    return {
        "unit": dataset.unit_of(dataset.protected[0]).describe(),
        "neighbours": NEIGHBOURS,
    }

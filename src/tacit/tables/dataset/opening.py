"""Open a declared data set: its tables in their engines, one budget for all of them."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import partial
from typing import Any

from tacit.accounting.ledger.ledger import Ledger
from tacit.accounting.open_ledger import InMemory, has_ledger
from tacit.calls import public
from tacit.errors import LedgerError, UsageError
from tacit.tables.dataset.declaration import Dataset
from tacit.tables.dataset.table import TableDeclaration
from tacit.tables.dataset.table_opening import open_joined, open_public, open_table
from tacit.tables.open_source import identity_of
from tacit.tables.plan.declared import Declared
from tacit.tables.release.other_table import OtherTable
from tacit.tables.session import NEIGHBOURS, Session

__all__ = ["identity", "open_dataset", "terms"]


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
    ledger, ``NAME.ledger`` beside the file unless the declaration names another place.

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
    kept = dataset.ledger_place if ledger is None else ledger
    if dataset.whole_budget is None and not (isinstance(kept, Ledger) or has_ledger(kept)):
        raise UsageError(f"{dataset.name!r} has no budget: declare it, budget = {{ epsilon = 1 }}")
    return _session(dataset, dataset.table(table), kept)


def _session(dataset: Dataset, name: str, ledger: str | Ledger | InMemory) -> Session:
    """Return a session on one table of a data set."""
    protected = dataset.protected
    said, tables = dataset.tables[name], _people(dataset)
    table = open_table(said, name, dataset.folder)
    declared = Declared(
        dataset=identity(dataset),
        unit=dataset.unit_of(protected[0]).describe(),
        table=name,
        tables=tables,
        bounds=_bounds(said),
        keys=_keys(said),
        told=_told(said),
        size=said.size if isinstance(said.size, int) else None,
        reading=table.source.reading,
    )
    others = {o: partial(_session, dataset, o) for o in protected if o != name}
    table.others = {o: _beside(dataset, o, said) for o in dataset.tables if o != name}
    unit, budget = dataset.unit_of(name), dataset.whole_budget
    try:
        return Session.of_dataset(table, unit, budget, ledger, declared, others)
    except LedgerError as error:
        raise type(error)(
            f"{error}. It is the ledger of the data set {dataset.name!r}, and counts in the unit, "
            "the tables and the budget that it began with: declare these as they were. Other "
            "people have a ledger of their own, which ledger = '...' there names"
        ) from None


def _bounds(said: TableDeclaration) -> dict[str, tuple[Fraction, Fraction]]:
    return {c: one.bounds for c, one in said.columns.items() if isinstance(one.bounds, tuple)}


def _keys(said: TableDeclaration) -> dict[str, tuple[Any, ...]]:
    return {c: one.keys for c, one in said.columns.items() if isinstance(one.keys, tuple)}


def _told(said: TableDeclaration) -> dict[str, dict[str, str]]:
    return {c: one.told for c, one in said.columns.items()}


def _beside(dataset: Dataset, name: str, first: TableDeclaration) -> OtherTable:
    """Return a table as one that another may be joined with."""
    said, folder = dataset.tables[name], dataset.folder
    public = said.public is True
    opened = (
        partial(open_public, said, name, folder)
        if public
        else partial(open_joined, said, name, folder, first)
    )
    person = None if public else dataset.unit_of(name).column
    key = said.key if person is None else (person,)
    return OtherTable(name, key, public, opened, _bounds(said), _keys(said), _told(said))


def _people(dataset: Dataset) -> tuple[tuple[str, str | None], ...]:
    """Return the protected tables of a data set, each with its person column."""
    return tuple((name, dataset.unit_of(name).column) for name in dataset.protected)


def identity(dataset: Dataset) -> str:
    """Return what the ledger of a data set protects: its name, and a digest of its tables.

    All protected tables stand in it with their person columns, because one budget is that of the
    same people in all of them.
    """
    digest = identity_of(dataset.name, list(map(list, _people(dataset))))
    return f"{dataset.name} ({digest[:16]})"


def terms(dataset: Dataset) -> dict[str, Any]:
    """Return what a charge means in the ledger of a data set: whom it protects, from what."""
    return {
        "unit": dataset.unit_of(dataset.protected[0]).describe(),
        "neighbours": NEIGHBOURS,
    }

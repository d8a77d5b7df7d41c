"""A data set that a curator declares over HTTP, or declares anew: checked before it is written.

What a curator may name is what the operator put there for it: files below ``data/`` in the folder
of the service.

**What may change.**  A ledger counts in the unit, the people and the tables that it began with, and
its budget is that of the people in them.  So a declaration that stands is declared anew with other
columns, words, public tables, latency or schedule, and nothing that decides whose budget it is:
another file would give the people of the first one a second budget, under another name; another
unit, or another way to read who a person is, would count losses in something else; and a budget is
raised, and a cap set, in the ledger itself, with a reason.  Approval can be required, and
never be switched off: someone who could do that could do without the reviewers.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.errors import UsageError
from tacit.report.text.odds import weak_guarantee
from tacit.service.hosting.declared import Declared
from tacit.service.hosting.owners import owners_of
from tacit.service.problem import Problem
from tacit.service.settings import FILE, Caps, DatasetSettings, Settings
from tacit.tables.dataset.declaration import Dataset
from tacit.tables.dataset.table import TableDeclaration
from tacit.tables.dataset.table_shape import shapes_of

__all__ = [
    "DATA",
    "changes_of",
    "columns_of",
    "data_files",
    "notes_on",
    "refuse_declaration",
    "with_hosting",
]

DATA = "data"
"""The folder below that of the service whose files curators may declare."""
_MOST_FILES = 1000


def with_hosting(settings: Settings, made: Iterable[Declared]) -> Settings:
    """Return the settings with what curators said of how their data sets are hosted.

    Raises:
        UsageError: a field that is wrong.
    """
    said = {one.name: one.hosted(settings) for one in made}
    return replace(settings, datasets={**settings.datasets, **said})


def refuse_declaration(
    made: Declared,
    standing: Declared | None,
    settings: Settings,
    declared: Mapping[str, Dataset],
) -> None:
    """Refuse a declaration that cannot stand, or that may not follow the one that stands.

    Opens each table, and reads no row of it.

    Args:
        made: what a curator sent.
        standing: what it takes the place of; None of a new data set.
        settings: of the service.
        declared: all data sets that are there.

    Raises:
        UsageError: a field that is wrong, or a table that does not fit it.
        DataSourceError: a table does not exist.
        Problem: a name that is taken, or a change that no ledger bears.
    """
    if made.fields.get("name", made.name) != made.name:
        raise UsageError(f"the declaration names another data set than {made.name!r}")
    if "ledger" in made.fields:
        raise UsageError("the service decides where the ledger is: leave ledger out")
    folder = settings.folder
    dataset, whole = made.dataset(folder), with_hosting(settings, [made])
    how = whole.dataset(made.name)
    dataset.refuse_open()
    budget = dataset.whole_budget
    if budget is None:
        raise UsageError("declare the budget of the data set: budget = { epsilon = 1 }")
    if standing is None:
        _refuse_taken(made.name, declared)
    for table, fields in dataset.tables.items():
        _refuse_outside(table, fields.place, fields.source, folder)
    _refuse_caps(how.caps, budget)
    if standing is not None:
        _refuse_unsound(standing.dataset(folder), dataset, standing.hosted(settings), how)
    owners_of({**declared, made.name: dataset}, whole)
    dataset.check()


def changes_of(old: Mapping[str, Any], new: Mapping[str, Any], at: str = "") -> list[str]:
    """Return the places in which two declarations differ.

    >>> changes_of({"unit": "row", "tables": {"t": {"a": 1}}}, {"tables": {"t": {"a": 2}}})
    ['tables.t.a', 'unit']
    """
    found = []
    for name in sorted({*old, *new}):
        before, after, place = old.get(name), new.get(name), f"{at}{name}"
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found += changes_of(before, after, f"{place}.")
        elif before != after:
            found.append(place)
    return found


def notes_on(dataset: Dataset, how: DatasetSettings) -> list[str]:
    """Return what a curator should know of a declaration that could stand, in sentences."""
    notes = []
    budget = dataset.whole_budget
    sizes = [size for n in dataset.protected if isinstance(size := dataset.tables[n].size, int)]
    weak = None if budget is None else weak_guarantee(budget, min(sizes, default=None))
    if weak is not None:
        notes.append(f"The budget is large: {weak}.")
    for table in dataset.protected:
        columns = dataset.tables[table].columns.items()
        bare = [n for n, one in columns if one.kind in ("integer", "float") and not one.bounds]
        bare = [n for n in bare if n != dataset.unit_of(table).column]
        if bare:
            notes.append(
                f"{', '.join(bare)} of {table} have no bounds: whoever asks for a sum or a mean of "
                "them must give bounds of their own."
            )
    if how.approval:
        notes.append("Each question waits until a reviewer or another curator approves it.")
    if how.people is not None:
        notes.append(f"It spends the one budget of the people {how.people!r}.")
    return notes


def columns_of(file: str, settings: Settings) -> list[str]:
    """Return the names of the columns of a file that a curator may declare; reads no row.

    Raises:
        UsageError: it is none that the operator put there.
        DataSourceError: it is not there, or no table.
    """
    _refuse_outside(file, "path", file, settings.folder)
    found = Dataset.from_fields(
        {"name": "it", "unit": "row", "tables": {"it": {"path": file}}}, settings.folder
    )
    shape = shapes_of(found)["it"]
    return [name for name, _ in shape.schema.kinds()]


def data_files(folder: Path) -> list[str]:
    """Return the files that curators may declare, as a declaration names them."""
    data = folder / DATA
    found = sorted(path for path in data.rglob("*") if path.is_file() and not _hidden(path, data))
    return [path.relative_to(folder).as_posix() for path in found[:_MOST_FILES]]


def _hidden(path: Path, data: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(data).parts)


def _refuse_taken(name: str, declared: Mapping[str, Dataset]) -> None:
    taken = {_plain(known) for known in declared} | {_plain(Path(FILE).stem)}
    if _plain(name) in taken:
        raise Problem(
            "conflict",
            f"there is a data set {name!r} already, or one whose name differs in little",
            "give it another name; to change what a curator declared, say which declaration "
            "yours replaces; what is declared in a file of the folder is changed by the operator",
        )


def _refuse_outside(table: str, place: str, source: str, folder: Path) -> None:
    """Refuse a table that is not a file which the operator put into the data folder."""
    data = (folder / DATA).resolve()
    try:
        path = (folder / source).resolve()
        with suppress(FileNotFoundError):  # a pattern, or what opening it says
            path.stat()  # also what resolve() leaves of links in a circle
    except (OSError, RuntimeError, ValueError):
        path = data  # links in a circle, a name that is too long, the character NUL
    if place != "path" or "://" in source or not path.is_relative_to(data) or path == data:
        raise UsageError(
            f"the table {table!r} must be a file in the folder {DATA}/ of the service, such as "
            f"{DATA}/visits.csv: the operator puts it there"
        )


def _refuse_caps(caps: Caps, budget: Budget) -> None:
    every = [*caps.teams.values(), *caps.analysts.values()]
    every += [cap for cap in (caps.each_team, caps.each_analyst) if cap is not None]
    if any(cap.kind != budget.kind for cap in every):
        raise UsageError(f"caps are shares of the budget, and of the same kind: {budget!r}")


def _refuse_unsound(
    old: Dataset, new: Dataset, before: DatasetSettings, after: DatasetSettings
) -> None:
    """Refuse a change after which the ledger would be another one's; see the module."""
    same = {
        "the unit": (old.unit, new.unit),
        "the protected tables": (old.protected, new.protected),
        "whose people they are": (before.people, after.people),
    }
    for what, (stands, comes) in same.items():
        if stands != comes:
            raise _unsound(what, "declare another data set, or ask the operator")
    if old.whole_budget != new.whole_budget:
        raise _unsound("the budget", "raise it with a reason: PUT /v1/datasets/NAME/budget")
    if before.caps != after.caps:
        raise _unsound("the caps", "set them with a reason: PUT /v1/datasets/NAME/caps")
    if before.approval and not after.approval:
        raise _unsound("the approval of questions", "ask the operator")
    for table in old.protected:
        before_it, after_it = old.tables[table], new.tables[table]
        if _reading(before_it) != _reading(after_it):
            raise _unsound(f"where the table {table!r} is and how it is read", "ask the operator")
        person = old.unit_of(table).column
        if person is not None and _kind(before_it, person) != _kind(after_it, person):
            raise _unsound(f"the kind of {person!r}, which names a person", "ask the operator")


def _reading(table: TableDeclaration) -> dict[str, Any]:
    return {name: said for name, said in table.to_fields().items() if name != "columns"}


def _kind(table: TableDeclaration, column: str) -> Any:
    return table.columns[column].kind if column in table.columns else None


def _unsound(what: str, remedy: str) -> Problem:
    return Problem(
        "conflict",
        f"{what} cannot change while the data set exists: its ledger depends on it",
        remedy,
    )


def _plain(name: str) -> str:
    """Return a name without what two names may differ in and still look alike."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())

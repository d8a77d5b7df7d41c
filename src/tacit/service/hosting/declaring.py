"""Declarations that a service hosts, who owns them, and changes to them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from glob import has_magic
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tacit.accounting.budget import Budget
from tacit.accounting.ledger_postgres import is_address
from tacit.errors import DataSourceError, UsageError
from tacit.report.issued import APART
from tacit.report.odds import weak_guarantee
from tacit.report.text import budget_words
from tacit.service.database import Database, Prepared, metadata
from tacit.service.problem import Problem
from tacit.service.settings import FILE, Caps, DatasetSettings, Settings
from tacit.tables.dataset.declaration import Dataset, identity, terms
from tacit.tables.dataset.draft import shapes_of
from tacit.tables.dataset.table import TableDeclaration, known_fields
from tacit.tables.engines.files import (
    ConfinedPath,
    data_files,
    folders_read_once,
    is_hidden,
    lake_of,
)

# Owner of the budget that a question spends: a data set, or the people in several of them.
#
# The budget belongs to people.  Data sets of the same people share one ledger, whatever they are
# called and however many files they come in; two data sets that read one table are of the same
# people, and must declare it.  With ``teams apart`` each team has its own ledger.


_PLAIN = re.compile(r"[a-z][a-z0-9_]{0,29}")


@dataclass(frozen=True)
class Owner:
    name: str  # of the data set, or of the people
    people: bool  # True if several data sets may share it
    dataset: str  # what the ledger protects, as the ledger states it
    terms: Mapping[str, Any]  # meaning of a charge there
    budget: Budget | None  # as declared; None if only the ledger states it
    per_team: bool  # True if each team has its own ledger
    # of the ledger, where all share one: a file or an address
    location: str
    # how the data sets are hosted: latency, caps
    settings: DatasetSettings

    def key(self, team: str | None) -> str:
        """Return the service's name of the ledger of a team, or of the one that all share.

        >>> from tacit.service.settings import DatasetSettings
        >>> owner = Owner("visits", False, "d", {}, None, True, "v.ledger", DatasetSettings())
        >>> owner.key("oncology"), owner.location_of("oncology")
        ('dataset visits, team oncology', 'v.oncology.ledger')
        """
        kind = "people" if self.people else "dataset"
        name = f"{kind} {self.name}"
        return f"{name}, team {team}" if self.per_team and team is not None else name

    def location_of(self, team: str | None) -> str:
        """Return the file or the address of the ledger of a team."""
        if not self.per_team or team is None:
            return self.location
        if is_address(self.location):
            address, _, options = self.location.partition("?")
            given = [part for part in options.split("&") if part]
            ledger_option = next((p for p in given if p.startswith("ledger=")), "ledger=main")
            named = f"{ledger_option.removeprefix('ledger=')} {team}"
            others = [part for part in given if part != ledger_option]
            return f"{address}?{'&'.join([*others, f'ledger={_word(named)}'])}"
        path = Path(self.location)
        return str(path.with_name(f"{path.stem}.{_word(team)}{path.suffix}"))


def owners_of(declared: Mapping[str, Dataset], settings: Settings) -> dict[str, Owner]:
    """Return the owner of the budget that each data set spends, by its name."""
    with folders_read_once():
        _refuse_hidden_people(declared, settings)
    shared: dict[str, list[Dataset]] = {}
    owners = {}
    for name, dataset in declared.items():
        people = settings.dataset(name).people
        if people is None:
            owners[name] = _of_dataset(dataset, settings)
        else:
            shared.setdefault(people, []).append(dataset)
    for people, datasets in shared.items():
        owner = _of_people(people, datasets, settings)
        owners |= dict.fromkeys((dataset.name for dataset in datasets), owner)
    return {name: owners[name] for name in declared}


def assuming(ledger_terms: Mapping[str, Any], per_team: bool) -> dict[str, Any]:
    """Return the terms of a ledger with their assumption about analysts.

    >>> assuming({"neighbours": "unbounded"}, True)
    {'neighbours': 'unbounded', 'assumes': 'teams apart'}
    """
    return {**ledger_terms, "assumes": APART} if per_team else dict(ledger_terms)


def collusion_words(owner: Owner) -> str:
    """Describe what is assumed of analysts who compare their answers."""
    if owner.per_team:
        return (
            "Each team has a budget of its own. The guarantee is for what one team is answered, "
            "and assumes that teams do not compare their answers: of those that do, the losses "
            "add up."
        )
    return (
        "All analysts together spend one budget, so the guarantee holds even if all of them "
        "compare their answers. Caps of teams and analysts only share the budget out."
    )


def _of_dataset(dataset: Dataset, settings: Settings) -> Owner:
    how = settings.dataset(dataset.name)
    own_location = dataset.ledger is not None or not is_address(settings.database)
    location = (
        dataset.ledger_location
        if own_location
        else _ledger_address(settings.database, dataset.name)
    )
    return Owner(
        dataset.name,
        False,
        identity(dataset),
        assuming(terms(dataset), how.collusion == APART),
        dataset.whole_budget,
        how.collusion == APART,
        location,
        how,
    )


def _of_people(people: str, datasets: list[Dataset], settings: Settings) -> Owner:
    """Return the owner of a budget that data sets share."""
    names = ", ".join(repr(dataset.name) for dataset in datasets)
    for dataset in datasets:
        if dataset.unit == "row":
            raise UsageError(
                f"{dataset.name!r} belongs to people {people!r}, and its unit is a row: data "
                "sets that share people must name the person, unit = { person = 'person_id', "
                "rows = 5 }"
            )
        if dataset.ledger is not None:
            raise UsageError(
                f"{dataset.name!r} belongs to people {people!r}, whose data sets share one "
                "ledger: leave its own ledger out"
            )
    budgets = {dataset.whole_budget for dataset in datasets} - {None}
    if len(budgets) > 1:
        raise UsageError(
            f"{names} belong to people {people!r}, who have one budget: declare the same budget "
            "in each"
        )
    hosted = [settings.dataset(dataset.name) for dataset in datasets]
    if len({one.collusion for one in hosted}) > 1 or any(h.caps != hosted[0].caps for h in hosted):
        raise UsageError(
            f"{names} belong to people {people!r}: give them the same collusion and caps"
        )
    if is_address(settings.database):
        location = _ledger_address(settings.database, people)
    else:
        location = str(settings.folder / f"people.{_word(people)}.ledger")
    return Owner(
        people,
        True,
        f"people: {people}",
        assuming({"people": people, "neighbours": "unbounded"}, hosted[0].collusion == APART),
        next(iter(budgets), None),
        hosted[0].collusion == APART,
        location,
        hosted[0],
    )


def _refuse_hidden_people(declared: Mapping[str, Dataset], settings: Settings) -> None:
    """Raise if two data sets of one table do not share its budget."""
    # A table that one declares as public, and another one as of people, would be joined for
    # nothing.
    seen: dict[tuple[object, str | None], str] = {}
    for name, dataset in declared.items():
        people = settings.dataset(name).people
        for table in dataset.protected:
            for source in _sources(dataset.tables[table], dataset.folder):
                other = seen.setdefault(source, name)
                if other != name and (people is None or people != settings.dataset(other).people):
                    raise UsageError(
                        f"{other!r} and {name!r} read the same table, so they contain the same "
                        "people, and each would spend a budget of its own: declare one data set, "
                        "or have the operator set people = '...' for both in service.toml"
                    )
    for name, dataset in declared.items():
        for table in dataset.tables.keys() - set(dataset.protected):
            if not seen.keys().isdisjoint(_sources(dataset.tables[table], dataset.folder)):
                raise UsageError(
                    f"{table!r} of {name!r} is declared public, and a data set declares the same "
                    "table as one of people: it contains people, and is not public"
                )


def _sources(table: TableDeclaration, folder: Path) -> set[tuple[object, str | None]]:
    """Return the sources of a table: each file that a pattern or a folder matches now."""
    # A file is known by its number on its disk, whatever names it has.
    if table.source_kind != "path" or (table.root is None and "://" in table.source):
        return {(table.source, table.table)}
    location = table.located(folder)
    files = [os.path.realpath(location)]
    if lake_of(location) and os.path.isfile(location):  # metadata of Iceberg, for its folder
        files.append(os.path.dirname(os.path.dirname(files[0])))
    with suppress(DataSourceError, UsageError):  # what opening it says
        files += data_files(location)
    return {(_known(Path(file)), table.table) for file in files}


def _known(file: Path) -> object:
    try:
        status = file.stat()
    except OSError:
        return str(file)
    return status.st_dev, status.st_ino


def _ledger_address(database: str, name: str) -> str:
    """Return the address of a ledger in the database of the service."""
    joined = "&" if "?" in database else "?"
    return f"{database}{joined}ledger={_word(name)}"


def _word(name: str) -> str:
    """Return a name as one plain word; two names have two words.

    >>> _word("visits"), _word("Ward 7")
    ('visits', 'ward_7_7f0f2d')
    """
    if _PLAIN.fullmatch(name):
        return name
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:22] or "ledger"
    plain = plain if plain[0].isalpha() else f"l_{plain}"
    return f"{plain}_{hashlib.sha256(name.encode()).hexdigest()[:6]}"


# Declarations that curators made while the service ran, in its database: all of each data set.
#
# They are there, and not in a file of the folder, so that all machines of a service see them; a
# declaration is never written over: a change is a row of its own, and the latest of a name counts.


DATA = "data"  # subfolder whose files curators may declare

# Fields of the hosting that a curator may set; only the operator sets ``collusion``.
HOSTING = ("latency", "approval", "people", "caps", "refresh")

_declared = sa.Table(
    "declared_dataset",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(100), nullable=False, index=True),
    sa.Column("declaration", sa.Text, nullable=False),
    sa.Column("hosting", sa.Text, nullable=False),
    sa.Column("who", sa.String(100), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)


@dataclass(frozen=True)
class SentDeclaration:
    """A declaration as a curator sent it.

    >>> fields = {"unit": "row", "budget": {"epsilon": 0.1}, "tables": {"t": {"path": "t.csv"}}}
    >>> SentDeclaration("visits", fields, {"latency": 3}, "cleo", 0.0).dataset(Path()).whole_budget
    epsilon(0.1)
    """

    name: str  # of the data set
    fields: Mapping[str, Any]  # those of a file, except for the name
    hosting: Mapping[str, Any]  # those of :data:`HOSTING` that are set
    who: str
    at: float  # when, in seconds since 1970
    number: int = 0  # its position in the order of all declarations; 0 before it is written

    def dataset(self, folder: Path) -> Dataset:
        """Return the data set; a decimal fraction is read exactly."""
        # Its tables are read from :data:`DATA` only, whenever they are opened.
        fields = {**_exact(self.fields), "name": self.name}
        return confined(Dataset.from_fields(fields, folder), folder)

    def hosted(self, settings: Settings) -> DatasetSettings:
        """Return the hosting of the data set; missing fields are those of the others."""
        known_fields(self.hosting, HOSTING, "hosting")
        hosting = _exact(self.hosting)
        hosted = DatasetSettings.from_fields(hosting, "hosting", settings.default)
        if settings.default.approval and not hosted.approval:
            raise UsageError("each question of this service is approved: leave approval out")
        assert isinstance(hosted, DatasetSettings)
        return hosted


def confined(dataset: Dataset, folder: Path) -> Dataset:
    """Return a data set that reads no file outside :data:`DATA` below the folder."""
    root = folder / DATA
    tables = {name: replace(table, root=root) for name, table in dataset.tables.items()}
    return replace(dataset, tables=tables)


class DeclaredStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def latest(self) -> int:
        """Return the number of the latest declaration; 0 where there is none."""
        return self._database.scalar(LATEST) or 0

    def all(self, run: sa.Connection | None = None) -> dict[str, SentDeclaration]:
        """Return the declaration of each data set that counts, by its name."""
        with self._database.reading(run) as reading:
            rows = reading.execute(sa.select(_declared).order_by(_declared.c.number)).all()
        return {row.name: _read(row) for row in rows}

    def begin(self) -> AbstractContextManager[sa.Connection]:
        """Begin a transaction that excludes other declarations."""
        return self._database.begin(lock="declarations")

    def add(self, run: sa.Connection, made: SentDeclaration) -> SentDeclaration:
        """Add a declaration, in a transaction of :meth:`begin`."""
        number = (LATEST.rows(run)[0][0] or 0) + 1
        row = {
            "number": number,
            "name": made.name,
            "declaration": json.dumps(made.fields),
            "hosting": json.dumps(made.hosting),
            "who": made.who,
            "at": made.at,
        }
        run.execute(_declared.insert(), row)
        return SentDeclaration(made.name, made.fields, made.hosting, made.who, made.at, number)


LATEST = Prepared(sa.select(sa.func.max(_declared.c.number)))


def _read(row: Any) -> SentDeclaration:
    fields, hosting = json.loads(row.declaration), json.loads(row.hosting)
    return SentDeclaration(row.name, fields, hosting, row.who, row.at, row.number)


def _exact(value: Any) -> Any:
    """Return JSON with its numbers as they were written."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, Mapping):
        return {str(name): _exact(one) for name, one in value.items()}
    return [_exact(one) for one in value] if isinstance(value, list) else value


# A data set that a curator declares over HTTP, or declares again: checked before it is written.
#
# What a curator may name is what the operator put there for it: files below ``data/`` in the folder
# of the service.
#
# **What may change.**  A ledger counts in the unit, the people and the tables that it began with,
# and its budget is that of the people in them.  So an existing declaration may change its
# other columns, words, public tables, latency or schedule, and nothing that decides whose budget it
# is: another file would give the people of the first one a second budget, under another name;
# another unit, or another way to read who a person is, would count losses in something else; and a
# budget is raised, and a cap set, in the ledger itself, with a reason.  Approval can be required,
# and never be switched off: someone who could do that could do without the reviewers.


_MAX_FILES = 1000


def with_hosting(settings: Settings, made: Iterable[SentDeclaration]) -> Settings:
    """Return the settings with the hosting that curators declared."""
    hosted = {one.name: one.hosted(settings) for one in made}
    return replace(settings, datasets={**settings.datasets, **hosted})


def refuse_declaration(
    made: SentDeclaration,
    existing: SentDeclaration | None,
    settings: Settings,
    declared: Mapping[str, Dataset],
) -> None:
    """Raise if a declaration is invalid, or may not replace the existing one."""
    # Opens each table, and reads no row of it.
    if made.fields.get("name", made.name) != made.name:
        raise UsageError(f"the declaration names another data set than {made.name!r}")
    if "ledger" in made.fields:
        raise UsageError("the service decides where the ledger is: leave ledger out")
    folder = settings.folder
    dataset, with_new = made.dataset(folder), with_hosting(settings, [made])
    how = with_new.dataset(made.name)
    dataset.refuse_open()
    budget = dataset.whole_budget
    if budget is None:
        raise UsageError("declare the budget of the data set: budget = { epsilon = 1 }")
    if existing is None:
        refuse_taken(made.name, declared)
    for table, fields in dataset.tables.items():
        _refuse_outside(table, fields.source_kind, fields.source, folder)
    _refuse_caps(how.caps, budget)
    if existing is not None:
        _refuse_unsound(existing.dataset(folder), dataset, existing.hosted(settings), how)
    owners_of({**declared, made.name: dataset}, with_new)
    dataset.check()


def changes_of(old: Mapping[str, Any], new: Mapping[str, Any], at: str = "") -> list[str]:
    """Return the paths at which two declarations differ.

    >>> changes_of({"unit": "row", "tables": {"t": {"a": 1}}}, {"tables": {"t": {"a": 2}}})
    ['tables.t.a', 'unit']
    """
    changes = []
    for name in sorted({*old, *new}):
        before, after, path = old.get(name), new.get(name), f"{at}{name}"
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            changes += changes_of(before, after, f"{path}.")
        elif before != after:
            changes.append(path)
    return changes


def notes_on(dataset: Dataset, how: DatasetSettings) -> list[str]:
    """Return notes for the curator on a valid declaration, in sentences."""
    notes = []
    budget = dataset.whole_budget
    sizes = [size for n in dataset.protected if isinstance(size := dataset.tables[n].size, int)]
    weak = None if budget is None else weak_guarantee(budget, min(sizes, default=None))
    if weak is not None:
        notes.append(f"The budget is large: {weak}.")
    for table in dataset.protected:
        columns = dataset.tables[table].columns.items()
        bare = [n for n, one in columns if one.kind in ("integer", "float") and not one.bounds]
        bare = [n for n in bare if n not in dataset.unit_of(table).columns]
        if bare:
            notes.append(
                f"{', '.join(bare)} of {table} have no bounds: a question for a sum or a mean of "
                "them must give its own bounds."
            )
    if how.approval:
        notes.append("Each question waits until a reviewer or another curator approves it.")
    if how.people is not None:
        notes.append(f"It spends the one budget of the people {how.people!r}.")
    return notes


def columns_of(file: str, settings: Settings) -> list[str]:
    """Return the names of the columns of a file that a curator may declare; reads no row."""
    _refuse_outside(file, "path", file, settings.folder)
    dataset = Dataset.from_fields(
        {"name": "it", "unit": "row", "tables": {"it": {"path": file}}}, settings.folder
    )
    shape = shapes_of(confined(dataset, settings.folder))["it"]
    return [name for name, _ in shape.schema.kinds()]


def files_to_declare(folder: Path) -> list[str]:
    """Return the files that curators may declare, as a declaration names them."""
    data, files = folder / DATA, []
    for below, folders, names in os.walk(data):
        folders[:] = [name for name in folders if not is_hidden(name)]
        if lake_of(below):  # a table is its folder
            files.append(Path(below).relative_to(folder).as_posix())
            folders[:] = []
            continue
        for name in names:
            path = ConfinedPath(os.path.join(below, name), data)
            with suppress(UsageError):  # a link out of the folder
                path.check(path.path)
                if not is_hidden(name) and os.path.isfile(path):
                    files.append(Path(path).relative_to(folder).as_posix())
    return sorted(files)[:_MAX_FILES]


def refuse_taken(name: str, declared: Mapping[str, Dataset]) -> None:
    """Raise if a new data set cannot have a name, which another one has or looks like."""
    taken = {_plain(known) for known in declared} | {_plain(Path(FILE).stem)}
    if _plain(name) in taken:
        raise Problem(
            "conflict",
            f"there is a data set {name!r} already, or one whose name differs in little",
            "give it another name; to change what a curator declared, send the number of the "
            'declaration that yours replaces, as in "replaces": 1; what is declared in a file of '
            "the folder is changed by the operator",
        )


def _refuse_outside(table: str, kind: str, source: str, folder: Path) -> None:
    """Raise if a table is not a file that the operator put into the data folder."""
    # What a pattern or a folder leads to is checked whenever it is opened.
    path = ConfinedPath(os.path.join(folder, source), folder / DATA)
    try:
        if kind != "path" or "://" in source or Path(source) == Path(DATA):
            raise UsageError(source)
        path.check(path.path)
    except UsageError:
        raise UsageError(
            f"the table {table!r} must be a file in the folder {DATA}/ of the service, such as "
            f"{DATA}/visits.csv, without a parent step: the operator puts it there"
        ) from None
    if not (has_magic(source) or os.path.exists(path)):
        raise UsageError(f"there is no file {source!r} in the folder of the service")


def _refuse_caps(caps: Caps, budget: Budget) -> None:
    every = [*caps.teams.values(), *caps.analysts.values()]
    every += [cap for cap in (caps.each_team, caps.each_analyst) if cap is not None]
    if any(cap.kind != budget.kind for cap in every):
        raise UsageError(
            f"caps are shares of the budget, and of the same kind: {budget_words(budget)}"
        )


def _refuse_unsound(
    old: Dataset, new: Dataset, before: DatasetSettings, after: DatasetSettings
) -> None:
    """Raise if a change would give the ledger another owner; see above."""
    same = {
        "the unit": (old.unit, new.unit),
        "the protected tables": (old.protected, new.protected),
        "whose people they are": (before.people, after.people),
    }
    for what, (old_value, new_value) in same.items():
        if old_value != new_value:
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
        for person in old.unit_of(table).columns:
            if _kind(before_it, person) != _kind(after_it, person):
                raise _unsound(f"the kind of {person!r}, which names a person", "ask the operator")
            if before_it.missing.get(person) != after_it.missing.get(person):
                who = f"the missing codes of {person!r}, which names a person,"
                raise _unsound(who, "ask the operator")


def _reading(table: TableDeclaration) -> dict[str, Any]:
    columns = ("columns", "missing")  # in which a question is described itself
    return {name: value for name, value in table.to_fields().items() if name not in columns}


def _kind(table: TableDeclaration, column: str) -> Any:
    return table.columns[column].kind if column in table.columns else None


def _unsound(what: str, remedy: str) -> Problem:
    return Problem(
        "conflict",
        f"{what} cannot change while the data set exists: its ledger depends on it",
        remedy,
    )


def _plain(name: str) -> str:
    """Return a name in a form that is equal for names that look alike."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())

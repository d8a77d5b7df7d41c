"""All data sets that a service hosts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

import sqlalchemy as sa

from tacit.errors import UsageError, did_you_mean
from tacit.service.access.caller import Caller
from tacit.service.folder import declarations
from tacit.service.hosting.declared import Declared, DeclaredStore
from tacit.service.hosting.declaring import refuse_declaration, with_hosting
from tacit.service.hosting.hosted import Hosted
from tacit.service.hosting.ledgers import Ledgers
from tacit.service.hosting.open_tables import OpenTables
from tacit.service.hosting.owners import owners_of
from tacit.service.problem import Problem
from tacit.service.seeing.logs import log
from tacit.service.settings import DatasetSettings, Settings
from tacit.service.store.database import Database
from tacit.tables.dataset.declaration import Dataset
from tacit.tables.session import Session

__all__ = ["Datasets"]


class Datasets:
    """The data sets of a service, each open once in a process.

    Some are declared by the operator, in files of the folder, and some by curators, in the
    database.  What is declared while the service runs, and what is declared anew there, is found by
    its other processes when somebody asks for it, or for the list.

    Args:
        declared: the data sets of the folder, by name; all others are added to it.
        settings: of the service.
        database: of the service.
        refreshed: returns the number of the latest refresh of a data set.

    Attributes:
        store: what curators declared.

    Raises:
        UsageError: data sets whose budgets do not go together.
    """

    def __init__(
        self,
        declared: dict[str, Dataset],
        settings: Settings,
        database: Database,
        refreshed: Callable[[str], int],
    ) -> None:
        self.store = DeclaredStore(database)
        self._declared, self._settings, self._refreshed = declared, settings, refreshed
        self._own, self._base = dict(declared), settings  # of the folder
        self._seen: dict[str, Declared] = {}
        self._hosted: dict[str, Hosted] = {}
        self._before: list[Hosted] = []  # a question may still be at work on them
        self._lock, self._tables = threading.Lock(), OpenTables()
        self.ledgers = Ledgers({}, settings, database)
        self._files, self._number = self._listed(), self.store.latest()
        self._take(declared, self.store.all())

    @property
    def names(self) -> list[str]:
        """The names of all data sets, sorted."""
        self._look(files=True)
        return sorted(self._hosted)

    def of(self, name: str) -> Hosted:
        """Return a data set.

        Raises:
            Problem: there is none of that name.
        """
        with suppress(Problem):  # no database: what is known stands
            self._look(files=name not in self._hosted)
        if name not in self._hosted:
            raise Problem(
                "not_found", f"there is no data set {name!r}", did_you_mean(name, self._hosted)
            )
        return self._hosted[name]

    def refreshed_when(self) -> dict[str, str | None]:
        """Return when each data set is read again, as its settings say it."""
        return {name: self._hosted[name].settings.refresh for name in self.names}

    def refuse_overlaps(self) -> None:
        """Refuse where two data sets read one file by now, and would spend a budget each.

        Patterns and folders of two data sets may come to hold one file while the service runs.

        Raises:
            Problem: ``conflict``.
        """
        try:
            owners_of(self._declared, self._settings)
        except UsageError as error:
            raise Problem("conflict", str(error), "tell the operator") from None

    def standing(self, name: str) -> Declared | None:
        """Return what a curator declared of a data set; None where the operator did, or nobody."""
        self._look(files=True)
        return self._seen.get(name)

    def check(self, made: Declared, replaces: int | None) -> tuple[Dataset, DatasetSettings]:
        """Refuse a declaration that cannot stand; return the data set, and how it is hosted.

        Args:
            made: what a curator sent.
            replaces: the number of the declaration that it takes the place of; None of a new one.

        Raises:
            UsageError: a field that is wrong, or a table that does not fit it.
            DataSourceError: a table does not exist.
            Problem: a name that is taken, another declaration stands by now, or a change that no
                ledger bears.
        """
        standing = self.standing(made.name)
        if (standing.number if standing and replaces is not None else None) != replaces:
            raise _another(made.name)
        standing = None if replaces is None else standing
        refuse_declaration(made, standing, self._settings, self._declared)
        how = with_hosting(self._settings, [made]).dataset(made.name)
        return made.dataset(self._settings.folder), how

    def declare(
        self, made: Declared, replaces: int | None, note: Callable[[sa.Connection], None]
    ) -> Hosted:
        """Declare a data set, or declare it anew; every process finds it.

        Args:
            made: as :meth:`check` takes it.
            replaces: as there.
            note: writes down that it was declared, in the transaction that does it.

        Raises:
            UsageError: as :meth:`check`, as the others.
        """
        dataset, _ = self.check(made, replaces)
        with self.store.begin() as run:
            every = self.store.all(run)
            found = every.get(made.name)
            if (None if found is None else found.number) != replaces:
                raise _another(made.name)
            # Another curator may have declared the same table meanwhile.
            whole = with_hosting(self._settings, [*every.values(), made])
            others = {n: one.dataset(whole.folder) for n, one in every.items()}
            owners_of({**self._own, **others, made.name: dataset}, whole)
            self.store.add(run, made)
            note(run)
        self._look(files=False)
        return self._hosted[made.name]

    def session(self, name: str, caller: Caller, table: str | None, on_paper: bool) -> Session:
        """Return a session on a table of a data set; see :meth:`Hosted.session`."""
        return self.of(name).session(caller, table, on_paper=on_paper)

    def latency(self, name: str) -> float:
        """Return the declared latency of a data set in seconds."""
        return float(self.of(name).settings.latency)

    def close(self) -> None:
        """Close all tables and ledgers."""
        for hosted in [*self._hosted.values(), *self._before]:
            hosted.close()
        self.ledgers.close()

    def _look(self, *, files: bool) -> None:
        """Take what was declared since the last look."""
        listed = self._listed() if files else self._files
        number = self.store.latest()
        if (listed, number) == (self._files, self._number):
            return
        with self._lock:
            new = {} if listed == self._files else self._added()
            try:
                self._take(new, self.store.all())
                self._own |= new
            except UsageError:  # by the operator's hand: tacit serve check says what is wrong
                log("unexpected", error=True)
            self._files, self._number = listed, number

    def _added(self) -> dict[str, Dataset]:
        """Return the data sets whose files the operator added; none where one of them is wrong."""
        try:
            own = declarations(self._base)
        except UsageError:
            log("unexpected", error=True)
            return {}
        return {name: one for name, one in own.items() if name not in self._own}

    def _take(self, own: Mapping[str, Dataset], every: dict[str, Declared]) -> None:
        """Host what is new: files of the operator, and what curators declared or declared anew."""
        twice = sorted(every.keys() & {**self._own, **own}.keys())
        if twice:
            raise UsageError(
                f"{twice[0]!r} is declared in a file of the folder, and by a curator: give the one "
                "of the file another name"
            )
        whole = with_hosting(self._settings, every.values())
        fresh = {n: one for n, one in every.items() if self._seen.get(n) != one}
        declared = {**own, **{n: one.dataset(whole.folder) for n, one in fresh.items()}}
        self.ledgers.add(declared, whole)
        for name, dataset in declared.items():
            if name in self._hosted:
                self._before.append(self._hosted[name])
            self._declared[name] = dataset
            how = whole.dataset(name)
            self._hosted[name] = Hosted(dataset, how, self.ledgers, self._refreshed, self._tables)
        self._seen, self._settings = dict(every), whole

    def _listed(self) -> list[tuple[str, int]]:
        paths = sorted(self._settings.folder.glob("*.toml"))
        return [(path.name, path.stat().st_mtime_ns) for path in paths]


def _another(name: str) -> Problem:
    return Problem(
        "conflict",
        f"another declaration of {name!r} is in force",
        f"look at it, GET /v1/datasets/{name}/declaration, and say its number as replaces",
    )

"""Hosted data sets: opened tables and plans cached per caller."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

import sqlalchemy as sa

from tacit.accounting.budget import Budget
from tacit.accounting.ledger import Ledger, accounts_of, named_accounts, set_cap
from tacit.accounting.ledger_chain import Account, account_name, is_account
from tacit.accounting.open_ledger import in_memory, open_ledger
from tacit.errors import BudgetError, UsageError, did_you_mean
from tacit.service.access import Caller
from tacit.service.database import Database, declarations
from tacit.service.hosting.declaring import (
    Declared,
    DeclaredStore,
    Owner,
    owners_of,
    refuse_declaration,
    with_hosting,
)
from tacit.service.hosting.ledgers import Ledgers
from tacit.service.problem import Problem
from tacit.service.settings import DatasetSettings, Settings
from tacit.service.telemetry import log
from tacit.tables.dataset.declaration import Dataset, identity, open_dataset, terms
from tacit.tables.dataset.draft import TableShape, shapes_of
from tacit.tables.plan.preview import Preview
from tacit.tables.question import Question
from tacit.tables.release.release import QueryCharge
from tacit.tables.session import PaidSession, Session

__all__ = [
    "MOST",
    "Datasets",
    "Hosted",
    "Kept",
    "Left",
    "OpenTables",
]

# What a process keeps of the latest questions: what follows from public facts alone.
#
# To read a question (the SQL, the names of the declared columns) and to work out its expected
# errors takes milliseconds, and depends on the request and the declaration alone.  What stands in a
# ledger, what remains and what may be seen is looked up anew each time.  Each caller has entries of
# their own, so that the time of a reply says nothing of what somebody else has asked.


_V = TypeVar("_V")


class Kept(Generic[_V]):
    """The latest values, by key; threads may share one.

    >>> kept = Kept(1)
    >>> kept.of("a", lambda: 1), kept.of("a", lambda: 2), kept.of("b", lambda: 3)
    (1, 1, 3)
    >>> kept.of("a", lambda: 4)
    4
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, _V] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], _V]) -> _V:
        """Return the value of a key; what ``make`` raises is kept by nobody."""
        with self._lock:
            values = self._values
            if key in values:
                values.move_to_end(key)
                return values[key]
        made = make()
        with self._lock:  # what was forgotten meanwhile stays forgotten
            values[key] = made
            while len(values) > self._most:
                values.popitem(last=False)
        return made

    def clear(self) -> None:
        """Forget all of them, and what is being made now."""
        with self._lock:
            self._values = OrderedDict()


# Which data sets have their tables open in a process: those asked last, as many as fit.
#
# An open table keeps files, threads and memory of its engine.  Letting go of a table closes nothing
# by itself: its engine is closed when the last question to it is over, since nobody holds it then.


MOST = 128  # how many tables a process keeps open; each is opened twice (:class:`Hosted`)


class _Held(Protocol):
    def let_go(self) -> None:
        """Let go of the tables; they are opened again when they are asked."""
        ...


class OpenTables:
    """The data sets whose tables are open, the one asked last at the end; threads share one."""

    def __init__(self, most: int | None = None) -> None:
        self._most = MOST if most is None else most
        self._lock = threading.Lock()
        self._asked: dict[_Held, int] = {}

    def asked(self, hosted: _Held, tables: int) -> None:
        """Take a data set that is asked now, and let go of those asked longest ago."""
        over = []
        with self._lock:
            self._asked.pop(hosted, None)
            self._asked[hosted] = tables
            while sum(self._asked.values()) > self._most and len(self._asked) > 1:
                over.append(next(iter(self._asked)))
                del self._asked[over[-1]]
        for one in over:
            one.let_go()


# A hosted data set: its tables, open once for all threads, and who pays for a question to them.


_KEPT = 256  # of how many questions a process keeps what it read


class Left(NamedTuple):
    """What a caller may still spend."""

    remaining: Budget  # in epsilon or rho and in delta, the least that any limit leaves
    # what leaves no more: the budget, or caps
    limits: tuple[str, ...]
    budget: Budget  # what is left of the whole budget

    @property
    def capped(self) -> str:
        """The caps that leave less than the budget, in words; empty where the budget binds."""
        caps = [limit for limit in self.limits if limit.startswith("the cap")]
        return "" if self.remaining == self.budget else " and ".join(caps)


class Hosted:
    """A data set that many threads ask at once."""

    # Its tables are opened when they are first asked, so that a service starts while a database is
    # away; an engine is shared by all callers, and each question names its own payers.
    #
    # Each table is opened twice: in an engine for the workers, and in one for requests, which is
    # asked for no row.  An engine does one thing after another, and a request that waited for the
    # work of a worker would tell how long that took.
    #
    # The tables of a data set that was not asked for long are let go of, with what is kept of its
    # questions, which hold them; whoever still asks one keeps it open until the answer is there.

    def __init__(
        self,
        dataset: Dataset,
        settings: DatasetSettings,
        ledgers: Ledgers,
        refreshed: Callable[[str], int],
        tables: OpenTables,
    ) -> None:
        self.dataset, self.settings, self._tables = dataset, settings, tables
        self.owner: Owner = ledgers.owners[dataset.name]
        self._ledgers, self._refreshed = ledgers, refreshed
        self._lock, self._refreshing = threading.Lock(), threading.Lock()
        self._holding = threading.Lock()  # of the sessions, for a moment each time
        self._opening = {on_paper: threading.Lock() for on_paper in (False, True)}
        self._sessions: dict[tuple[str, bool], Session] = {}
        self._shapes: dict[str, TableShape] | None = None
        self._number = 0
        self._questions: Kept[Question] = Kept(_KEPT)
        self.previews: Kept[tuple[QueryCharge, Preview, str]] = Kept(_KEPT)

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.dataset.name

    @property
    def identity(self) -> str:
        """What its certificates call it."""
        return identity(self.dataset)

    def shapes(self) -> dict[str, TableShape]:
        """Return what is public of its tables, by name."""
        with self._lock:
            if self._shapes is None:
                self._shapes = shapes_of(self.dataset)
            return self._shapes

    def ledger(self, team: str | None) -> Ledger:
        """Return the ledger that pays, for those who read it."""
        return self._ledgers.of(self.name, team)

    def require(self, caller: Caller, cost: Budget) -> None:
        """Refuse a cost that the budget, or a cap of a caller, does not cover now."""
        # The charge itself looks again, where nothing comes in between.
        ledger = self.ledger(caller.team)
        head, accounts = named_accounts(ledger, self._names(caller))
        if not head.spending.affords(cost):
            raise BudgetError(
                f"this release costs {cost}, and {head.remaining} is left of {head.total}; nothing "
                "was spent"
            )
        for account in accounts:
            if account.cap is not None and not account.cap.covers(account.spent + cost):
                raise BudgetError(
                    f"this release costs {cost}, and {account.remaining} is left of {account.cap}, "
                    f"the cap of {account.name}; nothing was spent"
                )

    def left(self, caller: Caller) -> Left:
        """Return what a caller may still spend here: the least of the budget and of all caps."""
        head, accounts = named_accounts(self.ledger(caller.team), self._names(caller))
        owner = self.owner
        whole = f"the people {owner.name!r}" if owner.people else "the data set"
        limits = {f"the budget of {whole}": head.remaining}
        for account in accounts:
            if account.remaining is not None:
                limits[f"the cap of {account.name.replace(':', ' ', 1)}"] = account.remaining
        amount = min(limit.amount for limit in limits.values())
        delta = min(limit.delta for limit in limits.values())
        binding = [
            words
            for words, limit in limits.items()
            if limit.amount == amount or (limit.delta == delta < head.remaining.delta)
        ]
        return Left(Budget(head.remaining.kind, amount, delta), tuple(binding), head.remaining)

    def accounts(self, caller: Caller) -> list[Account]:
        """Return the accounts that a caller's charges name, with their caps."""
        return named_accounts(self.ledger(caller.team), self._names(caller))[1]

    def team_shown(self, caller: Caller) -> str | None:
        """Return whose ledger a caller is shown: that of their team, where teams stand apart."""
        # Whoever has no team is shown that of the team that has spent most: the guarantee is for
        # each team, and holds with what that one has spent.
        if not self.owner.apart or caller.team is not None:
            return caller.team
        teams = self._ledgers.teams(self.name)
        if not teams:
            raise Problem(
                "not_found", "no team has asked yet, and each has a budget of its own", ""
            )
        return max(teams, key=lambda team: self.ledger(team).spent.amount)

    def ledger_shown(self, caller: Caller) -> Ledger:
        """Return the ledger that a caller is shown; one of the whole budget before any is begun."""
        if self.owner.apart and caller.team is None and not self._ledgers.teams(self.name):
            return self._on_paper()
        return self.ledger(self.team_shown(caller))

    def check_ledgers(self) -> None:
        """Refuse where a ledger that was begun cannot be used now."""
        self._ledgers.check(self.name)

    def check_tables(self) -> None:
        """Refuse where a table cannot be read as declared; opens each anew, and reads no row."""
        shapes_of(self.dataset)

    def is_own(self, caller: Caller, team: str | None) -> bool:
        """Return whether what somebody of the caller's name did in a team is the caller's."""
        # Where teams stand apart, two people of one name are two, and so is one in two teams.
        return not self.owner.apart or caller.team == team

    def sharing(self) -> list[str]:
        """Return the data sets whose people have this budget; itself among them."""
        return self._ledgers.sharing(self.name)

    def teams(self) -> list[str | None]:
        """Return the teams whose ledgers were begun; ``[None]`` where all teams share one."""
        if self.owner.apart:
            return list(self._ledgers.teams(self.name))
        return [None] if self._ledgers.known(self.owner.key(None)) is not None else []

    def all_accounts(self, team: str | None) -> list[Account]:
        """Return every account of a ledger that has a cap or has spent."""
        return accounts_of(self.ledger(team))

    def set_caps(self, caps: Mapping[str, Budget | None], reason: str) -> None:
        """Set caps in every ledger of the data set; see :func:`set_cap`."""
        for account in caps:
            if not is_account(account):
                account_name(account)
        teams = self._ledgers.teams(self.name) if self.owner.apart else [None]
        for team in teams:
            for account, cap in caps.items():
                set_cap(self.ledger(team), account, cap, reason)

    def session(
        self, caller: Caller, table: str | None = None, *, on_paper: bool = False
    ) -> Session:
        """Return a session whose releases are charged on account of a caller."""
        # on_paper: for a request, which is answered at once and reads no row.
        ledger = self._ledgers.for_caller(self.name, caller.name, caller.team)
        return self._paid(self.dataset.table(table), on_paper, ledger)

    def question(
        self,
        caller: Caller,
        table: str | None,
        said: Hashable,
        ask: Callable[[Session], Question],
        *,
        on_paper: bool,
    ) -> Question:
        """Return a question of a caller; one that was read of late is not read again."""
        self._tables.asked(self, len(self._sessions))
        who = caller.name, caller.team
        # A table that was opened anew is asked anew: a question may hold another that it joins.
        opened = 0 if on_paper else self._number
        return self._questions.of(
            (who, table, said, on_paper, opened),
            lambda: ask(self.session(caller, table, on_paper=on_paper)),
        )

    def refresh(self) -> None:
        """Open the tables anew where the data set was refreshed since; before each release."""
        number = self._refreshed(self.name)
        with self._refreshing:
            if number <= self._number:
                return
            with self._holding:
                sessions = [one for (_, on_paper), one in self._sessions.items() if not on_paper]
            for session in sessions:  # previews go on meanwhile: they do not see how long it takes
                session.refresh()
            self._number = number

    def close(self) -> None:
        """Close its tables."""
        with self._holding:
            for session in self._sessions.values():
                session.close()
            self._sessions.clear()

    def let_go(self) -> None:
        """Let go of its tables, and of the questions that hold them."""
        with self._holding:
            self._sessions.clear()
        self._questions.clear()
        self.previews.clear()

    def _names(self, caller: Caller) -> list[str]:
        return self._ledgers.accounts(self.name, caller.name, caller.team)

    def _paid(self, table: str, on_paper: bool, ledger: Ledger) -> Session:
        beside = [name for name in self.dataset.protected if name != table]
        others = {name: partial(self._paid, name, on_paper) for name in beside}
        return PaidSession(self._opened(table, on_paper), ledger, others)

    def _opened(self, table: str, on_paper: bool) -> Session:
        with self._opening[on_paper]:
            with self._holding:
                opened = self._sessions.get((table, on_paper))
                working = any(not paper for _, paper in self._sessions)
            if opened is None:
                number = self._number if working or on_paper else self._refreshed(self.name)
                opened = open_dataset(self._without_budget(), table=table, ledger=self._on_paper())
                with self._holding:
                    self._sessions[table, on_paper] = opened
                if not on_paper:
                    self._number = number
        self._tables.asked(self, len(self._sessions))
        return opened

    def _without_budget(self) -> Dataset:
        """Return the data set without its budget, which its owner has."""
        return replace(self.dataset, budget=None)

    def _on_paper(self) -> Ledger:
        """Return a ledger that nothing is charged to, for the session that holds the table."""
        budget = self.owner.budget
        if budget is None:
            budget = self.ledger(None).total if not self.owner.apart else None
        if budget is None:
            raise UsageError(f"{self.name!r} has no budget: declare it, budget = {{ epsilon = 1 }}")
        said = terms(self.dataset)
        return open_ledger(in_memory, dataset=self.identity, budget=budget, terms=said)


# All data sets that a service hosts.


class Datasets:
    """The data sets of a service, each open once in a process."""

    # Some are declared by the operator, in files of the folder, and some by curators, in the
    # database.  What is declared while the service runs, and what is declared anew there, is found
    # by its other processes when somebody asks for it, or for the list.

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
        """Return a data set."""
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
        """Refuse where two data sets read one file by now, and would spend a budget each."""
        # Patterns and folders of two data sets may come to hold one file while the service runs.
        try:
            owners_of(self._declared, self._settings)
        except UsageError as error:
            raise Problem("conflict", str(error), "tell the operator") from None

    def standing(self, name: str) -> Declared | None:
        """Return what a curator declared of a data set; None where the operator did, or nobody."""
        self._look(files=True)
        return self._seen.get(name)

    def check(self, made: Declared, replaces: int | None) -> tuple[Dataset, DatasetSettings]:
        """Refuse a declaration that cannot stand; return the data set, and how it is hosted."""
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
        """Declare a data set, or declare it anew; every process finds it."""
        # note: writes down that it was declared, in the transaction that does it.
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

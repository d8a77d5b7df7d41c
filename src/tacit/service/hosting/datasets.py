"""Hosted data sets: opened tables and plans cached per caller."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import sqlalchemy as sa

from tacit.accounting.budget import Budget
from tacit.accounting.ledger import Ledger, named_accounts, set_cap
from tacit.accounting.ledger_chain import Account, Head, account_name, is_account
from tacit.accounting.open_ledger import in_memory, open_ledger
from tacit.errors import BudgetError, UsageError, did_you_mean
from tacit.service.access import Caller, decide
from tacit.service.database import Database
from tacit.service.folder import declarations
from tacit.service.hosting.declaring import (
    DeclaredStore,
    Owner,
    SentDeclaration,
    owners_of,
    refuse_declaration,
    refuse_taken,
    with_hosting,
)
from tacit.service.hosting.ledgers import ACCOUNT_KINDS, Ledgers, refuse_declared
from tacit.service.problem import Problem
from tacit.service.settings import DatasetSettings, Settings
from tacit.service.telemetry import log
from tacit.tables.dataset.declaration import Dataset, identity, open_dataset, terms
from tacit.tables.dataset.draft import TableShape, shapes_of
from tacit.tables.joint_plans.planning import QuestionPlan
from tacit.tables.plan.preview import Preview
from tacit.tables.question import Question
from tacit.tables.release.release import LedgerState, QueryCharge
from tacit.tables.session import PaidSession, Session

# Cache of the latest questions: what follows from public facts alone.
#
# To read a question (the SQL, the names of the declared columns) and to work out its expected
# errors takes milliseconds, and depends on the request and the declaration alone.  What is in a
# ledger, what remains and what may be seen is looked up again each time.  Each caller has entries
# of their own, so that the time of a reply reveals nothing of the questions of others.


_V = TypeVar("_V")


class LRUCache(Generic[_V]):
    """Cache of the latest values; threads may share one.

    >>> cache = LRUCache(1)
    >>> cache.of("a", lambda: 1), cache.of("a", lambda: 2), cache.of("b", lambda: 3)
    (1, 1, 3)
    >>> cache.of("a", lambda: 4)
    4
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, _V] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], _V]) -> _V:
        """Return the value of a key; nothing is cached if ``make`` raises."""
        with self._lock:
            values = self._values
            if key in values:
                values.move_to_end(key)
                return values[key]
        made = make()
        with self._lock:  # evicted meanwhile: stays evicted
            values[key] = made
            while len(values) > self._size:
                values.popitem(last=False)
        return made

    def clear(self) -> None:
        """Remove all values, and those that are being made."""
        with self._lock:
            self._values = OrderedDict()


# Data sets with open tables in a process: those queried last, as many as fit.
#
# An open table has files, threads and memory of its engine.  Evicting a table closes nothing: its
# engine is closed with the last question that refers to it.


# how many tables a process keeps open; each is opened twice (:class:`Hosted`)
MAX_OPEN_TABLES = 128


class OpenTables:
    """Data sets with open tables, the latest query last; threads share one."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = MAX_OPEN_TABLES if limit is None else limit
        self._lock = threading.Lock()
        self._open: dict[Hosted, int] = {}

    def touch(self, hosted: Hosted, tables: int) -> None:
        """Record a query to a data set, and evict those with the oldest queries."""
        over = []
        with self._lock:
            self._open.pop(hosted, None)
            self._open[hosted] = tables
            while sum(self._open.values()) > self._limit and len(self._open) > 1:
                over.append(next(iter(self._open)))
                del self._open[over[-1]]
        for one in over:
            one.evict()


# A hosted data set: its tables, open once for all threads, and the ledger that pays.


_CACHE_SIZE = 256  # questions
Asked: TypeAlias = Question | QuestionPlan


class DryPreview(NamedTuple):
    """The part of a preview that public facts decide."""

    charge: QueryCharge
    expected: Preview
    words: str
    plan: dict[str, Any] | None  # its strategy and errors; None for a single question


class PricedAsk(NamedTuple):
    """A question at its price: what its charge needs, and its words."""

    question: Question
    charge: QueryCharge
    words: str


class Left(NamedTuple):
    """Remaining budget of a caller."""

    remaining: Budget  # in epsilon or rho and in delta, the smallest that any limit leaves
    limits: tuple[str, ...]  # what binds: the budget, or caps
    budget: Budget  # what is left of the total budget
    require: Callable[[Sequence[Budget]], None]  # raises if some costs are not covered

    def covers(self, cost: Budget) -> bool:
        try:
            self.require((cost,))
        except BudgetError:
            return False
        return True

    @property
    def capped(self) -> str:
        """The caps that leave less than the budget, in words; empty where the budget binds."""
        caps = [limit for limit in self.limits if limit.startswith("the cap")]
        return "" if self.remaining == self.budget else " and ".join(caps)


def require(head: Head, accounts: Sequence[Account], costs: Sequence[Budget]) -> None:
    """Raise if a budget, or the cap of an account, does not cover all of some costs."""
    cost = sum(costs, Budget.nothing(head.total.kind))
    words = f"this release costs {cost}"
    if len(costs) > 1:
        words = f"these {len(costs)} releases cost {cost} together"
    exceeded = [] if head.spending.affords(*costs) else [(head.remaining, f"{head.total}")]
    exceeded += [
        (left, f"{account.cap}, the cap of {account.name}")
        for account in accounts
        if (left := account.too_little_for(cost)) is not None
    ]
    if exceeded:  # the least is what can be spent
        left, limit = min(exceeded, key=lambda one: (one[0].amount, one[0].delta))
        raise BudgetError(f"{words}, and {left} is left of {limit}; nothing was spent")


class Hosted:
    """A data set that many threads query at once."""

    # Its tables are opened with the first question, so that a service starts while a database is
    # unavailable; an engine is shared by all callers, and each question names its own payers.
    #
    # Each table is opened twice: in an engine for the workers, and in one for requests, which is
    # asked for no row.  An engine runs one query at a time, and a request that waited for a
    # worker would reveal how long its query took.
    #
    # The tables of a data set without recent questions are evicted, with its cached questions; a
    # running question keeps them open until its answer is there.

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
        self._sessions_lock = threading.Lock()  # of the sessions, for a moment each time
        self._open_locks = {dry_run: threading.Lock() for dry_run in (False, True)}
        self._sessions: dict[tuple[str, bool], Session] = {}
        self._shapes: dict[str, TableShape] | None = None
        self._number = 0
        self._questions: LRUCache[Asked] = LRUCache(_CACHE_SIZE)
        self.previews: LRUCache[DryPreview] = LRUCache(_CACHE_SIZE)
        self.priced: LRUCache[PricedAsk] = LRUCache(_CACHE_SIZE)

    @property
    def name(self) -> str:
        return self.dataset.name

    @property
    def identity(self) -> str:
        """Its name in certificates."""
        return identity(self.dataset)

    def shapes(self) -> dict[str, TableShape]:
        with self._lock:
            if self._shapes is None:
                self._shapes = shapes_of(self.dataset)
            return self._shapes

    def ledger(self, team: str | None) -> Ledger:
        """Return the ledger that pays, for those who read it."""
        return self._ledgers.of(self.name, team)

    def require(self, caller: Caller, *costs: Budget) -> None:
        """Raise if the budget, or a cap of a caller, does not cover all of some costs now."""
        # The charge itself looks again, where nothing comes in between.
        require(*named_accounts(self.ledger(caller.team), self._names(caller)), costs)

    def left(self, caller: Caller) -> Left:
        """Return the remaining budget of a caller: the minimum of the budget and all caps."""
        return self._left(*named_accounts(self.ledger(caller.team), self._names(caller)))

    def look(self, charge: QueryCharge) -> tuple[LedgerState, Left]:
        """Return what the ledger holds of a caller's charge, and what is left for them."""
        state = charge.look()
        return state, self._left(state.head, state.accounts)

    def _left(self, head: Head, accounts: Sequence[Account]) -> Left:
        owner = self.owner
        holder = f"the people {owner.name!r}" if owner.people else "the data set"
        limits = {f"the budget of {holder}": head.remaining}
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
        remaining = Budget(head.remaining.kind, amount, delta)
        return Left(remaining, tuple(binding), head.remaining, partial(require, head, accounts))

    def accounts(self, caller: Caller) -> list[Account]:
        """Return the accounts that a caller's charges name, with their caps."""
        return named_accounts(self.ledger(caller.team), self._names(caller))[1]

    def team_shown(self, caller: Caller) -> str | None:
        """Return the team whose ledger a caller is shown."""
        # Whoever has no team is shown that of the team that has spent most: the guarantee is for
        # each team, and holds with what that one has spent.
        if not self.owner.per_team or caller.team is not None:
            return caller.team
        teams = self._ledgers.teams(self.name)
        if not teams:
            raise Problem(
                "not_found",
                "no team has asked yet, and each has its own budget",
                "declare the budget of each, and have the operator set caps: they hold from the "
                "first question on",
            )
        return max(teams, key=lambda team: self.ledger(team).spent.amount)

    def ledger_shown(self, caller: Caller) -> Ledger:
        """Return the ledger that a caller is shown; an unused one if none exists yet."""
        teamless = self.owner.per_team and caller.team is None
        if teamless and not (self.shows_all(caller) and self._ledgers.teams(self.name)):
            return self._unpaid_ledger()  # what a team spends is for it, and who sees all
        return self.ledger(self.team_shown(caller))

    def check_ledgers(self) -> None:
        """Raise if an existing ledger cannot be used now."""
        self._ledgers.check(self.name)

    def check_tables(self) -> None:
        """Raise if a table cannot be read as declared; opens each again, and reads no row."""
        shapes_of(self.dataset)

    def is_own(self, caller: Caller, team: str | None) -> bool:
        """Return True if an act under the caller's name in a team is the caller's."""
        # With ledgers per team, two people of one name are two, and so is one in two teams.
        return not self.owner.per_team or caller.team == team

    def sharing(self) -> list[str]:
        """Return the data sets whose people have this budget; itself among them."""
        return self._ledgers.sharing(self.name)

    def shows_all(self, caller: Caller) -> bool:
        """Return whether a caller may see all answers that this budget pays for."""
        return all(decide(caller, "see_releases", name).allowed for name in self.sharing())

    def teams(self) -> list[str | None]:
        """Return the teams whose ledgers exist; ``[None]`` if all teams share one."""
        if self.owner.per_team:
            return list(self._ledgers.teams(self.name))
        return [None] if self._ledgers.known(self.owner.key(None)) is not None else []

    def set_caps(self, caps: Mapping[str, Budget | None], reason: str) -> None:
        """Set caps in every ledger of the data set; see :func:`set_cap`."""
        refuse_declared(reason)
        for account in caps:
            kind = account.partition(":")[0]
            if not is_account(account):
                account_name(account)
            if kind not in ACCOUNT_KINDS:
                raise UsageError(
                    f"there are no accounts of the kind {kind!r}; "
                    f"{did_you_mean(kind, ACCOUNT_KINDS)}"
                )
        teams = self._ledgers.teams(self.name) if self.owner.per_team else [None]
        for team in teams:
            for account, cap in caps.items():
                set_cap(self.ledger(team), account, cap, reason)

    def session(
        self, caller: Caller, table: str | None = None, *, dry_run: bool = False
    ) -> Session:
        """Return a session whose releases are charged on account of a caller."""
        # dry_run: for a request, which is answered at once and reads no row.
        ledger = self._ledgers.for_caller(self.name, caller.name, caller.team)
        return self._paid(self.dataset.table(table), dry_run, ledger)

    def question(
        self,
        caller: Caller,
        table: str | None,
        content: Hashable,
        ask: Callable[[Session], Asked],
        *,
        dry_run: bool,
    ) -> Asked:
        """Return a question of a caller; recent ones are cached."""
        self._tables.touch(self, len(self._sessions))
        who = caller.name, caller.team
        # A question of a table that was opened again is built again: it may refer to a joined one.
        opened = 0 if dry_run else self._number
        return self._questions.of(
            (who, table, content, dry_run, opened),
            lambda: ask(self.session(caller, table, dry_run=dry_run)),
        )

    def refresh(self) -> None:
        """Open the tables again if the data set was refreshed; called before each release."""
        number = self._refreshed(self.name)
        with self._refreshing:
            if number <= self._number:
                return
            with self._sessions_lock:
                sessions = [one for (_, dry_run), one in self._sessions.items() if not dry_run]
            for session in sessions:  # previews continue meanwhile: they do not wait for it
                session.refresh()
            self._number = number

    def close(self) -> None:
        with self._sessions_lock:
            for session in self._sessions.values():
                session.close()
            self._sessions.clear()

    def evict(self) -> None:
        """Release its tables, and the questions that refer to them."""
        with self._sessions_lock:
            self._sessions.clear()
        self._questions.clear()
        self.previews.clear()
        self.priced.clear()

    def _names(self, caller: Caller) -> list[str]:
        return self._ledgers.accounts(self.name, caller.name, caller.team)

    def _paid(self, table: str, dry_run: bool, ledger: Ledger) -> Session:
        other_tables = [name for name in self.dataset.protected if name != table]
        others = {name: partial(self._paid, name, dry_run) for name in other_tables}
        return PaidSession(self._opened(table, dry_run), ledger, others)

    def _opened(self, table: str, dry_run: bool) -> Session:
        with self._open_locks[dry_run]:
            with self._sessions_lock:
                opened = self._sessions.get((table, dry_run))
                working = any(not paper for _, paper in self._sessions)
            if opened is None:
                number = self._number if working or dry_run else self._refreshed(self.name)
                unpaid = replace(self.dataset, budget=None)  # its owner has the budget
                opened = open_dataset(unpaid, table=table, ledger=self._unpaid_ledger())
                with self._sessions_lock:
                    self._sessions[table, dry_run] = opened
                if not dry_run:
                    self._number = number
        self._tables.touch(self, len(self._sessions))
        return opened

    def _unpaid_ledger(self) -> Ledger:
        """Return a ledger that is never charged, for the session with the table."""
        budget = self.owner.budget
        if budget is None:
            budget = self.ledger(None).total if not self.owner.per_team else None
        if budget is None:
            raise UsageError(f"{self.name!r} has no budget: declare it, budget = {{ epsilon = 1 }}")
        ledger_terms = terms(self.dataset)
        return open_ledger(in_memory, dataset=self.identity, budget=budget, terms=ledger_terms)


# All data sets that a service hosts.


class Datasets:
    """The data sets of a service, each open once in a process."""

    # Some are declared by the operator, in files of the folder, and some by curators, in the
    # database.  Other processes load new and changed declarations when a caller names a data set,
    # or lists them.

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
        self._seen: dict[str, SentDeclaration] = {}
        self._hosted: dict[str, Hosted] = {}
        self._before: list[Hosted] = []  # running questions may still use them
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
        with suppress(Problem):  # no database: use what is known
            self._look(files=name not in self._hosted)
        if name not in self._hosted:
            raise Problem(
                "not_found", f"there is no data set {name!r}", did_you_mean(name, self._hosted)
            )
        return self._hosted[name]

    def refreshed_when(self) -> dict[str, str | None]:
        """Return the refresh schedule of each data set, as its settings have it."""
        return {name: self._hosted[name].settings.refresh for name in self.names}

    def refuse_overlaps(self) -> None:
        """Raise if two data sets read one file by now, and would spend a budget each."""
        # Patterns and folders of two data sets may match one file while the service runs.
        try:
            owners_of(self._declared, self._settings)
        except UsageError as error:
            raise Problem("conflict", str(error), "tell the operator") from None

    def refuse_taken(self, name: str) -> None:
        """Raise if a new data set cannot have a name."""
        self._look(files=True)
        refuse_taken(name, self._declared)

    def curator_declaration(self, name: str) -> SentDeclaration | None:
        """Return a curator's declaration of a data set, or None."""
        self._look(files=True)
        return self._seen.get(name)

    def check(self, made: SentDeclaration, replaces: int | None) -> tuple[Dataset, DatasetSettings]:
        """Raise if a declaration is invalid; return the data set and its hosting."""
        existing = self.curator_declaration(made.name)
        if (existing.number if existing and replaces is not None else None) != replaces:
            raise _another(made.name)
        existing = None if replaces is None else existing
        refuse_declaration(made, existing, self._settings, self._declared)
        how = with_hosting(self._settings, [made]).dataset(made.name)
        return made.dataset(self._settings.folder), how

    def declare(
        self, made: SentDeclaration, replaces: int | None, note: Callable[[sa.Connection], None]
    ) -> Hosted:
        """Declare a data set, or replace its declaration; every process sees it."""
        # note: writes down that it was declared, in the transaction that does it.
        dataset, _ = self.check(made, replaces)
        with self.store.begin() as run:
            every = self.store.all(run)
            existing = every.get(made.name)
            if (None if existing is None else existing.number) != replaces:
                raise _another(made.name)
            # Another curator may have declared the same table meanwhile.
            settings = with_hosting(self._settings, [*every.values(), made])
            others = {n: one.dataset(settings.folder) for n, one in every.items()}
            owners_of({**self._own, **others, made.name: dataset}, settings)
            self.store.add(run, made)
            note(run)
        self._look(files=False)
        return self._hosted[made.name]

    def session(self, name: str, caller: Caller, table: str | None, dry_run: bool) -> Session:
        """Return a session on a table of a data set; see :meth:`Hosted.session`."""
        return self.of(name).session(caller, table, dry_run=dry_run)

    def latency(self, name: str) -> float:
        """Return the declared latency of a data set in seconds."""
        return float(self.of(name).settings.latency)

    def close(self) -> None:
        for hosted in [*self._hosted.values(), *self._before]:
            hosted.close()
        self.ledgers.close()

    def _look(self, *, files: bool) -> None:
        """Load what was declared since the last look."""
        listed = self._listed() if files else self._files
        number = self.store.latest()
        if (listed, number) == (self._files, self._number):
            return
        with self._lock:
            new = {} if listed == self._files else self._added()
            try:
                self._take(new, self.store.all())
                self._own |= new
            except UsageError:  # a file of the operator: tacit serve check shows what is wrong
                log("unexpected", error=True)
            self._files, self._number = listed, number

    def _added(self) -> dict[str, Dataset]:
        """Return the data sets of files that the operator added; none if one of them is invalid."""
        try:
            own = declarations(self._base)
        except UsageError:
            log("unexpected", error=True)
            return {}
        return {name: one for name, one in own.items() if name not in self._own}

    def _take(self, own: Mapping[str, Dataset], every: dict[str, SentDeclaration]) -> None:
        """Host new data sets: files of the operator, and new or changed ones of curators."""
        twice = sorted(every.keys() & {**self._own, **own}.keys())
        if twice:
            raise UsageError(
                f"{twice[0]!r} is declared in a file of the folder, and by a curator: give the one "
                "of the file another name"
            )
        settings = with_hosting(self._settings, every.values())
        fresh = {n: one for n, one in every.items() if self._seen.get(n) != one}
        declared = {**own, **{n: one.dataset(settings.folder) for n, one in fresh.items()}}
        self.ledgers.add(declared, settings)
        for name, dataset in declared.items():
            if name in self._hosted:
                self._before.append(self._hosted[name])
            self._declared[name] = dataset
            how = settings.dataset(name)
            self._hosted[name] = Hosted(dataset, how, self.ledgers, self._refreshed, self._tables)
        self._seen, self._settings = dict(every), settings

    def _listed(self) -> list[tuple[str, int]]:
        paths = sorted(self._settings.folder.glob("*.toml"))
        return [(path.name, path.stat().st_mtime_ns) for path in paths]


def _another(name: str) -> Problem:
    return Problem(
        "conflict",
        f"another declaration of {name!r} is in force",
        f"look at it, GET /v1/datasets/{name}/declaration, and send its number as replaces",
    )

"""A hosted data set: its tables, open once for all threads, and who pays for a question to them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.accounts import Account, account_name, is_account
from tacit.accounting.ledger.ledger import Ledger
from tacit.accounting.ledger.shared_budget import accounts_of, named_accounts, set_cap
from tacit.accounting.open_ledger import in_memory, open_ledger
from tacit.errors import BudgetError, UsageError
from tacit.service.access.caller import Caller
from tacit.service.hosting.kept import Kept
from tacit.service.hosting.ledgers import Ledgers
from tacit.service.hosting.open_tables import OpenTables
from tacit.service.hosting.owners import Owner
from tacit.service.problem import Problem
from tacit.service.settings import DatasetSettings
from tacit.tables.dataset.declaration import Dataset
from tacit.tables.dataset.opening import identity, open_dataset, terms
from tacit.tables.dataset.table_shape import TableShape, shapes_of
from tacit.tables.paid_session import PaidSession
from tacit.tables.plan.preview import Preview
from tacit.tables.question import Question
from tacit.tables.release.charge import QueryCharge
from tacit.tables.session import Session

__all__ = ["Hosted", "Left"]

_KEPT = 256
"""Of how many questions a process keeps what it read."""


class Left(NamedTuple):
    """What a caller may still spend.

    Attributes:
        remaining: in epsilon or rho and in delta, the least that any limit leaves.
        limits: what leaves no more: the budget, or caps.
        budget: what is left of the whole budget.
    """

    remaining: Budget
    limits: tuple[str, ...]
    budget: Budget

    @property
    def capped(self) -> str:
        """The caps that leave less than the budget, in words; empty where the budget binds."""
        caps = [limit for limit in self.limits if limit.startswith("the cap")]
        return "" if self.remaining == self.budget else " and ".join(caps)


class Hosted:
    """A data set that many threads ask at once.

    Its tables are opened when they are first asked, so that a service starts while a database is
    away; an engine is shared by all callers, and each question names its own payers.

    Each table is opened twice: in an engine for the workers, and in one for requests, which is
    asked for no row.  An engine does one thing after another, and a request that waited for the
    work of a worker would tell how long that took.

    The tables of a data set that was not asked for long are let go of, with what is kept of its
    questions, which hold them; whoever still asks one keeps it open until the answer is there.

    Args:
        dataset: as declared.
        settings: how it is hosted.
        ledgers: of the service.
        refreshed: returns the number of the latest refresh of a data set.
        tables: those that are open in the process.

    Attributes:
        dataset: as declared.
        settings: how it is hosted: its latency, whether its questions are approved.
        owner: whose budget its questions spend.
        previews: of the latest questions, what does not change with the budget.
    """

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
        """Return what is public of its tables, by name.

        Raises:
            UsageError: the declaration is unfinished, or does not fit a table.
            DataSourceError: a table does not exist.
        """
        with self._lock:
            if self._shapes is None:
                self._shapes = shapes_of(self.dataset)
            return self._shapes

    def ledger(self, team: str | None) -> Ledger:
        """Return the ledger that pays, for those who read it."""
        return self._ledgers.of(self.name, team)

    def require(self, caller: Caller, cost: Budget) -> None:
        """Refuse a cost that the budget, or a cap of a caller, does not cover now.

        The charge itself looks again, where nothing comes in between.

        Raises:
            BudgetError: it does not.
        """
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
        """Return whose ledger a caller is shown: that of their team, where teams stand apart.

        Whoever has no team is shown that of the team that has spent most: the guarantee is for
        each team, and holds with what that one has spent.
        """
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
        """Refuse where a ledger that was begun cannot be used now.

        Raises:
            TacitError: it cannot.
        """
        self._ledgers.check(self.name)

    def check_tables(self) -> None:
        """Refuse where a table cannot be read as declared; opens each anew, and reads no row.

        Raises:
            UsageError: the declaration does not fit a table.
            DataSourceError: a table does not exist.
        """
        shapes_of(self.dataset)

    def is_own(self, caller: Caller, team: str | None) -> bool:
        """Return whether what somebody of the caller's name did in a team is the caller's.

        Where teams stand apart, two people of one name are two, and so is one in two teams.
        """
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
        """Set caps in every ledger of the data set; see :func:`set_cap`.

        Raises:
            UsageError: no account, or a cap of another kind than the budget; none is set then.
        """
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
        """Return a session whose releases are charged on account of a caller.

        Args:
            caller: who asks.
            table: the protected table to ask; the first where none is named.
            on_paper: for a request, which is answered at once and reads no row.

        Raises:
            Problem: the caller's team has no budget here.
            UsageError: there is no such protected table.
            DataSourceError: a table does not exist.
        """
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
        """Return a question of a caller; one that was read of late is not read again.

        Args:
            caller: who asks.
            table: as :meth:`session`.
            said: what is asked, by which it is found again.
            ask: asks it of a session.
            on_paper: as :meth:`session`.

        Raises:
            Problem, UsageError, DataSourceError: as :meth:`session`, and what ``ask`` raises.
        """
        self._tables.asked(self, len(self._sessions))
        who = caller.name, caller.team
        # A table that was opened anew is asked anew: a question may hold another that it joins.
        opened = 0 if on_paper else self._number
        return self._questions.of(
            (who, table, said, on_paper, opened),
            lambda: ask(self.session(caller, table, on_paper=on_paper)),
        )

    def refresh(self) -> None:
        """Open the tables anew where the data set was refreshed since; before each release.

        Raises:
            DataSourceError: a table cannot be read any more, or has other columns.
        """
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

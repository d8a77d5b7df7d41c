"""The ledgers of a service: opened once, shared by its threads, never silently recreated."""

# The database of the service holds the random name that each ledger has.  A ledger that is not
# where it was, or another one in its position, is refused: someone who deleted it, or lost a disk,
# would otherwise be given the whole budget again.  One in which nothing was spent, nor decided by
# a person, begins again in its place where the operator corrected the declaration in a file.

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from tacit.accounting.budget import Budget, nearly_equal
from tacit.accounting.ledger import Ledger, on_account_of, set_cap, shared_by, shares_of
from tacit.accounting.ledger_chain import Event, canonical
from tacit.accounting.open_ledger import (
    begin_again,
    check_ledger,
    existing_ledger,
    has_ledger,
    open_ledger,
)
from tacit.errors import LedgerError, UsageError
from tacit.service.database import Database, metadata
from tacit.service.hosting.declaring import Owner, assuming, owners_of
from tacit.service.problem import Problem
from tacit.service.settings import Caps, Settings
from tacit.tables.dataset.declaration import Dataset, identity, terms

# The reasons of a cap that a declaration set; one that a person set has another.
_DECLARED = ("as service.toml says", "as declared")

ACCOUNT_KINDS = ("team", "analyst", "dataset")  # what the names of accounts begin with

_ledgers = sa.Table(
    "hosted_ledger",
    metadata,
    sa.Column("name", sa.String(400), primary_key=True),
    sa.Column("ledger", sa.String(64), nullable=False),
)


class Ledgers:
    def __init__(
        self, declared: Mapping[str, Dataset], settings: Settings, database: Database
    ) -> None:
        self.owners = owners_of(declared, settings)
        self._declared, self._database = dict(declared), database
        self._open: dict[str, Ledger] = {}
        self._views: dict[tuple[str, str], Ledger] = {}
        self._lock = threading.Lock()

    def add(self, declared: Mapping[str, Dataset], settings: Settings) -> None:
        """Add data sets that are declared later."""
        every = {**self._declared, **declared}
        self.owners = owners_of(every, settings)
        self._declared = every

    def of(self, dataset: str, team: str | None = None) -> Ledger:
        """Return the ledger that pays for a data set: its own, or a view of that of its people."""
        owner = self.owners[dataset]
        if owner.per_team and team is None:
            raise Problem(
                "forbidden",
                f"each team that asks {dataset!r} has its own budget, and you have no team",
                "ask a curator for a token with a team",
            )
        key = owner.key(team)
        with self._lock:
            if (dataset, key) not in self._views:
                if key not in self._open:
                    self._open[key] = self._opened(owner, team)
                ledger, declared = self._open[key], self._declared[dataset]
                view = ledger
                if owner.people:
                    name, named = identity(declared), assuming(terms(declared), owner.per_team)
                    view = shared_by(
                        ledger, name, _compatible_terms(named, shares_of(ledger).get(name))
                    )
                self._views[dataset, key] = view
            return self._views[dataset, key]

    def for_caller(self, dataset: str, name: str, team: str | None) -> Ledger:
        """Return the ledger as one that charges on account of a caller."""
        return on_account_of(self.of(dataset, team), *self.accounts(dataset, name, team))

    def accounts(self, dataset: str, name: str, team: str | None) -> list[str]:
        """Return the accounts that a caller's charges name."""
        shared = [f"dataset:{dataset}"] if self.owners[dataset].people else []
        return [*shared, *([f"team:{team}"] if team else []), f"analyst:{name}"]

    def sharing(self, dataset: str) -> list[str]:
        """Return the data sets whose people have the budget of this one; itself among them."""
        owner = self.owners[dataset]
        return sorted(name for name, other in self.owners.items() if other == owner)

    def teams(self, dataset: str) -> list[str]:
        """Return the teams that have a ledger of their own for a data set."""
        return self._teams(self.owners[dataset])

    def _teams(self, owner: Owner) -> list[str]:
        begin = f"{owner.key(None)}, team "
        names = [row.name for row in self._database.rows(sa.select(_ledgers.c.name))]
        return sorted(name.removeprefix(begin) for name in names if name.startswith(begin))

    def left_over(self) -> list[str]:
        """Return the names of ledgers from which no data set spends any more."""
        keys = {owner.key(None) for owner in self.owners.values()}
        names = [row.name for row in self._database.rows(sa.select(_ledgers.c.name))]
        return sorted(n for n in names if n not in keys and n.partition(", team ")[0] not in keys)

    def begins_again(self, dataset: str) -> bool:
        """Return whether the ledger of a data set begins again when it is next opened."""
        # Its declaration was corrected, and nothing was spent under the one of before.
        owner = self.owners[dataset]
        with open_ledger(owner.location) as ledger:
            differs = owner.budget is not None and self._differs(ledger, owner)
            return differs and all(map(_declared_only, ledger.events()))

    def check(self, dataset: str) -> None:
        """Raise if an existing ledger of a data set cannot be used now."""
        owner = self.owners[dataset]
        for team in self._teams(owner) if owner.per_team else [None]:
            if self.known(owner.key(team)) is not None:
                if not has_ledger(owner.location_of(team)):
                    raise LedgerError(f"the ledger of {owner.key(team)} is not where it was")
                _ = self.of(dataset, team).remaining

    def known(self, key: str) -> str | None:
        """Return the stored id of a ledger, by its :meth:`Owner.key`."""
        query = sa.select(_ledgers.c.ledger).where(_ledgers.c.name == key)
        ledger_id: str | None = self._database.scalar(query)
        return ledger_id

    def close(self) -> None:
        with self._lock:
            for ledger in self._open.values():
                ledger.close()
            self._open.clear()
            self._views.clear()

    def _opened(self, owner: Owner, team: str | None) -> Ledger:
        key, location = owner.key(team), owner.location_of(team)
        known = self.known(key)
        exists = has_ledger(location)
        if known is not None and not exists:
            raise LedgerError(
                f"the ledger of {key} is not where it was: what was spent would be forgotten. "
                "Bring it back"
            )
        if not exists and owner.budget is None:
            raise UsageError(
                f"{owner.name!r} has no budget: declare it, budget = {{ epsilon = 1 }}"
            )
        if exists:
            ledger = existing_ledger(location)
        else:
            ledger = open_ledger(
                location, dataset=owner.dataset, budget=owner.budget, terms=owner.terms
            )
        try:
            check_ledger(ledger)  # before it begins again: it is none that was copied here
            if known in (None, ledger.id) and self._differs(ledger, owner):
                ledger = _begun_again(ledger, owner)
            ledger_terms = _compatible_terms(owner.terms, ledger.terms)
            check_ledger(ledger, dataset=owner.dataset, terms=ledger_terms)
            _apply_caps(ledger, owner.settings.caps)
            if known is None and team is not None and owner.per_team:
                self._copy_caps(owner, team, ledger)
            self._note(key, known, ledger)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _differs(self, ledger: Ledger, owner: Owner) -> bool:
        """Return whether a ledger is another one than would be created now."""
        shares = {
            identity(declared): assuming(terms(declared), owner.per_team)
            for name, declared in self._declared.items()
            if owner.people and self.owners[name] == owner
        }
        pairs: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [(owner.terms, ledger.terms)]
        existing = shares_of(ledger) if shares else {}
        pairs += [(shares[name], there) for name, there in existing.items() if name in shares]
        same = owner.budget is None or nearly_equal(owner.budget, ledger.total)
        return not (same and ledger.dataset == owner.dataset) or any(
            canonical(_compatible_terms(now, there)) != canonical(there) for now, there in pairs
        )

    def _copy_caps(self, owner: Owner, team: str, ledger: Ledger) -> None:
        """Copy caps that a person set in the ledgers of other teams to that of a new team."""
        others = [other for other in self._teams(owner) if other != team]
        if not others:
            return
        key = owner.key(others[0])
        if key not in self._open:
            self._open[key] = self._opened(owner, others[0])
        latest = {body["account"]: body for body in _cap_events(self._open[key])}
        for account, body in latest.items():
            if body["reason"] not in _DECLARED:
                cap = None if body["cap"] is None else Budget.from_json(body["cap"])
                set_cap(ledger, account, cap, body["reason"])

    def _note(self, key: str, known: str | None, ledger: Ledger) -> None:
        """Compare the id of a ledger with the stored one, or store it."""
        if known is None:
            try:
                with self._database.begin(lock="ledgers") as run:
                    run.execute(_ledgers.insert().values(name=key, ledger=ledger.id))
                known = ledger.id
            except exc.IntegrityError:  # another process was first
                known = self.known(key)
        if known != ledger.id:
            raise LedgerError(
                f"the ledger of {key} was replaced by another one: what was spent would be "
                "forgotten. Bring the first one back"
            )


def _begun_again(ledger: Ledger, owner: Owner) -> Ledger:
    """Begin a ledger again as it is declared now, if nothing was spent or decided yet."""
    if owner.budget is None:
        return ledger
    again = begin_again(
        ledger,
        dataset=owner.dataset,
        budget=owner.budget,
        terms=owner.terms,
        unused=_declared_only,
    )
    return again or ledger


def _declared_only(event: Event) -> bool:
    """Return whether an event of a ledger is from its declaration: no charge, and no decision."""
    declared = event.event == "cap" and event.body["reason"] in _DECLARED
    return declared or event.event in ("create", "share")


def _compatible_terms(
    ledger_terms: Mapping[str, Any], existing: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return terms as an old ledger states them, which did not state its assumption."""
    old = existing is not None and "assumes" not in existing
    return {name: value for name, value in ledger_terms.items() if not (old and name == "assumes")}


def _apply_caps(ledger: Ledger, caps: Caps) -> None:
    """Set the caps of the settings if they changed since they were set last."""
    # A cap that a person set since stays until the settings say something else.
    declared = _caps_by_account(caps)
    events = _cap_events(ledger)
    before = {body["account"]: body["cap"] for body in events if body["reason"] in _DECLARED}
    for account in {**before, **declared}:
        cap = declared.get(account)
        now = None if cap is None else cap.to_json()
        if canonical({"cap": now}) != canonical({"cap": before.get(account)}):
            set_cap(ledger, account, cap, _DECLARED[1])


def _caps_by_account(caps: Caps) -> dict[str, Budget]:
    named = {f"team:{name}": cap for name, cap in caps.teams.items()}
    named |= {f"analyst:{name}": cap for name, cap in caps.analysts.items()}
    each = {"team:*": caps.each_team, "analyst:*": caps.each_analyst}
    return named | {account: cap for account, cap in each.items() if cap is not None}


def refuse_declared(reason: str) -> None:
    """Raise if a person gives the reason by which a cap of a declaration is known."""
    if reason in _DECLARED:
        raise UsageError(f"{reason!r} is the reason of caps that a declaration sets: say your own")


def _cap_events(ledger: Ledger) -> list[Any]:
    with ledger.chain.read() as (transaction, _):
        return [event.body for event in transaction.about(None) if event.event == "cap"]

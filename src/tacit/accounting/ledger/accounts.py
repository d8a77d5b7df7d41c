"""Accounts: how the one budget of a ledger is shared out, by caps that no race passes.

A charge may name accounts, such as ``team:oncology`` and ``analyst:ada``.  An account can have a
cap, and the total of the charges that name it stays within that cap; the budget of the ledger is
above all of them.  ``team:*`` is a cap for each team that has none of its own.

**What an account has spent is a sum over the chain**, and is stored nowhere else: of the amounts of
all charges that name it.  :class:`Accounts` is that sum, event by event.

**No cap is passed.**  Write S for what an account has spent and C for its cap.  A charge of c that
names the account is appended in an exclusive transaction, after every event of the chain was
counted in S, and only where C covers S + c.  Nobody else appends in between, so S + c is what the
account has spent once the charge stands; by induction over the charges, after each of them S is at
most the cap of that moment.  A cap may be lowered below S: nothing is taken back, and since C does
not cover S + c for any c above zero, nothing more is granted.  The same comparison is made again,
for every charge of the chain, by :func:`~tacit.accounting.ledger.hash_chain.verify`.

**Caps are no guarantee of privacy.**  People who compare what they were answered know all of it
together, and the loss of that is the budget of the ledger.  Caps only share it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.accounting.budgets.budget import Budget, Kind
from tacit.errors import BudgetError, UsageError, VerificationError

__all__ = ["Account", "Accounts", "account_name", "is_account"]

_LONGEST = 200
_ANY = "*"


@dataclass(frozen=True, slots=True)
class Account:
    """What an account may spend and has spent.

    Attributes:
        name: such as ``team:oncology``.
        cap: the most that it may spend; None where only the budget of the ledger limits it.
        spent: what the charges that name it come to.
    """

    name: str
    cap: Budget | None
    spent: Budget

    @property
    def remaining(self) -> Budget | None:
        """What is left below the cap; nothing where more is spent, None where there is no cap."""
        if self.cap is None:
            return None
        return self.cap - self.spent if self.cap.covers(self.spent) else _nothing(self.cap)


@dataclass
class Accounts:
    """The accounts of a ledger, after some event of its chain.

    Attributes:
        kind: what the budget of the ledger counts; None before its first event.
        caps: by account, or by ``team:*`` for those that have none of their own.
        spent: by account.
        shared: of the data sets that share the ledger, by identity, the terms of their charges.
    """

    kind: Kind | None = None
    caps: dict[str, Budget] = field(default_factory=dict)
    spent: dict[str, Budget] = field(default_factory=dict)
    shared: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def copy(self) -> Accounts:
        """Return accounts that can go on by themselves."""
        return Accounts(self.kind, dict(self.caps), dict(self.spent), dict(self.shared))

    def of(self, name: str) -> Account:
        """Return an account, also one that nothing is known of."""
        assert self.kind is not None
        cap = self.caps.get(name, self.caps.get(_default(name)))
        return Account(name, cap, self.spent.get(name, Budget.nothing(self.kind)))

    def all(self) -> list[Account]:
        """Return every account that has a cap or has spent, by name."""
        return [self.of(name) for name in sorted({*self.caps, *self.spent})]

    def require(self, names: Iterable[str], cost: Budget) -> None:
        """Refuse a cost that a cap does not cover.

        Raises:
            BudgetError: an account would pass its cap.
        """
        for account in map(self.of, names):
            if account.cap is not None and not account.cap.covers(account.spent + cost):
                raise BudgetError(
                    f"the release costs {cost} and {account.remaining} is left of {account.cap}, "
                    f"the cap of {account.name}: nothing was spent. Ask for less, or ask whoever "
                    "sets the caps to raise this one"
                )

    def count(self, event: str, body: Mapping[str, Any]) -> None:
        """Count an event of the chain.

        Raises:
            VerificationError: a charge beyond a cap, or an event that cannot follow.
        """
        if event == "create":
            self.kind = Budget.from_json(body.get("budget")).kind
        elif event == "charge" and set(body) & {"accounts", "dataset"}:
            self._charge(body)
        elif event == "cap":
            self._cap(body)
        elif event == "share":
            identity, terms = body["dataset"], body["terms"]
            if not (isinstance(identity, str) and isinstance(terms, dict)):
                raise VerificationError("a data set that shares the ledger has no name or no terms")
            if identity in self.shared:
                raise VerificationError("a data set shares the ledger twice")
            self.shared[identity] = terms

    def _charge(self, body: Mapping[str, Any]) -> None:
        names, identity = body.get("accounts", []), body.get("dataset")
        if not isinstance(names, list) or not all(map(is_account, names)):
            raise VerificationError("a charge names something that is not an account")
        if len(set(names)) < len(names):
            raise VerificationError("a charge names an account twice")
        if identity is not None and not (isinstance(identity, str) and identity in self.shared):
            raise VerificationError("a charge is of a data set that does not share the ledger")
        cost = Budget.from_json(body.get("cost"))
        try:
            self.require(names, cost)
        except BudgetError as error:
            raise VerificationError(f"a charge goes beyond a cap: {error}") from None
        for name in names:
            self.spent[name] = self.of(name).spent + cost

    def _cap(self, body: Mapping[str, Any]) -> None:
        name, said = body["account"], body["cap"]
        if not is_account(name):
            raise VerificationError("a cap is set for something that is not an account")
        self.caps.pop(name, None)
        if said is not None:
            cap = Budget.from_json(said)
            if cap.kind != self.kind:
                raise VerificationError("a cap is of another kind than the budget")
            self.caps[name] = cap


def is_account(name: object) -> bool:
    """Return whether a text can be the name of an account.

    >>> is_account("team:oncology"), is_account("team:*"), is_account("oncology")
    (True, True, False)
    """
    if not (isinstance(name, str) and name.isprintable() and len(name) <= _LONGEST):
        return False
    kind, colon, rest = name.partition(":")
    return bool(kind and colon and rest.strip())


def account_name(name: str) -> str:
    """Return the name of an account that a charge names.

    Raises:
        UsageError: it is none, or stands for all accounts of its kind.
    """
    if not is_account(name) or name.endswith(f":{_ANY}"):
        raise UsageError(
            f"the name of an account is a kind and a name, such as 'team:oncology', not {name!r}"
        )
    return name


def _default(name: str) -> str:
    return f"{name.partition(':')[0]}:{_ANY}"


def _nothing(like: Budget) -> Budget:
    return Budget.nothing(like.kind)

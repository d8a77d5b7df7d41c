"""One budget, several payers: accounts with caps, and data sets that have their people in common.

The functions here return a view of a ledger: the same chain and the same totals, with charges that
say on whose account they are.  A :class:`~tacit.tables.Session` takes a view as it takes a ledger.
Whatever the view, the first rule stays: all charges together stay within the budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.accounts import Account, account_name, is_account
from tacit.accounting.ledger.checked_chain import Payer, appended
from tacit.accounting.ledger.hash_chain import Head, canonical
from tacit.accounting.ledger.ledger import Ledger
from tacit.errors import LedgerError, UsageError

__all__ = [
    "accounts_of",
    "continued",
    "named_accounts",
    "on_account_of",
    "set_cap",
    "shared_by",
    "shares_of",
]


def on_account_of(ledger: Ledger, *accounts: str) -> Ledger:
    """Return a ledger as one whose charges name accounts, and stay within their caps.

    Each account has what the charges that name it come to; see
    :mod:`tacit.accounting.ledger.accounts`.  An answer that stands is replayed for everybody.

    Raises:
        UsageError: no name of an account.

    >>> from tacit.accounting import epsilon, open_ledger
    >>> ledger = open_ledger(None, dataset="clinic", budget=epsilon(1))
    >>> set_cap(ledger, "team:oncology", epsilon("1/4"), "a quarter each")
    >>> oncology = on_account_of(ledger, "team:oncology", "analyst:ada")
    >>> _ = oncology.charge("k1", epsilon("1/4"), {"count": "rows"})
    >>> [(account.name, account.spent, account.cap) for account in accounts_of(ledger)]
    [('analyst:ada', epsilon(0.25), None), ('team:oncology', epsilon(0.25), epsilon(0.25))]
    >>> oncology.charge("k2", epsilon("1/4"), {"count": "people"})
    Traceback (most recent call last):
    tacit.errors.BudgetError: the release costs epsilon 0.25 and epsilon 0 is left of epsilon 0.25,
    the cap of team:oncology: nothing was spent. Ask for less, or ask whoever sets the caps to raise
    this one
    """
    payer = ledger.payer
    named = (*payer.accounts, *map(account_name, accounts))
    return ledger.view(
        Payer(tuple(dict.fromkeys(named)), payer.dataset), ledger.dataset, ledger.terms
    )


def shared_by(ledger: Ledger, dataset: str, terms: Mapping[str, Any]) -> Ledger:
    """Return a ledger as that of one of the data sets whose people share its budget.

    The chain holds which data sets share it, and on which terms.  Each has keys of its own: the
    same question to two of them is two releases, and both are paid from the one budget.

    Args:
        ledger: of the people.
        dataset: the identity of the data set.
        terms: what a charge for it means: the unit of privacy, the neighbour relation.

    Raises:
        LedgerError: the data set shares it on other terms.
        UsageError: no identity, or terms that are not plain JSON.
    """
    canonical(terms, "terms")
    if not (dataset and dataset.isprintable()):
        raise UsageError("a ledger protects a data set: give its identity")
    with ledger.chain.read() as (transaction, _):
        standing = ledger.chain.accounts(transaction).shared.get(dataset)
    if standing is None:
        with ledger.chain.write() as (transaction, head):
            standing = ledger.chain.accounts(transaction).shared.get(dataset)
            if standing is None:
                standing = dict(terms)
                body = {"dataset": dataset, "terms": standing}
                appended(transaction, head, "share", None, body)
    if canonical(standing) != canonical(terms):
        raise LedgerError(
            f"{ledger.chain.store.name} is shared by {dataset!r} on other terms: ask under those "
            "terms, or give the data set another name"
        )
    return ledger.view(Payer(ledger.payer.accounts, dataset), dataset, terms)


def continued(ledger: Ledger, dataset: str, terms: Mapping[str, Any], *, same: bool) -> Ledger:
    """Return a ledger as that of a data set with the people whose budget it is.

    A table whose file was converted, or is read with another delimiter, has other columns, and so
    another identity, and its people have the budget that they had: the data set shares the ledger.
    Each charge bounds what one person, with their rows in either table, moves its answers, so the
    losses of all of them add up to no more than the budget.

    Args:
        ledger: the ledger.
        dataset: the identity of the data set.
        terms: what a charge for it means.
        same: whether the user named it as the ledger does, which says that the people are the same.

    Returns:
        The ledger itself where the data set does not share it.

    Raises:
        LedgerError: rows are protected in one data set and people in the other, or it shares the
            ledger on other terms.
    """
    if dataset == ledger.dataset:
        return ledger
    begun = ledger.dataset.rpartition(" (")[0]
    named = same and begun and dataset.rpartition(" (")[0] == begun
    if not named and (ledger.payer.dataset is not None or dataset not in shares_of(ledger)):
        return ledger
    if _protects(terms) != _protects(ledger.terms):
        raise LedgerError(
            f"{ledger.chain.store.name} counts what is lost about "
            f"{'rows' if _protects(terms)[0] else 'people'}, and this session protects "
            f"{'people' if _protects(terms)[0] else 'rows'}: ask under its unit"
        )
    return shared_by(ledger, dataset, terms)


def _protects(terms: Mapping[str, Any]) -> tuple[bool, Any]:
    """Return whether people are protected, and which tables are neighbours."""
    unit = terms.get("unit")
    return bool(unit and unit.get("column") is not None), terms.get("neighbours")


def set_cap(ledger: Ledger, account: str, cap: Budget | None, reason: str) -> None:
    """Set the most that an account may spend of the budget; the chain holds it, and the reason.

    It may be below what the account has spent: then nothing more is granted.

    Args:
        ledger: whose budget is shared out.
        account: such as ``team:oncology``; ``team:*`` is each team that has no cap of its own.
        cap: counted as the budget is; None takes the account's own cap away.
        reason: why.

    Raises:
        UsageError: no account, a cap of another kind, or no reason.
    """
    if not reason.strip():
        raise UsageError("say why the cap is set: the reason is recorded in the ledger")
    if not is_account(account):
        account_name(account)
    with ledger.chain.write() as (transaction, head):
        if cap is not None and cap.kind != head.total.kind:
            raise UsageError(f"a cap must be of the same kind as the budget, {head.total!r}")
        body = {"account": account, "cap": cap and cap.to_json(), "reason": reason}
        appended(transaction, head, "cap", None, body)


def accounts_of(ledger: Ledger) -> list[Account]:
    """Return every account that has a cap or has spent, by name."""
    with ledger.chain.read() as (transaction, _):
        return ledger.chain.accounts(transaction).all()


def named_accounts(ledger: Ledger, names: Sequence[str]) -> tuple[Head, list[Account]]:
    """Return the totals of a ledger and some of its accounts, of one state of it."""
    with ledger.chain.read() as (transaction, head):
        accounts = ledger.chain.accounts(transaction)
        return head, [accounts.of(account_name(name)) for name in names]


def shares_of(ledger: Ledger) -> dict[str, Mapping[str, Any]]:
    """Return the data sets that share a ledger, by identity, with the terms of their charges.

    There are none where the ledger is that of one data set alone.
    """
    with ledger.chain.read() as (transaction, _):
        return dict(ledger.chain.accounts(transaction).shared)

"""A release that comes in parts: charged once, then answered piece by piece.

A count that is continued every hour is one release.  Its whole loss is charged before its first
piece, and pieces are added under that charge::

    (unknown) --charge_once--> charged --record_part--> part 0 --record_part--> part 1 ...

- **Paid once.**  :func:`charge_once` looks for a charge of the key and makes one in a single
  transaction, so that of any number of processes one pays, also after a crash at any moment.
- **One history.**  A part has a place, 0, 1, 2, ...; :func:`record_part` writes it only if it is
  the next one, in the transaction that looks.  Of two processes that make part 7 at once, one
  writes it; the other is informed, throws its own away, unseen, and reads the one that stands.
  So each part is made by somebody who had read all parts before it, and was published once.

Parts hold released values, with their noise, as answers do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.checked_chain import appended
from tacit.accounting.ledger.entry import Entry, entry_of
from tacit.accounting.ledger.hash_chain import Event, Head, canonical
from tacit.accounting.ledger.ledger import Ledger
from tacit.accounting.ledger.open_release import staying_open
from tacit.accounting.ledger.store import Transaction, patiently
from tacit.errors import LedgerError, UsageError

__all__ = ["charge_once", "parts_of", "record_new", "record_part"]


def charge_once(ledger: Ledger, key: str, cost: Budget, question: Mapping[str, Any]) -> Entry:
    """Return the charge of a key, or make it: whoever asks, and however often, one is paid.

    Unlike :meth:`Ledger.charge` it takes the charge that stands also where its question says more
    than the key does: what was chosen for whoever paid, such as the scale of the noise.

    Raises:
        BudgetError: more than remains; nothing was spent.
        UsageError: a cost of zero or of another kind, or no plain JSON.
        LedgerError: the ledger cannot be written; nothing was spent.

    >>> from tacit.accounting import epsilon, open_ledger
    >>> ledger = open_ledger(None, dataset="clinic", budget=epsilon(1))
    >>> entry = charge_once(ledger, "visits", epsilon("1/4"), {"count": "visits"})
    >>> charge_once(ledger, "visits", epsilon("1/4"), {"count": "visits"}) == entry
    True
    >>> record_part(ledger, entry, 0, {"n": 17}), record_part(ledger, entry, 0, {"n": 18})
    (True, False)
    >>> parts_of(ledger, entry), ledger.spent
    ([{'n': 17}], epsilon(0.25))
    """
    canonical(question, "question")
    payer = ledger.payer
    with ledger.chain.write() as (transaction, head):
        standing = entry_of(transaction.about(payer.key(key)))
        if standing is not None:
            return standing
        return ledger.chain.spend(transaction, head, payer.key(key), cost, question, payer)


def record_part(ledger: Ledger, entry: Entry, place: int, part: Mapping[str, Any]) -> bool:
    """Write a part if it is the next one of its charge, durably; say whether it was written.

    Where it was not, the caller's part must be thrown away: another one stands, or an earlier one
    is still lacking.

    Args:
        ledger: where the charge is.
        entry: what :func:`charge_once` returned.
        place: how many parts the caller had read before it made this one.
        part: the released values, *with their noise*, in plain JSON.

    Raises:
        LedgerError: the entry is no charge of this ledger, or the ledger cannot be written.
            A server that went away is waited for: the part is paid already.
        UsageError: the part is no plain JSON.
    """
    wanted, tried = canonical(part, "part"), False

    def write() -> bool:
        nonlocal tried
        again, tried = tried, True
        with ledger.chain.write() as (transaction, head):
            standing = [canonical(event.body["part"]) for event in _parts(transaction, entry)]
            if again and standing[place : place + 1] == [wanted]:
                return True  # an earlier try was stored after all, and only its word was lost
            if len(standing) != place:
                return False
            body = {"charge": entry.sequence, "place": place, "part": dict(part)}
            appended(transaction, head, "part", entry.key, body)
            return True

    return staying_open(entry.cost, lambda: patiently(write))


def record_new(
    ledger: Ledger, entry: Entry, parts: Iterable[Mapping[str, Any]], most: int | None = None
) -> None:
    """Write those of some parts that a charge does not have yet, in one transaction, durably.

    They are parts that do not depend on those before them, such as notes of what was derived from
    an answer; the time is linear in the number of parts.

    Args:
        ledger: where the charge is.
        entry: the charge.
        parts: in plain JSON.
        most: how many parts a charge may have in all.

    Raises:
        LedgerError: the entry is no charge of this ledger, or the ledger cannot be written.
        UsageError: a part is no plain JSON, or there are too many; none was written.

    >>> from tacit.accounting import epsilon, open_ledger
    >>> ledger = open_ledger(None, dataset="clinic", budget=epsilon(1))
    >>> entry = charge_once(ledger, "visits", epsilon("1/4"), {"count": "visits"})
    >>> record_new(ledger, entry, [{"n": 1}, {"n": 2}, {"n": 1}])
    >>> record_new(ledger, entry, [{"n": 3}, {"n": 2}])
    >>> parts_of(ledger, entry)
    [{'n': 1}, {'n': 2}, {'n': 3}]
    """
    wanted = {canonical(part, "part"): dict(part) for part in parts}

    def write() -> None:
        with ledger.chain.write() as (transaction, head):
            standing = _parts(transaction, entry)
            known = {canonical(event.body["part"]) for event in standing}
            new = [part for text, part in wanted.items() if text not in known]
            if most is not None and new and len(standing) + len(new) > most:
                raise UsageError(f"a release has {most} notes of what follows from it at most")
            for place, part in enumerate(new, len(standing)):
                body = {"charge": entry.sequence, "place": place, "part": part}
                head = Head.following(head, appended(transaction, head, "part", entry.key, body))

    patiently(write)


def parts_of(ledger: Ledger, entry: Entry) -> list[dict[str, Any]]:
    """Return the parts of a charge, in order."""
    with ledger.chain.read() as (transaction, _):
        parts: list[Any] = [event.body["part"] for event in _standing(transaction, entry)]
    return parts


def _parts(transaction: Transaction, entry: Entry) -> list[Event]:
    """Return the parts of a charge, which must stand in the ledger."""
    charge = transaction.at(entry.sequence)
    if charge is None or charge.event != "charge" or charge.hash != entry.hash:
        raise LedgerError("this ledger has no such charge to add a part to")
    return _standing(transaction, entry)


def _standing(transaction: Transaction, entry: Entry) -> list[Event]:
    found = [event for event in transaction.about(entry.key) if event.event == "part"]
    return [event for event in found if event.body["charge"] == entry.sequence]

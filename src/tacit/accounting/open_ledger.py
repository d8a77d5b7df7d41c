"""Creating, opening and moving a ledger, and refusing one that is another's."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tacit.accounting.budget import Budget, nearly_equal
from tacit.accounting.ledger import Ledger
from tacit.accounting.ledger_chain import Event, Head, MemoryStore, Store, canonical, same_home
from tacit.accounting.ledger_postgres import is_address
from tacit.calls import public
from tacit.errors import LedgerError, UsageError

# The identity of a table: its public name, and a digest of its columns.
_NAMED = re.compile(r"(.+) \([0-9a-f]{16}\)")


@public
class InMemory:
    """A ledger in memory, which ends with the session; use it as :data:`tacit.in_memory`.

    Nothing stops the next session from spending the same budget again: for trying things out, and
    for made-up data.

    >>> import tacit as tc
    >>> from tacit.data import health_insurance
    >>> session = tc.Session(
    ...     health_insurance(), tc.one_row_each, tc.epsilon(1), ledger=tc.in_memory
    ... )
    >>> session.remaining
    epsilon(1)
    """

    def __repr__(self) -> str:
        return "tc.in_memory"


in_memory = InMemory()
"""No ledger file: the budget ends with the session, and nothing stops the next one."""


@public
def open_ledger(
    path: str | os.PathLike[str] | InMemory | None,
    *,
    dataset: str | None = None,
    budget: Budget | None = None,
    terms: Mapping[str, object] | None = None,
    create: bool = True,
) -> Ledger:
    """Open the ledger at ``path``, or create one there.

    Args:
        path: a file on the local disk; ``postgresql://user@host/database?ledger=name`` for one that
            several machines share; :data:`tacit.in_memory` or None for one that ends with the
            process.
        dataset: the identity of the data set; may be left out to read a ledger that exists.  In
            PostgreSQL, a role that may only read is enough to look.
        budget: the whole budget; may be left out for a ledger that exists.
        terms: what a charge means, in plain JSON: the unit of privacy, the neighbour relation.
        create: whether to create the ledger if it does not exist.

    Raises:
        LedgerError: the place is not a ledger, cannot be reached or written, belongs to another
            data set, has another budget or other terms, was copied or moved, or does not exist and
            is not to be created (or cannot be, without a budget and a data set).
        UsageError: the budget is zero, the data set is "", the terms are not plain JSON, or
            ``path`` is not a place for a ledger.

    >>> from tacit.accounting import epsilon
    >>> open_ledger(None, dataset="clinic", budget=epsilon(1)).remaining
    epsilon(1)
    """
    if path is not None and not isinstance(path, (str, os.PathLike, InMemory)):
        raise UsageError(
            "a ledger is the path of a file, an address postgresql://..., or tc.in_memory, not a "
            f"{type(path).__name__}"
        )
    begins = create and budget is not None and dataset is not None
    store = _store(path, create=begins, writes=dataset is not None)
    try:
        if budget is not None and dataset is not None and create:
            _begin(store, dataset, budget, terms)
        return check_ledger(Ledger(store), dataset=dataset, budget=budget, terms=terms)
    except BaseException:
        store.close()
        raise


@public
def create_ledger(
    path: str | os.PathLike[str],
    *,
    dataset: str,
    budget: Budget,
    terms: Mapping[str, object] | None = None,
) -> Ledger:
    """Begin a ledger at ``path``, where there must be none.

    Raises:
        LedgerError: there is one, or none can be made there.
    """
    store = _store(path, create=True)
    try:
        if not _begin(store, dataset, budget, terms):
            raise LedgerError(f"{store.name} exists already: open it, or name another file")
        return Ledger(store)
    except BaseException:
        store.close()
        raise


@public
def restore_ledger(path: str | os.PathLike[str]) -> Ledger:
    """Accept a ledger at the place where it is now, and note that in its chain.

    Do this only when the file was moved for good.  If another copy of it continues being used, each
    of the two spends the same budget, and what is published is protected by their sum only.
    Move a file while no one has it open, or bring the file ``-wal`` next to it along: the latest
    charges may be there.  A ledger in PostgreSQL is moved with ``pg_dump`` while no one uses it.

    Raises:
        LedgerError: there is no ledger, or it cannot be reached or written.
    """
    ledger = existing_ledger(path)
    try:
        ledger.restore()
    except BaseException:
        ledger.close()
        raise
    return ledger


adopt_ledger = restore_ledger
"""The name of :func:`restore_ledger` in earlier versions."""


def existing_ledger(path: str | os.PathLike[str]) -> Ledger:
    """Open a ledger that exists, to write in it; :func:`check_ledger` says whose it is."""
    store = _store(path, create=False)
    try:
        return Ledger(store)
    except BaseException:
        store.close()
        raise


def has_ledger(path: str | os.PathLike[str] | InMemory) -> bool:
    """Return whether there is a ledger at a place, of whatever content."""
    # None is where a beginning was cut short: nothing was charged there, and it can begin again.
    if isinstance(path, InMemory):
        return False
    if not is_address(path):
        from tacit.accounting.ledger_sqlite import SqliteStore

        return SqliteStore.begun(Path(os.path.expanduser(path)))
    from tacit.accounting.ledger_postgres import PostgresStore

    return PostgresStore.exists(os.fspath(path))


def _store(
    path: str | os.PathLike[str] | InMemory | None, *, create: bool, writes: bool = True
) -> Store:
    if path is None or isinstance(path, InMemory):
        return MemoryStore()
    # Neither is loaded until it is used: a ledger in memory does without both.
    if is_address(path):
        from tacit.accounting.ledger_postgres import PostgresStore

        return PostgresStore(os.fspath(path), create=create, writes=writes)
    from tacit.accounting.ledger_sqlite import SqliteStore

    return SqliteStore(Path(os.path.expanduser(path)), create=create)


def begin_again(
    ledger: Ledger,
    *,
    dataset: str,
    budget: Budget,
    terms: Mapping[str, Any],
    unused: Callable[[Event], bool],
) -> Ledger | None:
    """Begin a ledger again in its place, if no event speaks against it; return it then."""
    # unused: of an event, whether a ledger that has it can still begin again: no charge.
    #
    # It keeps its id.  Whoever has the chain of before open, here or in another process, finds an
    # event gone that they saw, and is refused: nothing is charged under terms that are over.
    store = ledger.chain.store
    event = _first_event(store, dataset, budget, terms, ledger.id)
    with store.write() as transaction:
        if not all(one.event != "charge" and unused(one) for one in transaction.events()):
            return None
        transaction.clear()
        transaction.append(event, head=Head.following(None, event))
    return Ledger(store)


def _begin(store: Store, dataset: str, budget: Budget, terms: Mapping[str, Any] | None) -> bool:
    """Write the first event unless there is one; return whether it was written."""
    event = _first_event(store, dataset, budget, terms, secrets.token_hex(16))
    with store.write() as transaction:
        if transaction.head() is not None:
            return False
        transaction.append(event, head=Head.following(None, event))
    return True


def _first_event(
    store: Store, dataset: str, budget: Budget, terms: Mapping[str, Any] | None, ledger_id: str
) -> Event:
    if not dataset:
        raise UsageError("a ledger protects a data set: give its identity")
    if not budget.amount:
        raise UsageError("a budget must be above zero")
    canonical(terms or {}, "terms")
    body = {
        "ledger": ledger_id,
        "dataset": dataset,
        "terms": dict(terms or {}),
        "budget": budget.to_json(),
        "home": store.home(),
        **({"filter": True} if budget.kind == "approximate" else {}),
    }
    return Event.after(None, "create", None, body)


def check_ledger(
    ledger: Ledger,
    *,
    dataset: str | None = None,
    budget: Budget | None = None,
    terms: Mapping[str, Any] | None = None,
) -> Ledger:
    """Return a ledger that is open already, or refuse it as :func:`open_ledger` would."""
    store = ledger.chain.store
    if dataset is not None and dataset != ledger.dataset:
        raise LedgerError(
            f"{store.name} belongs to the data set {ledger.dataset!r}, not to {dataset!r}"
            + _same_people(ledger.dataset)
        )
    if terms is not None and canonical(terms, "terms") != canonical(ledger.terms):
        names = sorted(set(terms) | set(ledger.terms))
        changed = [name for name in names if terms.get(name) != ledger.terms.get(name)]
        old, new = ledger.terms, terms
        changes = ", ".join(
            f"{n} is {_shown_term(old.get(n))}, not {_shown_term(new.get(n))}" for n in changed
        )
        raise LedgerError(f"{store.name} has other terms: {changes}. Ask under its terms")
    if budget is not None and not nearly_equal(budget, ledger.total):
        raise LedgerError(
            f"{store.name} has the budget {ledger.total!r}, not {budget!r}: leave the budget out "
            "to keep it, or raise it with extend(...), which is recorded"
        )
    recorded = ledger.home
    if not same_home(store.home(), recorded):
        described = ", ".join(f"{name} {value!r}" for name, value in (recorded or {}).items())
        raise LedgerError(
            f"{store.name} was copied or moved: it was made at {described}. "
            "Use the original; if this is now the only one, restore it: restore_ledger(path)"
        )
    return ledger


def _same_people(dataset: str) -> str:
    """Return what to do where the people of a ledger come in another file."""
    named = _NAMED.fullmatch(dataset)
    if named is None:
        return ": each data set of other people needs a ledger of its own"
    return (
        ". If it holds the same people, in another file or read in another way, say so, and their "
        f"budget goes on: name={named[1]!r}. For other people, name another ledger"
    )


def _shown_term(term: Any) -> str:
    """Return a term in words: ``(column person, rows 5, groups 1)``."""
    if isinstance(term, Mapping):
        return f"({', '.join(f'{name} {_shown_term(value)}' for name, value in term.items())})"
    if isinstance(term, (list, tuple)):
        return f"({', '.join(map(_shown_term, term))})"
    return "none" if term is None else str(term)

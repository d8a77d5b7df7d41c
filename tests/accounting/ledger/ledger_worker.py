"""What the tests of the ledger let other processes do: ``python ledger_worker.py ACTION PATH ...``.

It prints ``ready`` and waits for a line before it begins, and prints lines of JSON as it goes.
"""

import contextlib
import json
import os
import sqlite3
import sys
import time

from tacit.accounting import create_ledger, epsilon, open_ledger
from tacit.accounting.ledger import Ledger, on_account_of
from tacit.accounting.ledger_chain import appended
from tacit.accounting.ledger_sqlite import SqliteStore, _SqliteTransaction
from tacit.errors import BudgetError, LedgerError

COST = epsilon("1/100")


def tell(value):
    print(json.dumps(value), flush=True)


def hang():
    time.sleep(60)
    raise AssertionError("nobody came to kill this process")


def race(path, times, rests=""):
    """Charge until the budget is gone; who rests closes the file before each charge."""
    granted = refused = 0
    with open_ledger(path, dataset="d", budget=epsilon(1)) as ledger:
        for k in range(int(times)):
            assert not rests or ledger.chain.store.rest()
            try:
                ledger.charge(f"{os.getpid()}/{k}", COST, {"k": k})
                granted += 1
            except BudgetError:
                refused += 1
    tell([granted, refused])


def capped(path, team, analyst, times):
    """Charge on account of a team and an analyst until the budget or a cap is gone."""
    granted = refused = 0
    with open_ledger(path) as ledger:
        view = on_account_of(ledger, f"team:{team}", f"analyst:{analyst}")
        for k in range(int(times)):
            try:
                view.charge(f"{os.getpid()}/{k}", COST, {"k": k})
                granted += 1
            except BudgetError:
                refused += 1
    tell([granted, refused])


def begin(path):
    """Create or open the same ledger together with others."""
    with open_ledger(path, dataset="d", budget=epsilon(1)) as ledger:
        tell(ledger.id)


def same(path):
    """Ask the same question as others at the same time."""
    with open_ledger(path, dataset="d", budget=epsilon(1)) as ledger:
        entry = ledger.release("same", COST, {"count": "rows"}, lambda: {"n": os.getpid()})
        tell(entry.answer["n"])


def killed_inside(path):
    """Write a charge, and be killed before the commit."""
    ledger = open_ledger(path)
    with ledger.chain.write() as (transaction, head):
        appended(transaction, head, "charge", "k", {"question": {}, "cost": COST.to_json()})
        assert transaction.head().spent == head.spent + COST
        tell("inside")
        hang()


def killed_between(path):
    """Charge, and be killed while the noise is drawn."""

    def answer():
        tell("charged")
        hang()

    open_ledger(path).release("k", COST, {}, answer)


def killed_after(path):
    """Charge, answer, and be killed without closing anything."""
    entry = open_ledger(path).release("k", COST, {}, lambda: {"n": 7})
    tell(entry.answer)
    hang()


def storm(path):
    """Charge and answer for ever."""
    with open_ledger(path) as ledger:
        tell("running")
        for k in range(10**9):
            ledger.release(f"{os.getpid()}/{k}", COST, {}, lambda: {"n": 1})


def persist(path):
    """Charge until the budget is gone, whatever happens to the server in between."""
    granted = unknown = 0
    with open_ledger(path, dataset="d") as ledger:
        tell("running")
        for k in range(10**9):
            try:
                ledger.charge(f"{os.getpid()}/{k}", COST, {"k": k})
                granted += 1
                time.sleep(0.02)  # so that the server has the time to die
            except BudgetError:
                break
            except LedgerError as error:
                unknown += "count it as spent" in str(error)
                time.sleep(0.05)
    tell([granted, unknown])


class SlowTransaction(_SqliteTransaction):
    """Give the others time between what is read and what is written."""

    def head(self):
        head = super().head()
        time.sleep(0.001)
        return head


class UnlockedStore(SqliteStore):
    """A mutant of the store that takes no lock before it reads."""

    @contextlib.contextmanager
    def write(self, wanted=None):
        yield SlowTransaction(self._connection)


def unlocked(path, times):
    """Charge with the mutant: read, check, write, each by itself."""
    granted = broken = 0
    ledger = Ledger(UnlockedStore(path, create=False))
    for k in range(int(times)):
        try:
            ledger.charge(f"{os.getpid()}/{k}", COST, {})
            granted += 1
        except (sqlite3.Error, BudgetError, LedgerError):
            broken += 1
    tell([granted, broken])


def naive(path, times):
    """Spend from a single number the wrong way: read, check in Python, write."""
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    granted = 0
    for _ in range(int(times)):
        (spent,) = connection.execute("SELECT spent FROM budget").fetchone()
        if spent + 1 <= 100:
            time.sleep(0.001)
            connection.execute("UPDATE budget SET spent = ?", (spent + 1,))
            granted += 1
    connection.close()
    tell([granted, 0])


def forked(path):
    """Use one ledger on both sides of a fork."""
    in_file = open_ledger(path, dataset="d", budget=epsilon(1))
    in_memory = open_ledger(None, dataset="d", budget=epsilon(1))
    in_file.charge("before", COST, {})
    inherited = in_file._store._connection
    child = os.fork()
    if child == 0:
        in_file.charge("child", COST, {})
        if in_file._store._connection is inherited:
            os._exit(2)
        with contextlib.suppress(LedgerError):
            in_memory.charge("child", COST, {})
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    in_file.charge("parent", COST, {})
    in_memory.charge("parent", COST, {})
    keys = [entry.key for entry in in_file.history()]
    tell([status, keys, in_file.verify_chain(), len(in_memory.history())])


def attempt(work):
    try:
        work().close()
    except LedgerError as error:
        tell(str(error))
    else:
        tell("opened")


def powerless(path):
    """Open, and create beside it, as a user who may write nothing here."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    attempt(lambda: open_ledger(path))
    attempt(lambda: create_ledger(f"{path}.new", dataset="d", budget=epsilon(1)))


if __name__ == "__main__":
    action = globals()[sys.argv[1]]
    print("ready", flush=True)
    sys.stdin.readline()
    action(*sys.argv[2:])

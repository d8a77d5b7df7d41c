"""Each transaction of a ledger looks first that the chain did not go back in time."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile

import pytest

from tacit.accounting import epsilon, open_ledger
from tacit.accounting.ledger_chain import CheckedChain, affordable
from tacit.accounting.ledger_sqlite import SqliteStore
from tacit.errors import BudgetError, LedgerError, UsageError


def test_what_was_seen_must_still_stand(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.ledger", tmp_path / "old.ledger"
    open_ledger(path, dataset="clinic", budget=epsilon(1)).close()
    copyfile(path, copy)
    with open_ledger(path) as ledger:
        ledger.charge("k", epsilon("1/4"), {"count": "rows"})
    copyfile(copy, path)
    store = SqliteStore(path, create=False)
    chain = CheckedChain(store, ledger.id)
    with pytest.raises(LedgerError, match="shows less than was already spent"):
        chain.head()
    with pytest.raises(LedgerError, match="shows less than was already spent"), chain.write():
        raise AssertionError("nothing may be written behind what was seen")
    chain.forget()
    assert chain.head().remaining == epsilon(1)
    store.close()


def test_what_is_affordable_is_what_remains_in_the_kind_of_the_budget() -> None:
    with open_ledger(None, dataset="clinic", budget=epsilon(1)) as ledger:
        ledger.charge("k", epsilon("3/4"), {"count": "rows"})
        head = ledger.chain.head()
    assert affordable(epsilon("1/4"), head) == epsilon("1/4")
    with pytest.raises(BudgetError):
        affordable(epsilon("1/2"), head)
    with pytest.raises(UsageError, match="above zero"):
        affordable(epsilon("1/4") - epsilon("1/4"), head)

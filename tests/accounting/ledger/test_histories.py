"""Random histories of a ledger, with crashes and other processes at any instruction."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from support.accounting.ledger_machine import Machine, histories
from tacit.accounting.ledger.sqlite_store import _Transaction
from tacit.errors import TacitError


def test_no_history_grants_more_than_the_budget(tmp_path):
    histories(tmp_path, range(12))


@pytest.mark.full
def test_no_longer_history_does(tmp_path):
    histories(tmp_path, range(1000, 1060))


@pytest.mark.full
def test_nor_in_postgresql(address):
    """Without another process in between the instructions, which would wait for itself."""
    for seed in range(5):
        Machine(f"{address}_{seed}", seed, preempts=False).run(8)


def unlocked(ledger):
    """A ledger whose store reads before it locks."""
    store = ledger._store

    @contextmanager
    def write():
        yield _Transaction(store._connection)

    store.write = write
    return ledger


def two_answers(ledger):
    """A ledger that gives out what it was handed, whoever recorded first."""
    real = ledger.record
    ledger.record = lambda entry, answer: replace(real(entry, answer), answer=dict(answer))
    return ledger


@pytest.mark.parametrize("mutant", [unlocked, two_answers])
def test_the_machine_finds_a_ledger_that_is_wrong(tmp_path, mutant):
    with pytest.raises((AssertionError, TacitError)) as found:
        histories(tmp_path, range(150), mutate=mutant)
    assert found.value.__notes__

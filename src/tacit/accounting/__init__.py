"""Budgets, and the ledger that keeps them."""

from tacit.accounting.budgets.budget import Budget, Kind, epsilon, epsilon_delta, rho
from tacit.accounting.budgets.fitting import fit
from tacit.accounting.budgets.odometer import Odometer
from tacit.accounting.ledger.hash_chain import key_of
from tacit.accounting.ledger.ledger import Entry, Ledger
from tacit.accounting.open_ledger import (
    adopt_ledger,
    create_ledger,
    open_ledger,
    restore_ledger,
)

__all__ = [
    "Budget",
    "Entry",
    "Kind",
    "Ledger",
    "Odometer",
    "adopt_ledger",
    "create_ledger",
    "epsilon",
    "epsilon_delta",
    "fit",
    "key_of",
    "open_ledger",
    "restore_ledger",
    "rho",
]

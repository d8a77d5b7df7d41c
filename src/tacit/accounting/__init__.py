"""Budgets, and the ledger that keeps them."""

from tacit.accounting.budget import Budget, Kind, epsilon, epsilon_delta, fit, rho
from tacit.accounting.ledger import Entry, Ledger
from tacit.accounting.ledger_chain import key_of
from tacit.accounting.odometer import Odometer
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

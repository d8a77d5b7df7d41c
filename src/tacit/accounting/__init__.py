"""Budgets, and the ledger that keeps them."""

from tacit.accounting.budget import Budget, epsilon, epsilon_delta, rho
from tacit.accounting.ledger import Ledger
from tacit.accounting.ledger_chain import Entry
from tacit.accounting.open_ledger import (
    adopt_ledger,
    create_ledger,
    open_ledger,
    restore_ledger,
)

__all__ = [
    "Budget",
    "Entry",
    "Ledger",
    "adopt_ledger",
    "create_ledger",
    "epsilon",
    "epsilon_delta",
    "open_ledger",
    "restore_ledger",
    "rho",
]

"""Budgets, and the ledger that keeps them."""

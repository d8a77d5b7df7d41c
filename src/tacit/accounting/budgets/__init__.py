"""Budgets and the odometer."""

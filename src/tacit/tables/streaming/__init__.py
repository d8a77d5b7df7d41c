"""Counts over time."""

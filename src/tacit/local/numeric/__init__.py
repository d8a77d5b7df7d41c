"""Means and distributions of numbers: one mechanism a file."""

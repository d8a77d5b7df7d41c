"""Frequencies of items: one mechanism a file."""

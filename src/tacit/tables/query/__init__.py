"""Exact integers from the engine, as SQL text."""

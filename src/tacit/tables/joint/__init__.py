"""Counts of cells of several declared columns, answered together: strategy, chain, estimates."""

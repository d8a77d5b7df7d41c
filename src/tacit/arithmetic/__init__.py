"""Exact and certified numbers: fractions, enclosures, special functions, roots."""

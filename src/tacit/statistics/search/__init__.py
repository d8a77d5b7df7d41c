"""Exact search over a finite domain, for any function."""

"""Declarations of data sets: what is public of a table, said once."""

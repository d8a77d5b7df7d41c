"""Ten tasks of a newcomer, typed in three libraries."""

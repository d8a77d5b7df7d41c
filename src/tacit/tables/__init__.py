"""Statistics of a real table, computed where the table is."""

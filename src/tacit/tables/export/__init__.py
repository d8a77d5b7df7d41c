"""A released answer as a table of other tools: in columns, and as a file."""

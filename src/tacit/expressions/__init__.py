"""Names, kinds, expressions, the public grid and periods, as SQL text."""

"""Data sets that are hosted: their open tables, their ledgers, and how they are asked."""

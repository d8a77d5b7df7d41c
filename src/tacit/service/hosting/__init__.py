"""Hosted data sets: their open tables, their ledgers, and questions to them."""

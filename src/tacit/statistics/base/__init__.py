"""Domains, questions, the base class of a statistic, and what an answer carries."""

"""Measures of privacy loss, and what one of them says in another."""

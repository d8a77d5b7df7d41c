"""A claim held against its definition."""

"""Mechanisms made of others: attributes, sets, ranges, keys with values, heavy hitters."""

"""Bit tricks and hash families, apart from the mechanisms that use them."""

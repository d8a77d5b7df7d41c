"""Variance and standard deviation."""

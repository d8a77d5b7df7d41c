"""Quantiles, minimum, maximum and the interquartile range."""

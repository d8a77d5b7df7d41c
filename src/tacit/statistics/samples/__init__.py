"""Samples with exact values, and exact sums over them."""

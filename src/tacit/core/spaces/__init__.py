"""Domains and metrics: which values there are, and how far apart two of them stand."""

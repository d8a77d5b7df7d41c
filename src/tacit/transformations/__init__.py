"""Deterministic steps and the stability maps that bound how far they move neighbours apart."""

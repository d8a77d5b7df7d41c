"""Differential privacy as a relation of distances."""

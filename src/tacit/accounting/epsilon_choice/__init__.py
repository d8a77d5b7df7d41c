"""Epsilon from a disclosure risk."""

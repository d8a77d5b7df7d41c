"""Noise scaled to the smooth sensitivity."""

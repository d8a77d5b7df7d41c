"""Noise on aggregates: measurements and the privacy maps that they are held to."""

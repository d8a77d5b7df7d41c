"""``tacit local``."""

"""Means and trimmed means."""

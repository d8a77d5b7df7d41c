"""Divergences between two explicit output distributions."""

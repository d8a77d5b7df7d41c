"""Flags, values and output that several commands share."""

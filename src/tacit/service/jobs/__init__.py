"""Releases as jobs: queued, approved, run, and shown at the ticks of a public clock."""

"""Releases as jobs: asked, approved, worked on, and shown at the ticks of a public clock."""

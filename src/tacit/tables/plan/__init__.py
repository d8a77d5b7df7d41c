"""Plan of a release: its statistics, their noise, and their cost."""

"""Replays: one run is recorded, and its noise is frozen while the mechanism runs on a neighbour."""

"""Noise is drawn, the answer is recorded and returned."""

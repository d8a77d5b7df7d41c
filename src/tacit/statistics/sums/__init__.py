"""Counts, histograms and sums."""

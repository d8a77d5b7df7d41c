"""Sums of many distinct losses, by an integral in the complex plane."""

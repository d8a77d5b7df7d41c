"""Noise that is added: Laplace, geometric, Gaussian, staircase, truncated, continual."""

"""What several mechanisms use: output distributions, noise on a grid, group privacy."""

"""Ways to release a statistic, side by side."""

"""The algebra: domains, metrics, measures, transformations, measurements, and how they chain."""

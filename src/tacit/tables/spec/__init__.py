"""What is asked: aggregates, the unit of privacy, keys, the method."""

"""``tacit audit``: attacks on software for differential privacy."""

"""Known attacks on software for differential privacy, as programs with a verdict."""

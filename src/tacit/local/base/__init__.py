"""What every local mechanism shares: parameters, items, estimates, the base class."""

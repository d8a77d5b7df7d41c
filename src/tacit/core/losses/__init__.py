"""Privacy-loss distributions: exact atoms, and enclosures on a lattice."""

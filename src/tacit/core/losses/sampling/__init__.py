"""Privacy losses of releases from a secret sample of the records."""

"""Whether a certificate holds, computed again without the data."""

"""A certificate as a page of HTML."""

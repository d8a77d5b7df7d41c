"""Commands of the service: serve it, check it, and create tokens."""

"""What the service remembers: one database, in a file or on a server."""

"""The pages of a service: what the API says, for people."""

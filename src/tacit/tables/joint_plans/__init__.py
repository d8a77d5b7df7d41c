"""Several questions of a session, answered together under one charge."""

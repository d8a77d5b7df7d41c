"""Certificates: what was released, under which proof, for a person and for a machine."""

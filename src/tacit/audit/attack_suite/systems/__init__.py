"""Adapters: each system in the words of the attacks."""

"""Propose-test-release, and the search for a bound to propose."""

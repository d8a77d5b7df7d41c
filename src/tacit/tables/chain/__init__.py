"""The steps of a release, its noise, and the parts that answer it."""

"""A choice of one value among candidates, or of the keys to publish."""

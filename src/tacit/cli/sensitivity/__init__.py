"""``tacit sensitivity`` and ``tacit choose-epsilon``."""

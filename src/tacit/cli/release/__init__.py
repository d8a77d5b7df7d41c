"""``tacit release``, ``preview``, ``ledger``, ``verify`` and ``demo``."""

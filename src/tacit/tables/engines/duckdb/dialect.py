"""How DuckDB spells the integer plan: what :class:`Dialect` says unless told otherwise."""

from tacit.expressions.dialect import Dialect

__all__ = ["DUCKDB"]

DUCKDB = Dialect("duckdb", keeps=True, rounds_twice=True, far_times=("TIMESTAMP_S", "TIMESTAMP_MS"))

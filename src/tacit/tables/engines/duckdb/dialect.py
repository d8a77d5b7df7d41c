"""How DuckDB writes the integer plan: the defaults of :class:`Dialect`."""

from tacit.expressions.dialect import Dialect

__all__ = ["DUCKDB"]

DUCKDB = Dialect("duckdb", keeps=True, rounds_twice=True, far_times=("TIMESTAMP_S", "TIMESTAMP_MS"))

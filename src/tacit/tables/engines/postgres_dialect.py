"""How PostgreSQL spells the integer plan."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.errors import UsageError
from tacit.tables.dialect import Dialect

__all__ = ["POSTGRES"]


@dataclass(frozen=True)
class _Postgres(Dialect):
    def cast(self, sql: str, kind: str) -> str:
        """Return a cast; text is compared by its characters, whatever its collation says."""
        plain = super().cast(sql, kind)
        return f'({plain} collate "C")' if kind == "text" else plain

    def literal(self, value: object) -> str:
        """Write a public value; there is no NUL in PostgreSQL's text."""
        if isinstance(value, str) and "\0" in value:
            raise UsageError("no text in PostgreSQL holds the character NUL: leave such a key out")
        return super().literal(value)


POSTGRES = _Postgres(
    "postgresql",
    small="bigint",
    wide="numeric",
    double="double precision",
    text="text",
    floor_divide="({x} / {y})",
    wide_divide="div({x}, {y})",
    zero_or_one="cast(cast({x} as integer) as bigint)",
    same="(coalesce({x}, {filler}) = coalesce({y}, {filler}) and ({x} is null) = ({y} is null))",
    # else every process of a parallel query makes it for itself
    once="materialized",
    # without the offset the planner writes the value out again wherever its name stands
    let="(select {body} from (select {x} as tacit_v offset 0) as tacit_l)",
    seconds="(case when isfinite({x}) then floor(extract(epoch from {x})) end)",
    days="(case when isfinite({x}) then {x} - date '1970-01-01' end)",
    part=None,
)
"""PostgreSQL 12 and newer."""

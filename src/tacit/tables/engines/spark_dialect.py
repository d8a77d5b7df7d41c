"""How Spark spells the integer plan, whatever the settings of the user's session are.

Text is written as bytes, for what a backslash, a quote or ``${...}`` means within quotes is a
setting.  Sums of 64-bit numbers are made of three sums of 21 bits each: those of ``bigint`` wrap
around or raise, by a setting, and those of ``decimal`` cost several times as much.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.tables.dialect import Dialect, is_unicode

__all__ = ["SPARK"]


@dataclass(frozen=True)
class _Spark(Dialect):
    def literal(self, value: object) -> str:
        """Write a public value; text as the bytes that it is."""
        if isinstance(value, str) and is_unicode(value):
            return f"cast(X'{value.encode().hex()}' as string)"
        return super().literal(value)


SPARK = _Spark(
    "spark",
    quote="`",
    small="bigint",
    wide="decimal(38,0)",
    text="string",
    floor_divide="({x} div {y})",
    wide_divide="({x} div {y})",
    shift_right="shiftright({x}, {n})",
    starts_with="startswith({x}, {y})",
    total="(cast(sum(shiftright({x}, 42)) as decimal(38,0)) * 4398046511104"
    " + cast(sum(shiftright({x}, 21) & 2097151) as decimal(38,0)) * 2097152"
    " + sum(({x}) & 2097151))",
    wide_total="sum(cast({x} as decimal(38,0)))",
    same="{x} <=> {y}",
    fraction="pmod({x}, cast(1 as decimal(1,0)))",
    inline="",
    let="element_at(transform(array({x}), tacit_v -> {body}), 1)",
    seconds="(cast(unix_date(cast({x} as date)) as bigint) * 86400"
    " + hour({x}) * 3600 + minute({x}) * 60 + second({x}))",
    days="cast(unix_date({x}) as bigint)",
    part=None,
)
"""Spark 4.0 and newer."""

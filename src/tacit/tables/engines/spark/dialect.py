"""How Spark (4.0 and newer) spells the integer plan, whatever the session's settings are.

Text is written as bytes, for what a backslash, a quote or ``${...}`` means within quotes is a
setting.  Sums of 64-bit numbers are made of sums of 21 bits each: those of ``bigint`` wrap around
or raise, by a setting, and those of ``decimal`` cost several times as much.
"""

from tacit.expressions.dialect import Dialect

__all__ = ["SPARK"]

SPARK = Dialect(
    "spark",
    quote="`",
    small="bigint",
    wide="decimal(38,0)",
    text="string",
    timestamp="timestamp_ntz",
    as_is="{x}",  # what is read has that collation already
    unicode="try_validate_utf8({x})",
    bytes="octet_length({x})",
    hexadecimal="cast(X'{x}' as string)",
    floor_divide="({x} div {y})",
    wide_divide="({x} div {y})",
    shift_right="shiftright({x}, {n})",
    starts_with="startswith({x}, {y})",
    ends_with="endswith({x}, {y})",
    like_any="(?>.*?{s})",
    total="(cast(sum(shiftright({x}, 42)) as decimal(38,0)) * 4398046511104"
    " + cast(sum(shiftright({x}, 21) & 2097151) as decimal(38,0)) * 2097152"
    " + sum(({x}) & 2097151))",
    wide_total="sum(cast({x} as decimal(38,0)))",
    short_total="sum({x})",
    near_total="(least(greatest(coalesce(sum(shiftright({x}, 21)) + shiftright(sum(({x}) & 2097151)"
    ", 21), 0), -2199023255552), 2199023255551) * 2097152 + coalesce(sum(({x}) & 2097151) & 2097151"
    ", 0))",
    same="{x} <=> {y}",
    let="element_at(transform(array({x}), tacit_v -> {body}), 1)",
    seconds="(cast(unix_date(cast({x} as date)) as bigint) * 86400"
    " + hour({x}) * 3600 + minute({x}) * 60 + second({x}))",
    days="cast(unix_date({x}) as bigint)",
    date_of="date_from_unix_date(cast({x} as int))",
    matches="rlike({x}, {p})",
    whole="^(?:{p})\\z",
    part=None,
    byte=None,
    one_scan=True,
)

"""How PostgreSQL (12 and newer) spells the integer plan."""

from tacit.expressions.dialect import Dialect

__all__ = ["POSTGRES"]

POSTGRES = Dialect(
    "PostgreSQL",
    small="bigint",
    wide="numeric",
    double="double precision",
    text="text",
    as_is='({x} collate "C")',
    bytes="octet_length({x})",
    nul=False,
    ends_with="(right({x}, {n}) = {y})",
    contains="(strpos({x}, {y}) > 0)",
    like_any="",
    floor_divide="({x} / {y})",
    wide_divide="div({x}, {y})",
    # sums of 32 bits are held in 64; a sum of 64 bits takes a piece of memory for every group
    short_total="sum(cast({x} as integer))",
    near_total="(least(greatest(coalesce(sum(cast(({x}) >> 21 as integer)) +"
    " (sum(cast(({x}) & 2097151 as integer)) >> 21), 0), -2199023255552), 2199023255551) * 2097152"
    " + coalesce(sum(cast(({x}) & 2097151 as integer)) & 2097151, 0))",
    zero_or_one="cast(cast({x} as integer) as bigint)",
    same="(coalesce({x}, {filler}) = coalesce({y}, {filler}) and ({x} is null) = ({y} is null))",
    apart=False,
    once="materialized",  # else every process of a parallel query makes it for itself
    # without an offset the planner writes a value out again wherever its name stands; behind this
    # one it makes no partial sums either, in which every process would hold all people or cells
    fence="{sql} offset 0",
    let="(select {body} from (select {x} as tacit_v offset 0) as tacit_l)",
    ordered="(select u from {rows} order by u) as base",
    # the planner takes what it knows nothing of for 200 values, and hashes all rows if people are
    # as many: so they are declared to be fewer, and the rows that meet them to be many
    few="select v, cast(min(lost) as integer) as lost from ({sql}) as h group by v"
    " having min(lost) > 0",
    meets="least({x}) = {y}",
    seconds="(case when isfinite({x}) then floor(extract(epoch from {x})) end)",
    days="(case when isfinite({x}) then {x} - date '1970-01-01' end)",
    # a text of 270 MB is no place to look for a pattern in: its first characters suffice
    matches="textregexeq(left({x}, 101), {p})",
    whole="^(?:{p})$",
    part=None,
    byte=None,
    longest=63,
)

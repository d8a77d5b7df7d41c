"""The unit of privacy, and how the weight of one person is bounded."""

# A row counts with a *weight*, a whole multiple of ``1 / one``.  Let a person have rows i with
# masses ``m_i >= 0`` (integers), of total ``m``, and let ``limit`` be the most mass allowed.
# Each of the rows gets the weight
#
#     ``w = one``                         if ``m <= limit``,
#     ``w = floor(one * limit / m)``      otherwise.
#
# *Theorem.*  The weighted mass of a person, over all rows and so over any division of them into
# groups and bins, is at most ``one * limit``; and no one else's weights depend on that person.
# *Proof.*  ``w m <= one m <= one limit`` in the first case and ``w m <= one limit`` in the second.
# The weight is a function of the person's own rows and public numbers.
#
# With mass 1 a row and the limit k rows: a person adds at most ``k * one`` to the weighted row
# counts of all groups and bins together, in L1, hence also in L2 and L-infinity (all three are
# attained by a person with k rows in one cell).  A vector that divides each row's weight between
# coordinates (one-sided sums, Bernstein sums) has the same bound times the most that one row
# divides.  With mass ``|q|`` and the limit ``k max|q|``: the sums of q over all groups move by at
# most ``one * k * max|q|`` in L1. Without groups a person has one total, and it is clamped to
# ``+-k max|q|`` as it is: the same bound.
#
# Against keeping k rows drawn at random, the weights are what that draw gives on average: the same
# bound, no variance of the draw, no salt, and the same bits on every engine.  The rounding down of
# w costs a person at most ``m / (one * limit)`` of their weight.
#
# What a weight cannot bound is presence: how many *people* a group has.  There a person counts in
# at most ``groups`` groups, drawn by a digest under a fresh secret salt among those that they are
# in.

#
# *A person named by several columns* is one SQL value all the same, a text from which the value of
# each column can be read back.  *Theorem.*  Two rows have one such text if and only if they have
# equal values in every column.  *Proof.*  A part of a number, a date or a truth value is its text,
# which has no ``|``, and a ``|``: it ends at the first ``|``.  A part of a text is the number of
# its bytes, ``:``, and its bytes: it ends after that many.  So the parts are read back in turn,
# whatever characters they have, and a part is equal if and only if its value is.  Where a part is
# missing the text is missing, and the row is of no one, as it is with one column.

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, TypeAlias

from tacit.arithmetic.exact import as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect, spelled
from tacit.expressions.schema import Column, Schema

# The private door of the draw of groups: tests put a salt of their own here.
new_salt = partial(secrets.token_hex, 16)
_PERSON_KINDS = (
    *("integer", "text", "float", "decimal", "date", "boolean", "undeclared", "missing"),
)
MAX_PARTS = 8  # columns that name a person together
# The text of a time of a type whose far values DuckDB cannot cast: its cast ends the whole engine.
# Not the clamped time, nor missing where a cast fails: people would merge, or be left out.
_FAR_TIME = "(case when {x} is not null then hex(create_sort_key({x}, 'ASC NULLS LAST')) end)"

# The column that names a person, or several that do so together.
Person: TypeAlias = str | tuple[str, ...]


def person_columns(person: Person | None) -> tuple[str, ...]:
    """Return the columns that name a person; none where each row is another one.

    >>> person_columns("id"), person_columns(("household", "number")), person_columns(None)
    (('id',), ('household', 'number'), ())
    """
    return () if person is None else (person,) if isinstance(person, str) else person


def person_from(named: object) -> Person:
    """Return the columns of a person as they are specified: one of them is that column itself.

    >>> person_from(["household", "number"]), person_from(["id"])
    (('household', 'number'), 'id')
    """
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, (list, tuple)) or not names or not all(map(_is_name, names)):
        raise UsageError(
            "the person column is named by text that is not empty, such as 'person_id'; several "
            "columns by a list of them, such as ['household', 'number']"
        )
    if len(set(names)) < len(names):
        raise UsageError("the person columns have one name twice: name each of them once")
    if len(names) > MAX_PARTS:
        raise UsageError(f"a person is named by at most {MAX_PARTS} columns, not by {len(names)}")
    return names[0] if len(names) == 1 else tuple(names)


def person_or_none(described: object) -> Person | None:
    """Return the columns of a person as :func:`person_json` described them."""
    return None if described is None else person_from(described)


def person_json(person: Person | None) -> str | list[str] | None:
    """Return the columns of a person as plain JSON values."""
    return list(person) if isinstance(person, tuple) else person


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name)


@public
@dataclass(frozen=True)
class OneRowEach:
    """Each row is a different person.

    >>> print(one_row_each)
    one row each
    """

    column = None
    columns = ()
    rows = 1
    groups = 1
    one = 1

    def __call__(self) -> NoReturn:
        """Raise: it is a value, not a function.

        Raises:
            UsageError: always.
        """
        raise UsageError("one_row_each is not a function: write unit=tc.one_row_each")

    def person(self, schema: Schema, dialect: Dialect) -> str | None:
        """Return no SQL: there is no person column."""
        return None

    def spelled(self, schema: Schema, dialect: Dialect) -> str:
        """Return the name of a person, which is never asked for."""
        return "u"

    def describe(self) -> dict[str, object]:
        """Return the unit as plain JSON values."""
        return {"column": None, "rows": 1, "groups": 1}

    def __str__(self) -> str:
        return "one row each"


@public
@dataclass(frozen=True)
class PersonUnit:
    """A person is all rows with the same value in ``column``; rows without one are left out.

    Args:
        column: the person column; or several, which name a person together.
        rows: the most rows' weight that a person has in a question.
        most_groups: the most groups that a person counts in as present; default: ``rows``.

    >>> unit = PersonUnit("person_id", rows=5, most_groups=3)
    >>> unit.groups, unit.one
    (3, 1048576)
    """

    column: Person
    rows: int
    most_groups: int | None = None

    one = 1 << 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", person_from(self.column))
        object.__setattr__(self, "rows", as_integer(self.rows, "rows", minimum=1))
        if self.most_groups is not None:
            groups = as_integer(self.most_groups, "groups", minimum=1)
            object.__setattr__(self, "most_groups", groups)
            if groups > 1 << 40:
                raise UsageError("groups must be at most 2^40 a person")
        if self.rows > 1 << 40:
            raise UsageError("rows must be at most 2^40 a person")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that name a person, one or several."""
        return person_columns(self.column)

    @property
    def groups(self) -> int:
        """The most groups that a person counts in as present."""
        return self.rows if self.most_groups is None else self.most_groups

    def describe(self) -> dict[str, object]:
        """Return the unit as plain JSON values."""
        return {"column": person_json(self.column), "rows": self.rows, "groups": self.groups}

    def __str__(self) -> str:
        rows = "one row" if self.rows == 1 else f"{self.rows} rows"
        groups = "one group" if self.groups == 1 else f"{self.groups} groups"
        return f"{' and '.join(self.columns)}, at most {rows} in {groups}"

    def person(self, schema: Schema, dialect: Dialect) -> str | None:
        """Return the SQL of the person of a row, or refuse a column that holds no persons.

        Two rows are of one person if and only if their values are identical: texts by their
        characters, numbers by what they are.  A text of more than 65,536 bytes names no one.
        """
        parts = [(schema.column(name), part_sql(schema, name, dialect)) for name in self.columns]
        if len(parts) == 1:
            return parts[0][1]
        return whole_sql([part_text(*part, dialect) for part in parts], dialect)

    def spelled(self, schema: Schema, dialect: Dialect) -> str:
        """Return the SQL of the person ``u`` as it enters a digest, the same on every engine."""
        if len(self.columns) > 1:
            return "u"
        return _spelled_part("u", schema.column(self.columns[0]), dialect)

    def numeric(self, schema: Schema) -> bool:
        """Return whether people are distinguished by numbers, rather than by text."""
        kinds = [schema.column(name).kind for name in self.columns]
        return len(kinds) == 1 and kinds[0] not in ("text", "undeclared")


def part_sql(schema: Schema, name: str, dialect: Dialect) -> str:
    """Return the SQL of what one column says of who a person is."""
    column = schema.column(name)
    if column.problem:
        raise UsageError(f"the person column {name!r} {column.problem}")
    if column.kind not in _PERSON_KINDS:
        raise UsageError(
            f"the person column {name!r} has the type {column.declared}, which "
            "identifies nobody; name a column of numbers, text, dates or truth values"
        )
    value = column.itself(dialect.column(name))
    if is_text(column):
        return dialect.name_of(dialect.cast(value, "text"))  # whatever the collation
    if column.kind != "float":
        return value
    # one zero, and no NaN: the same people in a grouping and in a join
    return f"({dialect.not_nan(dialect.cast(value, 'double'))} + {dialect.literal(0.0)})"


def is_text(column: Column) -> bool:
    """Return whether people are distinguished by the characters of a column."""
    return column.kind in ("text", "undeclared") and column.declared.upper() != "UUID"


def part_text(column: Column, part: str, dialect: Dialect) -> str:
    """Return the SQL of a part as text from which it can be read back: see above."""
    if is_text(column):
        return dialect.share(part, lambda x: f"({_size(x, dialect)} || ':' || {x})")
    if column.kind == "float":  # its text names it in many places
        shown = dialect.let.format(x=part, body=spelled("tacit_v", dialect))
    else:
        shown = dialect.cast(_spelled_part(part, column, dialect), "text")
    return f"({shown} || '|')"


def _size(text: str, dialect: Dialect) -> str:
    return dialect.cast(dialect.bytes.format(x=text), "text")


def whole_sql(parts: Sequence[str], dialect: Dialect) -> str:
    """Return the SQL of the person of several parts; missing where one of them is."""
    return dialect.as_is.format(x=f"({' || '.join(parts)})")


def _spelled_part(part: str, column: Column, dialect: Dialect) -> str:
    if column.written:
        return column.written.format(x=part)
    if column.declared.upper() in dialect.far_times:
        return _FAR_TIME.format(x=part)
    return spelled(part, dialect) if column.kind == "float" else part


one_row_each = OneRowEach()
"""Every row is another person."""


@public
def unit(
    column: str | Sequence[str],
    rows: int | None = None,
    groups: int | None = None,
) -> PersonUnit:
    """Define the unit of privacy: the column of the person, and how much each may contribute.

    Args:
        column: the person's identifier; rows where it is missing are left out.  Several columns
            that name a person together, such as ``["household", "number"]``, are compared value by
            value, and a row without one of them is left out.
        rows: the contribution bound: at most this many rows of one person count in an answer, and
            the rows of a person with more are down-weighted; noise grows with it.  Required: 1
            where each person has one row.
        groups: a person counts as present in at most this many groups; ``rows`` by default.  The
            noise of counts of people grows with it, so name the most groups that people are in.

    Raises:
        UsageError: no name, no ``rows``, or limits below one.

    Example:
        >>> print(unit("person_id", rows=5, groups=3))
        person_id, at most 5 rows in 3 groups
        >>> print(unit(["household", "number"], rows=1))
        household and number, at most one row in one group
    """
    person = person_from(column)
    if rows is None:
        raise UsageError(
            f"say how many rows per {' and '.join(person_columns(person))} count at most: "
            f"tc.unit({person_json(person)!r}, rows=5), or rows=1 if each person has one row. "
            "More rows mean more noise; the rows of people who have more are down-weighted"
        )
    return PersonUnit(person, rows, groups)


def few_groups(
    base: str,
    names: list[str],
    groups: int,
    dialect: Dialect,
    person: str = "u",
    written: list[str] | None = None,
) -> str:
    """Return the SQL of distinct people and groups, at most ``groups`` of them a person."""
    # A person's groups are put in the order of a digest of a fresh secret salt, the person and the
    # group, and the first are kept: the choice reads the person's own rows alone, so the bound
    # holds for every salt, and one salt keeps the same groups on every engine.  The rows are read
    # once. Where the engine keeps the pairs, only people with more groups than that are put in
    # order, which is what costs.
    #
    # base: SQL of a query with the person in the column ``u`` and the columns ``names``.
    shown = ", ".join(names)
    draw = salted_digest([person, *(names if written is None else written)], dialect)
    placed = f"row_number() over (partition by u order by {draw}) as place"
    pairs = f"select distinct u, {shown} from ({base}) as r"
    if dialect.one_scan:
        ordered = f"select u, {shown}, {placed} from ({pairs}) as pairs"
        return f"select u, {shown} from ({ordered}) as placed where place <= {groups}"
    return (
        f"with pairs as materialized ({pairs}), "
        f"crowded as (select u as v from pairs group by u having count(*) > {groups}), "
        f"marked as (select u, {shown}, v from pairs left join crowded on u = v), "
        f"placed as (select u, {shown}, {placed} from marked where v is not null) "
        f"select u, {shown} from marked where v is null "
        f"union all select u, {shown} from placed where place <= {groups}"
    )


MAX_BITS = 62  # groups of which a person's are a set of bits


def people_of_few(base: str, size: int, groups: int, dialect: Dialect, person: str) -> str:
    """Return the SQL of lines ``code, 1, people`` of at most :data:`MAX_BITS` groups."""
    # The groups of a person are the bits of one integer, so that a person takes one place of few
    # bytes, whatever the number of their groups.  Those of people with more than ``groups`` are put
    # in the order of the same digest as in :func:`few_groups`, and the first are kept: the same
    # pairs, of which no table is made.
    people = f"select u, {(dialect.set_of or '').format(x='code')} as own from ({base}) as r"
    codes = ", ".join(map(str, range(size)))
    kept = "own"
    if groups < size:
        draw = salted_digest([person, "tacit_code"], dialect)
        drawn = (
            f"[{{'draw': {draw}, 'code': tacit_code}} for tacit_code in [{codes}] "
            "if (own >> tacit_code) & 1 = 1]"
        )
        first = f"list_sort({drawn})[1:{groups}]"
        bits = f"list_aggregate([cast(1 as bigint) << kept.code for kept in {first}], 'bit_or')"
        kept = f"case when bit_count(own) > {groups} then {bits} else own end"
    sums = ", ".join(f"coalesce(sum((own >> {i}) & 1), 0)" for i in range(size))
    kept = f"select {kept} as own from ({people} group by u) as people"
    return f"select unnest([{codes}]) as code, 1, unnest([{sums}]) from ({kept}) as kept"


def salted_digest(names: list[str], dialect: Dialect) -> str:
    """Return the SQL of a digest of a fresh secret salt and the columns, 32 hexadecimal digits."""
    # Within one query of the engine it is one function of the columns, the same on every engine;
    # the next call has another salt.
    tagged = [f"coalesce('v' || {dialect.cast(name, 'text')}, 'n')" for name in names]
    return "md5(" + " || '/' || ".join([f"'{new_salt()}'", *tagged]) + ")"

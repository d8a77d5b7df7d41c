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

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from tacit.arithmetic.exact import as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect, spelled
from tacit.expressions.schema import Schema

# The private door of the draw of groups: tests put a salt of their own here.
new_salt = partial(secrets.token_hex, 16)
_PERSON_KINDS = (
    *("integer", "text", "float", "decimal", "date", "boolean", "undeclared", "missing"),
)


@public
@dataclass(frozen=True)
class OneRowEach:
    """Each row is a different person.

    >>> print(one_row_each)
    one row each
    """

    column = None
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
        column: the person column.
        rows: the most rows' weight that a person has in a question.
        most_groups: the most groups that a person counts in as present; default: ``rows``.

    >>> unit = PersonUnit("person_id", rows=5, most_groups=3)
    >>> unit.groups, unit.one
    (3, 1048576)
    """

    column: str
    rows: int
    most_groups: int | None = None

    one = 1 << 20

    def __post_init__(self) -> None:
        _check_column(self.column)
        object.__setattr__(self, "rows", as_integer(self.rows, "rows", minimum=1))
        if self.most_groups is not None:
            groups = as_integer(self.most_groups, "groups", minimum=1)
            object.__setattr__(self, "most_groups", groups)
            if groups > 1 << 40:
                raise UsageError("groups must be at most 2^40 a person")
        if self.rows > 1 << 40:
            raise UsageError("rows must be at most 2^40 a person")

    @property
    def groups(self) -> int:
        """The most groups that a person counts in as present."""
        return self.rows if self.most_groups is None else self.most_groups

    def describe(self) -> dict[str, object]:
        """Return the unit as plain JSON values."""
        return {"column": self.column, "rows": self.rows, "groups": self.groups}

    def __str__(self) -> str:
        rows = "one row" if self.rows == 1 else f"{self.rows} rows"
        groups = "one group" if self.groups == 1 else f"{self.groups} groups"
        return f"{self.column}, at most {rows} in {groups}"

    def person(self, schema: Schema, dialect: Dialect) -> str | None:
        """Return the SQL of the person of a row, or refuse a column that holds no persons.

        Two rows are of one person if and only if their values are identical: texts by their
        characters, numbers by what they are.  A text of more than 65,536 bytes names no one.
        """
        column = schema.column(self.column)
        if column.problem:
            raise UsageError(f"the person column {self.column!r} {column.problem}")
        if column.kind not in _PERSON_KINDS:
            raise UsageError(
                f"the person column {self.column!r} has the type {column.declared}, which "
                "identifies nobody; name a column of numbers, text, dates or truth values"
            )
        name = column.itself(dialect.column(self.column))
        if column.kind in ("text", "undeclared") and column.declared.upper() != "UUID":
            text = dialect.cast(name, "text")  # by its characters, whatever the collation
            return dialect.name_of(text)
        if column.kind != "float":
            return name
        # one zero, and no NaN: the same people in a grouping and in a join
        return f"({dialect.not_nan(dialect.cast(name, 'double'))} + {dialect.literal(0.0)})"

    def spelled(self, schema: Schema, dialect: Dialect) -> str:
        """Return the SQL of the person ``u`` as it enters a digest, the same on every engine."""
        column = schema.column(self.column)
        if column.written:
            return column.written.format(x="u")
        return spelled("u", dialect) if column.kind == "float" else "u"


one_row_each = OneRowEach()
"""Every row is another person."""


@public
def unit(column: str, rows: int | None = None, groups: int | None = None) -> PersonUnit:
    """Define the unit of privacy: the column of the person, and how much each may contribute.

    Args:
        column: the person's identifier; rows where it is missing are left out.
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
    """
    _check_column(column)
    if rows is None:
        raise UsageError(
            f"say how many rows per {column} count at most: tc.unit({column!r}, rows=5), or rows=1 "
            "if each person has one row. More rows mean more noise; the rows of people who have "
            "more are down-weighted"
        )
    return PersonUnit(column, rows, groups)


def _check_column(column: object) -> None:
    if not isinstance(column, str) or not column:
        raise UsageError(
            "the person column is named by text that is not empty, such as 'person_id'"
        )


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


def salted_digest(names: list[str], dialect: Dialect) -> str:
    """Return the SQL of a digest of a fresh secret salt and the columns, 32 hexadecimal digits."""
    # Within one query of the engine it is one function of the columns, the same on every engine;
    # the next call has another salt.
    tagged = [f"coalesce('v' || {dialect.cast(name, 'text')}, 'n')" for name in names]
    return "md5(" + " || '/' || ".join([f"'{new_salt()}'", *tagged]) + ")"

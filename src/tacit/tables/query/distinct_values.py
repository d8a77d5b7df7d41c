"""How many different values a column has in each group, with a bound on what a person adds.

A person is *in* a pair of a group and a value where a row of theirs has that value in that group.
Of the pairs that a person is in at most ``rows`` are kept, the first in the order of a digest of a
fresh secret salt, the person and the pair.  What is counted in a group are the values of the pairs
that anybody has kept.

*Theorem.*  For every salt, a person who comes or goes changes the counts of all groups together by
at most ``rows``, and moves nobody else's pairs.  *Proof.*  Which pairs are kept of a person is a
function of the salt and the person's own rows.  So with one person more the set of kept pairs is a
union with a set of at most ``rows`` pairs, and each pair that is new adds one to the count of one
group.  It is attained by someone whose values nobody else has.

Two values are one if and only if their kind says so: texts by their characters, numbers by what
they are (a decimal is the double nearest to it, and there is one zero), dates by their day.
Missing values, NaN and texts of more than 65,536 bytes are no values.
"""

from __future__ import annotations

from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.expression import Expression
from tacit.expressions.float_digest import spelled
from tacit.expressions.schema import Schema
from tacit.expressions.undeclared_columns import as_keys
from tacit.tables.query.keys_sql import key_part_sql
from tacit.tables.spec.privacy_unit import few_groups

__all__ = ["distinct_sql", "identity_sql"]

_BY_THEMSELVES = ("text", "integer", "boolean", "date", "missing")


def identity_sql(value: Expression, schema: Schema, dialect: Dialect) -> tuple[str, str]:
    """Return the SQL of what distinguishes a row's value, and of it, ``z0``, in a digest.

    Raises:
        UsageError: a column whose values cannot be distinguished on every engine alike.

    >>> from tacit.expressions.expression import col
    >>> from tacit.expressions.schema import Column
    >>> sql, digest = identity_sql(
    ...     col("age"), Schema([Column("age", "integer", "BIGINT")]), Dialect("duckdb")
    ... )
    >>> sql, digest
    ('tacit_rows."age"', 'z0')
    """
    value = as_keys({"value": value}, None, schema)["value"]
    kind = value.kind(schema)
    if kind in _BY_THEMSELVES:
        sql = key_part_sql(value, kind, schema, dialect)
        return dialect.cast(sql, "text") if kind == "missing" else sql, "z0"
    if kind not in ("float", "decimal"):
        raise UsageError(f"{value} is of kind {kind}, whose values cannot be distinguished")
    number = dialect.cast(value.sql(schema, dialect), "double")  # of which none is NaN
    return f"({number} + {dialect.literal(0.0)})", spelled("z0", dialect)


def distinct_sql(base: str, person: str | None, rows: int, digest: str, dialect: Dialect) -> str:
    """Return the SQL of lines ``code, 1, number of values``.

    Args:
        base: SQL of a query with the group ``code``, the value ``z0`` and, where people have
            several rows, the person ``u``.
        person: SQL of ``u`` as it enters the digest; None where each row is a person.
        rows: the most pairs of a person.
        digest: SQL of ``z0`` as it enters the digest.
        dialect: the engine's.
    """
    pairs = f"select * from ({base}) as r where z0 is not null"
    if person is not None:
        pairs = few_groups(pairs, ["code", "z0"], rows, dialect, person, ["code", digest])
    values = f"select distinct code, z0 from ({pairs}) as pairs"
    return f"select code, 1, count(*) from ({values}) as found group by code"

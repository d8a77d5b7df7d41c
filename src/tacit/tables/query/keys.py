"""Keys of groups in SQL, how many distinct ones a person has, and tables of people."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from tacit.arithmetic.exact import show
from tacit.errors import UsageError
from tacit.expressions.dialect import LONGEST_NAME, Dialect, spelled
from tacit.expressions.expression import Expression
from tacit.expressions.grid import Grid, Whole
from tacit.expressions.operations import EXACT, as_keys, is_narrow, key_part_sql, read_as
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.base import Engine
from tacit.tables.open_source import Source
from tacit.tables.privacy_unit import PersonUnit, few_groups, part_sql

# Public keys of groups, as a table in SQL: checked against the kinds of their columns.


# A value of each kind, to represent NULL where the other side is not NULL.
_FILLERS = {
    "text": "",
    "integer": 0,
    "boolean": False,
    "date": datetime.date(1970, 1, 1),
    "undeclared": "",
    "missing": "",
}
_LISTED = 200  # up to this many public keys are in the query itself; more are stored in a table
_KINDS = ("text", "integer", "boolean", "date", "missing")
_VALUES_OF = {
    "text": "text",
    "integer": "whole numbers",
    "boolean": "true or false",
    "date": "dates such as 2024-12-31",
}
_TYPES = {"text": str, "integer": int, "boolean": bool, "date": datetime.date}


def check_keys(
    keys: Iterable[Any], names: Sequence[str], kinds: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Return the keys as tuples of plain values.

    >>> check_keys(["f", "m", None], ["sex"], ["text"])
    [('f',), ('m',), (None,)]
    """
    if not names:
        raise UsageError("keys belong to group_by; this question has no groups")
    if isinstance(keys, (str, bytes)):
        raise UsageError(f"keys are a list, not the text {keys!r}")
    checked: dict[tuple[Any, ...], None] = {}
    for key in keys:
        parts = tuple(key) if isinstance(key, (tuple, list)) else (key,)
        if len(parts) != len(names):
            raise UsageError(f"the key {key!r} has {len(parts)} parts for {len(names)} columns")
        plain = tuple(map(key_of_kind, parts, map(repr, names), kinds))
        if plain in checked:
            raise UsageError(f"the key {plain!r} is given twice")
        checked[plain] = None
    if not checked:
        raise UsageError("the list of keys is empty")
    return list(checked)


def sample_keys(kinds: Sequence[str]) -> tuple[tuple[Any, ...], ...]:
    """Return keys that represent any others of these kinds, where a question is only tried out.

    >>> sample_keys(["text", "integer"])
    ((None, None), ('', 0))
    """
    filled = tuple(None if kind == "missing" else _FILLERS[kind] for kind in kinds)
    return tuple(dict.fromkeys([(None,) * len(kinds), filled]))


def group_kind(name: str, expression: Expression, schema: Schema) -> str:
    """Return the kind of a grouping column, or refuse one that makes no groups."""
    kind = expression.kind(schema)
    if kind not in _KINDS:
        raise UsageError(no_groups(name, kind))
    return kind


def no_groups(name: str, kind: str) -> str:
    """Return the message about a column of numbers that are not listed as whole ones."""
    return (
        f"{name!r} holds {kind} values, too many to be groups without a list: give whole "
        f"numbers as keys=[1, 2, 3]; or group by a column of whole numbers, "
        f"with_columns(code=tc.col({name!r}).cast(int)), or of bins, "
        f"with_columns(bin=tc.col({name!r}).cut([0, 10, 20]))"
    )


def key_of_kind(value: Any, name: str, kind: str) -> Any:
    """Return a key as it is compared with a column, or refuse one of another kind.

    >>> key_of_kind("2024-02-28", "day", "date")
    datetime.date(2024, 2, 28)
    """
    if hasattr(value, "item"):  # numpy scalars
        value = value.item()
    if value is None or value != value:
        return None
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind == "date" and isinstance(value, str):
        value = _date(value, name)
    if isinstance(value, datetime.datetime):
        value = value.date()
    if kind != "missing" and type(value) is not _TYPES[kind]:
        raise UsageError(
            f"{name} holds {_VALUES_OF[kind]}, and the key {value!r} does not fit"
            + _as_written(value, kind)
        )
    if isinstance(value, str) and len(value.encode(errors="surrogatepass")) > LONGEST_NAME:
        raise UsageError(
            f"a key of {name} is too long: a text of more than {LONGEST_NAME} bytes counts as "
            "missing"
        )
    return value


def fit_keys(keys: Sequence[tuple[Any, ...]], names: Sequence[str], columns: Schema) -> None:
    """Raise if keys are of another kind than their columns declare.

    >>> from tacit.expressions.schema import Column
    >>> fit_keys([("a",)], ["site"], Schema([Column("site", "integer", "BIGINT")]))
    Traceback (most recent call last):
    tacit.errors.UsageError: 'site' holds whole numbers, and the key 'a' does not fit
    """
    # A column that declares no kind is read as its keys need it.
    kinds = [(name, columns.column(name).kind) for name in names]
    for index, (name, kind) in enumerate(kinds):
        if kind in ("float", "decimal"):
            for key in keys:
                fit_number(key[index], repr(name), kind)
    declared = [(index, name, kind) for index, (name, kind) in enumerate(kinds) if kind in _TYPES]
    for key in keys:
        for index, name, kind in declared:
            key_of_kind(key[index], repr(name), kind)


def fit_number(value: Any, name: str, kind: str) -> None:
    """Raise if a key of a column of doubles or decimals is not an integer up to 2^53."""
    fits = value is None or (type(value) is int and abs(value) <= EXACT)
    if not fits:
        raise UsageError(
            f"{name} holds {kind} values, and the key {value!r} is not a whole number up to 2^53"
            + (
                _as_written(value, "integer")
                or "; group by other numbers in bins, as in tc.col('x').cut([0, 10, 20])"
            )
        )


def _as_written(value: Any, kind: str) -> str:
    """Return how a key is written for a column of another kind, if it can be one of its values."""
    plain = value is not True and value is not False
    if kind == "text" and isinstance(value, int) and plain:
        return f": write it as text, {str(value)!r}"
    if kind == "integer" and isinstance(value, str) and re.fullmatch("0|-?[1-9][0-9]{0,15}", value):
        return f": write it without quotes, {value}"
    if kind == "boolean" and str(value).lower() in ("0", "1", "true", "false"):
        return f": write {str(value).lower() in ('1', 'true')}"
    return ""


def _date(text: str, name: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"the key {text!r} of {name} is not a date") from None


def relation_of(
    keys: Sequence[tuple[Any, ...]], kinds: Sequence[str], engine: Engine
) -> tuple[str, list[str], str | None]:
    """Return a relation of keys with their number as ``tacit_code``, and its column names."""
    # The last is the table in which the engine keeps it, to be dropped; None where it keeps none.
    names = [f"tacit_keys.tacit_key{i}" for i in range(len(kinds))]
    if len(keys) <= _LISTED:
        return _keys_sql(keys, kinds, engine.dialect), names, None
    table = _keep_keys(keys, kinds, engine)
    return f"(select * from {table}) as tacit_keys", names, table


@contextmanager
def left_out(
    keys: Sequence[tuple[Any, ...]], groups: Sequence[str], kinds: Sequence[str], engine: Engine
) -> Iterator[tuple[str, str] | None]:
    """Return a relation of public keys, and the SQL of whether it has that of a row."""
    if not keys:
        yield None
        return
    values, names, table = relation_of(keys, kinds, engine)
    try:
        yield values, same_key(groups, names, kinds, keys, engine.dialect)
    finally:
        if table is not None:
            engine.drop(table)


def _keys_sql(keys: Sequence[tuple[Any, ...]], kinds: Sequence[str], dialect: Dialect) -> str:
    """Return a relation of the keys that are written in the query."""
    names = [f"tacit_key{i}" for i in range(len(kinds))]
    lines = []
    for code, key in enumerate(keys):
        parts = [_typed(v, k, dialect) for v, k in zip(key, kinds, strict=True)]
        # engines take the wider of two types for a column, and plain numbers are planned faster
        number = str(code) if code else dialect.literal(code)
        lines.append(f"({', '.join([*parts, number])})")
    columns = ", ".join([*names, "tacit_code"])
    return f"(values {', '.join(lines)}) as tacit_keys({columns})"


def _keep_keys(keys: Sequence[tuple[Any, ...]], kinds: Sequence[str], engine: Engine) -> str:
    """Keep many keys in the engine, which reads them far faster than a query that lists them."""
    # Return the name of the table, which is to be dropped.
    d = engine.dialect
    columns = [_texts(column) for column in zip(*keys, strict=True)]
    raw = engine.store_text([*columns, list(map(str, range(len(keys))))])
    casts = [
        f"{d.cast(f'c{i}', _column_type(kind, [key[i] for key in keys]))} as tacit_key{i}"
        for i, kind in enumerate(kinds)
    ]
    casts.append(f"{d.cast(f'c{len(kinds)}', 'integer')} as tacit_code")
    try:
        return engine.materialise(f"select {', '.join(casts)} from {raw}")
    finally:
        engine.drop(raw)


def _texts(values: Iterable[Any]) -> list[str | None]:
    """Return values as text that a cast reads back: true, 12, 2020-01-31, or the text itself."""
    return [v if v is None or isinstance(v, str) else str(v).lower() for v in values]


def _column_type(kind: str, values: Iterable[Any]) -> str:
    if kind == "integer" and any(v is not None and abs(v) >= 1 << 63 for v in values):
        return "wide"
    return "text" if kind == "missing" else kind


def _typed(value: Any, kind: str, dialect: Dialect) -> str:
    """Return a literal; a NULL with the type of its column."""
    if value is not None:
        return dialect.literal(value)
    return dialect.cast("null", "text" if kind == "missing" else kind)


def byte_of_key(
    by: Mapping[str, Expression],
    keys: Sequence[tuple[Any, ...]] | None,
    schema: Schema,
    dialect: Dialect,
) -> tuple[str, str] | None:
    """Return the SQL of a row's code, and of whether it has one, where neither needs a table."""
    # So it is for keys such as 0, 1, 2: integers that follow one another, of a column that
    # holds such, and at most 256.  The code is missing for every other value, and none can make it
    # fail.
    #
    # keys: the public keys, in their order; None for keys that are not known.
    if dialect.byte is None or not keys or len(by) != 1 or len(keys) > 256:
        return None
    ((group,), first) = by.values(), keys[0][0]
    follows = type(first) is int and list(keys) == [(first + i,) for i in range(len(keys))]
    if not follows or not is_narrow(group, schema):
        return None
    value, low = group.sql(schema, dialect), dialect.literal(first)
    known = f"{value} between {low} and {dialect.literal(keys[-1][0])}"
    if first == 0:
        return dialect.byte.format(x=value), known
    shifted = dialect.byte.format(x=f"{value} - {low}")  # of few: a difference may overflow
    return f"case when {known} then {shifted} end", known


def same_key(
    groups: Sequence[str],
    names: Sequence[str],
    kinds: Sequence[str],
    keys: Sequence[tuple[Any, ...]],
    dialect: Dialect,
) -> str:
    """Return the SQL of whether a row's group is a public key: NULL is the key None."""
    tests = []
    for part, (group, name, kind) in enumerate(zip(groups, names, kinds, strict=True)):
        if any(key[part] is None for key in keys):
            filler = dialect.literal(_FILLERS[kind])
            tests.append(dialect.same.format(x=group, y=name, filler=filler))
        else:
            tests.append(f"{group} = {name}")
    return " and ".join(tests)


# How many different values a column has in each group, with a bound on what a person adds.
#
# A person is *in* a pair of a group and a value where a row of theirs has that value in that group.
# Of the pairs that a person is in at most ``rows`` are kept, the first in the order of a digest of
# a fresh secret salt, the person and the pair.  What is counted in a group are the values of the
# pairs that anyone has kept.
#
# *Theorem.*  For every salt, a person who comes or goes changes the counts of all groups together
# by at most ``rows``, and moves no one else's pairs.  *Proof.*  Which pairs are kept of a person is
# a function of the salt and the person's own rows.  So with one person more the set of kept pairs
# is a union with a set of at most ``rows`` pairs, and each pair that is new adds one to the count
# of one group.  It is attained by someone whose values no one else has.
#
# Two values are one if and only if their kind says so: texts by their characters, numbers by what
# they are (a decimal is the double nearest to it, and there is one zero), dates by their day.
# Missing values, NaN and texts of more than 65,536 bytes are no values.


_BY_THEMSELVES = ("text", "integer", "boolean", "date", "missing")


def identity_sql(value: Expression, schema: Schema, dialect: Dialect) -> tuple[str, str]:
    """Return the SQL of what distinguishes a row's value, and of it, ``z0``, in a digest.

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
    """Return the SQL of lines ``code, 1, number of values``."""
    # base: SQL of a query with the group ``code``, the value ``z0`` and, where people have several
    #   rows, the person ``u``.
    # person: SQL of ``u`` as it enters the digest; None where each row is a person.
    pairs = f"select * from ({base}) as r where z0 is not null"
    if person is not None:
        pairs = few_groups(pairs, ["code", "z0"], rows, dialect, person, ["code", digest])
    values = f"select distinct code, z0 from ({pairs}) as pairs"
    return f"select code, 1, count(*) from ({values}) as found group by code"


# What a query reads of a row: whether a filter keeps it, and where its value is on a grid.


def condition_sql(where: Expression | None, schema: Schema, dialect: Dialect) -> str | None:
    """Return the SQL of a filter, or None where there is none.

    >>> from tacit.expressions.expression import col
    >>> from tacit.expressions.schema import Column
    >>> people = Schema([Column("age", "integer", "BIGINT")])
    >>> condition_sql(col("age") + 1, people, Dialect("duckdb"))
    Traceback (most recent call last):
    tacit.errors.UsageError: a filter is a condition; (age + 1) is of kind float
    """
    if where is None:
        return None
    where = read_as(where, "read_boolean", schema)
    kind = where.kind(schema)
    if kind not in ("boolean", "missing"):
        raise UsageError(f"a filter is a condition; {where} is of kind {kind}")
    return where.sql(schema, dialect)


def offset_sql(
    value: Expression, grid: Grid, schema: Schema, dialect: Dialect, *, clamp: bool = True
) -> str:
    """Return the SQL of a value's offset on a grid; see :meth:`Grid.sql`."""
    return grid.sql(*_number_sql(value, schema, dialect), dialect, clamp=clamp)


def offset_where(
    value: Expression, grid: Grid, schema: Schema, dialect: Dialect, *, clamp: bool, cut: int
) -> tuple[str, str] | None:
    """Return a test of rows, and the SQL of the offset of those; see :meth:`Grid.sql_where`."""
    return grid.sql_where(*_number_sql(value, schema, dialect), dialect, clamp=clamp, cut=cut)


def _number_sql(value: Expression, schema: Schema, dialect: Dialect) -> tuple[str, str]:
    """Return the SQL of a number, and its kind."""
    value = read_as(value, "read_numeric", schema)
    kind = value.kind(schema)
    if kind not in ("integer", "float", "decimal", "boolean", "missing"):
        raise UsageError(f"{value} is of kind {kind}; this statistic needs numbers")
    if value.operation == "col":
        name = str(value.parameters[0])
        if schema.column(name).kind == "float":  # as it is, for the grid itself leaves NaN out
            return dialect.cast(dialect.column(name), "double"), kind
    return value.sql(schema, dialect), kind


# A table of one row a person, made of all of a person's rows, as a relation in SQL.
#
# *Theorem.*  A person who comes or goes adds or removes at most one row of it, their own, and no
# other row changes.  *Proof.*  The rows are grouped by the person (by nothing that a person could
# share with another: see :meth:`~tacit.tables.privacy_unit.PersonUnit.person`), and the values
# of a row are functions of the multiset of that person's rows that the filter keeps: a count, a sum
# of integers, a least or a greatest.  Who has no such row has none here.  So the table is a
# disjoint union over people, whatever was read, and as many rows of a person as there are may
# count.
#
# *Values.*  Nothing that is fractional is added up in floating point.  A value x becomes the whole
# number ``floor(x 10^p + 1/2)`` first, and what is added up, compared and divided is whole:
#
# - a **sum** is the exact sum of those numbers, held within its bounds at the end.  Each of them is
#   held within ``2^61``, at least 2^14 times the bounds, so that ROWS of them are below 2^101;
# - a **mean** is the exact sum of numbers that are held within the bounds, divided and rounded
#   down;
# - a **least** or **greatest** value is one of the numbers, held within the bounds;
# - a **count** is at most :data:`~tacit.expressions.grid.ROWS`, and so is a **count of
#   different values**, which are distinguished as in :mod:`tacit.tables.query.keys`: a
#   missing value is none.
#
# For integers p is zero.  Else it is the largest for which the bounds are at most ``2^46`` in
# those units (0 to 22), and what comes out, ``n / 10^p``, is a quotient of two numbers that doubles
# hold exactly: the double nearest to the decimal number, the same on every engine, and 30.3 for
# three times 10.1.  A value is off by half a unit at most, about ``10^-13`` of the larger bound.
#
# *Missing.*  A person whose values are all missing has a missing sum, mean, least and greatest.
#
# *One reading.*  The relation stands once in each statement, and reads the table once.


Statistic: TypeAlias = Literal["count", "distinct", "sum", "mean", "min", "max"]

_FAR = 61  # one value of a sum is at most 2^61 units from zero, and so is a whole bound
# A bound of fractions is at most this many units from zero, and at least this many.
_FINE, _COARSE = 1 << 46, 1 << 20
_EXACT = 1 << 53
_TENS = 22  # integers and powers of ten up to which all are doubles


@dataclass(frozen=True)
class PersonValue:
    """One column of the table: a statistic of a person's rows."""

    name: str
    statistic: Statistic
    # of what comes out: ``integer``, ``float``, ``text`` or ``date``
    kind: str
    column: str | None = None  # what it is of, by name; None for a count
    # its bounds in units of ``10^-places``; None for counts, text and dates
    grid: Grid | None = None
    digits: int = 0  # how many digits after the point are counted in


def units_of(lower: Fraction, upper: Fraction, *, integers: bool) -> tuple[Grid, int]:
    """Return the bounds of a person's value in whole units, and how many digits units have.

    >>> grid, places = units_of(Fraction(0), Fraction(5000), integers=False)
    >>> grid.last == 5000 * 10**places, places
    (True, 10)
    """
    far, bounds = max(abs(lower), abs(upper)), f"the bounds {show(lower)} and {show(upper)}"
    if integers:
        if far > 1 << _FAR:
            raise UsageError(
                f"{bounds} are too far from zero: whole numbers of at most 2^{_FAR} can be held"
            )
        return Grid(lower, upper, 0), 0
    digits = next((p for p in range(_TENS, 0, -1) if far * 10**p <= _FINE), 0)
    if not _COARSE <= far * 10**digits <= _EXACT:
        raise UsageError(f"{bounds} are too far from zero, or too near to it: rescale the column")
    grid = Grid(lower * 10**digits, upper * 10**digits, 0)
    if not grid.cells:
        raise UsageError(f"{bounds} are closer than can be distinguished: rescale the column")
    return grid, digits


def person_column(column: Column) -> Column:
    """Return the person column of the table, which holds what distinguished people in the rows."""
    declared = column.declared
    if column.kind in ("text", "undeclared") and declared.upper() != "UUID":
        declared = "VARCHAR"
    if column.kind == "float":
        declared = "DOUBLE"
    return replace(
        column, declared=declared, reads=column.reads if column.identity else "{x}", problem=""
    )


def person_source(
    source: Source,
    unit: PersonUnit,
    where: Expression | None,
    derived: Mapping[str, Expression],
    values: Sequence[PersonValue],
    schema: Schema,
) -> Source:
    """Return the table of one row a person, in the engine of the table itself."""
    d, names = source.engine.dialect, [f"v{i}" for i in range(len(values))]
    columns, values_sql = [], []
    for name, value in zip(names, values, strict=True):
        if value.column is None:
            values_sql.append(d.cast("count(*)", "integer"))
            continue
        of = derived.get(value.column, Expression("col", (), (value.column,)))
        columns.append(f"{_row_sql(of, value, source.schema, d)} as {name}")
        values_sql.append(_value_sql(name, value, d))
    # of several columns each stays a column, by which the rows are grouped
    parts = ["u"] if len(unit.columns) == 1 else [f"u{i}" for i in range(len(unit.columns))]
    columns += [
        f"{part_sql(source.schema, column, d)} as {part}"
        for part, column in zip(parts, unit.columns, strict=True)
    ]
    condition = condition_sql(where, source.schema, d)
    test = f" where ({condition})" if condition else ""
    rows = d.fence.format(
        sql=f"select {', '.join(columns)} from {source.relation} as tacit_rows{test}"
    )
    listed = ", ".join(f"{sql} as {name}" for sql, name in zip(values_sql, names, strict=True))
    person, known = ", ".join(parts), " and ".join(f"{part} is not null" for part in parts)
    people = (
        f"select {person}, {listed} from ({rows}) as tacit_owned where {known} group by {person}"
    )
    shown = [f"{sql} as {d.identifier(n)}" for sql, n in zip([*parts, *names], schema, strict=True)]
    relation = f"(select {', '.join(shown)} from ({people}) as tacit_people)"
    return Source(source.name, schema, source.engine, relation, counted=source.counted)


def _row_sql(of: Expression, value: PersonValue, schema: Schema, d: Dialect) -> str:
    """Return the SQL of what is examined in a row."""
    if value.statistic == "distinct":
        return identity_sql(of, schema, d)[0]
    if value.grid is None:
        return key_part_sql(of, value.kind, schema, d)
    number = read_as(of, "read_numeric", schema)
    if value.digits:
        number = number * float(10**value.digits)
    return offset_sql(number, _grid_of_rows(value), schema, d)


def _grid_of_rows(value: PersonValue) -> Grid:
    """Return the grid of the values of rows: of a sum, one that is far wider than its bounds."""
    assert value.grid is not None
    if value.statistic != "sum":
        return value.grid
    return Grid(Fraction(-(1 << _FAR)), Fraction(1 << _FAR), 0)


def _value_sql(z: str, value: PersonValue, d: Dialect) -> str:
    """Return the SQL of a person's value, from the column ``z`` of their rows."""
    if value.statistic == "distinct":
        return d.cast(f"count(distinct {z})", "integer")
    if value.grid is None:
        return f"{value.statistic}({z})"
    rows, grid = _grid_of_rows(value), value.grid
    offset = Whole(z, 0, rows.cells)
    if value.statistic == "sum":
        total = offset.plus(rows.first, d).total(d).clamped_not_null(grid.first, grid.last, d)
        # the sum of no values would be zero
        units = replace(total, sql=f"case when count({z}) > 0 then {total.sql} end")
    elif value.statistic == "mean":
        total, count = offset.total(d), f"nullif(count({z}), 0)"
        mean = d.divide(d.cast(total.sql, "wide"), count, wide=True)
        units = Whole(d.cast(mean, "integer"), 0, rows.cells).plus(rows.first, d)
    else:
        units = Whole(f"{value.statistic}({z})", 0, rows.cells).plus(rows.first, d)
    integer = d.cast(units.sql, "integer")
    if value.kind == "integer":
        return integer
    return f"({d.cast(integer, 'double')} / {d.literal(float(10**value.digits))})"

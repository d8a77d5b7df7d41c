"""Public keys of groups, as a table in SQL: checked against the kinds of their columns."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tacit.errors import UsageError
from tacit.expressions.cell_grammar import GIVES
from tacit.expressions.column_sql import EXACT
from tacit.expressions.dialect import LONGEST_NAME, Dialect
from tacit.expressions.expression import Expression
from tacit.expressions.node import constants_of
from tacit.expressions.schema import Schema
from tacit.tables.engines.base import Engine

__all__ = [
    "byte_of_key",
    "check_keys",
    "fit_keys",
    "fit_number",
    "group_kind",
    "key_part_sql",
    "left_out",
    "no_groups",
    "relation_of",
    "same_key",
    "sample_keys",
]

_FILLERS = {
    "text": "",
    "integer": 0,
    "boolean": False,
    "date": datetime.date(1970, 1, 1),
    "undeclared": "",
    "missing": "",
}
"""A value of each kind, to stand for NULL where the other side is not NULL."""
_LISTED = 200
"""Up to so many public keys stand in the query itself; more are kept in a table."""
_KINDS = ("text", "integer", "boolean", "date", "missing")
_HOLDS = {
    "text": "text",
    "integer": "whole numbers",
    "boolean": "true or false",
    "date": "dates such as 2024-12-31",
}
_NARROW = {*GIVES, "whole_key"}
_TYPES = {"text": str, "integer": int, "boolean": bool, "date": datetime.date}


def check_keys(
    keys: Iterable[Any], names: Sequence[str], kinds: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Return the keys as tuples of plain values.

    Raises:
        UsageError: no keys, a key twice, too many or too few parts, a part of another kind.

    >>> check_keys(["f", "m", None], ["sex"], ["text"])
    [('f',), ('m',), (None,)]
    """
    if not names:
        raise UsageError("keys belong to group_by; this question has no groups")
    if isinstance(keys, (str, bytes)):
        raise UsageError(f"keys are a list, not the text {keys!r}")
    found: dict[tuple[Any, ...], None] = {}
    for key in keys:
        parts = tuple(key) if isinstance(key, (tuple, list)) else (key,)
        if len(parts) != len(names):
            raise UsageError(f"the key {key!r} has {len(parts)} parts for {len(names)} columns")
        plain = tuple(map(key_of_kind, parts, map(repr, names), kinds))
        if plain in found:
            raise UsageError(f"the key {plain!r} is given twice")
        found[plain] = None
    if not found:
        raise UsageError("the list of keys is empty")
    return list(found)


def sample_keys(kinds: Sequence[str]) -> tuple[tuple[Any, ...], ...]:
    """Return keys that stand for any others of these kinds, where a question is only tried out.

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
        f"numbers as keys=[1, 2, 3]; or group by a column of whole numbers, with_column('code', "
        f"tc.col({name!r}).to_integer()), or of bins, with_column('bin', "
        f"tc.col({name!r}).cut([0, 10, 20]))"
    )


def key_of_kind(value: Any, name: str, kind: str) -> Any:
    """Return a key as it is compared with a column, or refuse one of another kind.

    Args:
        value: the key, or a part of one.
        name: the column, as a message calls it.
        kind: of the column, as :func:`group_kind` returns it.

    Raises:
        UsageError: it is of another kind, or too long.

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
        raise UsageError(f"{name} holds {_HOLDS[kind]}, and the key {value!r} does not fit")
    if isinstance(value, str) and len(value.encode(errors="surrogatepass")) > LONGEST_NAME:
        raise UsageError(
            f"a key of {name} is too long: a text of more than {LONGEST_NAME} bytes counts as "
            "missing"
        )
    return value


def fit_keys(keys: Sequence[tuple[Any, ...]], names: Sequence[str], columns: Schema) -> None:
    """Refuse keys of another kind than their columns declare.

    A column that declares no kind is read as its keys need it.

    Raises:
        UsageError: a key is of another kind than its column.

    >>> from tacit.expressions.schema import Column
    >>> fit_keys([("a",)], ["site"], Schema([Column("site", "integer", "BIGINT")]))
    Traceback (most recent call last):
    tacit.errors.UsageError: 'site' holds whole numbers, and the key 'a' does not fit
    """
    kinds = [(name, columns.column(name).kind) for name in names]
    for place, (name, kind) in enumerate(kinds):
        if kind in ("float", "decimal"):
            for key in keys:
                fit_number(key[place], repr(name), kind)
    declared = [(place, name, kind) for place, (name, kind) in enumerate(kinds) if kind in _TYPES]
    for key in keys:
        for place, name, kind in declared:
            key_of_kind(key[place], repr(name), kind)


def fit_number(value: Any, name: str, kind: str) -> None:
    """Refuse a key of a column of doubles or decimals that is not a whole number they can be."""
    whole = value is None or (type(value) is int and abs(value) <= EXACT)
    if not whole:
        raise UsageError(
            f"{name} holds {kind} values, and the key {value!r} is not a whole number up to 2^53; "
            "group by other numbers in bins, as in tc.col('x').cut([0, 10, 20])"
        )


def _date(text: str, name: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"the key {text!r} of {name} is not a date") from None


def relation_of(
    keys: Sequence[tuple[Any, ...]], kinds: Sequence[str], engine: Engine
) -> tuple[str, list[str], str | None]:
    """Return a relation of keys with their number as ``tacit_code``, and its column names.

    The last is the table in which the engine keeps it, to be dropped; None where it keeps none.
    """
    names = [f"tacit_keys.tacit_key{i}" for i in range(len(kinds))]
    if len(keys) <= _LISTED:
        return _keys_sql(keys, kinds, engine.dialect), names, None
    kept = _keep_keys(keys, kinds, engine)
    return f"(select * from {kept}) as tacit_keys", names, kept


@contextmanager
def left_out(
    keys: Sequence[tuple[Any, ...]], groups: Sequence[str], kinds: Sequence[str], engine: Engine
) -> Iterator[tuple[str, str] | None]:
    """Return a relation of public keys, and the SQL of whether it has that of a row.

    Args:
        keys: of rows that are to be left out; nothing is returned where there are none.
        groups: SQL of the parts of a row's group.
        kinds: of the parts.
        engine: keeps many keys, until the block ends.
    """
    if not keys:
        yield None
        return
    values, names, kept = relation_of(keys, kinds, engine)
    try:
        yield values, same_key(groups, names, kinds, keys, engine.dialect)
    finally:
        if kept is not None:
            engine.drop(kept)


def _keys_sql(keys: Sequence[tuple[Any, ...]], kinds: Sequence[str], dialect: Dialect) -> str:
    """Return a relation of the keys that are written in the query."""
    names = [f"tacit_key{i}" for i in range(len(kinds))]
    lines = []
    for code, key in enumerate(keys):
        parts = [_typed(v, k, dialect) for v, k in zip(key, kinds, strict=True)]
        lines.append(f"({', '.join([*parts, dialect.literal(code)])})")
    columns = ", ".join([*names, "tacit_code"])
    return f"(values {', '.join(lines)}) as tacit_keys({columns})"


def _keep_keys(keys: Sequence[tuple[Any, ...]], kinds: Sequence[str], engine: Engine) -> str:
    """Keep many keys in the engine, which reads them far faster than a query that lists them.

    Return the name of the table, which is to be dropped.
    """
    d = engine.dialect
    columns = [_texts(column) for column in zip(*keys, strict=True)]
    raw = engine.keep_text([*columns, list(map(str, range(len(keys))))])
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


def key_part_sql(expression: Expression, kind: str, schema: Schema, dialect: Dialect) -> str:
    """Return the SQL of a part of the key: what cannot be written as a key is missing.

    A date outside the years 1 to 9999 (or infinite), a whole number of more than 126 bits, bytes
    that are no Unicode and a text of more than 65,536 bytes would come out of the engine as another
    key, or as none that a query can be asked for.  What remains is carried to Python as it is: two
    values are one key in the engine if and only if they are in Python.
    """
    sql = expression.sql(schema, dialect)
    if kind == "text":
        return dialect.name_of(dialect.unicode.format(x=sql))
    if expression.operation in _NARROW:  # within these ends by itself
        return sql
    if kind == "date":
        ends: tuple[Any, Any] = (datetime.date.min, datetime.date.max)
    elif kind == "integer" and not _is_narrow(expression, schema):
        ends = (1 - (1 << 126), (1 << 126) - 1)
    else:
        return sql
    low, high = map(dialect.literal, ends)
    return f"case when {sql} between {low} and {high} then {sql} end"


def _is_narrow(expression: Expression, schema: Schema) -> bool:
    """Whether a whole number is a column of an engine's type of at most 64 bits."""
    if expression.operation != "col":
        return False
    declared = schema.column(constants_of(expression)[0]).declared.upper()
    return declared.removeprefix("U") in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")


def byte_of_key(
    by: Mapping[str, Expression],
    keys: Sequence[tuple[Any, ...]] | None,
    schema: Schema,
    dialect: Dialect,
) -> tuple[str, str] | None:
    """Return the SQL of a row's code, and of whether it has one, where neither needs a table.

    So it is for keys such as 0, 1, 2: whole numbers that follow one another, of a column that holds
    such, and at most 256.  The code is missing for every other value, and none can make it fail.

    Args:
        by: what the rows are grouped by, by name.
        keys: the public keys, in their order; None for keys that are not known.
        schema: of the table.
        dialect: the engine's.
    """
    if dialect.byte is None or not keys or len(by) != 1 or len(keys) > 256:
        return None
    ((group,), first) = by.values(), keys[0][0]
    follows = type(first) is int and list(keys) == [(first + i,) for i in range(len(keys))]
    if not follows or not _is_narrow(group, schema):
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
    """Return the SQL of whether a row's group is a public key: NULL is the key None.

    Args:
        groups: SQL of the parts of a row's group.
        names: of the columns that hold the parts of the key.
        kinds: of the parts.
        keys: the keys; where none has None, an equality does, which joins fastest.
        dialect: the engine's.
    """
    tests = []
    for part, (group, name, kind) in enumerate(zip(groups, names, kinds, strict=True)):
        if any(key[part] is None for key in keys):
            filler = dialect.literal(_FILLERS[kind])
            tests.append(dialect.same.format(x=group, y=name, filler=filler))
        else:
            tests.append(f"{group} = {name}")
    return " and ".join(tests)

"""Open a table, view, partitioned or foreign table of PostgreSQL, where it is.

What a column can be used for follows from its type alone.  A ``numeric`` may hold NaN and
infinities, and may be far longer than any sum needs: NaN is missing, and such a column is read
within +-10^38 and to 38 digits after the point, so that nothing overflows; but two of its values
are equal, and two people one, only if all their digits are.  1.0 and 1.00 are one number.  Text of
every type is compared by its characters, whatever its collation or its type calls equal;
``char(n)`` without the blanks at its end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit.errors import DataSourceError, UsageError, did_you_mean
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.base import Opened, closed_on_failure
from tacit.tables.engines.postgres.engine import PostgresEngine
from tacit.tables.engines.postgres.link import GivenLink, Link, OwnLink, check_server

__all__ = ["beside_in_postgres", "in_postgres", "open_in_postgres"]

_SCHEMES = ("postgresql://", "postgres://")
_KINDS = {
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("float4", "float8"), "float"),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "uuid"), "text"),
    **dict.fromkeys(("date", "timestamp"), "date"),
    "bool": "boolean",
}
_DIGITS = 38
_NAN = "cast('NaN' as numeric)"

_TABLES = """select n.nspname, c.relname, cast(c.oid as bigint),
    has_schema_privilege(n.oid, 'USAGE') and has_any_column_privilege(c.oid, 'SELECT')
from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where c.relkind in ('r', 'v', 'm', 'f', 'p') and """
_COLUMNS = """with recursive base(place, typ, mod) as (
    select attnum, atttypid, atttypmod from pg_attribute
    where attrelid = {table} and attnum > 0 and not attisdropped
  union all
    select place, typbasetype, case when mod = -1 then typtypmod else mod end
    from base join pg_type on pg_type.oid = typ where typtype = 'd')
select attname, format_type(atttypid, atttypmod), typname,
    typnamespace = 'pg_catalog'::regnamespace, typtype = 'e', mod,
    has_column_privilege(attrelid, attnum, 'SELECT')
from base join pg_attribute on attrelid = {table} and attnum = place
    join pg_type on pg_type.oid = typ
where typtype <> 'd' order by place"""


def in_postgres(source: Any) -> bool:
    """Whether a source is a URL of PostgreSQL or an open connection to one.

    >>> in_postgres("postgresql://ann@db.example/clinic"), in_postgres("visits.csv")
    (True, False)
    """
    if isinstance(source, str):
        return source.startswith(_SCHEMES)
    return type(source).__module__.partition(".")[0] in ("psycopg", "psycopg2")


def open_in_postgres(
    source: Any,
    table: str | None,
    memory_limit: str | None,
    threads: int | None,
    timeout: float | None,
) -> Opened:
    """Open a table over a URL, or over an open connection of psycopg.

    Args:
        source: as :func:`tacit.tables.open_source` takes it.
        table: its name, ``"schema.table"`` where it is not in the schema ``public``.
        memory_limit: see :class:`~tacit.tables.engines.postgres.engine.PostgresEngine`.
        threads: see there.
        timeout: see there.

    Raises:
        DataSourceError: no server, no such table, or no right to read it.
        UsageError: no table named, or an option that does not belong here.
    """
    if table is None:
        raise UsageError("name the table of the database, as in table='schema.visits'")
    link = _link(source)
    engine = PostgresEngine(link, timeout, memory_limit, threads)
    with closed_on_failure(engine):
        check_server(link.connection())
        return beside_in_postgres(table, engine)


def beside_in_postgres(table: str, engine: PostgresEngine) -> Opened:
    """Open a table of the database that an engine asks; see :func:`open_in_postgres`.

    Raises:
        DataSourceError: no such table, or no right to read it.
    """
    with engine.reading():
        found = _find(table, engine)
        columns = _columns(found, engine)
        label = f"{engine.connection.info.dbname}.{found.name}"
    schema = Schema([column.public(found.name) for column in columns])
    return Opened(label, schema, engine, _quoted(found, engine))


def _link(source: Any) -> Link:
    if isinstance(source, str):
        return OwnLink(source)
    if not (hasattr(source, "pgconn") and hasattr(source, "cancel_safe")) or type(
        source
    ).__name__.startswith("Async"):
        raise UsageError(
            f"a {type(source).__module__}.{type(source).__name__} cannot be read from: give "
            "psycopg.connect(...) of psycopg 3.2 or newer, or a URL such as "
            "'postgresql://user@host/database'"
        )
    return GivenLink(source)


class _Table(NamedTuple):
    schema: str
    table: str
    oid: int
    readable: bool

    @property
    def name(self) -> str:
        return f"{self.schema}.{self.table}"


class _Found(NamedTuple):
    """A column as the catalogue describes it; ``base`` is the type below all domains."""

    name: str
    declared: str
    base: str
    built_in: bool
    enum: bool
    modifier: int
    readable: bool

    @property
    def kind(self) -> str:
        """The kind of its values, one of :data:`tacit.expressions.schema.KINDS`."""
        if self.enum or self.base == "citext":
            return "text"
        if not self.built_in:
            return "other"
        if self.base == "numeric":
            return "integer" if self.modifier >= 0 and self.scale <= 0 else "decimal"
        return _KINDS.get(self.base, "other")

    @property
    def scale(self) -> int:
        """Of a numeric with a precision: how many digits stand after the point."""
        return (((self.modifier - 4) & 0x7FF) ^ 0x400) - 0x400

    @property
    def digits(self) -> int:
        """Of a numeric with a precision: how many digits stand before the point."""
        return ((self.modifier - 4) >> 16 & 0xFFFF) - self.scale

    def public(self, table: str) -> Column:
        """Return what is public of it."""
        if not self.readable:
            problem = (
                f"may not be read by this user; ask the owner of {table} for GRANT SELECT on it"
            )
            return Column(self.name, "other", self.declared, problem, reads="")
        if self.base == "numeric" and self.built_in:
            itself = f"nullif({{x}}, {_NAN})"
            return Column(
                self.name, self.kind, self.declared, "", self._held(), itself, self._written()
            )
        # in capitals: the type DATE is known not to have a time, the kind alone says nothing of it
        declared = self.declared.upper() if self.kind == "date" else self.declared
        return Column(self.name, self.kind, declared)

    def _held(self) -> str:
        """Return the SQL of a numeric without NaN, within the range that the plan computes in."""
        if self._short:
            return f"nullif({{x}}, {_NAN})"
        places = 0 if self.kind == "integer" else _DIGITS
        far = f"cast('1e{_DIGITS}' as numeric)"
        held = f"greatest(least(trunc({{x}}, {places}), {far}), -{far})"
        return f"(case when {{x}} < {_NAN} then {held} end)"

    def _written(self) -> str:
        """Return the SQL of a numeric as text: one of any scale without the zeros at its end.

        It is written in one way then, and what is drawn by that is the same for all its rows.
        """
        text = "cast({x} as text)"
        if self.modifier >= 0:
            return text
        return f"(case when scale({{x}}) > 0 then rtrim(rtrim({text}, '0'), '.') else {text} end)"

    @property
    def _short(self) -> bool:
        """Whether all digits of a numeric are within those that the plan computes in."""
        return self.modifier >= 0 and self.digits <= _DIGITS and self.scale <= _DIGITS


def _find(table: str, engine: PostgresEngine) -> _Table:
    """Return the table, or refuse it; a name without a schema is that of the schema public."""
    d = engine.dialect
    name = d.literal(table)
    full = f"n.nspname || '.' || c.relname = {name}"
    exact = f"({full} or n.nspname = 'public' and c.relname = {name})"
    found = [_Table(*row) for row in engine.rows(f"{_TABLES} {exact} order by {full} desc")]
    if found:
        if not found[0].readable:
            raise DataSourceError(
                f"no right to read {found[0].name}; its owner gives it with GRANT USAGE ON SCHEMA "
                f"{d.identifier(found[0].schema)} and GRANT SELECT ON {_quoted(found[0], engine)}"
            )
        return found[0]
    own = "n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')"
    known = [_Table(*row) for row in engine.rows(f"{_TABLES} {own} order by 1, 2")]
    names = [t.name for t in known if t.readable]
    raise DataSourceError(
        f"there is no table {table!r} in the database; {did_you_mean(table, names)}"
    )


def _columns(table: _Table, engine: PostgresEngine) -> list[_Found]:
    return [_Found(*row) for row in engine.rows(_COLUMNS.format(table=table.oid))]


def _quoted(table: _Table, engine: PostgresEngine) -> str:
    return f"{engine.dialect.identifier(table.schema)}.{engine.dialect.identifier(table.table)}"

"""The Parquet files that views and relations of DuckDB read, read as files are."""

# DuckDB's own reader refuses a whole file for one cell that is not a text in UTF-8 or a time that
# it cannot store.  So the SQL of a view is parsed by DuckDB, and where it reads
# Parquet files it reads :func:`parquet_view` of them.  Views within it are rewritten alike; names
# of tables are resolved once and written in full.
#
# *A world that is closed.*  Each table that the SQL names is a table expression of its own, a table
# or a view of one name in one place, or files.  Where that does not decide what is read (macros, a
# query in a text, names that more than one table has, options that rename columns), or the
# rewritten SQL has other columns, nothing is guessed: a view that may read Parquet is refused, by
# its text and before any charge.  So are tables of a lake: Parquet files that an extension reads.
#
# *Other files* have no types, and DuckDB takes these from the rows: one cell changes how all are
# read, or ends the query.  SQL that reads such files is refused, and so are attached databases of
# other programs, whose cells may not be what their columns declare.
#
# *A relation* gives its SQL away, but not its connection, in which files, tables and macros have
# their names.  It runs queries there; views of ours are common table expressions of these.

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from tacit.errors import DataSourceError
from tacit.tables.engines.base import EngineMemoryError, new_name
from tacit.tables.engines.duckdb.engine import (
    DUCKDB,
    ClosedConnectionError,
    DuckEngine,
    open_connection,
)
from tacit.tables.engines.duckdb.parquet import OpaqueSqlError, viewed_parquet
from tacit.tables.engines.files import refuse_table_format

Node = dict[str, Any]

_READERS = ("read_parquet", "parquet_scan", "read_single_parquet_file")
_QUERIES = ("query", "query_table", "json_execute_serialized_sql")
# Options under which a column has the name that it has in the file.
_OPTIONS = {
    *("binary_as_string", "can_have_nan", "compression", "debug_use_openssl"),
    *("explicit_cardinality", "filename", "file_row_number", "hive_partitioning", "hive_types"),
    *("hive_types_autocast", "parquet_version", "union_by_name"),
}
_NAME = r'(?:"(?:[^"]|"")*"|[^\s".(),;]+)'
_CREATE = re.compile(
    rf"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+)?VIEW\s+{_NAME}(?:\.{_NAME})*\s*"
    rf"(?:\(\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\)\s*)?AS\s+",
    re.IGNORECASE,
)
_PARQUET_FILE = re.compile(r"\.parquet(\.(gz|zst))?(?:\?|$)", re.IGNORECASE)
_SUBQUERY = re.compile(r"\bselect\b|\bfrom\b|\bquery", re.IGNORECASE)
_MAX_DEPTH = 50
# Kinds of databases whose tables are Parquet files, and the beginnings of the names of functions
# that read such tables.
_LAKES = ("ducklake", "iceberg", "delta", "uc_catalog", "unity_catalog")
_LAKE_READERS = (
    *("iceberg_", "read_iceberg", "delta_", "read_delta", "ducklake_", "hudi_", "paimon_"),
    *("table_changes", "table_insertions", "table_deletions"),
)
# Beginnings of the names of functions that read files without types; ends of names of such files.
_ROW_READERS = (
    *("read_csv", "read_json", "read_ndjson", "read_text", "read_xlsx", "st_read"),
    *("read_single_csv", "read_single_json", "sniff_csv"),
)
_ROW_ENDS = r"\.(csv|tsv|json|jsonl|ndjson|geojson|xlsx|shp|gpkg|fgb)(\.(gz|zst))?"
_ROW_FILE = re.compile(rf"{_ROW_ENDS}(?:\?|$)", re.IGNORECASE)
_ROW_READING = re.compile(rf"\b({'|'.join(_ROW_READERS)})|{_ROW_ENDS}\b", re.IGNORECASE)
_OTHERS = ("sqlite", "postgres", "mysql")  # kinds of databases, and beginnings of their functions
# The mark of a relation of DuckDB before 2.0 over rows that were read, with text of any kind.
_ROWS = "ColumnDataCollection - ["
# The words of a plan for such files, or where their statistics rule out any row.
_IN_PLAN = re.compile(r"parquet|iceberg|delta|ducklake|empty", re.IGNORECASE)
_ROWS_IN_PLAN = re.compile("|".join((*_ROW_READERS, *_OTHERS)).upper())  # functions are so there


class UntypedRowsError(DataSourceError):
    """Raised for SQL that reads rows whose types DuckDB takes from the rows."""


class ViewFiles:
    """Rewrites SQL so that it reads Parquet files as files are read."""

    def __init__(self, engine: DuckEngine) -> None:
        self._ask, self._engine = engine.rows, engine
        listed = (
            "select database_name, schema_name, {0}_name, {1} from duckdb_{0}s() where not internal"
        )
        self._known: dict[str, list[tuple[str, str, str, str | None]]] = {}
        both = f"{listed.format('view', 'sql')} union all {listed.format('table', 'null')}"
        for row in engine.rows(both):
            self._known.setdefault(row[2].casefold(), []).append((row[0], row[1], row[2], row[3]))
        kinds = engine.rows("select database_name, type from duckdb_databases()")
        self._lakes = {name for name, kind in kinds if str(kind).casefold() in _LAKES}
        self._others = {name for name, kind in kinds if str(kind).casefold() in _OTHERS}
        self.texts: list[str] = []
        """All SQL that was examined, and that of the macros that it names."""

    @cached_property
    def _macros(self) -> dict[str, str]:
        """The macros of the connection; DuckDB takes long to list its functions."""
        macros = (
            "select function_name, macro_definition from duckdb_functions() "
            "where function_type in ('macro', 'table_macro') and not internal"
        )
        return {name.casefold(): str(text) for name, text in self._ask(macros)}

    def of_view(self, database: str, schema: str, name: str) -> str | None:
        """Return a view rewritten; None if it is not a view, or reads no Parquet file."""
        self._check_database(database)
        for entry in self._known.get(name.casefold(), ()):
            if entry[0] == database and entry[1] == schema and entry[3] is not None:
                return self._rewritten_view(entry, 0)
        return None

    def of_query(self, sql: str) -> str | None:
        """Return a query rewritten; None if it reads no Parquet file."""
        ((database, schema),) = self._ask("select current_database(), current_schema()")
        return self._rewritten(sql, str(database), str(schema), 0)

    def _check_database(self, name: str) -> None:
        if name in self._lakes:
            self.texts.append("parquet")
            raise OpaqueSqlError(f"reads a table of the lake {name!r}")
        if name in self._others:
            raise _untyped(f"the database {name!r} of another program")

    def _rewritten_view(self, view: tuple[str, str, str, str | None], depth: int) -> str | None:
        database, schema, name, sql = view
        assert sql is not None
        created = _CREATE.match(sql)
        if created is None or depth > _MAX_DEPTH:
            self.texts.append(sql)
            raise OpaqueSqlError("is made in a way that Tacit does not read")
        query = self._rewritten(sql[created.end() :].rstrip("; \n"), database, schema, depth)
        if query is None:
            return None
        relation = _full(database, schema, name)
        names = [row[0] for row in self._ask(f"describe select * from {relation}")]
        return f"select * from ({query}) as tacit_view({', '.join(map(DUCKDB.identifier, names))})"

    def _rewritten(self, sql: str, database: str, schema: str, depth: int) -> str | None:
        self.texts.append(sql)
        tree = self._parsed(sql)
        nodes = list(_nodes(tree))
        own = {str(entry["key"]).casefold() for node in nodes for entry in _expressions(node)}
        changed = False
        opaque: OpaqueSqlError | None = None
        for node in nodes:
            try:
                if node.get("class") == "FUNCTION":
                    self._check_macro(str(node["function_name"]))
                if node.get("type") == "BASE_TABLE":
                    changed |= self._table(node, own, database, schema, depth)
                elif node.get("type") == "TABLE_FUNCTION":
                    changed |= self._function(node)
            except OpaqueSqlError as error:  # the rest is examined for its text
                opaque = opaque or error
        if opaque is not None:
            raise opaque
        return self._text(tree) if changed else None

    def _table(self, node: Node, own: set[str], database: str, schema: str, depth: int) -> bool:
        """Rewrite a table by its name; return whether Parquet files are read for it."""
        name = str(node["table_name"])
        placed = [node.get("catalog_name") or "", node.get("schema_name") or ""]
        entry = self._find(name, placed[0], placed[1], database, schema)
        if not any(placed) and name.casefold() in own:
            if entry is not None or _PARQUET_FILE.search(name):
                raise OpaqueSqlError(f"names both a table and a common table expression {name!r}")
            return False
        for catalog in (entry[0] if entry else "", *placed):
            self._check_database(catalog)
        if entry is None:
            file = ".".join(filter(None, (*placed, name)))  # as DuckDB does: from visits.csv
            if _ROW_FILE.search(file):
                raise _untyped("a file by its name")
            if not _PARQUET_FILE.search(file):
                return False  # DuckDB reports what else it is
            self._put(node, self._source([file], ""), _stem(file))
            return True
        if entry[3] is not None:
            query = self._rewritten_view(entry, depth + 1)
            if query is not None:
                self._put(node, self._engine.view(query), name)
                return True
        self._put(node, _full(*entry[:3]), name)
        return False

    def _find(
        self, name: str, catalog: str, space: str, database: str, schema: str
    ) -> tuple[str, str, str, str | None] | None:
        """Return the table or view of a name, as DuckDB resolves it within a schema."""
        entries = self._known.get(name.casefold(), [])
        if catalog:
            entries = [f for f in entries if (f[0], f[1]) == (catalog, space or "main")]
        elif space:  # a schema, or a database whose schema is left out
            entries = [f for f in entries if f[1] == space or (f[0] == space and f[1] == "main")]
        near = [f for f in entries if f[:2] == (database, schema) or f[0] == "temp"]
        entries = near or entries
        if len(entries) > 1:
            raise OpaqueSqlError(f"names a table {name!r}, and there is more than one")
        return entries[0] if entries else None

    def _function(self, node: Node) -> bool:
        """Rewrite a table function; return whether it reads Parquet files."""
        function = node["function"]
        name = str(function["function_name"]).casefold()
        if name in _QUERIES:
            self.texts.append("parquet")  # a text that is SQL may read anything
            raise OpaqueSqlError(f"calls {name}()")
        if name.startswith(_LAKE_READERS):
            self.texts.append("parquet")
            raise OpaqueSqlError(f"calls {name}(), which reads a table of a lake")
        if name.startswith((*_ROW_READERS, *_OTHERS)):
            raise _untyped(f"rows with {name}()")
        if name not in _READERS:
            return False
        if node.get("with_ordinality") not in (None, "WITHOUT_ORDINALITY"):
            raise OpaqueSqlError("reads files with ordinality")
        positional, options = _arguments(function)
        if len(positional) != 1:
            raise OpaqueSqlError(f"calls {name}() in a way that Tacit does not read")
        if set(options) - _OPTIONS:
            if options.keys() - _OPTIONS == {"utf8_validation"}:
                raise OpaqueSqlError("says how text is validated")
            raise OpaqueSqlError(f"reads files with the option {min(set(options) - _OPTIONS)}")
        try:
            ((given,),) = self._ask(self._selects(positional)[0])
        except EngineMemoryError:
            raise
        except DataSourceError:
            given = None
        given = [given] if isinstance(given, str) else given
        if not isinstance(given, list) or not all(isinstance(file, str) for file in given):
            raise OpaqueSqlError("reads a file whose name is not known when the view is opened")
        values = (sql.removeprefix("SELECT ") for sql in self._selects(options.values()))
        more = "".join(f", {option} = {sql}" for option, sql in zip(options, values, strict=True))
        self._put(node, self._source(given, more), name)
        return True

    def _source(self, given: Sequence[str], options: str) -> str:
        """Return the name of a source that is these files."""
        listed = ", ".join(map(DUCKDB.literal, given))
        files = list(given)
        if not any("://" in file for file in given):
            files = [row[0] for row in self._ask(f"select file from glob([{listed}])")]
            refuse_table_format(files)
        original = self._ask(f"describe select * from read_parquet([{listed}]{options})")
        types = {str(row[0]): str(row[1]) for row in original}
        return viewed_parquet(files, options, types, self._engine)

    def _check_macro(self, name: str) -> None:
        text = self._macros.get(name.casefold())
        if text is not None and _ROW_READING.search(text):
            raise _untyped(f"rows with the macro {name}()")
        if text is not None and (_SUBQUERY.search(text) or name.casefold() in _READERS):
            self.texts.append(text)
            raise OpaqueSqlError(f"calls the macro {name}()")

    def _put(self, node: Node, source: str, alias: str) -> None:
        """Make a node of a table read a source, under the node's name in the SQL."""
        alias = str(node.get("alias") or alias)
        tree = self._parsed(f"select * from {source} as {DUCKDB.identifier(alias)}")
        table = tree["statements"][0]["node"]["from_table"]
        options = {n: node[n] for n in ("sample", "column_name_alias") if n in node}
        node.clear()
        node.update(table | options)

    def _selects(self, expressions: Iterable[Node]) -> list[str]:
        """Return the SQL that selects each expression."""
        return self._texts([self._selecting(expression) for expression in expressions])

    @cached_property
    def _of_one(self) -> str:
        return json.dumps(self._parsed("select 1"))

    def _selecting(self, expression: Node) -> Node:
        tree: Node = json.loads(self._of_one)
        tree["statements"][0]["node"]["select_list"] = [expression]
        return tree

    def _parsed(self, sql: str) -> Node:
        literal = DUCKDB.literal(sql)
        tree: Node = json.loads(self._engine.rows(f"select json_serialize_sql({literal})")[0][0])
        if tree.get("error"):
            raise OpaqueSqlError("is SQL that Tacit does not read")
        return tree

    def _text(self, tree: Node) -> str:
        return self._texts([tree])[0]

    def _texts(self, trees: Sequence[Node]) -> list[str]:
        if not trees:
            return []
        literals = (DUCKDB.literal(json.dumps(tree)) for tree in trees)
        listed = ", ".join(f"json_deserialize_sql({literal}::json)" for literal in literals)
        return list(map(str, self._engine.rows(f"select {listed}")[0]))


def _untyped(what: str) -> UntypedRowsError:
    return UntypedRowsError(
        f"the SQL reads {what}, of which DuckDB takes the types from the rows, so that one cell "
        "may change how all are read, or end every question: open the file or the database itself, "
        "or make a table of it"
    )


def may_read_parquet(texts: Sequence[str], plan: Callable[[], str]) -> bool:
    """Return whether what could not be rewritten may read Parquet files; raise for text."""
    if any("parquet" in text.casefold() for text in texts):
        return True
    try:
        with open_connection():
            shown = plan()
    except (ClosedConnectionError, EngineMemoryError):
        raise
    except Exception:  # as a far time within the footer does
        return True
    if _ROWS_IN_PLAN.search(shown):
        raise _untyped("rows of a file or of another program")
    return not shown or _IN_PLAN.search(shown) is not None


def embeds_rows(sql: str) -> bool:
    """Return whether the SQL of a relation shows rows that were read before."""
    return _ROWS in sql


class RelationEngine(DuckEngine):
    """The connection of a relation of DuckDB, which is reached through the relation alone."""

    def __init__(self, relation: Any) -> None:
        self._through = _Through(relation)
        through: Any = self._through
        super().__init__(connection=through)
        self.count("", 0)  # none of its queries is ended by another thread

    def view(self, sql: str, name: str = "") -> str:
        """Name a query, or another one of a name that is known; return its quoted name."""
        name = name or self.dialect.identifier(new_name())
        self._through.views[name] = sql
        return name

    def stream(self, sql: str) -> Any:
        """Return a relation that is a query."""
        return self._through.execute(sql)

    def fill(self, action: Callable[[], None]) -> None:
        """Bring in rows by an action, which is done again, by other queries, if it fails."""
        # A failure would end a transaction of the connection, in which nothing can be done again.
        try:
            if self._in_transaction():
                self._repair_all()
            if self._fails(action):
                self._repair_all()
                action()
        finally:
            self.leave()

    def _fails(self, action: Callable[[], None]) -> bool:
        """Do an action; return whether it failed and may succeed when it is done again."""
        try:
            action()
        except EngineMemoryError:
            raise
        except DataSourceError:
            if not self._repairs:
                raise
            return True
        return False

    def _repair_all(self) -> None:
        actions = [action for named in self._repairs.values() for action in named]
        self._repairs.clear()
        for action in actions:
            action()

    def _in_transaction(self) -> bool:
        first, second = (self.rows("select txid_current()") for _ in range(2))
        return first == second

    def leave(self) -> None:
        """Remove the view that DuckDB before 2.0 leaves behind of a query."""
        with contextlib.suppress(Exception):  # as where the connection was closed
            self._through.close()


class _Through:
    """The interface of a connection, on a relation."""

    def __init__(self, relation: Any) -> None:
        self._relation, self._name, self._left = relation, new_name(), False
        self.views: dict[str, str] = {}

    def cursor(self) -> _Through:
        return self

    def execute(self, sql: str) -> Any:
        used: list[str] = []
        text = sql
        for name, query in reversed(self.views.items()):
            if name.strip('"') in text:  # DuckDB leaves quotes out that it does not need
                used.insert(0, f"{name} as not materialized ({query})")
                text += query
        if used:
            prefix = "describe " if sql.startswith("describe ") else ""
            sql = f"{prefix}with {', '.join(used)} {sql.removeprefix(prefix)}"
        self._left = True
        return self._relation.query(self._name, sql)

    def close(self) -> None:
        if self._left:
            self._left = False
            self._relation.query(self._name, f"drop view if exists {self._name}")


def _nodes(tree: Any) -> Iterator[Node]:
    """Yield the nodes of a parsed query, each before its parts."""
    if isinstance(tree, dict):
        yield tree
        for part in list(tree.values()):
            yield from _nodes(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from _nodes(part)


def _expressions(node: Node) -> list[Node]:
    """Return the common table expressions of a node, with their names as ``key``."""
    cte = node.get("cte_map")
    return list(cte["map"]) if isinstance(cte, dict) else []


def _arguments(function: Node) -> tuple[list[Node], dict[str, Node]]:
    """Return the arguments of a call: positional ones, and those by name."""
    if "children" in function:  # DuckDB 1
        given = [("", child) for child in function["children"]]
    else:
        given = [(str(one["name"] or ""), one["expression"]) for one in function["arguments"]]
    positional, named = [], {}
    for name, value in given:
        left = value.get("left") or {}
        if not name and value.get("type") == "COMPARE_EQUAL" and left.get("type") == "COLUMN_REF":
            name, value = str(left["column_names"][-1]), value["right"]
        elif not name and value.get("alias"):
            name = str(value["alias"])
        if name:
            named[name.casefold()] = {**value, "alias": ""}
        else:
            positional.append(value)
    return positional, named


def _full(database: str, schema: str, name: str) -> str:
    return ".".join(map(DUCKDB.identifier, (database, schema, name)))


def _stem(file: str) -> str:
    """Return the name that SQL gives a file that it reads by its path.

    >>> _stem("of/visits.2024.parquet")
    'visits'
    """
    return re.split(r"[/\\]", file)[-1].partition(".")[0]

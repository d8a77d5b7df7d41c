"""The catalog of a data set: what clients of PostgreSQL ask about tables, from the declaration."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb

from tacit.errors import need
from tacit.service.problem import Problem
from tacit.service.wire.statements import (
    BOOL,
    DATE,
    FLOAT8,
    INT4,
    INT8,
    TEXT,
    TEXT_ARRAY,
    Field,
    Result,
    Statement,
)
from tacit.tables.dataset.draft import TableShape

# Clients ask the catalog of PostgreSQL in SQL of their own, with joins, subqueries and functions.
# That SQL runs in an engine in memory that has these tables and nothing else: names and types of
# the declared tables, and no row of them.  It can reach no file and no other table, uses little
# memory, and ends after some seconds.


VERSION = "15.0"
_SECONDS = 5.0  # for which a query of the catalog may run
_MAX_ROWS = 20_000
_MEMORY = "64MB"
_CONFIG: dict[str, Any] = {
    "threads": 1,
    "memory_limit": _MEMORY,
    "python_enable_replacements": False,  # no variable of this program is a table
}
_FIRST_OID = 16_384
_NAMESPACES = {"pg_catalog": 11, "public": 2200, "information_schema": 13_000}
_KINDS = {  # what has another kind is text here
    "integer": INT8,
    "float": FLOAT8,
    "decimal": 1700,
    "boolean": BOOL,
    "date": DATE,
}
# Types: oid, name in the catalog, name in SQL, bytes, category.
_TYPES: tuple[tuple[int, str, str, int, str], ...] = (
    (BOOL, "bool", "boolean", 1, "B"),
    (18, "char", '"char"', 1, "Z"),
    (19, "name", "name", 64, "S"),
    (INT8, "int8", "bigint", 8, "N"),
    (21, "int2", "smallint", 2, "N"),
    (INT4, "int4", "integer", 4, "N"),
    (TEXT, "text", "text", -1, "S"),
    (26, "oid", "oid", 4, "N"),
    (700, "float4", "real", 4, "N"),
    (FLOAT8, "float8", "double precision", 8, "N"),
    (1042, "bpchar", "character", -1, "S"),
    (1043, "varchar", "character varying", -1, "S"),
    (DATE, "date", "date", 4, "D"),
    (1114, "timestamp", "timestamp without time zone", 8, "D"),
    (1184, "timestamptz", "timestamp with time zone", 8, "D"),
    (1700, "numeric", "numeric", -1, "N"),
    (2205, "regclass", "regclass", 4, "N"),
    (TEXT_ARRAY, "_text", "text[]", -1, "A"),
)
_SQL_NAMES = {oid: words for oid, _, words, _, _ in _TYPES}

# Tables of the catalog, with the columns that clients read.
_TABLES = {
    "pg_namespace": "oid bigint, nspname text, nspowner bigint, nspacl text[]",
    "pg_class": "oid bigint, relname text, relnamespace bigint, reltype bigint, reloftype bigint, "
    "relowner bigint, relam bigint, relfilenode bigint, reltablespace bigint, relpages integer, "
    "reltuples double, relallvisible integer, reltoastrelid bigint, relhasindex boolean, "
    "relisshared boolean, relpersistence text, relkind text, relnatts integer, relchecks integer, "
    "relhasrules boolean, relhastriggers boolean, relhassubclass boolean, relrowsecurity boolean, "
    "relforcerowsecurity boolean, relispopulated boolean, relreplident text, "
    "relispartition boolean, relacl text[], reloptions text[], relpartbound text, xmin bigint, "
    "relhasoids boolean",
    "pg_attribute": "attrelid bigint, attname text, atttypid bigint, attstattarget integer, "
    "attlen integer, attnum integer, attndims integer, atttypmod integer, attbyval boolean, "
    "attstorage text, attnotnull boolean, atthasdef boolean, atthasmissing boolean, "
    "attidentity text, attgenerated text, attisdropped boolean, attislocal boolean, "
    "attinhcount integer, attcollation bigint, attacl text[], attoptions text[], "
    "attcompression text, attfdwoptions text[]",
    "pg_type": "oid bigint, typname text, typnamespace bigint, typowner bigint, typlen integer, "
    "typbyval boolean, typtype text, typcategory text, typispreferred boolean, "
    "typisdefined boolean, typdelim text, typrelid bigint, typelem bigint, typarray bigint, "
    "typinput text, typoutput text, typreceive text, typsend text, "
    "typnotnull boolean, typbasetype bigint, typtypmod integer, typndims integer, "
    "typcollation bigint, typdefault text, typacl text[]",
    "pg_description": "objoid bigint, classoid bigint, objsubid integer, description text",
    "pg_database": "oid bigint, datname text, datdba bigint, encoding integer, datcollate text, "
    "datctype text, datistemplate boolean, datallowconn boolean, datconnlimit integer, "
    "datlocprovider text, daticulocale text, datacl text[], dattablespace bigint",
    "pg_roles": "oid bigint, rolname text, rolsuper boolean, rolinherit boolean, "
    "rolcreaterole boolean, rolcreatedb boolean, rolcanlogin boolean, rolreplication boolean, "
    "rolconnlimit integer, rolvaliduntil text, rolbypassrls boolean, rolconfig text[]",
    "pg_settings": "name text, setting text, unit text, category text, short_desc text",
    "pg_am": "oid bigint, amname text, amhandler text, amtype text",
    "pg_collation": "oid bigint, collname text, collnamespace bigint, collprovider text",
    # those that stay empty
    "pg_index": "indexrelid bigint, indrelid bigint, indnatts integer, indnkeyatts integer, "
    "indisunique boolean, indisprimary boolean, indisexclusion boolean, indisclustered boolean, "
    "indisvalid boolean, indisreplident boolean, indkey integer[], indclass bigint[], "
    "indoption integer[], indexprs text, indpred text, indnullsnotdistinct boolean",
    "pg_constraint": "oid bigint, conname text, connamespace bigint, contype text, "
    "condeferrable boolean, condeferred boolean, convalidated boolean, conrelid bigint, "
    "contypid bigint, conindid bigint, conparentid bigint, confrelid bigint, confupdtype text, "
    "confdeltype text, confmatchtype text, conkey integer[], confkey integer[], conbin text",
    "pg_attrdef": "oid bigint, adrelid bigint, adnum integer, adbin text",
    "pg_enum": "oid bigint, enumtypid bigint, enumsortorder double, enumlabel text",
    "pg_range": "rngtypid bigint, rngsubtype bigint, rngmultitypid bigint",
    "pg_inherits": "inhrelid bigint, inhparent bigint, inhseqno integer, inhdetachpending boolean",
    "pg_depend": "classid bigint, objid bigint, objsubid integer, refclassid bigint, "
    "refobjid bigint, refobjsubid integer, deptype text",
    "pg_rewrite": "oid bigint, rulename text, ev_class bigint, ev_type text, ev_enabled text",
    "pg_trigger": "oid bigint, tgrelid bigint, tgname text, tgisinternal boolean, tgenabled text",
    "pg_policy": "oid bigint, polname text, polrelid bigint, polcmd text",
    "pg_proc": "oid bigint, proname text, pronamespace bigint, prokind text, prorettype bigint, "
    "pronargs integer, proretset boolean",
    "pg_partitioned_table": "partrelid bigint, partstrat text, partdefid bigint",
    "pg_foreign_table": "ftrelid bigint, ftserver bigint, ftoptions text[]",
    "pg_sequence": "seqrelid bigint, seqtypid bigint, seqstart bigint, seqincrement bigint",
    "pg_tablespace": "oid bigint, spcname text, spcowner bigint, spcacl text[]",
    "pg_extension": "oid bigint, extname text, extnamespace bigint, extversion text",
    "pg_publication": "oid bigint, pubname text, puballtables boolean",
    "pg_publication_rel": "oid bigint, prpubid bigint, prrelid bigint",
    "pg_publication_namespace": "oid bigint, pnpubid bigint, pnnspid bigint",
    "pg_statistic_ext": "oid bigint, stxrelid bigint, stxnamespace bigint, stxname text, "
    "stxkind text[], stxstattarget integer",
    "pg_matviews": "schemaname text, matviewname text, matviewowner text, definition text",
    "pg_views": "schemaname text, viewname text, viewowner text, definition text",
    "pg_tables": "schemaname text, tablename text, tableowner text, tablespace text, "
    "hasindexes boolean, hasrules boolean, hastriggers boolean, rowsecurity boolean",
    "pg_indexes": "schemaname text, tablename text, indexname text, indexdef text",
    "pg_auth_members": "roleid bigint, member bigint, grantor bigint, admin_option boolean",
    "pg_stat_activity": "pid integer, datname text, state text, query text",
    "is_schemata": "catalog_name text, schema_name text, schema_owner text",
    "is_tables": "table_catalog text, table_schema text, table_name text, table_type text, "
    "is_insertable_into text",
    "is_views": "table_catalog text, table_schema text, table_name text, view_definition text",
    "is_columns": "table_catalog text, table_schema text, table_name text, column_name text, "
    "ordinal_position integer, column_default text, is_nullable text, data_type text, "
    "character_maximum_length integer, numeric_precision integer, numeric_scale integer, "
    "datetime_precision integer, udt_catalog text, udt_schema text, udt_name text, "
    "is_identity text, is_generated text, is_updatable text",
    "is_table_constraints": "constraint_name text, table_schema text, table_name text, "
    "constraint_type text",
    "is_key_column_usage": "constraint_name text, table_schema text, table_name text, "
    "column_name text, ordinal_position integer",
    "is_constraint_column_usage": "constraint_name text, table_schema text, table_name text, "
    "column_name text",
    "is_referential_constraints": "constraint_name text, unique_constraint_name text",
    "is_role_table_grants": "grantee text, table_schema text, table_name text, privilege_type text",
}

# Tables without rows: a query that joins one has none.
_EMPTY = {
    *("pg_policy", "pg_statistic_ext", "pg_publication", "pg_publication_rel", "pg_inherits"),
    *("pg_auth_members", "pg_proc", "pg_trigger", "pg_rewrite", "pg_foreign_table", "pg_enum"),
    *("pg_publication_namespace", "pg_foreign_server", "pg_sequence", "pg_constraint", "pg_index"),
    *("pg_operator", "pg_aggregate", "pg_language", "pg_extension", "pg_shdescription"),
    *("pg_db_role_setting", "pg_event_trigger", "pg_cast", "pg_conversion", "pg_default_acl"),
    *("pg_ts_config", "pg_ts_dict", "pg_ts_parser", "pg_ts_template", "pg_subscription"),
    *("pg_foreign_data_wrapper", "pg_user_mapping", "pg_opclass", "pg_opfamily", "pg_range"),
}
_AS_TEXT = ("text", "name", "char", "pg_node_tree", "regoper", "cstring", "varchar", "bpchar")

# Functions of PostgreSQL that clients call, in the engine's own words.
_MACROS = {
    "pg_table_is_visible(o)": "true",
    "pg_type_is_visible(o)": "true",
    "pg_function_is_visible(o)": "true",
    "pg_collation_is_visible(o)": "true",
    "pg_statistics_obj_is_visible(o)": "true",
    "pg_is_other_temp_schema(o)": "false",
    "pg_my_temp_schema()": "0",
    "pg_get_userbyid(o)": "'tacit'",
    "pg_get_expr(a, b), (a, b, c)": "cast(null as text)",
    "pg_get_constraintdef(o), (o, p)": "cast(null as text)",
    "pg_get_indexdef(o), (o, a, b)": "cast(null as text)",
    "pg_get_viewdef(o), (o, p)": "cast(null as text)",
    "pg_get_partkeydef(o)": "cast(null as text)",
    "pg_get_serial_sequence(t, c)": "cast(null as text)",
    "pg_get_statisticsobjdef_columns(o)": "cast(null as text)",
    "pg_encoding_to_char(n)": "'UTF8'",
    "pg_relation_is_publishable(o)": "false",
    "pg_size_pretty(n)": "'unknown'",
    "pg_total_relation_size(o)": "0",
    "pg_relation_size(o), (o, f)": "0",
    "pg_table_size(o)": "0",
    "pg_database_size(o)": "0",
    "pg_is_in_recovery()": "false",
    "pg_backend_pid()": "0",
    "obj_description(o), (o, c)": "(select description from cat.pg_description "
    "where objoid = o and objsubid = 0)",
    "shobj_description(o, c)": "cast(null as text)",
    "col_description(o, n)": "(select description from cat.pg_description "
    "where objoid = o and objsubid = n)",
    "has_schema_privilege(a, b), (a, b, c)": "true",
    "has_table_privilege(a, b), (a, b, c)": "true",
    "has_database_privilege(a, b), (a, b, c)": "true",
    "has_any_column_privilege(a, b), (a, b, c)": "true",
    "has_column_privilege(a, b, c)": "true",
    "format_type(o, m)": "(select words from cat.type_words where type_words.oid = o)",
    "to_regclass(t)": "(select oid from cat.pg_class where relname = "
    "replace(replace(t, 'public.', ''), '\"', ''))",
    "to_regtype(t)": "(select oid from cat.type_words where words = t or short = t)",
    "quote_ident(t)": "t",
    "current_schemas(b)": "['pg_catalog', 'public']",
    "txid_current()": "1",
    "inet_server_port()": "cast(null as integer)",
}
# Functions of the engine that are called as they are: none makes a long text of a short one.
_IN_ENGINE = {
    *("coalesce", "count", "lower", "upper", "length", "substring", "concat", "min", "max", "sum"),
    *("row_number", "unnest", "explode", "nullif"),
    *(
        "str_position",
        "strpos",
        "trim",
        "split_part",
        "abs",
        "exists",
        "any",
        "all",
        "case",
        "cast",
    ),
    *("logical_or", "logical_and", "greatest", "least", "left", "right", "starts_with"),
    *("array_size", "array_length", "current_timestamp", "current_date", "and", "or", "xor", "if"),
    *("array_position", "regexp_like", "rank", "try_cast"),
}
_MANY_IN_ONE = ("array", "array_agg", "string_agg", "group_concat", "listagg")
# Of options and access lists, which no table here has, and of identity columns.
_ALWAYS_NULL = ("json_build_object", "json_object", "array_to_string")
_PROCEDURES = ("typreceive", "typsend", "typinput", "typoutput")
_OTHER_NAMES = {
    "current_catalog": "current_database",
    "session_user": "current_user",
    "current_version": "version",
}
# Longer texts by concatenation are bounded, too.
_MAX_LENGTH, _MAX_LITERAL, _MAX_JOINED = 20_000, 300, 6
_AT_ONCE = 100  # rows that are fetched before their size is looked at
_MAX_BYTES = 8_000_000  # of the texts of an answer
_UNNAMED = "?column?"
_CTE = "with_"  # before the names of WITH


class Catalog:
    """The catalog of one data set; threads share it."""

    def __init__(self, dataset: str, shapes: Mapping[str, TableShape], about: str) -> None:
        self._engine = duckdb.connect(":memory:", config=_CONFIG)
        self._dataset = dataset
        self._oids = {name: _FIRST_OID + index for index, name in enumerate(shapes)}
        self._engine.execute("create schema cat")
        self._engine.execute("create table cat.type_words (oid bigint, words text, short text)")
        for name, columns in _TABLES.items():
            self._engine.execute(f"create table cat.{name} ({columns})")
        for call, body in _MACROS.items():
            name, _, arguments = call.partition("(")
            forms = f"({arguments}".split("), ")
            made = ", ".join(f"{one.removesuffix(')')}) as {body}" for one in forms)
            self._engine.execute(f"create macro fn_{name}{made}")
        self._fill(shapes, about)
        self._engine.execute("set enable_external_access = false")
        self._engine.execute("set lock_configuration = true")

    def close(self) -> None:
        self._engine.close()

    def answer(self, statement: Statement, values: Mapping[str, str]) -> Result:
        """Run a query of the catalog; ``values`` are those of functions without arguments."""
        tree = _parsed(statement)
        nothing = _without_rows(tree)
        if nothing is not None:
            return Result("SELECT 0", nothing)
        _name_columns(tree)
        self._rewrite(tree, values)
        try:
            text = tree.sql(dialect="duckdb")
        except Exception:
            raise _unknown() from None
        cursor = self._engine.cursor()
        clock = threading.Timer(_SECONDS, cursor.interrupt)
        clock.daemon = True
        clock.start()
        size = 0
        try:
            cursor.execute(text)
            rows: list[tuple[Any, ...]] = []
            while len(rows) < _MAX_ROWS and (part := cursor.fetchmany(_AT_ONCE)):
                rows += part
                size += sum(len(one) for row in part for one in row if isinstance(one, str))
                if size > _MAX_BYTES:
                    raise _unknown()
            fields = tuple(Field(str(name), _type(kind)) for name, kind, *_ in cursor.description)
        except duckdb.Error:
            raise _unknown() from None
        finally:
            clock.cancel()
            cursor.close()
        return Result(f"SELECT {len(rows)}", fields, rows)

    def _fill(self, shapes: Mapping[str, TableShape], about: str) -> None:
        owner = 10
        self._add("pg_namespace", [(oid, name, owner, None) for name, oid in _NAMESPACES.items()])
        self._engine.executemany(
            "insert into cat.type_words values (?, ?, ?)",
            [(oid, words, short) for oid, short, words, *_ in _TYPES],
        )
        for oid, name, _, size, category in _TYPES:
            self._add_part(
                "pg_type",
                oid=oid,
                typname=name,
                typnamespace=_NAMESPACES["pg_catalog"],
                typlen=size,
                typtype="b",
                typcategory=category,
                typisdefined=True,
                typdelim=",",
                typrelid=0,
                typelem=TEXT if oid == TEXT_ARRAY else 0,
                typarray=TEXT_ARRAY if oid == TEXT else 0,
                typbasetype=0,
                typnotnull=False,
                typtypmod=-1,
                typinput=f"{name}in",
                typoutput=f"{name}out",
                typreceive=f"{name}recv" if oid != TEXT_ARRAY else "array_recv",
                typsend=f"{name}send",
            )
        self._add_part(
            "pg_database",
            oid=1,
            datname=self._dataset,
            encoding=6,
            datistemplate=False,
            datallowconn=True,
            datcollate="C",
            datctype="C",
            datdba=owner,
            datlocprovider="c",
        )
        self._add_part("pg_roles", oid=owner, rolname="tacit", rolsuper=False, rolcanlogin=True)
        self._add_part("pg_am", oid=2, amname="heap", amtype="t")
        for name in ("public", "pg_catalog", "information_schema"):
            self._add("is_schemata", [(self._dataset, name, "tacit")])
        for name, shape in shapes.items():
            self._add_table(name, shape, about)

    def _add_table(self, name: str, shape: TableShape, about: str) -> None:
        oid, columns = self._oids[name], list(shape.schema.items())
        self._add_part(
            "pg_class",
            oid=oid,
            relname=name,
            relnamespace=_NAMESPACES["public"],
            relowner=10,
            relam=2,
            relkind="r",
            relpersistence="p",
            reltuples=-1.0,
            relpages=0,
            relnatts=len(columns),
            relchecks=0,
            relreplident="d",
            reltablespace=0,
            reltoastrelid=0,
            reloftype=0,
            **dict.fromkeys(
                ("relhasindex", "relhasrules", "relhastriggers", "relrowsecurity", "relhasoids"),
                False,
            ),
            **dict.fromkeys(("relforcerowsecurity", "relispartition", "relhassubclass"), False),
            relispopulated=True,
        )
        self._add_part("pg_tables", schemaname="public", tablename=name, tableowner="tacit")
        self._add("is_tables", [(self._dataset, "public", name, "BASE TABLE", "NO")])
        words = "a public table" if shape.public else about
        self._add("pg_description", [(oid, 1259, 0, words)])
        for number, (column, one) in enumerate(columns, 1):
            type_ = _KINDS.get(one.kind, TEXT)
            self._add_part(
                "pg_attribute",
                attrelid=oid,
                attname=column,
                atttypid=type_,
                attnum=number,
                atttypmod=-1,
                attnotnull=False,
                atthasdef=False,
                attisdropped=False,
                attidentity="",
                attgenerated="",
                attcollation=0,
                attlen=-1,
                attndims=0,
                attislocal=True,
                attinhcount=0,
                attstorage="p",
                attcompression="",
            )
            self._add_part(
                "is_columns",
                table_catalog=self._dataset,
                table_schema="public",
                table_name=name,
                column_name=column,
                ordinal_position=number,
                is_nullable="YES",
                data_type=_SQL_NAMES[type_],
                udt_catalog=self._dataset,
                udt_schema="pg_catalog",
                udt_name=next(short for own, short, *_ in _TYPES if own == type_),
                is_identity="NO",
                is_generated="NEVER",
                is_updatable="NO",
            )
            note = ", ".join(shape.descriptions.get(column, {}).values())
            if note:
                self._add("pg_description", [(oid, 1259, number, note)])

    def _add(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            marks = ", ".join("?" for _ in row)
            self._engine.execute(f"insert into cat.{table} values ({marks})", list(row))

    def _add_part(self, table: str, **values: Any) -> None:
        names, marks = ", ".join(values), ", ".join("?" for _ in values)
        query = f"insert into cat.{table} ({names}) values ({marks})"
        self._engine.execute(query, list(values.values()))

    def _rewrite(self, tree: Any, values: Mapping[str, str]) -> None:
        """Rewrite a query in place for the engine: its tables, functions, casts and operators."""
        exp = need("sqlglot.expressions", "sql")
        # A name of WITH has another name here, so that out of its scope it is no table at all.
        ctes = list(tree.find_all(exp.CTE))
        views = {cte.alias.lower() for cte in ctes}
        for cte in ctes:
            cte.args["alias"].set("this", exp.to_identifier(f"{_CTE}{cte.alias.lower()}", True))
        for table in list(tree.find_all(exp.Table)):
            self._rewrite_table(table, views)
        for node in list(tree.walk()):
            if isinstance(node, exp.Column):
                if node.args.get("db") is not None:  # "pg_catalog"."pg_class"."oid"
                    node.set("db", None)
                    node.set("catalog", None)
                if node.name.lower() == "tableoid":  # of the tables that have descriptions
                    node.replace(exp.Literal.number(1259))
            elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
                node.replace(node.expression)
            elif isinstance(node, exp.NEQ) and node.this.name.lower() in _PROCEDURES:
                node.replace(exp.true())  # all types have them: typreceive <> 0
            elif isinstance(node, exp.Collate):
                node.replace(node.this)
            elif isinstance(node, exp.Operator):
                node.replace(self._operator(node))
        for node in list(tree.walk()):
            if node.root() is not tree:
                continue  # a part of what was replaced
            if isinstance(node, exp.Cast):
                self._rewrite_cast(node)
            elif isinstance(node, exp.Func):
                self._rewrite_function(node, values)

    def _rewrite_table(self, table: Any, views: set[str]) -> None:
        exp = need("sqlglot.expressions", "sql")
        name, schema = table.name.lower(), table.db.lower()
        if not name and isinstance(table.this, exp.Func):
            return  # a function that makes rows: its name is checked with the others
        if not schema and name in views:
            alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name, True))
            table.set("alias", alias)
            table.set("this", exp.to_identifier(f"{_CTE}{name}", True))
            return
        own = f"is_{name}" if schema == "information_schema" else name
        if own not in _TABLES or (schema and schema not in ("pg_catalog", "information_schema")):
            raise Problem(
                "not_found",
                f"there is no table {table.name[:80]!r}",
                "\\dt lists the tables of the data set",
            )
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name))
        table.set("alias", alias)
        table.set("this", exp.to_identifier(own))
        table.set("db", exp.to_identifier("cat"))
        table.set("catalog", None)

    def _operator(self, node: Any) -> Any:
        """Return ``OPERATOR(pg_catalog.~)`` as a plain operator."""
        exp = need("sqlglot.expressions", "sql")
        sign = str(node.args.get("operator", "")).rsplit(".", 1)[-1].strip()
        made = {"~": exp.RegexpLike, "=": exp.EQ, "<>": exp.NEQ}.get(sign)
        if made is None:
            raise _unknown()
        return made(this=node.this, expression=node.expression)

    def _rewrite_cast(self, node: Any) -> None:
        """Rewrite a cast to a type of the catalog; the name of a table becomes its number."""
        exp = need("sqlglot.expressions", "sql")
        kind = node.args["to"].sql(dialect="postgres").lower().rsplit(".", 1)[-1].strip('"')
        inner = node.this
        if kind in ("regclass", "oid", "regtype", "regproc", "regnamespace"):
            if isinstance(inner, exp.Literal) and inner.is_string:
                name = inner.name.rsplit(".", 1)[-1].strip('"')
                own = {**self._oids, "pg_class": 1259, "pg_namespace": 2615, "pg_type": 1247}
                own = {**own, "pg_database": 1262, **_NAMESPACES} if kind != "regtype" else own
                if inner.name.isdecimal():
                    node.replace(exp.Literal.number(inner.name))
                else:
                    node.replace(exp.Literal.number(own.get(name, 0)))
            else:
                node.replace(inner)
        elif kind.removesuffix("[]") in _AS_TEXT:
            node.set("to", exp.DataType.build("text[]" if "[" in kind else "text", "duckdb"))
        elif "pg_catalog" in node.args["to"].sql(dialect="postgres"):
            node.set("to", exp.DataType.build(kind, "postgres"))

    def _rewrite_function(self, node: Any, values: Mapping[str, str]) -> None:
        exp = need("sqlglot.expressions", "sql")
        name = _called(node)
        name = _OTHER_NAMES.get(name, name)
        if isinstance(node, exp.SessionParameter):
            raise _unknown()
        if name in _ALWAYS_NULL:
            node.replace(exp.Null())
        elif name == "current_setting":
            node.replace(exp.Literal.string(""))
        elif name in values and not node.expressions:
            node.replace(exp.Literal.string(values[name]))
        elif any(name == call.partition("(")[0] for call in _MACROS):
            arguments = node.expressions if isinstance(node, exp.Anonymous) else _arguments(node)
            node.replace(exp.Anonymous(this=f"fn_{name}", expressions=arguments))
        elif name in _MANY_IN_ONE:
            # Of many rows they make one value of any length: only of none, or as long as written.
            inner = node.find(exp.Query) if name == "array" else node.find_ancestor(exp.Select)
            written = inner is None and name == "array"
            if not written and not (isinstance(inner, exp.Select) and _reads_nothing(inner)):
                raise _unknown()
        elif name not in _IN_ENGINE:
            raise Problem("unsupported_query", f"there is no function {name[:80]!r} here")


def _name_columns(tree: Any) -> None:
    """Name the columns of a query that it leaves unnamed as PostgreSQL does."""
    exp = need("sqlglot.expressions", "sql")
    if isinstance(tree, exp.Select):
        for one in tree.selects:
            if not one.alias and not isinstance(one, (exp.Column, exp.Star)):
                one.replace(exp.alias_(one.copy(), _title(one), quoted=True))


def _title(node: Any) -> str:
    exp = need("sqlglot.expressions", "sql")
    if isinstance(node, exp.Cast):
        words = node.args["to"].sql(dialect="postgres").lower()
        short = {words: short for _, short, words, *_ in _TYPES} | {"int": "int4"}
        inner = _title(node.this)
        return inner if inner != _UNNAMED else short.get(words, words)
    if isinstance(node, exp.Paren):
        return _title(node.this)
    if isinstance(node, exp.Dot):  # pg_catalog.version()
        return _title(node.expression)
    if isinstance(node, exp.Subquery):
        return str(node.this.selects[0].alias) or _title(node.this.selects[0])
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, (exp.Func, exp.Exists)) and not isinstance(node, exp.Binary):
        name = _called(node)
        return {"current_version": "version", "trim": "btrim"}.get(name, name)
    return _UNNAMED


def _called(node: Any) -> str:
    """Return the name of a function in lower case."""
    exp = need("sqlglot.expressions", "sql")
    return str(node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()


def _without_rows(tree: Any) -> tuple[Field, ...] | None:
    """Return the columns of a query of tables that are always empty; None of any other query."""
    # So the columns and functions that clients use of them need no counterpart here.
    if not _is_empty(tree):
        return None
    names = [one.alias_or_name or _title(one) for one in tree.selects]
    return tuple(Field(name, TEXT) for name in names)


def _is_empty(query: Any) -> bool:
    """Return whether a query joins a table or a subquery that has no rows."""
    exp = need("sqlglot.expressions", "sql")
    if isinstance(query, exp.SetOperation):
        return _is_empty(query.left) and _is_empty(query.right)
    if isinstance(query, exp.Subquery):
        return _is_empty(query.this)
    if not isinstance(query, exp.Select):
        return False
    if query.args.get("group") is None:  # a count of no rows is a row
        found = (agg for one in query.expressions for agg in one.find_all(exp.AggFunc))
        if any(agg.find_ancestor(exp.Select) is query for agg in found):
            return False
    return _reads_nothing(query)


def _reads_nothing(query: Any) -> bool:
    """Return whether a SELECT has no rows, before it is grouped."""
    exp = need("sqlglot.expressions", "sql")
    start = query.args.get("from_") or query.args.get("from")
    joins = query.args.get("joins") or ()
    if any(one.side in ("RIGHT", "FULL") for one in joins):
        return False
    joined = [] if start is None else [start.this]
    joined += [one.this for one in joins if not one.side]
    return any(
        one.name.lower() in _EMPTY if isinstance(one, exp.Table) else _is_empty(one)
        for one in joined
    )


def _arguments(node: Any) -> list[Any]:
    known = (node.args.get(name) for name in node.arg_types)
    made: list[Any] = []
    for one in known:
        made += one if isinstance(one, list) else [one] if one is not None else []
    return made


def _parsed(statement: Statement) -> Any:
    errors = need("sqlglot.errors", "sql")
    try:
        (tree,) = need("sqlglot", "sql").parse(statement.text, read="postgres")
    except (errors.SqlglotError, ValueError, RecursionError, AttributeError, TypeError):
        raise Problem("invalid_request", "this is not SQL that can be read") from None
    exp = need("sqlglot.expressions", "sql")
    if not isinstance(tree, exp.Query):
        raise Problem("unsupported_query", "only queries are answered: select count(*) from ...")
    joined = len(list(tree.find_all(exp.DPipe, exp.Concat, exp.GroupConcat, exp.ConcatWs)))
    literals = (len(one.name) for one in tree.find_all(exp.Literal))
    if (
        len(statement.text) > _MAX_LENGTH
        or joined > _MAX_JOINED
        or max(literals, default=0) > _MAX_LITERAL
        or any(one.args.get("recursive") for one in tree.find_all(exp.With))
    ):
        raise _unknown()
    return tree


def _type(kind: Any) -> int:
    name = str(kind).upper()
    if name.endswith("[]"):
        return TEXT_ARRAY
    known = {"BIGINT": INT8, "INTEGER": INT4, "BOOLEAN": BOOL, "DOUBLE": FLOAT8, "DATE": DATE}
    return known.get(name, 1700 if name.startswith(("DECIMAL", "HUGEINT")) else TEXT)


def _unknown() -> Problem:
    """Return the one answer to what the catalog cannot run."""
    return Problem(
        "unsupported_query",
        "this query about the catalog is not understood",
        "the tables and columns are in information_schema.columns; GET /v1/datasets/NAME has all",
    )

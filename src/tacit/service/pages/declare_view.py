"""The page on which a curator declares a data set: its form, and the declaration in it."""

# The fields of the first table of people have no prefix; those of the other tables begin with
# ``t1``, ``t2`` and so on.  What a form does not know of a declaration (how a file is read, caps of
# named teams) stays unchanged.

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from tacit.accounting.budget import Budget
from tacit.errors import UsageError
from tacit.report.text import budget_words
from tacit.service.pages.views import protection
from tacit.tables.missing_codes import codes_in, codes_text, missing_codes
from tacit.tables.plan.query import LABELS
from tacit.tables.privacy_unit import MAX_PARTS
from tacit.tables.reading import Code

# Kinds of columns.
KINDS = ("integer", "float", "decimal", "text", "boolean", "date", "timestamp")
COLUMNS = 150  # maximum number of columns in a form; more are declared over HTTP
TABLES = 9  # maximum number of tables in a form; more are declared over HTTP
# Contents of another table: rows of the same people, public rows, or left out.
PEOPLE, PUBLIC, LEFT_OUT = "people", "public", "none"
_LOSSES = ("epsilon", "delta", "rho")
_EACH = ("each_team", "each_analyst")
_TEXTS = ("purpose", "owner")
_PARTS = 3  # fields of a form for the columns that name a person together


def declared_in(
    one: Callable[[str], str], existing: Mapping[str, Any], hosting: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the declaration in a form, and the hosting of its data set.

    >>> form = {"person": "id", "rows": "5", "c0": "cost", "low0": "0", "high0": "9"}
    >>> fields, _ = declared_in(lambda n: form.get(n, ""), {"tables": {"t": {"path": "t.csv"}}}, {})
    >>> fields["unit"], fields["tables"]["t"]["columns"]
    ({'person': 'id', 'rows': 5}, {'cost': {'bounds': ['0', '9']}})
    """
    fields, how = copy.deepcopy(dict(existing)), copy.deepcopy(dict(hosting))
    if "unit" not in fields:
        fields["unit"] = _unit(one)
        fields["budget"] = {name: one(name).strip() for name in _LOSSES if one(name).strip()}
        each = {name: one(name).strip() for name in _EACH if one(name).strip()}
        if each:
            budget = fields["budget"]
            loss, also = "rho" if "rho" in budget else "epsilon", {}
            if "delta" in budget:
                also = {"delta": budget["delta"]}
            how["caps"] = {name: {loss: amount, **also} for name, amount in each.items()}
    for name in _TEXTS:
        _put(fields, name, one(name).strip())
    _put(how, "latency", one("latency").strip())
    _put(how, "refresh", one("refresh").strip())
    if one("approval"):
        how["approval"] = True
    first = _first(fields)
    _put_columns(fields["tables"][first], one, "")
    for index in range(1, TABLES):
        _put_table(fields["tables"], first, one, f"t{index}")
    return fields, how


def added(fields: Mapping[str, Any], one: Callable[[str], str]) -> dict[str, Any]:
    """Return a declaration with the table that a form adds, of the same people by default.

    >>> form = {"newfile": "data/sites.csv"}
    >>> list(added({"tables": {"stays": {}}}, lambda name: form.get(name, ""))["tables"])
    ['stays', 'sites']
    """
    file, tables = one("newfile"), fields["tables"]
    name = one("newname").strip() or PurePosixPath(file).stem
    if name in tables:
        raise UsageError(f"there is a table {name!r} already: give this one another name")
    if len(tables) >= TABLES:
        raise UsageError(f"a form has at most {TABLES} tables: declare more over HTTP")
    return {**fields, "tables": {**tables, name: {"path": file}}}


def form_of(
    fields: Mapping[str, Any],
    hosting: Mapping[str, Any],
    names: Mapping[str, Sequence[str]],
    existing: Sequence[str] = (),
) -> dict[str, Any]:
    first, unit = _first(fields), fields.get("unit")
    budget, caps = fields.get("budget") or {}, hosting.get("caps") or {}
    by_person = unit if isinstance(unit, Mapping) else {}
    tables, left = _shown_tables(fields["tables"], first, names, existing)
    return {
        "path": fields["tables"][first].get("path", ""),
        "person": _parts(by_person.get("person")),
        "by_row": unit == "row",
        "unit_rows": _shown(by_person.get("rows")),
        "groups": _shown(by_person.get("groups")),
        **{name: _shown(budget.get(name)) for name in _LOSSES},
        **{name: _amount(caps.get(name)) for name in _EACH},
        **{name: _shown(fields.get(name)) for name in _TEXTS},
        "latency": _shown(hosting.get("latency")),
        "refresh": _shown(hosting.get("refresh")),
        "approval": bool(hosting.get("approval")),
        "kinds": KINDS,
        "names": list(names.get(first, ())),
        "columns": tables[0]["columns"],
        "tables": tables,
        "others": tables[1:],
        "left": left,
    }


def checked(reply: Mapping[str, Any]) -> dict[str, Any]:
    budget = budget_words(Budget.from_json(reply["budget"]))
    return {
        "protects": protection(str(reply["protects"])),
        "budget": budget,
        "changes": reply["changes"],
        "notes": reply["notes"],
        "tables": [
            (name, [(c["name"], c["kind"]) for c in one["columns"]])
            for name, one in reply["tables"].items()
        ],
    }


def _first(fields: Mapping[str, Any]) -> str:
    """Return the name of the first table of people of a declaration."""
    tables: Mapping[str, Any] = fields["tables"]
    return next(name for name, one in tables.items() if not one.get("public"))


def _put_columns(table: dict[str, Any], one: Callable[[str], str], prefix: str) -> None:
    columns, missing = dict(table.get("columns") or {}), dict(table.get("missing") or {})
    for number in range(COLUMNS):
        name = one(f"{prefix}c{number}")
        if name:
            fields = _column(one, prefix, number, dict(columns.pop(name, {})))
            columns |= {name: fields} if fields else {}
            listed = one(f"{prefix}missing{number}").strip()
            missing.pop(name, None)
            if listed:
                missing |= missing_codes({name: codes_in(listed)})
    table["columns"] = columns
    table.pop("missing", None)
    if missing:
        table["missing"] = missing


def _put_table(tables: dict[str, Any], first: str, one: Callable[[str], str], prefix: str) -> None:
    """Set another table than the first from a form, or leave it out."""
    name, of = one(f"{prefix}name"), one(f"{prefix}of")
    if not name or name == first:
        return
    if of == LEFT_OUT:
        tables.pop(name, None)
        return
    table: dict[str, Any] = dict(tables.get(name) or {"path": one(f"{prefix}file")})
    table.pop("public", None)
    if of == PUBLIC:
        table["public"] = True
        table.pop("person", None)
    else:
        table.pop("person", None)
        table |= _person(one, prefix)
    key = one(f"{prefix}key").strip() if of == PUBLIC else ""
    if key != _keys(table):
        many = [column.strip() for column in key.split(",") if column.strip()]
        table["key"] = many
        if not many:
            del table["key"]
    _put_columns(table, one, prefix)
    tables[name] = table


def _unit(one: Callable[[str], str]) -> Any:
    if one("unit") == "row":
        return "row"
    fields = {
        **_person(one, ""),
        "rows": _integer(one("rows")),
        "groups": _integer(one("groups")),
    }
    return {name: value for name, value in fields.items() if value not in ("", None)}


def _person(one: Callable[[str], str], prefix: str) -> dict[str, Any]:
    """Return the columns of the person in a form: a name, or a list of several."""
    chosen = [one(f"{prefix}person{number or ''}") for number in range(MAX_PARTS)]
    names = [name for name in chosen if name]
    return {"person": names[0] if len(names) == 1 else names} if names else {}


def _parts(person: Any) -> list[str]:
    """Return the columns of a person as a form has them, at least three, the last ones empty."""
    names = [person] if isinstance(person, str) else list(person or ())
    return [*names, *[""] * (_PARTS - len(names))]


def _integer(text: str) -> int | str | None:
    """Return an integer; other text unchanged, for the declaration to reject."""
    plain = text.strip()
    if not plain:
        return None
    return int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 10 else plain


def _column(
    one: Callable[[str], str], prefix: str, number: int, fields: dict[str, Any]
) -> dict[str, Any]:
    def value(name: str) -> str:
        return one(f"{prefix}{name}{number}").strip()

    for name in ("kind", "meaning", "unit"):
        _put(fields, name, value(name))
    low, high = value("low"), value("high")
    fields.pop("bounds", None)
    if low or high:
        fields["bounds"] = [low, high]
    was = fields.pop("keys", None)
    keys = [key.strip() for key in value("keys").split(",") if key.strip()]
    if keys == [LABELS] and was == LABELS:
        fields["keys"] = LABELS
    elif keys:
        fields["keys"] = [_key(key, fields.get("kind")) for key in keys]
    return fields


def _key(text: str, kind: object) -> Any:
    if kind == "integer":
        sign, plain = text[:1] == "-", text.removeprefix("-")
        integer = _integer(plain)
        return integer if not isinstance(integer, int) else (-integer if sign else integer)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    return text


def _put(fields: dict[str, Any], name: str, value: str) -> None:
    """Set a field, or remove it if the value is empty."""
    fields.pop(name, None)
    if value:
        fields[name] = value


def _shown(value: Any) -> str:
    return "" if value is None or isinstance(value, Mapping) else str(value)


def _amount(cap: Any) -> str:
    return _shown(next(iter(cap.values()), None)) if isinstance(cap, Mapping) else ""


def _keys(table: Mapping[str, Any]) -> str:
    """Return the columns that name a row of a public table, as a form shows them."""
    key = table.get("key") or ()
    return key if isinstance(key, str) else ", ".join(map(str, key))


def _shown_tables(
    tables: Mapping[str, Any],
    first: str,
    names: Mapping[str, Sequence[str]],
    existing: Sequence[str],
) -> tuple[list[dict[str, Any]], int]:
    """Return the fields of each table, the first first, and the number of columns left out."""
    shown, space_left, left = [], COLUMNS, 0
    for index, name in enumerate([first, *(one for one in tables if one != first)][:TABLES]):
        table, columns = tables[name], list(names.get(name, ()))
        declared, missing = table.get("columns") or {}, missing_codes(table.get("missing"))
        here, space_left = columns[:space_left], space_left - len(columns[:space_left])
        left += len(columns) - len(here)
        shown.append(
            {
                "prefix": f"t{index}" if index else "",
                "name": name,
                "path": table.get("path", ""),
                "of": PUBLIC if table.get("public") else PEOPLE,
                "person": _parts(table.get("person")),
                "key": _keys(table),
                "names": columns,
                "columns": [
                    _shown_column(n, declared.get(n) or {}, missing.get(n, [])) for n in here
                ],
                "fixed": name in existing,
            }
        )
    return shown, left


def _shown_column(name: str, fields: Mapping[str, Any], missing: Sequence[Code]) -> dict[str, Any]:
    bounds, listed = list(fields.get("bounds") or ("", "")), fields.get("keys", ())
    listed = [listed] if isinstance(listed, str) else listed  # "labels"
    keys = [str(key).lower() if isinstance(key, bool) else str(key) for key in listed]
    return {
        "name": name,
        "kind": _shown(fields.get("kind")),
        "low": _shown(bounds[0]),
        "high": _shown(bounds[-1]),
        "keys": ", ".join(keys),
        "meaning": _shown(fields.get("meaning")),
        "unit": _shown(fields.get("unit")),
        "missing": codes_text(missing),
    }

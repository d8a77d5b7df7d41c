"""The page on which a curator declares a data set: its form, and the declaration that it holds.

A form knows one table of people, the first.  What it does not know of a declaration (more tables,
caps of named teams) stays as it stands.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.report.text.words import budget_words
from tacit.service.pages.dataset_view import protection

__all__ = ["COLUMNS", "KINDS", "checked", "declared_in", "form_of"]

KINDS = ("integer", "float", "decimal", "text", "boolean", "date", "timestamp")
"""What a column may hold."""
COLUMNS = 150
"""The most columns in a form; more are declared over HTTP."""
_LOSSES = ("epsilon", "delta", "rho")
_EACH = ("each_team", "each_analyst")
_TEXTS = ("purpose", "owner")


def declared_in(
    one: Callable[[str], str], standing: Mapping[str, Any], hosting: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the declaration that a form holds, and how its data set is hosted.

    Args:
        one: returns a field of the form; empty where there is none.
        standing: what is declared already; of a new data set its table alone.
        hosting: how it is hosted already.

    >>> form = {"person": "id", "rows": "5", "c0": "cost", "low0": "0", "high0": "9"}
    >>> fields, _ = declared_in(lambda n: form.get(n, ""), {"tables": {"t": {"path": "t.csv"}}}, {})
    >>> fields["unit"], fields["tables"]["t"]["columns"]
    ({'person': 'id', 'rows': 5}, {'cost': {'bounds': ['0', '9']}})
    """
    fields, how = copy.deepcopy(dict(standing)), copy.deepcopy(dict(hosting))
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
    table = _table(fields)
    columns = dict(table.get("columns") or {})
    for number in range(COLUMNS):
        name = one(f"c{number}")
        if name:
            said = _column(one, number, dict(columns.pop(name, {})))
            columns |= {name: said} if said else {}
    table["columns"] = columns
    return fields, how


def form_of(
    fields: Mapping[str, Any], hosting: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    """Return what the form shows.

    Args:
        fields: of the declaration.
        hosting: how the data set is hosted.
        names: the columns of its first table, as they are read.
    """
    table = _table(fields)
    said, unit = table.get("columns") or {}, fields.get("unit")
    budget, caps = fields.get("budget") or {}, hosting.get("caps") or {}
    by_person = unit if isinstance(unit, Mapping) else {}
    return {
        "path": table.get("path", ""),
        "person": "" if unit == "row" else str(by_person.get("person") or ""),
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
        "names": list(names),
        "columns": [_shown_column(n, said.get(n) or {}) for n in list(names)[:COLUMNS]],
        "left": max(0, len(names) - COLUMNS),
    }


def checked(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a declaration that could stand."""
    budget = budget_words(Budget.from_json(told["budget"]))
    return {
        "protects": protection(str(told["protects"])),
        "budget": budget,
        "changes": told["changes"],
        "notes": told["notes"],
        "tables": [
            (name, [(c["name"], c["kind"]) for c in one["columns"]])
            for name, one in told["tables"].items()
        ],
    }


def _table(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first table of people of a declaration."""
    found = [one for one in fields["tables"].values() if not one.get("public")]
    table: dict[str, Any] = found[0]
    return table


def _unit(one: Callable[[str], str]) -> Any:
    if one("unit") == "row":
        return "row"
    said = {"person": one("person"), "rows": _whole(one("rows")), "groups": _whole(one("groups"))}
    return {name: value for name, value in said.items() if value not in ("", None)}


def _whole(text: str) -> int | str | None:
    """Return a whole number; what is none as it stands, for the declaration to refuse."""
    plain = text.strip()
    if not plain:
        return None
    return int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 10 else plain


def _column(one: Callable[[str], str], number: int, said: dict[str, Any]) -> dict[str, Any]:
    _put(said, "kind", one(f"kind{number}"))
    for name in ("meaning", "unit"):
        _put(said, name, one(f"{name}{number}").strip())
    low, high = one(f"low{number}").strip(), one(f"high{number}").strip()
    said.pop("bounds", None)
    if low or high:
        said["bounds"] = [low, high]
    said.pop("keys", None)
    keys = [key.strip() for key in one(f"keys{number}").split(",") if key.strip()]
    if keys:
        said["keys"] = [_key(key, said.get("kind")) for key in keys]
    return said


def _key(text: str, kind: object) -> Any:
    if kind == "integer":
        sign, plain = text[:1] == "-", text.removeprefix("-")
        whole = _whole(plain)
        return whole if not isinstance(whole, int) else (-whole if sign else whole)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    return text


def _put(said: dict[str, Any], name: str, value: str) -> None:
    """Set a field, or take it away where nothing is said."""
    said.pop(name, None)
    if value:
        said[name] = value


def _shown(value: Any) -> str:
    return "" if value is None or isinstance(value, Mapping) else str(value)


def _amount(cap: Any) -> str:
    return _shown(next(iter(cap.values()), None)) if isinstance(cap, Mapping) else ""


def _shown_column(name: str, said: Mapping[str, Any]) -> dict[str, Any]:
    bounds = list(said.get("bounds") or ("", ""))
    keys = [str(key).lower() if isinstance(key, bool) else str(key) for key in said.get("keys", ())]
    return {
        "name": name,
        "kind": _shown(said.get("kind")),
        "low": _shown(bounds[0]),
        "high": _shown(bounds[-1]),
        "keys": ", ".join(keys),
        "meaning": _shown(said.get("meaning")),
        "unit": _shown(said.get("unit")),
    }

"""Declarations as TOML: read exactly, written plainly."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.errors import UsageError
from tacit.tables.dataset.fields import OPEN

__all__ = ["read_toml", "toml_of", "write_new"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_MOST_BYTES = 10_000_000


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a TOML file; 0.1 in it is one tenth.

    Args:
        path: of the file.
        what: what an error calls it, such as ``"the plan plan.toml"``.

    Raises:
        UsageError: no such file, or no TOML.
    """
    try:
        with path.expanduser().open("rb") as file:
            written = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{what} cannot be read: {error.strerror or error}") from None
    if len(written) > _MOST_BYTES:
        raise UsageError(f"{what} has more than ten megabytes")
    try:
        return tomllib.loads(written.decode("utf-8-sig"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{what} is not TOML: {error}") from None
    except (ValueError, RecursionError):
        raise UsageError(
            f"{what} holds a number of thousands of digits, or lists nested thousands deep"
        ) from None


def write_new(path: Path, text: str) -> None:
    """Write a file that does not exist yet.

    Raises:
        UsageError: there is such a file, or it cannot be written.
    """
    try:
        with path.expanduser().open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists: remove it, or choose another name") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None


def toml_of(said: Mapping[str, Any]) -> str:
    """Return fields as TOML: the tables below, one column a line.

    >>> print(toml_of({"name": "a b", "tables": {"t": {"columns": {"x": {"bounds": [0, 1]}}}}}))
    name = "a b"
    <BLANKLINE>
    [tables.t]
    <BLANKLINE>
    [tables.t.columns]
    x = { bounds = [0, 1] }
    <BLANKLINE>
    """
    lines = _lines({k: v for k, v in said.items() if k != "tables"})
    for name, table in said.get("tables", {}).items():
        head = f"tables.{_name(name)}"
        lines += ["", f"[{head}]", *_lines({k: v for k, v in table.items() if k != "columns"})]
        if table.get("columns"):
            lines += ["", f"[{head}.columns]", *_lines(table["columns"])]
    return "\n".join(lines) + "\n"


def _lines(fields: Mapping[str, Any]) -> list[str]:
    return [f"{_name(name)} = {_value(value)}" for name, value in fields.items()]


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    if value is OPEN:
        return '"?"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON writes a text as TOML reads it, but for a lone surrogate and DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (Fraction, Decimal)):
        exact = Fraction(value)
        return str(exact.numerator) if exact.denominator == 1 else f'"{exact}"'
    if isinstance(value, Mapping):
        inside = ", ".join(_lines(value))
        return f"{{ {inside} }}" if inside else "{}"
    return f"[{', '.join(map(_value, value))}]"

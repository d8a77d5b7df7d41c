"""Golden files: lines of JSON, one for each entry, sorted by name; and when a value agrees."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.errors import TacitError

HERE = Path(__file__).parent
DIGITS = 1e-9
"""Floats agree to a relative error of this: the last digits may differ between machines."""


def plain(value: Any) -> Any:
    """A value as it is read back from JSON; fractions are text."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return plain(value.tolist())
    if isinstance(value, (Fraction, datetime.date)):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def now(case: Callable[[], Any]) -> Any:
    """What a case gives today; a refusal is an outcome too."""
    try:
        return plain(case())
    except TacitError as error:
        return {"refused": type(error).__name__}


def differences(stored: Any, found: Any, where: str = "") -> list[str]:
    """Where two values differ, one line each; none where they agree."""
    if isinstance(stored, dict) and isinstance(found, dict):
        return [
            line
            for key in sorted(stored.keys() | found.keys())
            for line in (
                differences(stored[key], found[key], f"{where}/{key}")
                if key in stored and key in found
                else [f"{where}/{key}: only {'stored' if key in stored else 'found'}"]
            )
        ]
    if isinstance(stored, list) and isinstance(found, list) and len(stored) == len(found):
        pairs = enumerate(zip(stored, found, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{where}/{i}")]
    numbers = (int, float)
    if isinstance(stored, float) or isinstance(found, float):
        both = type(stored) in numbers and type(found) in numbers
        if both and math.isclose(stored, found, rel_tol=DIGITS, abs_tol=1e-12):
            return []
    elif type(stored) is type(found) and stored == found:
        return []
    return [f"{where or '/'}: stored {stored!r}, found {found!r}"]


def read(name: str) -> dict[str, Any]:
    """The entries of a golden file by name; none where there is no file yet."""
    path = HERE / f"{name}.jsonl"
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(json.loads(line) for line in lines)


def write(name: str, entries: Mapping[str, Any]) -> None:
    """Write a golden file, its entries in the order of their names."""
    lines = [
        json.dumps([key, entries[key]], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        for key in sorted(entries)
    ]
    # a line separator inside of a text would end the line for some readers
    text = "\n".join([*lines, ""]).replace("\u2028", "\\u2028")
    (HERE / f"{name}.jsonl").write_text(text, encoding="utf-8")

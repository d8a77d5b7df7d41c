"""CSV on the Web: a CSV file, and metadata that describe its columns."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.tables.export import ExportColumn, csv_text

# Source: W3C, *Metadata Vocabulary for Tabular Data* and *Model for Tabular Data and Metadata on
# the Web*, 2015.

METADATA = "-metadata.json"  # what the metadata of a file are called, after its name
_QUANTITIES = {
    "_error": "standard error of the noise of {label}",
    "_low": "lower end of the 95% interval of {label}",
    "_high": "upper end of the 95% interval of {label}",
}
_LONG = {
    "statistic": "label of the statistic",
    "bin": "bin of the histogram",
    "bin_lower": "lower edge of the bin",
    "bin_upper": "upper edge of the bin",
    "value": "released value, with noise",
    "standard_error": "standard error of the noise",
    "lower": "lower end of the 95% interval",
    "upper": "upper end of the 95% interval",
}


def csvw(
    url: str,
    columns: Sequence[ExportColumn],
    groups: int,
    *,
    labels: Sequence[str],
    title: str,
    about: Sequence[tuple[str, str]],
    facts: Mapping[str, Any],
    key_labels: Mapping[str, Mapping[Any, str]] | None = None,
) -> tuple[str, str]:
    """Return a CSV file and its metadata."""
    # groups: how many of the columns are grouping columns, the first.
    written, described = [], []
    for index, column in enumerate(columns):
        null = "" if column.number else _null(column)
        written.append(_written(column, null))
        described.append(
            {
                "titles": column.name,
                "datatype": _datatype(column),
                "null": null,
                **_words(column.name, index < groups, labels, (key_labels or {}).get(column.name)),
            }
        )
    metadata = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "url": url,
        "dc:title": title,
        "dc:description": "; ".join(f"{name}: {text}" for name, text in about),
        "notes": [{"tacit": facts}],
        "dialect": {"encoding": "utf-8", "header": True, "trim": False},
        "tableSchema": {"columns": described},
    }
    text = json.dumps(metadata, ensure_ascii=False, allow_nan=False, indent=1)
    return csv_text(written, escape_formulas=False), text + "\n"


def _null(column: ExportColumn) -> str:
    """Return the text of a missing cell, which no cell has: an empty one where it can be."""
    # The quotation marks of an empty text are lost in every reader.
    texts = {str(value) for value in column.values if value is not None}
    null = ""
    while null in texts:
        null = f"{null}_" if null else "NULL"
    return null


def _written(column: ExportColumn, null: str) -> ExportColumn:
    if column.number:
        values = [_lexical(value) for value in column.values]
        return ExportColumn(column.name, values, False)
    if null:
        values = [null if value is None else value for value in column.values]
        return ExportColumn(column.name, values, False)
    return column


def _lexical(value: Any) -> Any:
    """Return a number as XML Schema writes it."""
    if isinstance(value, float) and math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return value


def _datatype(column: ExportColumn) -> Any:
    types = {type(value) for value in column.values if value is not None}
    if types == {int}:
        return "integer"
    if (str not in types and column.number) or (types and types <= {int, float}):
        return "double"
    if types == {bool}:
        return {"base": "boolean", "format": "True|False"}
    return "string"


def _words(
    name: str, group: bool, labels: Sequence[str], key_labels: Mapping[Any, str] | None
) -> dict[str, Any]:
    if group:
        told: dict[str, Any] = {"dc:description": "group"}
        if key_labels:
            told["dc:description"] = "group: " + "; ".join(
                f"{key} = {label}" for key, label in key_labels.items()
            )
        return told
    if name in _LONG and name not in labels:
        return {"dc:description": _LONG[name]}
    for suffix, words in _QUANTITIES.items():
        label = name.removesuffix(suffix)
        if label != name and name not in labels:
            return {"dc:description": words.format(label=label)}
    return {"dc:description": "released value, with noise"}

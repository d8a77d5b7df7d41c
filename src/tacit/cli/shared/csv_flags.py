"""What flags and the [source] of a plan say of a CSV file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.cli.shared.flag_values import column_types
from tacit.cli.shared.options import TableOptions
from tacit.tables.engines.csv.format import CsvOptions

__all__ = ["csv_of", "csv_of_plan"]


def csv_of(source: TableOptions) -> CsvOptions:
    """Return what the flags say, those left out not in it."""
    header: bool | list[str] | None = None
    if source.header is not None:
        header = [name.strip() for name in source.header.split(",")]
        header = {"no": False, "yes": True}.get(source.header, header)
    said = {
        "types": column_types(source.types or ()),
        "header": header,
        "delimiter": "\t" if source.delimiter in ("tab", "\\t") else source.delimiter,
        "quote": source.quote,
        "encoding": source.encoding,
        "null": source.null or None,
        "date_format": source.date_format,
        "time_format": source.time_format,
        "multiline": source.multiline,
    }
    return _said(said)


def csv_of_plan(source: Mapping[str, Any]) -> CsvOptions:
    """Return what the fields of a plan say, the others left out."""
    return _said({name: source.get(name) for name in CsvOptions.__annotations__})


def _said(found: Mapping[str, Any]) -> CsvOptions:
    said: Any = {name: value for name, value in found.items() if value is not None}
    return said  # type: ignore[no-any-return]

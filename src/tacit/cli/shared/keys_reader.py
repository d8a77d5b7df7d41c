"""Keys from a list or a file: read once the kinds of the grouping columns are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.cli.shared.flag_values import typed_keys
from tacit.expressions.schema import Schema

__all__ = ["keys_reader"]


def keys_reader(by: Sequence[str], keys: Sequence[str], keys_file: str | None, path: str) -> Any:
    """Return how the keys are read once the kinds of the columns are known."""

    def read(schema: Schema) -> Any:
        for name in by:
            schema.column(name)
        return typed_keys(by, keys, keys_file, schema, path)

    return read

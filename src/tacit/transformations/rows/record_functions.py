"""Records as a person's function meets them: values of a column, or rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.core import Frame, Vector

__all__ = ["keep_records", "records", "total"]


def records(domain: Vector | Frame, data: Any) -> list[Any]:
    """List the records as people read them: a value, or a dict of one row."""
    if isinstance(domain, Frame):
        columns = {name: records(domain.column(name), data[name]) for name in domain.names}
        names = tuple(columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    shown: Any = domain.present(data)
    return shown.tolist() if isinstance(shown, np.ndarray) else list(shown)


def keep_records(data: Any, kept: list[bool]) -> Any:
    """Return the records that are marked, in their order."""
    if isinstance(data, dict):
        return {name: keep_records(column, kept) for name, column in data.items()}
    if isinstance(data, np.ndarray):
        return data[np.array(kept, dtype=bool)]
    return [record for record, keep in zip(data, kept, strict=True) if keep]


def total(function: Callable[[Any], Any], default: Any) -> Callable[[Any], Any]:
    """Make a function total: where it raises, the default stands for its answer."""

    def answer(record: Any) -> Any:
        try:
            return function(record)
        except Exception:  # a record must not be able to stop a release, whatever it makes it do
            return default

    return answer

"""The numbers of rows, the sums and the sums of squares of some offsets, in one query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.expressions.dialect import Dialect
from tacit.expressions.integer_sql import Whole
from tacit.tables.query.people_sums import people_term
from tacit.tables.query.requests import Moments, Request, Rows
from tacit.tables.query.weighted_rows import Term
from tacit.tables.spec.privacy_unit import PersonUnit

__all__ = ["MomentSums", "column_names"]


def column_names(offsets: Iterable[str]) -> dict[str, str]:
    """Name a column for each offset, by its SQL."""
    return {sql: f"z{i}" for i, sql in enumerate(dict.fromkeys(offsets))}


class MomentSums:
    """What is added up for requests of rows and moments, and how their answers are read.

    Args:
        requests: those of :class:`Rows` and :class:`Moments`.
        offsets: SQL of the offset of each of the moments, in their order.
    """

    def __init__(self, requests: Sequence[Rows | Moments], offsets: Sequence[str]) -> None:
        self._requests = requests
        self.offsets = list(dict.fromkeys(offsets))
        moments = [r for r in requests if isinstance(r, Moments)]
        self._offset = dict(zip(moments, offsets, strict=True))
        self._cells = {sql: r.grid.cells for r, sql in self._offset.items()}
        self.squared = {sql for r, sql in self._offset.items() if r.squares}
        kinds = [(sql, kind) for sql in self.offsets for kind in "nsq"]
        self._sums = [("", "c"), *(k for k in kinds if k[1] != "q" or k[0] in self.squared)]

    def row_terms(self, names: Mapping[str, str]) -> list[Term]:
        """Return what is added up over rows, with the offsets in the columns ``names``."""

        def term(sql: str, kind: str) -> Term:
            if kind in "cn":
                return Term(present=names.get(sql, ""))
            return Term((Whole(names[sql], 0, self._cells[sql]),) * (2 if kind == "q" else 1))

        return [term(*key) for key in self._sums]

    def people_terms(
        self, names: Mapping[str, str], unit: PersonUnit, dialect: Dialect
    ) -> list[Term]:
        """Return what is added up over the people of :func:`people_sql`."""
        return [people_term(names.get(s, "") + k, unit, dialect) for s, k in self._sums]

    def read(self, lines: Iterable[tuple[Any, ...]], groups: int) -> dict[Request, Any]:
        """Return the answers, from the lines ``code, scale, sums ...``."""
        table = np.zeros((len(self._sums), groups), dtype=object)
        for code, scale, *sums in lines:
            # one by one: a list of them would pass through floats
            for row, value in zip(table, sums, strict=True):
                row[code] += int(scale) * int(value)
        column = dict(zip(self._sums, table, strict=True))
        rows, none = column["", "c"], np.zeros(groups, dtype=object)
        found: dict[Request, Any] = {}
        for request in self._requests:
            if isinstance(request, Rows):
                found[request] = rows.copy()
                continue
            sql = self._offset[request]
            present, total = column[sql, "n"], column[sql, "s"]
            squares = column[sql, "q"] if request.squares else none
            found[request] = np.stack([present, rows - present, total, squares], axis=1)
        return found

"""The numbers of rows and the sums of offsets, of their squares and products, in one query.

A product of offsets is added up over the rows in which none of its columns is missing: a product
is NULL where a factor is, and its first factor is looked at only where the other columns are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.expressions.dialect import Dialect
from tacit.expressions.integer_sql import Whole
from tacit.tables.query.people_sums import people_term
from tacit.tables.query.requests import Moments, Products, Request, Rows, Sums
from tacit.tables.query.weighted_rows import Term
from tacit.tables.spec.privacy_unit import PersonUnit

__all__ = ["MomentSums", "column_names"]


def column_names(offsets: Iterable[str]) -> dict[str, str]:
    """Name a column for each offset, by its SQL."""
    return {sql: f"z{i}" for i, sql in enumerate(dict.fromkeys(offsets))}


class MomentSums:
    """What is added up for requests of rows, moments and products, and how their answers are read.

    Args:
        requests: what is asked.
        offsets: of each of them the SQL of the offsets of its columns.
    """

    def __init__(self, requests: Sequence[Sums], offsets: Sequence[Sequence[str]]) -> None:
        self._places = dict(zip(requests, map(tuple, offsets), strict=True))
        self.offsets = list(dict.fromkeys(sql for places in offsets for sql in places))
        self._cells = {
            sql: grid.cells
            for request, places in self._places.items()
            for sql, (_, grid) in zip(places, request.columns, strict=True)
        }
        moments = [r for r in self._places if isinstance(r, Moments)]
        plain = dict.fromkeys(self._places[r][0] for r in moments)
        self.squared = {self._places[r][0] for r in moments if r.squares}
        kinds = [(sql, kind) for sql in plain for kind in "nsq"]
        self._sums: list[Any] = [
            *[("", "c"), *(k for k in kinds if k[1] != "q" or k[0] in self.squared)],
            *dict.fromkeys(key for r in self._places for key in self._products(r)),
        ]

    @property
    def by_people(self) -> bool:
        """Whether each person can be added up first: not where rows lack some of the factors."""
        return not any(isinstance(r, Products) for r in self._places)

    def _products(self, request: Sums) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
        """Return what is added up for a request of products: its columns, and the factors."""
        places = self._places[request]
        return (
            [(places, p) for p in ((), *request.products)] if isinstance(request, Products) else []
        )

    def row_terms(self, names: Mapping[str, str]) -> list[Term]:
        """Return what is added up over rows, with the offsets in the columns ``names``."""

        def term(sql: Any, kind: Any) -> Term:
            if isinstance(sql, tuple):
                return product([names[s] for s in sql], [self._cells[s] for s in sql], kind)
            if kind in "cn":
                return Term(present=names.get(sql, ""))
            return Term((Whole(names[sql], 0, self._cells[sql]),) * (2 if kind == "q" else 1))

        def product(columns: list[str], cells: list[int], factors: tuple[int, ...]) -> Term:
            first, *rest = factors or (0,)
            lacking = [name for i, name in enumerate(columns) if i not in factors]
            shown = columns[first]
            if lacking:
                test = " and ".join(f"{name} is not null" for name in lacking)
                shown = f"(case when {test} then {shown} end)"
            wholes = [
                Whole(shown, 0, cells[first]),
                *(Whole(columns[i], 0, cells[i]) for i in rest),
            ]
            return Term(tuple(wholes)) if factors else Term(present=shown)

        return [term(*key) for key in self._sums]

    def people_terms(
        self, names: Mapping[str, str], unit: PersonUnit, dialect: Dialect
    ) -> list[Term]:
        """Return what is added up over the people of :func:`people_sql`."""
        return [people_term(names.get(s, "") + k, unit, dialect) for s, k in self._sums]

    def read(self, lines: Iterable[tuple[Any, ...]], groups: int) -> dict[Request, Any]:
        """Return the answers, from the lines ``code, scale, sums ...``."""
        table = [[0] * groups for _ in self._sums]
        for code, scale, *sums in lines:
            for row, value in zip(table, sums, strict=True):
                row[code] += int(scale) * int(value)
        arrays = (np.array(row, dtype=object) for row in table)
        column = dict(zip(self._sums, arrays, strict=True))
        rows, none = column["", "c"], np.zeros(groups, dtype=object)
        found: dict[Request, Any] = {}
        for request, places in self._places.items():
            if isinstance(request, Rows):
                found[request] = rows.copy()
            elif isinstance(request, Products):
                found[request] = np.stack([column[key] for key in self._products(request)], axis=1)
            else:
                (sql,) = places
                present, total = column[sql, "n"], column[sql, "s"]
                squares = column[sql, "q"] if request.squares else none
                found[request] = np.stack([present, rows - present, total, squares], axis=1)
        return found

"""A question to a table, from public facts alone: its identity.

The key of a ledger, a certificate and its check rest on :meth:`Query.describe`.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from tacit.expressions.expression import Expression
from tacit.expressions.schema import Column, Schema
from tacit.tables.answers.aggregate import Aggregate
from tacit.tables.reading import DEFAULT_READING, Reading, texts_in
from tacit.tables.spec.join import Join
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit

__all__ = ["Query", "Unit", "plain_key"]

Unit: TypeAlias = OneRowEach | PersonUnit


@dataclass(frozen=True)
class Query:
    """A question to a table, from public facts alone.

    Attributes:
        schema: the columns of the source.
        unit: what is protected.
        where: filters, all of which must hold.
        derived: columns computed from each row, by name.
        by: the grouping columns.
        keys: the public keys, one tuple each; None where they are unknown (or there is no ``by``).
        aggregates: what is asked, by label.
        table: which table is asked, of a declared data set.
        tables: the protected tables of that data set, each with its person column.
        weights: what each label counts where the loss is split, in lowest terms; none for evenly.
        inner: the rows that people are made of, where the table asked has one row a person:
            ``schema`` is that of people then (:mod:`tacit.tables.plan.per_person`).
        joins: the other tables of the data set whose columns stand beside those of the source.
        rounds: how often people are counted to release unknown keys.
        reading: how the table is read, where that is not the default.
    """

    schema: Schema
    unit: Unit
    where: tuple[Expression, ...] = ()
    derived: tuple[tuple[str, Expression], ...] = ()
    by: tuple[str, ...] = ()
    keys: tuple[tuple[Any, ...], ...] | None = None
    aggregates: tuple[tuple[str, Aggregate], ...] = ()
    table: str | None = None
    tables: tuple[tuple[str, str | None], ...] = ()
    weights: tuple[tuple[str, int], ...] = ()
    inner: Query | None = None
    joins: tuple[Join, ...] = ()
    rounds: int = 1
    reading: Reading = DEFAULT_READING

    @cached_property
    def columns(self) -> Schema:
        """The columns with those of joined tables and the derived ones."""
        columns: dict[str, Column] = dict(self.schema)
        for join in self.joins:
            columns = join.after(columns)
        own = [(name, expression.kind) for name, expression in self.derived]
        return Schema(list(columns.values())).with_derived(own)

    def with_column(self, name: str, expression: Expression) -> Query:
        """Return the question with one more derived column, the others not looked at again.

        Raises:
            UsageError: the expression does not fit the columns.
        """
        query = replace(self, derived=(*self.derived, (name, expression)))
        return query._of_columns(self.columns.with_derived([(name, expression.kind)]))

    def asking(self, **changes: Any) -> Query:
        """Return the question about the same columns with other filters, groups or answers."""
        return replace(self, **changes)._of_columns(self.columns)

    def _of_columns(self, columns: Schema) -> Query:
        self.__dict__["columns"] = columns  # where cached_property keeps it
        return self

    @property
    def source_schema(self) -> Schema:
        """The columns of the table that is read."""
        return self.schema if self.inner is None else self.inner.source_schema

    @property
    def row_steps(self) -> int:
        """How many steps of a chain lead from the table to the rows that are asked about."""
        own = len(self.joins) + len(self.where) + len(self.derived)
        return own if self.inner is None else self.inner.row_steps + 1 + own

    @cached_property
    def columns_read(self) -> set[str]:
        """The columns of the source that it reads; more where an answer's text has such a name."""
        each = [*self.where, *(expression for _, expression in self.derived)]
        texts = {*self.by, *(here for join in self.joins for here, _ in join.on)}
        texts |= texts_in([self.unit.column, *(a.to_json() for _, a in self.aggregates)])
        return texts.union(*(expression.columns() for expression in each)) & {*self.schema}

    @cached_property
    def resolved(self) -> dict[str, Expression]:
        """The derived columns in terms of the table's own."""
        known: dict[str, Expression] = {}
        for name, expression in self.derived:
            known[name] = expression.substitute(known)
        return known

    @property
    def unknown_keys(self) -> bool:
        """Whether the keys themselves must be released."""
        return bool(self.by) and self.keys is None

    @property
    def is_plain(self) -> bool:
        """Whether it is about one table, in listed groups, by methods that no price changes."""
        if self.joins or self.inner is not None or self.unknown_keys:
            return False
        return all(aggregate.method is None for _, aggregate in self.aggregates)

    @cached_property
    def rows(self) -> str:
        """Which rows of the table it is about, and by which columns: equal text, equal rows."""
        where, derived = self._conditions()
        inner = None if self.inner is None else self.inner.describe()
        return repr([self.unit.describe(), where, derived, list(self.by), inner])

    def _conditions(self) -> tuple[list[Any], list[Any]]:
        """Return the filters and the derived columns as plain JSON values."""
        derived = [[name, expression.to_json()] for name, expression in self.derived]
        return [expression.to_json() for expression in self.where], derived

    def _described_keys(self) -> list[list[Any]] | None:
        """Return the public keys as plain JSON values: what they mean is what is written.

        A column of dates reads the text of a date as that date.  One that nobody declared may read
        the two differently, and did so before both were dates, so that a date is written as one
        there.  Text stays text: that is what older ledgers and certificates hold, and how they are
        read back.
        """
        if self.keys is None:
            return None
        dated = [self.columns[name].kind == "undeclared" for name in self.by]
        return [
            [
                _dated_key(part) if own else plain_key(part)
                for part, own in zip(k, dated, strict=True)
            ]
            for k in self.keys
        ]

    def describe(self) -> dict[str, Any]:
        """Return the question as plain JSON values: equal questions, equal values."""
        tables = [list(table) for table in self.tables]
        where, derived = self._conditions()
        reading = self.reading.describe(self.columns_read)
        return {
            **({"table": self.table, "tables": tables} if tables else {}),
            **({"joins": [join.describe() for join in self.joins]} if self.joins else {}),
            **({"reading": reading} if reading else {}),
            "unit": self.unit.describe(),
            "where": where,
            "derived": derived,
            "by": list(self.by),
            "keys": self._described_keys(),
            **({"rounds": self.rounds} if self.rounds > 1 else {}),
            "aggregates": [[label, a.to_json()] for label, a in self.aggregates],
            **({"weights": [list(each) for each in self.weights]} if self.weights else {}),
            **({} if self.inner is None else {"inner": self.inner.describe()}),
        }


def plain_key(value: Any) -> Any:
    """Return a part of a key as plain JSON: a date as text."""
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)


def _dated_key(value: Any) -> Any:
    if not isinstance(value, datetime.date):
        return plain_key(value)
    day = value.date() if isinstance(value, datetime.datetime) else value
    return {"date": day.isoformat()}

"""What a data set declares of a table, for what a question leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import as_fraction
from tacit.errors import UsageError
from tacit.expressions.expression import Expression
from tacit.expressions.value_range import public_values, range_of
from tacit.tables.answers.aggregate import Aggregate, Clamped, kind_of
from tacit.tables.plan.query import Query, plain_key
from tacit.tables.reading import DEFAULT_READING, Reading

__all__ = ["NOTHING_DECLARED", "Declared"]


@dataclass(frozen=True)
class Declared:
    """Public bounds and categories of columns, and the ledger that tables share.

    Attributes:
        dataset: the identity of the data set, for its ledger; None for a table of its own.
        unit: whom the ledger protects, as plain JSON; None where that is the table's own unit.
        table: the name of the table, in the data set.
        tables: the protected tables of the data set, each with its person column.
        bounds: of columns by name.
        keys: the categories of columns by name.
        told: the ``meaning`` and the ``unit`` of columns by name, for readers.
        size: how many people the table has, where that is public.
        reading: how the table is read, where that is not the default.
    """

    dataset: str | None = None
    unit: Mapping[str, object] | None = None
    table: str | None = None
    tables: tuple[tuple[str, str | None], ...] = ()
    bounds: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[object]] = field(default_factory=dict)
    told: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    size: int | None = None
    reading: Reading = DEFAULT_READING

    def bounded(
        self, aggregate: Aggregate, derived: Sequence[tuple[str, Expression]] = ()
    ) -> Aggregate:
        """Return a statistic with the bounds of its column, where it names none.

        Those of a derived column follow from the declared bounds of the columns that it reads
        (:mod:`tacit.expressions.value_range`); one that is always the same has bounds that hold
        zero too, because bounds must rise.

        Args:
            aggregate: the statistic.
            derived: the columns that the question computes, by name, in their order.

        Raises:
            UsageError: there are none.
        """
        if aggregate.k is not None and aggregate.keys is None and aggregate.column in self.keys:
            column, make = aggregate.require_column(), kind_of(aggregate.kind).make
            made: Aggregate = make(column, aggregate.k, self.keys[column])
            return made
        if not aggregate.lacks_bounds:
            return aggregate
        known = self.ranges(_read_by([one.column for one in aggregate.clamped], derived))
        found = []
        for one in aggregate.clamped:
            if one.lower is None and one.column not in known:
                raise UsageError(self._remedies(aggregate, one.column, dict(derived)))
            lower, upper = known[one.column] if one.lower is None else (one.lower, one.upper)
            if lower == upper:
                lower, upper = min(lower, Fraction(0)), max(upper, Fraction(not upper))
            found.append(Clamped(one.column, lower, upper))
        first, *others = found
        return replace(aggregate, lower=first.lower, upper=first.upper, others=tuple(others))

    def ranges(
        self, derived: Sequence[tuple[str, Expression]]
    ) -> dict[str, tuple[Fraction, Fraction]]:
        """Return the bounds of columns: those declared, and those that follow for derived ones."""
        known = dict(self.bounds)
        for name, expression in derived:
            found = range_of(expression, known)
            if found is not None:
                known[name] = found
        return known

    def _remedies(self, asked: Aggregate, column: str, derived: Mapping[str, Expression]) -> str:
        """Say how a statistic of a column gets bounds."""
        kind = asked.kind
        said = f"..., bounds={{{column!r}: (0, 100)}}" if asked.others else f"{column!r}, 0, 100"
        given = f"give them, such as tc.{kind}({said})"
        if column not in derived:
            remedy = f"{given}, or declare them for the column in a data set, {column} = "
            remedy += "{ bounds = [0, 100] }"
        else:
            remedy = f"none follow for {derived[column]}: {given}, or clamp it, (...).clamp(0, 100)"
            lacking = sorted(derived[column].columns() - {*self.bounds, *derived})
            if lacking:
                remedy += f", or declare bounds of {', '.join(map(repr, lacking))} in a data set"
        return (
            f"{kind} of {column!r} needs public bounds: {remedy}. They limit what one person can "
            "change, and must not be read off the private data"
        )

    def keys_of(
        self, by: Sequence[str], derived: Sequence[tuple[str, Expression]] = ()
    ) -> dict[str, list[object]] | None:
        """Return the public categories of grouping columns; None unless all have some.

        Args:
            by: the grouping columns.
            derived: the columns that the question computes, by name, in their order; of these the
                values that follow from their expressions (a weekday, a bin) are public too.
        """
        ranges, known = self.ranges(derived), dict(self.keys)
        for name, expression in derived:
            found = public_values(expression, ranges, known)
            if found:
                known[name] = found
        if not all(name in known for name in by):
            return None
        return {name: list(known[name]) for name in by}

    def with_columns(
        self,
        bounds: Mapping[str, tuple[Fraction, Fraction]],
        keys: Mapping[str, Sequence[object]],
        told: Mapping[str, Mapping[str, str]],
    ) -> Declared:
        """Return what is declared of these columns too, which a join adds."""
        return replace(
            self,
            bounds={**self.bounds, **bounds},
            keys={**self.keys, **keys},
            told={**self.told, **told},
        )

    def about(self, query: Query) -> dict[str, dict[str, object]]:
        """Return what a reader of an answer learns of its columns, as plain JSON values.

        That is the meaning and the unit of each column that the question names, and where its
        bounds or keys go beyond the declared ones, the declared bounds and the keys beyond.  A
        question that stays within says no more than it did.
        """
        asked = [a for _, a in query.aggregates if a.column is not None]
        names = dict.fromkeys([a.require_column() for a in asked] + list(query.by))
        found: dict[str, dict[str, Any]] = {name: {**self.told.get(name, {})} for name in names}
        if query.inner is None:
            for aggregate in asked:
                name = aggregate.require_column()
                if name in self.bounds and _wider(aggregate, *self.bounds[name]):
                    found[name]["bounds"] = [str(end) for end in self.bounds[name]]
            for place, name in enumerate(query.by):
                known = {(type(key), key) for key in map(plain_key, self.keys.get(name, ()))}
                keys = dict.fromkeys(plain_key(key[place]) for key in query.keys or ())
                beyond = [key for key in keys if known and (type(key), key) not in known]
                if beyond:
                    found[name]["keys_beyond"] = beyond
        return {name: said for name, said in found.items() if said}


def _read_by(
    columns: Sequence[str], derived: Sequence[tuple[str, Expression]]
) -> list[tuple[str, Expression]]:
    """Return the derived columns that these are, or that they are computed from, in their order."""
    wanted, found = set(columns), []
    for name, expression in reversed(derived):
        if name in wanted:
            wanted |= expression.columns()
            found.append((name, expression))
    return found[::-1]


def _wider(aggregate: Aggregate, low: Fraction, high: Fraction) -> bool:
    if aggregate.lower is None or aggregate.upper is None:
        return False
    return as_fraction(aggregate.lower) < low or as_fraction(aggregate.upper) > high


NOTHING_DECLARED = Declared()

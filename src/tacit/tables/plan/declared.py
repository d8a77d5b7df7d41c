"""What a data set declares of a table, for what a question leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from tacit.errors import UsageError
from tacit.expressions.expression import Expression
from tacit.expressions.value_range import public_values, range_of
from tacit.tables.answers.aggregate import Aggregate, Clamped

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
    """

    dataset: str | None = None
    unit: Mapping[str, Any] | None = None
    table: str | None = None
    tables: tuple[tuple[str, str | None], ...] = ()
    bounds: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[Any]] = field(default_factory=dict)

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
        if not aggregate.lacks_bounds:
            return aggregate
        known = self.ranges(derived)
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
    ) -> dict[str, list[Any]] | None:
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
        keys: Mapping[str, Sequence[Any]],
    ) -> Declared:
        """Return what is declared of these columns too, which a join adds."""
        return replace(self, bounds={**self.bounds, **bounds}, keys={**self.keys, **keys})


NOTHING_DECLARED = Declared()

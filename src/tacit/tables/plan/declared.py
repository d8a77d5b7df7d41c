"""What a data set declares of a table, for what a question leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from tacit.errors import UsageError
from tacit.tables.answers.aggregate import Aggregate

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

    def bounded(self, aggregate: Aggregate) -> Aggregate:
        """Return a statistic with the declared bounds of its column, where it names none.

        Raises:
            UsageError: there are none.
        """
        if not aggregate.lacks_bounds:
            return aggregate
        column = aggregate.require_column()
        if column not in self.bounds:
            raise UsageError(
                f"{aggregate.kind} of {column!r} needs public bounds: give them, such as "
                f"tc.{aggregate.kind}({column!r}, 0, 100), or declare them for the column in a "
                f"data set, {column} = {{ bounds = [0, 100] }}. They limit what one person can "
                "change, and must not be read off the private data"
            )
        lower, upper = self.bounds[column]
        return replace(aggregate, lower=lower, upper=upper)

    def keys_of(self, by: Sequence[str]) -> dict[str, list[Any]] | None:
        """Return the declared categories of grouping columns; None unless all have some."""
        if not all(name in self.keys for name in by):
            return None
        return {name: list(self.keys[name]) for name in by}


NOTHING_DECLARED = Declared()

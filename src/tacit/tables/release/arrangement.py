"""How a released answer is shown: which groups, in which order, called what.

All of it is post-processing of released numbers, which costs nothing and reads no row.  The ledger
and the certificate hold the whole answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.expressions.expression import Expression
from tacit.report.check.derived import Formula

__all__ = ["AS_IT_IS", "Arrangement", "Order"]

_BY_GROUP = ("value", "standard_error", "low", "high", "refused")


@dataclass(frozen=True)
class Order:
    """One key of an order.

    Attributes:
        value: of the answer's columns.
        descending: from the greatest down.
        missing_first: whether groups without a value come first.
    """

    value: Expression
    descending: bool = False
    missing_first: bool = False


@dataclass(frozen=True)
class Arrangement:
    """How an answer is shown.

    Attributes:
        names: what grouping columns are called, where that is not their name.
        having: which groups are shown, by the grouping columns and the labels; None for all.
        order: the keys of the order, the first first.
        offset: how many groups are left out at the beginning.
        limit: how many groups are shown at most; None for all.
        notes: what a reader should know of the answers.
        derived: answers that are computed from those released, by label.
        labels: those that are shown, in their order; all where there are none.
    """

    names: tuple[tuple[str, str], ...] = ()
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    offset: int = 0
    limit: int | None = None
    notes: tuple[str, ...] = ()
    derived: tuple[Formula, ...] = ()
    labels: tuple[str, ...] = ()

    def called(self, by: Sequence[str]) -> tuple[str, ...]:
        """Return what the grouping columns are called."""
        names = dict(self.names)
        return tuple(names.get(name, name) for name in by)

    def shown(self, by: Sequence[str], released: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was released, as it is shown.

        Args:
            by: the grouping columns.
            released: keys and columns, with those of :attr:`derived`.

        >>> from tacit.expressions.expression import col
        >>> found = {"keys": [[1], [2], [3]], "columns": [{"label": "n", "value": [5, 9, 2]}]}
        >>> top = Arrangement(having=col("n") > 3, order=(Order(col("n"), True),))
        >>> top.shown(["site"], found)
        {'keys': [[2], [1]], 'columns': [{'label': 'n', 'value': [9, 5]}]}
        """
        if self.labels:
            shown = replace(self, labels=()).shown(by, released)
            known = {each["label"]: each for each in shown["columns"]}
            return {**shown, "columns": [known[label] for label in self.labels]}
        if self.having is None and not self.order and self.limit is None and not self.offset:
            return dict(released)
        rows = [
            {
                **dict(zip(by, key, strict=True)),
                **{each["label"]: each["value"][place] for each in released["columns"]},
            }
            for place, key in enumerate(released["keys"])
        ]
        places = list(range(len(rows)))
        if self.having is not None:
            places = [place for place in places if self.having.evaluate(rows[place])]
        for key in reversed(self.order):
            places = _sorted(places, [key.value.evaluate(row) for row in rows], key)
        end = None if self.limit is None else self.offset + self.limit
        places = places[self.offset : end]
        return {
            **released,
            "keys": [released["keys"][place] for place in places],
            "columns": [
                {n: [v[p] for p in places] if n in _BY_GROUP else v for n, v in each.items()}
                for each in released["columns"]
            ],
        }


def _sorted(places: list[int], values: Sequence[Any], key: Order) -> list[int]:
    missing = [place for place in places if values[place] is None]
    present = [place for place in places if values[place] is not None]
    present.sort(key=lambda p: (isinstance(values[p], str), values[p]), reverse=key.descending)
    return missing + present if key.missing_first else present + missing


AS_IT_IS = Arrangement()

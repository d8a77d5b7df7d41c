"""The most frequent of a few known labels, and how far the data is from changing it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tacit.core import Category, ChangeOneDistance, Space, SymmetricDistance, Vector
from tacit.errors import MismatchError

__all__ = ["LocalMode"]


class LocalMode:
    """The mode of a column of known labels; ties go to the label that is listed first.

    A record with another label counts for none.  Without records the first label is the mode.

    **Distance.**  Label j takes over from the mode m once its count is above that of m, or equal if
    j is listed first: after ``c_m - c_j + [m before j]`` steps, for a record that joins or leaves
    changes the difference by one, and less than that is not enough.  A substitution changes it by
    two, by turning an m into a j; the steps are half as many, rounded up.  The mode of a neighbour
    differs after the last of these steps, so the distance to a data set where that is so is one
    less.

    Raises:
        MismatchError: no column of known labels, or another metric.

    >>> from tacit.mechanisms.shared.local_statistic import column_space
    >>> mode = LocalMode(column_space(None, "unbounded", ("a", "b")))
    >>> counts = mode.read(["a", "a", "a", "b"])
    >>> mode.value(counts), mode.distance(counts)
    ('a', 2)
    """

    def __init__(self, space: Space) -> None:
        domain = space.domain
        element = domain.element if isinstance(domain, Vector) else None
        fits = isinstance(space.metric, (SymmetricDistance, ChangeOneDistance))
        if not fits or not isinstance(element, Category) or element.categories is None:
            raise MismatchError(
                "the mode works on a column of known labels under the symmetric or the change-one "
                f"distance, not on ({space}); give values=[...]",
                space,
            )
        self.labels = element.categories
        self._each = 2 if isinstance(space.metric, ChangeOneDistance) else 1

    def read(self, records: Any) -> list[int]:
        """Count the labels."""
        counts = Counter(records)
        return [counts[label] for label in self.labels]

    def value(self, counts: list[int]) -> Any:
        """Return the mode."""
        return self.labels[counts.index(max(counts))]

    def distance(self, counts: list[int]) -> int | None:
        """Return the steps to a data set with a neighbour of another mode; None if none has."""
        most = max(counts)
        m = counts.index(most)
        behind = [most - c + (j > m) for j, c in enumerate(counts) if j != m]
        return -(-min(behind) // self._each) - 1 if behind else None

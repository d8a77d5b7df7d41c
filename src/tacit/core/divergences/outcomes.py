"""Outputs in the form that distributions list them in, and distributions of independent outputs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_fraction

__all__ = ["Product", "outcome"]

_NONE = Enclosure(Fraction(0), Fraction(0))


def outcome(value: Any) -> Hashable:
    """Return an output in the form that distributions list it in: hashable, vectors as tuples.

    A mapping, such as :func:`~tacit.core.parallel` releases, is a tuple of its pairs, and every
    NaN is one and the same.

    >>> outcome(np.array([1, 2])), outcome([True, None]), outcome({"north": 3, "south": [4]})
    ((1, 2), (True, None), (('north', 3), ('south', (4,))))
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return math.nan
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        value = list(value.items())
    if isinstance(value, (list, tuple)):
        return tuple(outcome(part) for part in value)
    return value  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Product:
    """Independent outputs, one after the other: a vector of noisy numbers, or several releases.

    Args:
        parts: the distribution of each.
        names: of the parts, where the output is a mapping of these names to outputs.

    >>> from tacit.mechanisms import FiniteDistribution
    >>> coin = FiniteDistribution.of({0: "1/2", 1: "1/2"})
    >>> float(Product((coin, coin)).probability([0, 1]))
    0.25
    >>> float(Product((coin, coin), ("north", "south")).probability({"south": 0, "north": 1}))
    0.25
    """

    parts: Sequence[Any]
    names: Sequence[Hashable] | None = None

    def outputs(self, value: Any) -> tuple[Any, ...] | None:
        """List the outputs of the parts in one of the whole; None where it is not made of them."""
        if self.names is not None:
            named = isinstance(value, Mapping) and set(value) == set(self.names)
            return tuple(value[name] for name in self.names) if named else None
        values = outcome(value)
        fits = isinstance(values, tuple) and len(values) == len(self.parts)
        return values if fits else None  # type: ignore[return-value]

    def probability(self, value: Any) -> Enclosure:
        """Return the product of the parts' probabilities."""
        values = self.outputs(value)
        if values is None:
            return _NONE
        found = Enclosure.of(1)
        for part, one in zip(self.parts, values, strict=True):
            found = (found * part.probability(one)).rounded(128)
        return found

    def support(self, mass: Number = "0.999") -> tuple[Any, ...]:
        """Return a support for each part, so that all hold at once with at least ``mass``."""
        share = as_fraction(mass, "mass")
        each = 1 - (1 - share) / max(1, len(self.parts))
        return tuple(part.support(each) for part in self.parts)

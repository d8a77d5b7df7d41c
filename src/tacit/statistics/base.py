"""What a statistic is: it evaluates on data, and knows its own sensitivities.

A room such as ``mean.py`` gives one :class:`Statistic`: its value (as numpy defines it), its value
in exact numbers, its exact sensitivities over each domain, and what smooth sensitivity and
propose-test-release need.  Whatever a room does not answer (``None``) is answered by exhaustive
search where the domain is small enough.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.statistics.answer import Sensitivity
from tacit.statistics.root import Root, gap
from tacit.statistics.sample import Array, Sample

if TYPE_CHECKING:
    from tacit.statistics.at_distance import AtDistance
    from tacit.statistics.clamped import Clamped
    from tacit.statistics.question import Question, Relation

__all__ = ["Exact", "Statistic", "distance_between"]

Exact: TypeAlias = Fraction | Root | tuple[int, ...]
"""An exact value: rational, a square root of a rational, or the counts of a histogram."""


class Statistic(ABC):
    """A function of a multiset of numbers that knows its own sensitivities.

    Subclasses are frozen dataclasses, so that equal statistics are equal and hashable.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that people use, such as ``"percentile(25)"``."""

    @abstractmethod
    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The values of many releases at once: shape (releases, records) to (releases,)."""

    @abstractmethod
    def exact(self, values: Sequence[Fraction]) -> Exact:
        """The value in exact numbers; ``values`` ascend and are not empty."""

    def of(self, sample: Sample) -> Exact:
        """The exact value of a sample; rooms override it where bulk arithmetic is faster."""
        return self.exact(sample.fractions())

    def __call__(self, data: npt.ArrayLike) -> Any:
        """The value on a non-empty 1-D array, as numpy computes it."""
        return float(self.batch(np.asarray(data)[None, :])[0])

    def answer(self, question: Question) -> Sensitivity | None:
        """The exact sensitivity, or None where only a search can tell."""
        return None

    def at_distance(self, data: Clamped, relation: Relation) -> AtDistance | None:
        """``A(t)``, the largest local sensitivity within ``t`` steps of data in bounds.

        None where no algorithm is known over an interval.
        """
        return None

    def __str__(self) -> str:
        return self.name


def distance_between(a: Exact, b: Exact) -> Fraction | float:
    """How far two values of a statistic are apart (histograms: the L1 distance).

    >>> distance_between(Fraction(1, 2), Fraction(2))
    Fraction(3, 2)
    >>> distance_between((1, 2), (0, 4))
    Fraction(3, 1)
    """
    if isinstance(a, tuple) or isinstance(b, tuple):
        assert isinstance(a, tuple)
        assert isinstance(b, tuple)
        return Fraction(sum(abs(p - q) for p, q in zip(a, b, strict=True)))
    return gap(a, b)

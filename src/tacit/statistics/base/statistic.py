"""What a statistic is: it evaluates on data, and knows its own sensitivities.

A room such as ``mean.py`` gives one :class:`Statistic`: its value (as numpy defines it), its value
in exact numbers, its exact sensitivities over each domain, and what smooth sensitivity and
propose-test-release need.  Whatever a room does not answer (``None``) is answered by exhaustive
search where the domain is small enough.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.square_root import Root, gap
from tacit.statistics.base.result import Sensitivity
from tacit.statistics.samples.sample import Array, Sample

if TYPE_CHECKING:
    from tacit.statistics.base.at_distance import AtDistance
    from tacit.statistics.base.question import Question, Relation
    from tacit.statistics.samples.clamped_sample import Clamped

__all__ = ["Exact", "PublicRange", "Statistic", "distance_between"]

Exact: TypeAlias = Fraction | Root | tuple[int, ...]
"""An exact value: rational, a square root of a rational, or the counts of a histogram."""


class PublicRange(NamedTuple):
    """What holds of a statistic on every data set within bounds, the empty one included.

    Attributes:
        most: a bound on how far the value moves between any two neighbours.
        ends: bounds on the value; None where it grows with the number of records.
        empty: the public value that stands for a data set without records.
    """

    most: Fraction
    ends: tuple[Fraction, Fraction] | None
    empty: Fraction


_PROOFS = ("answer", "at_distance", "public_range")


class Statistic(ABC):
    """A function of a multiset of numbers that knows its own sensitivities.

    Subclasses are frozen dataclasses, so that equal statistics are equal and hashable.

    **Proofs are not inherited by another function.**  What ``answer``, ``at_distance`` and
    ``public_range`` say was proven of the class that they stand in.  A subclass that replaces
    anything else of that class (but for the name) is another function, and inherits none of them:
    they answer "nothing known", until it brings its own.  ``class Mean(Monotone, proven=True)``
    vouches that the argument of the base class covers the new one, and says so in its docstring.
    """

    marks: ClassVar[Literal["line", "bins", "apart"]] = "apart"
    """Where a picture marks the value: on the line of the records, in bins (there are ``edges``),
    or on a line of its own."""

    def __init_subclass__(cls, *, proven: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        for proof in () if proven else _PROOFS:
            found = inspect.getattr_static(cls, proof)
            parents = [b for b in cls.__bases__ if inspect.getattr_static(b, proof, None) is found]
            if proof not in vars(cls) and any(_replaced(cls, parent) for parent in parents):
                setattr(cls, proof, vars(Statistic)[proof])

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that people use, such as ``"percentile(25)"``."""

    @abstractmethod
    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The values of many releases at once: shape (releases, records) to (releases,)."""

    @abstractmethod
    def exact(self, values: Sequence[Fraction]) -> Exact:
        """The value in exact numbers; ``values`` ascend, and are ``least`` or more."""

    @property
    def least(self) -> int:
        """The fewest records of which there is a value: one, unless a room says otherwise.

        Where it is 0 the empty release is a neighbour of those of few records.
        """
        return 1

    def of(self, sample: Sample) -> Exact:
        """The exact value of a sample; rooms override it where bulk arithmetic is faster."""
        return self.exact(sample.fractions())

    def __call__(self, data: npt.ArrayLike) -> float | npt.NDArray[np.float64]:
        """The value on a non-empty 1-D array, as numpy computes it."""
        return float(self.batch(np.asarray(data)[None, :])[0])

    def answer(self, question: Question) -> Sensitivity | None:
        """The exact sensitivity, or None where only a search can find it."""
        return None

    def at_distance(self, data: Clamped, relation: Relation) -> AtDistance | None:
        """``A(t)``, the largest local sensitivity within ``t`` steps of data in bounds.

        None where no algorithm is known over an interval.
        """
        return None

    def public_range(
        self, lower: Fraction, upper: Fraction, relation: Relation
    ) -> PublicRange | None:
        """What holds on every data set of records in ``[lower, upper]``; None if that is unknown.

        Smooth noise and propose-test-release rest on it: whoever writes it vouches for it.
        """
        return None

    def __str__(self) -> str:
        return self.name


def _replaced(cls: type, parent: type) -> bool:
    """Return whether a class has something else in place of what its parent has, the name apart."""
    kept = {n for n in dir(parent) if not n.startswith(("__", "_abc_"))} - {
        "name",
        "marks",
        *_PROOFS,
    }
    return any(
        inspect.getattr_static(cls, n) is not inspect.getattr_static(parent, n) for n in kept
    )


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

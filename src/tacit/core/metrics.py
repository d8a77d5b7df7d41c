"""Metrics: distances between data sets and between aggregates, computed."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.calls import public
from tacit.core.domains import Category, Domain, Frame, Number, Vector
from tacit.errors import UsageError
from tacit.statistics.statistic import replaced

# Metrics: how far two data sets, or two aggregates, are from each other.
#
# Every metric can be *evaluated*: ``metric.distance(u, v)`` counts or subtracts, exactly, so that a
# stability map can be held against its definition.  Distances are :class:`~fractions.Fraction`, or
# ``math.inf`` where no chain of changes leads from one to the other.


Distance = Fraction | float


def _measures(kind: type[Metric]) -> bool:
    return not getattr(kind.distance, "__isabstractmethod__", False)


@public
@dataclass(frozen=True)
class Metric(ABC):
    """A distance between two members of a domain.

    Maps are proven for a distance, and asked for by its class.  So what derives from a metric
    measures as it does: a class that measures otherwise derives from :class:`Metric` itself.

    Raises:
        UsageError: where a class is made that changes what the metric before it measures.
    """

    carries: ClassVar[tuple[type[Domain], ...]] = ()
    sentence: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for parent in cls.__mro__[1:]:
            kept = issubclass(parent, Metric) and _measures(parent)
            if kept and replaced(cls, parent, ("sentence", "describe")):
                raise UsageError(
                    f"{cls.__name__} changes the distance of {parent.__name__}, for which the "
                    "maps were proven: derive it from Metric itself"
                )

    @abstractmethod
    def distance(self, u: object, v: object) -> Distance:
        """Return the distance between two members, exactly."""

    def supports(self, domain: Domain) -> bool:
        """Return whether this metric makes sense on a domain."""
        return isinstance(domain, self.carries)

    @property
    def counts_records(self) -> bool:
        """True if a distance is a whole number of records."""
        return Frame in self.carries

    def describe(self) -> dict[str, object]:
        """Return the metric as plain JSON values."""
        return {"metric": type(self).__name__}

    def __str__(self) -> str:
        return self.sentence


@public
class _RecordMetric(Metric):
    carries = (Vector, Frame)


@public
class SymmetricDistance(_RecordMetric):
    """Records added plus records removed, in any order: unbounded differential privacy.

    ``sum over x of |count_u(x) - count_v(x)|``; multiplicities count.

    >>> SymmetricDistance().distance([1, 1, 2], [1, 2, 3])
    Fraction(2, 1)
    """

    sentence = "symmetric distance (records added or removed)"

    def distance(self, u: object, v: object) -> Distance:
        """Count the records that are in one multiset and not in the other."""
        left, right = Counter(records_of(u)), Counter(records_of(v))
        return Fraction(((left - right) + (right - left)).total())


@public
class ChangeOneDistance(_RecordMetric):
    """Records changed, in any order, where the size is public: bounded differential privacy.

    Half the symmetric distance of two multisets of one size; infinite between different sizes.

    >>> ChangeOneDistance().distance([1, 1, 2], [2, 3, 1])
    Fraction(1, 1)
    """

    sentence = "change-one distance (records changed, size public)"

    def distance(self, u: object, v: object) -> Distance:
        """Count the records to change."""
        left, right = Counter(records_of(u)), Counter(records_of(v))
        return Fraction((left - right).total()) if left.total() == right.total() else math.inf


@public
class HammingDistance(_RecordMetric):
    """Positions that differ, where the order of the records is fixed and the size is public.

    >>> HammingDistance().distance([1, 2, 3], [1, 3, 2])
    Fraction(2, 1)
    """

    sentence = "Hamming distance (positions that differ, size public)"

    def distance(self, u: object, v: object) -> Distance:
        """Count the positions that differ."""
        left, right = records_of(u), records_of(v)
        if len(left) != len(right):
            return math.inf
        return Fraction(sum(a != b for a, b in zip(left, right, strict=True)))


@public
class InsertDeleteDistance(_RecordMetric):
    """Insertions plus deletions that turn one ordered list of records into the other.

    ``len(u) + len(v) - 2 * (length of the longest common subsequence)``.

    >>> InsertDeleteDistance().distance([1, 2, 3], [2, 3, 4])
    Fraction(2, 1)
    """

    sentence = "insert-delete distance (records inserted or deleted, order kept)"

    def distance(self, u: object, v: object) -> Distance:
        """Count insertions and deletions by dynamic programming, O(len(u) len(v))."""
        left, right = records_of(u), records_of(v)
        row = [0] * (len(right) + 1)
        for a in left:
            diagonal = 0
            for j, b in enumerate(right, start=1):
                best = diagonal + 1 if a == b else max(row[j], row[j - 1])
                diagonal, row[j] = row[j], best
        return Fraction(len(left) + len(right) - 2 * row[-1])


@public
class AbsoluteDistance(Metric):
    """The absolute difference of two numbers.

    >>> AbsoluteDistance().distance(0.5, 2)
    Fraction(3, 2)
    """

    carries = (Number,)
    sentence = "absolute difference"

    def distance(self, u: object, v: object) -> Distance:
        """Return ``|u - v|``."""
        return abs(_number(u) - _number(v))


@public
class _VectorMetric(Metric):
    carries = (Vector,)

    def supports(self, domain: Domain) -> bool:
        return isinstance(domain, Vector) and isinstance(domain.element, Number)


@public
class L1Distance(_VectorMetric):
    """The sum of absolute differences of two vectors of one length.

    >>> L1Distance().distance([1, 2], [3, 1])
    Fraction(3, 1)
    """

    sentence = "L1 distance"

    def distance(self, u: object, v: object) -> Distance:
        """Return the sum of the absolute differences."""
        gaps = _gaps(u, v)
        return math.inf if gaps is None else sum(gaps, Fraction(0))


@public
class L2Distance(_VectorMetric):
    """The Euclidean distance; :meth:`squared` is exact, :meth:`distance` is rounded up.

    >>> L2Distance().distance([0, 0], [3, 4])
    Fraction(5, 1)
    """

    sentence = "L2 distance"

    def distance(self, u: object, v: object) -> Distance:
        """Return the distance, rounded up to a multiple of 2^-64."""
        square = self.squared(u, v)
        if not isinstance(square, Fraction):
            return square
        return sqrt_up(square)

    def squared(self, u: object, v: object) -> Distance:
        """Return the exact square of the distance."""
        gaps = _gaps(u, v)
        return math.inf if gaps is None else sum((g * g for g in gaps), Fraction(0))


@public
class LInfinityDistance(_VectorMetric):
    """The largest absolute difference of two vectors of one length.

    >>> LInfinityDistance().distance([1, 2], [3, 1])
    Fraction(2, 1)
    """

    sentence = "L-infinity distance"

    def distance(self, u: object, v: object) -> Distance:
        """Return the largest absolute difference."""
        gaps = _gaps(u, v)
        return math.inf if gaps is None else max(gaps, default=Fraction(0))


@public
@dataclass(frozen=True)
class SparseDistance(_VectorMetric):
    """The least number of steps, each of which moves at most so many numbers, each by at most one.

    So do the counts of people by group move, where a person is in this many groups.  It is
    ``max(largest difference, ceil(sum of differences / coordinates))``, all rounded up to whole
    steps: no fewer are enough, and as many are, by filling step after step with the differences in
    turn (McNaughton 1959: no number is filled into one step twice, as none is longer than all).

    Args:
        coordinates: how many numbers a step moves; at least 1.

    >>> SparseDistance(2).distance([0, 0, 0], [1, 1, 1]), SparseDistance(2).distance([0, 1], [3, 1])
    (Fraction(2, 1), Fraction(3, 1))
    """

    coordinates: int

    def __post_init__(self) -> None:
        minimum = as_integer(self.coordinates, "coordinates", minimum=1)
        object.__setattr__(self, "coordinates", minimum)

    def distance(self, u: object, v: object) -> Distance:
        """Return the least number of steps."""
        gaps = _gaps(u, v)
        if gaps is None:
            return math.inf
        together = sum(gaps, Fraction(0)) / self.coordinates
        return Fraction(math.ceil(max([together, *gaps])))

    def describe(self) -> dict[str, object]:
        return {"metric": type(self).__name__, "coordinates": self.coordinates}

    def __str__(self) -> str:
        moved = "1 number" if self.coordinates == 1 else f"{self.coordinates} numbers"
        return f"sparse distance (steps that move at most {moved}, each by at most 1)"


@public
class DiscreteDistance(Metric):
    """Zero for equal members, one for all others.

    >>> DiscreteDistance().distance("north", "south")
    Fraction(1, 1)
    """

    carries = (Category, Number, Vector, Frame)
    sentence = "discrete distance (equal or not)"

    @property
    def counts_records(self) -> bool:
        """Never: it says only whether two members differ."""
        return False

    def distance(self, u: object, v: object) -> Distance:
        """Return zero for equal members, else one."""
        return Fraction(int(_comparable(u) != _comparable(v)))


def _gaps(u: Any, v: Any) -> list[Fraction] | None:
    if not hasattr(u, "__iter__") or not hasattr(v, "__iter__"):
        raise UsageError("this distance is between two vectors of numbers, such as lists")
    left, right = list(u), list(v)
    if len(left) != len(right):
        return None
    return [abs(_number(a) - _number(b)) for a, b in zip(left, right, strict=True)]


def _number(value: Any) -> Fraction:
    return as_fraction(value.item() if isinstance(value, np.generic) else value)


def records_of(data: Any) -> list[Hashable]:
    """List the records of a column or of a table, each in a form that equals its equals."""
    if isinstance(data, Mapping):
        columns: Iterable[Any] = list(data.values())
        return [tuple(_canonical(x) for x in row) for row in zip(*columns, strict=True)]
    if hasattr(data, "itertuples"):
        return [tuple(_canonical(x) for x in row) for row in data.itertuples(index=False)]
    if hasattr(data, "iter_rows"):
        return [tuple(_canonical(x) for x in row) for row in data.iter_rows()]
    if isinstance(data, (str, bytes)) or not hasattr(data, "__iter__"):
        raise UsageError("a data set is a sequence of records or a table of columns")
    return [_canonical(x) for x in data]


def _canonical(value: Any) -> Hashable:
    """Make all NaN one value; leave the rest as it is (0.0 and -0.0 are equal already)."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and math.isnan(plain):
        return "NaN", math.inf
    if isinstance(plain, (list, tuple, np.ndarray)):
        return tuple(_canonical(x) for x in plain)
    if not isinstance(plain, Hashable):
        raise UsageError(
            f"a record must be hashable, or a list of hashable values, not a {type(plain).__name__}"
        )
    return plain


def _comparable(value: Any) -> Hashable:
    if isinstance(value, Mapping) or hasattr(value, "itertuples") or hasattr(value, "iter_rows"):
        return tuple(records_of(value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(_canonical(x) for x in value)
    return _canonical(value)


@dataclass(frozen=True)
class Parts(Domain):
    """A mapping of public names to members of a domain; each record is in one part.

    >>> from tacit.core import Vector
    >>> Parts(("north", "south"), Vector(int)).read({"north": [1, 2], "east": [3]})["south"]
    array([], dtype=int64)
    """

    names: tuple[Hashable, ...]
    part: Domain

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, Mapping)
            and set(value) == set(self.names)
            and all(self.part.contains(value[name]) for name in self.names)
        )

    def read(self, value: Any) -> Any:
        """Read each part; one that is absent is empty, and other names are in no part."""
        if not isinstance(value, Mapping):
            raise UsageError("the data must be a mapping of the name of each part to its records")
        nothing = {n: [] for n in self.part.names} if isinstance(self.part, Frame) else []
        return {name: self.part.read(value.get(name, nothing)) for name in self.names}

    def sample(self, source: random.Random) -> Any:
        return {name: self.part.sample(source) for name in self.names}

    def describe(self) -> dict[str, Any]:
        names = [str(name) for name in self.names]
        return {"domain": "parts", "names": names, "part": self.part.describe()}

    def __str__(self) -> str:
        return f"{len(self.names)} disjoint parts, each a {self.part}"


@dataclass(frozen=True)
class PartsDistance(Metric):
    """The distances of the parts, added up: a record that comes or goes is in one part.

    >>> from tacit.core import SymmetricDistance
    >>> PartsDistance(SymmetricDistance()).distance({"a": [1], "b": [2]}, {"a": [1, 1], "b": []})
    Fraction(2, 1)
    """

    part: Metric

    carries = (Parts,)

    @property
    def counts_records(self) -> bool:
        """True if a distance is a whole number of records, as in each part."""
        return self.part.counts_records

    def supports(self, domain: Domain) -> bool:
        return isinstance(domain, Parts) and self.part.supports(domain.part)

    def distance(self, u: Any, v: Any) -> Distance:
        """Add the distances of the parts, by name; one that is absent is empty."""
        names = [*u, *(name for name in v if name not in u)]
        return sum(
            (self.part.distance(u.get(name, ()), v.get(name, ())) for name in names), Fraction(0)
        )

    def describe(self) -> dict[str, Any]:
        return {"metric": "PartsDistance", "part": self.part.describe()}

    def __str__(self) -> str:
        return f"{self.part}, added over the parts"


# Which pairs of inputs are known to lose what a release is said to lose at most.
#
# Two numbers that far apart lose all that noise on a number can lose, whichever two they are.  Of a
# sum of records between 0 and 10, a data set and the same with a record of 10 do; and if another
# sum, of the same records held between -20 and 0, is released next to it, no pair loses both: the
# two losses together are a bound that no one attains.  So the names of the pairs go with the
# losses.


@dataclass(frozen=True)
class Witness:
    """Names of pairs of inputs at every distance; none if no pair is known.

    A record is the name of the pairs of any data set and the same one with d more of that record.

    Attributes:
        names: None where any two inputs that far apart will do, or any records that come.

    >>> tens, both = Witness.of([10]), Witness.of([0, 10])
    >>> tens & both == tens, bool(tens & Witness.of([-20])), EVERY & both == both
    (True, False, True)
    """

    names: frozenset[Hashable] | None

    @staticmethod
    def of(records: Iterable[Hashable]) -> Witness:
        """Return the pairs of these names."""
        return Witness(frozenset(records))

    @staticmethod
    def own() -> Witness:
        """Return a pair like no other: known to exist, and nothing else."""
        return Witness(frozenset([object()]))

    def __and__(self, other: Witness) -> Witness:
        if self.names is None or other.names is None:
            return other if self.names is None else self
        return Witness(self.names & other.names)

    def __bool__(self) -> bool:
        return self.names is None or bool(self.names)


EVERY = Witness(None)

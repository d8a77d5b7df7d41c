"""Any function as a transformation: its stability map is the sensitivity that Tacit computes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, positive, show
from tacit.calls import public
from tacit.core import (
    AbsoluteDistance,
    ChangeOneDistance,
    Domain,
    L1Distance,
    Metric,
    Number,
    Space,
    SymmetricDistance,
    Transformation,
    Vector,
)
from tacit.core.domains import floats
from tacit.errors import UsageError

if TYPE_CHECKING:
    import random

    from tacit.statistics import Sensitivity
    from tacit.statistics.domains import Domain as Public
    from tacit.statistics.global_sensitivity import StabilityMap, StatisticLike
    from tacit.statistics.question import Relation
    from tacit.statistics.statistic import Statistic

_BITS = 20


@dataclass(frozen=True)
class ReleaseDomain(Domain):
    """Data sets of a :class:`~tacit.statistics.Records`, ``Values`` or ``Interval`` domain."""

    # Numbers outside it are read as the nearest member.  A data set without records is a member
    # where ``empty`` says so: where the statistic has a value on it.  Elsewhere it is read as one
    # of the smallest member alone (it is at distance infinity from all others, so no map is about
    # it).  Over a known population each record is used once: the numbers, each take a record of
    # their own value, those for which none is free the nearest that is (the lower one of two), and
    # those for which no record at all is free are left out.  A part of the population is read as
    # itself.

    over: Any
    empty: bool = False

    def contains(self, value: Any) -> bool:
        try:
            numbers = [as_fraction(x) for x in np.asarray(value).tolist()]
        except (UsageError, TypeError):
            return False
        return self._admits(numbers) if numbers else self.empty

    def _admits(self, numbers: list[Fraction]) -> bool:
        from tacit.statistics import Interval, Records, Sample

        if isinstance(self.over, Interval):
            return all(self.over.lower <= x <= self.over.upper for x in numbers)
        if isinstance(self.over, Records):
            return self.over.sample.without(Sample(numbers)) is not None
        return set(numbers) <= set(self.over.sample.fractions())

    def read(self, value: Any) -> list[Fraction]:
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            raise UsageError("the data must be a sequence of numbers, such as a list or an array")
        from tacit.statistics import Records

        nearest = sorted(map(self._nearest, floats(value).tolist()))
        if isinstance(self.over, Records):
            nearest = _each_once(nearest, self.over.sample.fractions())
        return nearest or ([] if self.empty else [self.over.lower])

    def _nearest(self, value: float) -> Fraction:
        from tacit.statistics import Interval

        low, high = self.over.lower, self.over.upper
        if math.isnan(value):
            return Fraction(low)
        number = (low if value < 0 else high) if math.isinf(value) else Fraction(value)
        inside: Fraction = min(max(Fraction(number), low), high)
        if isinstance(self.over, Interval):
            return inside
        return min(self._members, key=lambda member: abs(member - inside))

    @property
    def _members(self) -> list[Fraction]:
        return self.over.sample.distinct()[0].fractions()  # type: ignore[no-any-return]

    def sample(self, source: random.Random) -> list[float]:
        from tacit.statistics import Records

        members = [float(x) for x in self.over.sample.fractions()]
        size = self.over.size or source.randint(0 if self.empty else 1, 5)
        if self.empty and source.random() < 0.1:
            return []
        if isinstance(self.over, Records):
            return source.sample(members, min(size, len(members)))
        return [source.choice(members) for _ in range(size)]

    def describe(self) -> dict[str, Any]:
        empty = {"empty": True} if self.empty else {}
        return {"domain": "releases", "over": repr(self.over), **empty}

    def __str__(self) -> str:
        return f"data sets over {self.over!r}"


def _each_once(numbers: list[Fraction], population: list[Fraction]) -> list[Fraction]:
    """Give each number a record of a population, nearest first, none to two of them.

    >>> _each_once([Fraction(7), Fraction(7)], [Fraction(1), Fraction(6), Fraction(7)])
    [Fraction(6, 1), Fraction(7, 1)]
    """
    # First every number takes a record of its own value while there is one; those left over then
    # take the nearest that is free.  So no number takes the record that represents another one.
    free = Counter(population)
    taken: list[Fraction] = []
    waiting: list[Fraction] = []
    for number in numbers:
        (taken if free[number] > 0 else waiting).append(number)
        free[number] -= int(free[number] > 0)
    for number in waiting:
        open_ones = [record for record, times in free.items() if times > 0]
        if not open_ones:
            break
        nearest = min(open_ones, key=lambda record: (abs(record - number), record))
        free[nearest] -= 1
        taken.append(nearest)
    return sorted(taken)


@dataclass(frozen=True)
class ReleaseDistance(Metric):
    """Records that come, go or change, between two data sets of which one has the public size."""

    # Infinite where no move of the relation leads from a data set of that size to the other.

    # ``"unbounded"``, ``"add"``, ``"remove"`` (all count in records come or gone) or ``"bounded"``
    # (records changed)
    relation: str = "unbounded"
    size: int | None = None  # the public size of the release, or None for any
    # whether a data set without records is one of them; else it is infinitely far
    empty: bool = False

    carries = (ReleaseDomain,)

    @property
    def counts_records(self) -> bool:
        """Always."""
        return True

    def distance(self, u: Any, v: Any) -> Fraction | float:
        """Count records; symmetric in u and v."""
        if not self.empty and not (len(u) and len(v)):
            return 0 if len(u) == len(v) else math.inf
        if self.relation == "bounded":
            fits = self.size in (None, len(u))
            return ChangeOneDistance().distance(u, v) if fits else math.inf
        differing = SymmetricDistance().distance(u, v)
        if self.relation == "unbounded":
            return differing if self.size in (None, len(u), len(v)) else math.inf
        # One holds the other; its smaller side is what records are added to, the larger one what
        # they are removed from.
        start = min(len(u), len(v)) if self.relation == "add" else max(len(u), len(v))
        nested = differing == abs(len(u) - len(v))
        return differing if nested and self.size in (None, start) else math.inf

    def describe(self) -> dict[str, Any]:
        empty = {"empty": True} if self.empty else {}
        named = {"metric": type(self).__name__, "relation": self.relation, "size": self.size}
        return {**named, **empty}

    def __str__(self) -> str:
        sized = "" if self.size is None else f" from a release of {self.size}"
        return f"distance in records ({self.relation}{sized})"


@public
def as_transformation(
    function: StatisticLike | Sensitivity,
    over: Public | None = None,
    *,
    relation: Relation = "unbounded",
    grid: NumberLike | None = None,
) -> Transformation:
    """Make a transformation of any statistic or Python function, with its computed sensitivity.

    Args:
        function: a Python function of a 1-D array that returns one number; a statistic, or its name
            (``"median"``); or the answer of :func:`tacit.sensitivity`, whose question is taken
            over.
        over: the domain: :class:`~tacit.statistics.Records`, ``Values`` or ``Interval``.
        relation: ``"unbounded"``, ``"add"``, ``"remove"`` or ``"bounded"``.
        grid: the step of the grid that the value is rounded to; None for one on which the
            sensitivity at distance one lies, about 2^20 steps of it.

    **Map.** ``d -> g ceil(S(d) / g)``, with S the exact sensitivity *within* d over the domain and
    g the grid: values that differ by at most S(d) are rounded to multiples of g that differ by at
    most that.  With the grid left alone ``map(1)`` is the sensitivity itself.  S is computed when
    it is asked for, and cached.  Where the statistic has a value on no records (a count, a sum, a
    histogram, or ``Function(f, empty=0)``), the empty data set is a neighbour like any other.

    Raises:
        UsageError: a lower bound, a local sensitivity, or one at exactly a distance: no guarantee
            rests on these, and the message says why; a function that fails on some release.
        InfeasibleError: a search that is too large.

    Example:
        >>> from tacit.statistics import Values
        >>> import numpy as np
        >>> t = as_transformation(np.ptp, over=Values([0, 1, 5], size=3), relation="bounded")
        >>> t.map(1), t([0, 1, 1])
        (Fraction(5, 1), 1.0)
    """
    from tacit.statistics import Sensitivity, map_of, stability_map

    if isinstance(function, Sensitivity):
        if over is not None:
            raise UsageError("an answer brings its own domain; leave over= out")
        computed = map_of(function)
    elif over is None:
        raise UsageError("give the domain: over=Records(...), Values(...) or Interval(...)")
    else:
        computed = stability_map(_statistic(function), over, relation)
    empty, domain = not computed.statistic.min_size, computed.domain
    space = Space(
        ReleaseDomain(domain, empty), ReleaseDistance(computed.relation, domain.size, empty)
    )
    example = computed.statistic.exact([computed.domain.lower])
    if isinstance(example, tuple):
        return _vector(space, computed, len(example))
    return _number(space, computed, grid)


def _statistic(function: Any) -> Any:
    """Take ``tc.median()`` and the like for the statistic that they name."""
    return getattr(function, "statistic", function)


def _number(space: Space, computed: StabilityMap, grid: NumberLike | None) -> Transformation:
    step = _default_grid(computed) if grid is None else positive(grid, "grid")
    output = Space(Number("float", grid=step), AbsoluteDistance())
    return Transformation(
        space,
        output,
        lambda data: _units(computed.statistic, data, step),
        lambda d: step * math.ceil(Fraction(computed(int(d))) / step),
        name=f"{computed.statistic.name}",
    )


def _default_grid(computed: StabilityMap) -> Fraction:
    """Return a power of two over the sensitivity's denominator, a millionth of it or less."""
    first = Fraction(computed(1))
    halvings = max(_BITS + 1 - first.numerator.bit_length(), _BITS // 2)
    return Fraction(1, first.denominator << halvings)


def _vector(space: Space, computed: StabilityMap, size: int) -> Transformation:
    counts = Vector(Number("int", grid=Fraction(1)), size=size)
    return Transformation(
        space,
        Space(counts, L1Distance()),
        lambda data: counts.read(list(computed.statistic.exact(data))),  # type: ignore[arg-type]
        lambda d: Fraction(computed(int(d))),
        name=f"{computed.statistic.name}",
    )


def _units(statistic: Statistic, data: list[Fraction], grid: Fraction) -> int:
    """Evaluate exactly and round to the nearest unit, halves up."""
    # A release on which the function fails was refused when the map was computed; one that no map
    # is about (of another size) has the value zero instead.
    try:
        value = statistic.exact(data)
    except (UsageError, ArithmeticError):
        return 0
    radicand = getattr(value, "radicand", None)
    if radicand is not None:
        # floor(sqrt(x) + 1/2) = (floor(sqrt(4 x)) + 1) // 2
        return (math.isqrt(math.floor(4 * radicand / grid**2)) + 1) // 2
    assert isinstance(value, Fraction), show(grid)
    return math.floor(value / grid + Fraction(1, 2))

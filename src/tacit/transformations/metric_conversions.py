"""From one metric to another: the data stay as they are, the distance is counted anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.calls import public
from tacit.core import (
    AbsoluteDistance,
    ChangeOneDistance,
    DiscreteDistance,
    HammingDistance,
    InsertDeleteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Metric,
    Number,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    register,
    register_join,
)
from tacit.core.domains import Domain
from tacit.core.metrics import EVERY
from tacit.errors import MismatchError

StabilityMap = Callable[[Fraction], Fraction]
# From a domain to the map between two metrics on it, or None where there is none.
Rule = Callable[[Domain], StabilityMap | None]


def _same(domain: Domain) -> StabilityMap:
    return lambda d: d


def _twice(domain: Domain) -> StabilityMap:
    return lambda d: 2 * d


def _half(domain: Domain) -> StabilityMap | None:
    return None if getattr(domain, "size", None) is None else lambda d: Fraction(d // 2)


def _times_size(domain: Domain) -> StabilityMap | None:
    size = getattr(domain, "size", None)
    return None if size is None else lambda d: d * size


def _times_root_of_size(domain: Domain) -> StabilityMap | None:
    size = getattr(domain, "size", None)
    return None if size is None else lambda d: sqrt_up(d * d * size)


def _l1_from_l2(domain: Domain) -> StabilityMap | None:
    by_size = _times_root_of_size(domain)
    grid = _grid(domain)
    if grid is None:
        return by_size
    if by_size is None:
        return lambda d: d * d / grid
    return lambda d: min(by_size(d), d * d / grid)


def _whether(domain: Domain) -> StabilityMap:
    return lambda d: Fraction(int(d > 0))


def _width(domain: Domain) -> StabilityMap | None:
    bounds = getattr(domain, "bounds", None)
    return None if bounds is None else lambda d: (bounds[1] - bounds[0]) * min(d, Fraction(1))


def _grid(domain: Domain) -> Fraction | None:
    element = getattr(domain, "element", None)
    if not isinstance(element, Number):
        return None
    return element.grid or (Fraction(1) if element.kind == "int" else None)


@public
class _Conversion(Step):
    """The identity, from any metric that has a rule to the metric of the class."""

    target: ClassVar[Metric]
    rules: ClassVar[dict[type[Metric], Rule]]

    def build(self, space: Space) -> Transformation:
        """Return the identity between the two metrics."""
        rule = self.rules.get(type(space.metric))
        stability = None if rule is None else rule(space.domain)
        if stability is None:
            missing = "" if rule is None else " without a public size or bounds"
            known = ", ".join(kind.__name__ for kind in self.rules)
            raise MismatchError(
                f"no bound leads from {space.metric} to {self.target}{missing}; {self.name} starts "
                f"from: {known}",
                space,
                self,
            )
        output = Space(space.domain, self.target)
        # one number that moves alone is as far from where it was in every norm
        alone = rule is _same and isinstance(space.metric, L1Distance) and _rises(space.domain)
        return Transformation(
            space, output, _identity, stability, step=self, attained=alone, witness=EVERY
        )


def _rises(domain: Domain) -> bool:
    """Return whether a number of a vector may be as large as one likes, on any grid."""
    element = getattr(domain, "element", None)
    return isinstance(element, Number) and element.upper is None and _grid(domain) is not None


def _identity(data: Any) -> Any:
    return data


@register
@dataclass(frozen=True)
class ToSymmetric(_Conversion):
    """Measure distance in records added or removed: the symmetric distance.

    **Map.** From change-one and Hamming distance, ``d -> 2 d``: a change takes one record away and
    puts one in.  From insert-delete distance, ``d -> d``: each insertion or deletion is one record
    that is added or removed, and without the order no more are needed.

    Example:
        >>> from tacit.core import Vector
        >>> (Space(Vector(float), ChangeOneDistance()) >> ToSymmetric()).map(3)
        Fraction(6, 1)
    """

    name: ClassVar[str] = "to_symmetric"
    target: ClassVar[Metric] = SymmetricDistance()
    rules: ClassVar[dict[type[Metric], Rule]] = {
        ChangeOneDistance: _twice,
        HammingDistance: _twice,
        InsertDeleteDistance: _same,
    }


@register
@dataclass(frozen=True)
class ToChangeOne(_Conversion):
    """Measure distance in records changed: the change-one distance.

    **Map.** From Hamming distance, ``d -> d``: positions that are equal pair equal records.  Where
    the size is public, from symmetric and insert-delete distance, ``d -> floor(d / 2)``: as many
    records went as came.

    Example:
        >>> from tacit.core import Vector
        >>> (Space(Vector(float, size=9), SymmetricDistance()) >> ToChangeOne()).map(5)
        Fraction(2, 1)
    """

    name: ClassVar[str] = "to_change_one"
    target: ClassVar[Metric] = ChangeOneDistance()
    rules: ClassVar[dict[type[Metric], Rule]] = {
        HammingDistance: _same,
        SymmetricDistance: _half,
        InsertDeleteDistance: _half,
    }


@register
@dataclass(frozen=True)
class ToInsertDelete(_Conversion):
    """Measure distance in insertions and deletions: the insert-delete distance.

    **Map.** From Hamming distance, ``d -> 2 d``: delete and insert at each position that differs.

    Example:
        >>> from tacit.core import Vector
        >>> (Space(Vector(float), HammingDistance()) >> ToInsertDelete()).map(1)
        Fraction(2, 1)
    """

    name: ClassVar[str] = "to_insert_delete"
    target: ClassVar[Metric] = InsertDeleteDistance()
    rules: ClassVar[dict[type[Metric], Rule]] = {HammingDistance: _twice}


@register
@dataclass(frozen=True)
class ToL1(_Conversion):
    """Measure the sum of absolute differences: the L1 distance.

    **Map.** From L2 with n numbers, ``d -> sqrt(n) d`` rounded up (Cauchy and Schwarz); on a grid g
    also ``d -> d^2 / g``, since differences are whole multiples of g and ``|x| <= x^2 / g`` for
    each: the smaller of the two.  From L-infinity, ``d -> n d``.

    Example:
        >>> from tacit.core import Vector
        >>> (Space(Vector(float, size=4), L2Distance()) >> ToL1()).map(3)
        Fraction(6, 1)
    """

    name: ClassVar[str] = "to_l1"
    target: ClassVar[Metric] = L1Distance()
    rules: ClassVar[dict[type[Metric], Rule]] = {
        L2Distance: _l1_from_l2,
        LInfinityDistance: _times_size,
    }


@register
@dataclass(frozen=True)
class ToL2(_Conversion):
    """Measure the Euclidean distance: the L2 distance.

    **Map.** From L1, ``d -> d``: the square of a sum of non-negative numbers is at least the sum of
    their squares.  From L-infinity with n numbers, ``d -> sqrt(n) d`` rounded up.

    Example:
        >>> from tacit.core import Vector
        >>> (Space(Vector(float, size=4), LInfinityDistance()) >> ToL2()).map(3)
        Fraction(6, 1)
    """

    name: ClassVar[str] = "to_l2"
    target: ClassVar[Metric] = L2Distance()
    rules: ClassVar[dict[type[Metric], Rule]] = {
        L1Distance: _same,
        LInfinityDistance: _times_root_of_size,
    }


@register
@dataclass(frozen=True)
class ToLInfinity(_Conversion):
    """Measure the largest absolute difference: the L-infinity distance.

    **Map.** From L1 and L2, ``d -> d``: one term is at most the sum, and its square at most the sum
    of squares.

    Example:
        >>> from tacit.core import Vector
        >>> (Space(Vector(float), L2Distance()) >> ToLInfinity()).map(3)
        Fraction(3, 1)
    """

    name: ClassVar[str] = "to_l_infinity"
    target: ClassVar[Metric] = LInfinityDistance()
    rules: ClassVar[dict[type[Metric], Rule]] = {L1Distance: _same, L2Distance: _same}


@register
@dataclass(frozen=True)
class ToAbsolute(_Conversion):
    """Turn the discrete distance of bounded numbers into their absolute difference.

    **Map.** From the discrete distance, ``d -> U - L`` for d of one or more.  This is how one
    person's own number starts in the local model.

    Example:
        >>> (Space(Number("float", 0, 10), DiscreteDistance()) >> ToAbsolute()).map(1)
        Fraction(10, 1)
    """

    name: ClassVar[str] = "to_absolute"
    target: ClassVar[Metric] = AbsoluteDistance()
    rules: ClassVar[dict[type[Metric], Rule]] = {DiscreteDistance: _width}


@register
@dataclass(frozen=True)
class ToDiscrete(_Conversion):
    """Measure only whether two members differ: the discrete distance.

    **Map.** ``0 -> 0`` and anything above to one, from every metric in which only equals are at
    distance zero (not the symmetric or change-one distance, which forget the order).

    Example:
        >>> (Space(Number("float"), AbsoluteDistance()) >> ToDiscrete()).map("7/2")
        Fraction(1, 1)
    """

    name: ClassVar[str] = "to_discrete"
    target: ClassVar[Metric] = DiscreteDistance()
    rules: ClassVar[dict[type[Metric], Rule]] = {
        AbsoluteDistance: _whether,
        L1Distance: _whether,
        L2Distance: _whether,
        LInfinityDistance: _whether,
        HammingDistance: _whether,
        InsertDeleteDistance: _whether,
    }


for _kind in (
    ToSymmetric,
    ToChangeOne,
    ToInsertDelete,
    ToL1,
    ToL2,
    ToLInfinity,
    ToAbsolute,
):
    register_join(f"{_kind.name}()", _kind())

"""How distances in records become records that come, go or change."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tacit.arithmetic.square_root import sqrt_up
from tacit.core import (
    ChangeOneDistance,
    Frame,
    HammingDistance,
    InsertDeleteDistance,
    Space,
    Step,
    SymmetricDistance,
    Vector,
)
from tacit.errors import MismatchError

__all__ = ["linear_map", "only_changes", "records_of", "root_map", "substitutions"]

StabilityMap = Callable[[Fraction], Fraction]


def records_of(space: Space, step: Step) -> Vector | Frame:
    """Return the domain of a space of records.

    Raises:
        MismatchError: the space does not hold records, or does not compare them one by one.
    """
    domain = space.domain
    if not isinstance(domain, (Vector, Frame)) or not isinstance(
        space.metric, (SymmetricDistance, InsertDeleteDistance, ChangeOneDistance, HammingDistance)
    ):
        raise MismatchError(f"{step.name} works on records, not on ({space})", space, step)
    return domain


def only_changes(space: Space) -> bool:
    """Return whether records can only change: under such a metric, or where the size is public."""
    changing = isinstance(space.metric, (ChangeOneDistance, HammingDistance))
    return changing or getattr(space.domain, "size", None) is not None


def substitutions(space: Space, distance: Fraction) -> Fraction:
    """Return how many records change at most, where they can only change.

    Under the symmetric and the insert-delete distance two data sets of one size differ by as many
    records gone as come, so ``d`` stands for ``floor(d / 2)`` changes.
    """
    if isinstance(space.metric, (ChangeOneDistance, HammingDistance)):
        return distance
    return Fraction(distance // 2)


def linear_map(space: Space, coming: Fraction | int, changing: Fraction | int) -> StabilityMap:
    """Return the map of an aggregate to which every record contributes on its own.

    Args:
        space: the space of the records.
        coming: how far one record that is added or removed moves the aggregate.
        changing: how far one record that changes moves it.

    A path of d single steps leads from u to v; by the triangle inequality d steps of one kind move
    the aggregate by at most d times what one does.
    """
    if only_changes(space):
        return lambda d: substitutions(space, d) * changing
    return lambda d: d * coming


def root_map(space: Space, coming: Fraction | int, changing: Fraction | int) -> StabilityMap:
    """Return the same for an L2 norm whose *square* one record moves by so much; rounded up."""
    if only_changes(space):
        return lambda d: sqrt_up(substitutions(space, d) ** 2 * changing)
    return lambda d: sqrt_up(d * d * coming)

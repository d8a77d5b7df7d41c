"""Mechanisms and transformations of the caller's own: a function and the map that is claimed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import as_fraction
from tacit.calls import public
from tacit.core import Measure, Measurement, PureDP, Space, Transformation
from tacit.errors import UsageError
from tacit.mechanisms.output_distribution import FiniteDistribution


@public
def user_measurement(
    space: Space,
    function: Callable[..., object],
    map: Callable[[Fraction], object],
    *,
    measure: Measure | None = None,
    distribution: Callable[..., object] | None = None,
    name: str = "",
) -> Measurement:
    """Return a measurement from a random function and the privacy map that is claimed for it.

    The claim is not checked here: try to break it with ``tc.audit.verify`` before you rely on it.
    Draw randomness from ``tc.noise`` only.

    Args:
        space: of the data.
        function: a member to what is released.
        map: an input distance to the loss in ``measure``; read exactly.
        measure: pure DP by default.
        distribution: a member to the exact output distribution, as a mapping of outcomes to
            probabilities (numbers, texts such as "1/3", enclosures) or an object with
            ``probability(value)`` and ``support(mass)``; without it, verification is by samples.
        name: the name of the step in explanations of the chain.

    Raises:
        UsageError: the function, the map or the distribution cannot be called.

    Example:
        >>> from tacit import noise
        >>> from tacit.core import AbsoluteDistance, Number
        >>> bit = Space(Number("int", 0, 1), AbsoluteDistance())
        >>> def coins(bit):
        ...     return bit if noise.bernoulli("3/4") else 1 - bit
        >>> m = user_measurement(bit, coins, lambda d: "1.0987" if d else 0)
        >>> m.map(1), m(0) in (0, 1)
        (Fraction(10987, 10000), True)
    """
    _require_callable(function=function, map=map)
    if distribution is not None:
        _require_callable(distribution=distribution)
    kind = PureDP() if measure is None else measure
    noise_law = distribution

    def listed(data: Any) -> Any:
        output: Any = noise_law(data)  # type: ignore[misc]
        return FiniteDistribution.of(output) if hasattr(output, "items") else output

    return Measurement(
        space,
        kind,
        function,
        lambda d: kind.read(map(d)),
        distribution=None if distribution is None else listed,
        name=name
        or getattr(function, "__name__", "measurement").replace("<lambda>", "measurement"),
    )


@public
def user_transformation(
    input: Space,
    output: Space,
    function: Callable[..., object],
    map: Callable[[Fraction], object],
    *,
    name: str = "",
) -> Transformation:
    """Return a transformation from a function and the stability map that is claimed for it.

    The claim is not checked here: try to break it with ``tc.audit.verify`` before you rely on it.
    The function must be total: it may not raise on any member of the input domain.

    Args:
        input: the space that it starts from.
        output: the space that it leads to.
        function: a member of the input domain to one of the output domain.
        map: an input distance to the output distance that is claimed; read exactly.
        name: the name of the step in explanations of the chain.

    Raises:
        UsageError: the function or the map cannot be called.

    Example:
        >>> from tacit.core import AbsoluteDistance, Number, SymmetricDistance, Vector
        >>> column = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
        >>> largest = Space(Number("int", 0, 9), AbsoluteDistance())
        >>> def top(column):
        ...     return column.max(initial=0)
        >>> t = user_transformation(column, largest, top, lambda d: 9 if d else 0)
        >>> int(t([3, 4])), t.map(1)
        (4, Fraction(9, 1))
    """
    _require_callable(function=function, map=map)
    return Transformation(
        input,
        output,
        function,
        lambda d: as_fraction(map(d), "the distance that the map returns"),
        name=name or getattr(function, "__name__", "function").replace("<lambda>", "function"),
    )


def _require_callable(**given: Any) -> None:
    for name, value in given.items():
        if not callable(value):
            raise UsageError(f"{name} must be a function, not {value!r}")

"""Counts over a stream, released at every step, charged once for the whole stream."""

# Let x_1 .. x_T be what each step adds; the running totals are released, all T of them, with noise.
#
# - *Tree* (Dwork, Naor, Pitassi, Rothblum, STOC 2010; Chan, Shi, Song, ICALP 2010): the total up to
#   t is the sum of the blocks that t's binary digits name, the one that ends at t as long as the
#   lowest digit of t.  Each block gets noise once.  A step is in one block of each length 1, 2, 4,
#   ... at most, so in ``T.bit_length()`` of them.
# - *Factorisation* (Fichtenberger, Henzinger, Upadhyay, ICML 2023; Henzinger, Upadhyay, Upadhyay,
#   SODA 2023): the matrix A of running totals is C B with B lower triangular; ``B x + z`` is
#   released, and C times it shown.  B is near the square root of A, whose diagonals are
#   ``f_k = binomial(2 k, k) / 4^k``; here each f_k is rounded to a multiple of ``2^-24``, so that
#   all is done in integers, and ``C = A B^-1`` undoes just that.  A step moves ``B x`` by at
#   most the length of B's first column, of the numbers that are used.

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from tacit import noise
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_integer, positive
from tacit.calls import public
from tacit.core import (
    L1Distance,
    Measure,
    Measurement,
    Number,
    PureDP,
    Space,
    Step,
    Vector,
    ZeroConcentratedDP,
    register,
)
from tacit.core.divergences import Product
from tacit.errors import UsageError
from tacit.mechanisms.grid_noise import LatticeDistribution

_RESOLUTION = 1 << 24
_METHODS = {"tree": "laplace", "tree_gaussian": "gaussian", "factorisation": "gaussian"}


@register
@dataclass(frozen=True)
class ContinualCount(Step):
    """Release every running total of a stream of integers.

    **Map**, on a vector of T integers under the L1 distance: with L = ``T.bit_length()``

    - ``method="tree"``: ``d -> d L / scale`` in pure DP: the blocks form a vector that moves by at
      most d L in L1, and gets discrete Laplace noise.
    - ``method="tree_gaussian"``: ``d -> d^2 L / (2 scale^2)`` in zCDP: one step moves the blocks by
      at most ``sqrt(L)`` in L2, and the L2 length of a sum of moves is at most the sum of lengths.
    - ``method="factorisation"``: ``d -> d^2 f / (2 scale^2)`` in zCDP, f the sum of the squares of
      the f_k: as before, with the columns of B.

    The totals are a function of the noisy blocks (or rows), so they cost no more; and the noise of
    a step depends on nothing that comes later, so they may be released one by one, also when later
    steps depend on them (Denisov, McMahan, Rush, Smith, Thakurta, NeurIPS 2022, theorem 2.1: for
    Gaussian noise and lower triangular B; for the tree, the composition of independent blocks, each
    with a loss that is bounded given the past).  See the module for sources.

    Args:
        scale: of the noise on each block or row; above zero.
        method: ``"tree"``, ``"tree_gaussian"`` or ``"factorisation"``.

    Raises:
        UsageError: a scale that is not above zero, an unknown method.

    Example:
        >>> stream = Space(Vector(Number("int", 0, 1), size=8), L1Distance())
        >>> m = stream >> ContinualCount(scale=8)
        >>> m.map(1), len(m([1, 0, 1, 1, 0, 0, 1, 0]))
        (Fraction(1, 2), 8)
    """

    scale: NumberLike
    method: str = "tree"

    name: ClassVar[str] = "continual_count"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        if self.method not in _METHODS:
            raise UsageError(f"the method is one of {', '.join(_METHODS)}, not {self.method!r}")

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on integers under the L1 distance, a stream of public length."""
        domain = space.domain
        is_integral = isinstance(domain, Vector) and isinstance(domain.element, Number)
        if (
            not is_integral
            or domain.element.kind != "int"  # type: ignore[attr-defined]
            or domain.element.grid not in (None, 1)  # type: ignore[attr-defined]
            or not domain.size  # type: ignore[attr-defined]
            or not isinstance(space.metric, L1Distance)
        ):
            raise self.mismatch(
                space,
                f"works on a stream of whole numbers of public length under the L1 "
                f"distance, such as Vector(int, size=365), not on ({space})",
            )
        horizon = int(domain.size)  # type: ignore[attr-defined]

        def totals(stream: Any) -> list[Any]:
            counter = self.start(horizon)
            return [counter.next(int(x)) for x in stream]

        measure: Measure = PureDP() if self.method == "tree" else ZeroConcentratedDP()
        charge = self._charge(horizon)
        distribution = (
            (lambda stream: self._blocks(stream)) if self.method != "factorisation" else None
        )
        return Measurement(space, measure, totals, charge, distribution=distribution, step=self)

    def start(self, horizon: int) -> Counter:
        """Return a counter that releases one total after the other.

        Args:
            horizon: how many steps there will be, at least 1.
        """
        return Counter(horizon, self.scale, self.method)

    def _charge(self, horizon: int) -> Any:
        scale = Fraction(self.scale)
        if self.method == "tree":
            return lambda d: d * horizon.bit_length() / scale
        if self.method == "tree_gaussian":
            return lambda d: d * d * horizon.bit_length() / (2 * scale * scale)
        length = sum((Fraction(f, _RESOLUTION) ** 2 for f in roots(horizon)), Fraction(0))
        return lambda d: d * d * length / (2 * scale * scale)

    def _blocks(self, stream: Any) -> RunningTotals:
        scale = Fraction(self.scale)
        distribution: Any = (
            noise.DiscreteLaplace(scale) if self.method == "tree" else noise.DiscreteGaussian(scale)
        )
        values = [int(x) for x in stream]
        sums = [sum(values[t - (t & -t) : t]) for t in range(1, len(values) + 1)]
        return RunningTotals([LatticeDistribution(distribution, s, Fraction(1)) for s in sums])


class RunningTotals(Product):
    """The distribution of a tree's running totals: that of its noisy blocks, one for each step."""

    # The block that ends at t is the total at t less the total at ``t - (t & -t)``: totals and
    # blocks determine each other, so they distinguish two inputs equally well.

    def outputs(self, value: Any) -> tuple[Any, ...] | None:
        """List the noisy blocks that these totals were shown from; None for anything else."""
        shown = super().outputs(value)
        if shown is None or not all(isinstance(x, (int, float, Fraction)) for x in shown):
            return None
        totals = [Fraction(0), *shown]
        return tuple(totals[t] - totals[t - (t & -t)] for t in range(1, len(totals)))


def roots(horizon: int) -> list[int]:
    """Return the first coefficients of ``(1 - x)^(-1/2)``, rounded to multiples of ``2^-24``.

    >>> [f / 2**24 for f in roots(3)]
    [1.0, 0.5, 0.375]
    """
    exact, coefficients = Fraction(1), []
    for k in range(horizon):
        coefficients.append(int(exact * _RESOLUTION + Fraction(1, 2)))
        exact = (exact * (2 * k + 1) / (2 * k + 2)).limit_denominator(1 << 60)
    return coefficients


class _Block(NamedTuple):
    length: int
    exact: int
    noisy: int


@public
class Counter:
    """A running total of a stream, released after each step with noise that is charged once.

    Its state holds exact sums: it is never shown, and cannot be pickled or copied.

    Args:
        horizon: how many steps there will be at most.
        scale: of the noise on each block or row.
        method: ``"tree"``, ``"tree_gaussian"`` or ``"factorisation"``.

    Raises:
        UsageError: a horizon below one or above 2^20 (2^12 for the factorisation), a scale that is
            not above zero, an unknown method.

    Example:
        >>> counter = Counter(horizon=100, scale=5)
        >>> first = counter.next(3)
        >>> counter.map(1), counter.steps
        (Fraction(7, 5), 1)
    """

    def __init__(self, horizon: int, scale: NumberLike, method: str = "tree") -> None:
        self.step = ContinualCount(scale, method)
        maximum = 1 << 12 if method == "factorisation" else 1 << 20
        self.horizon = as_integer(horizon, "horizon", minimum=1)
        if self.horizon > maximum:
            raise UsageError(f"the horizon of this method is at most {maximum}, not {self.horizon}")
        self.steps = 0
        self._open: list[_Block] = []
        self._past: list[int] = []
        self._rows: list[float] = []

    @property
    def measure(self) -> Measure:
        """The measure that :meth:`map` counts in."""
        return PureDP() if self.step.method == "tree" else ZeroConcentratedDP()

    def map(self, d_in: NumberLike) -> Fraction:
        """Return the loss of the whole stream where its steps differ by ``d_in`` in total."""
        distance = positive(d_in, "d_in") if d_in else Fraction(0)
        return Fraction(self.step._charge(self.horizon)(distance))

    def next(self, amount: object) -> object:
        """Add what this step brings, and release the total so far.

        Returns:
            An integer (tree) or a float (factorisation).

        Raises:
            UsageError: the horizon is passed.
        """
        if self.steps >= self.horizon:
            raise UsageError(
                f"the stream was charged for {self.horizon} steps, and they are over; start "
                "another counter"
            )
        exact: Any = Number("int").read(amount)
        self.steps += 1
        if self.step.method == "factorisation":
            return self._row(exact)
        return self._block(exact)

    def _draw(self, scale: Fraction) -> int:
        gaussian = _METHODS[self.step.method] == "gaussian"
        return int((noise.discrete_gaussian if gaussian else noise.discrete_laplace)(scale))

    def _block(self, amount: int) -> int:
        """Close the block that ends here, and add up the blocks that t's digits name."""
        length, exact = self.steps & -self.steps, amount
        # The blocks that this one swallows are the last ones, of lengths up to half of it.
        while self._open and self._open[-1].length < length:
            exact += self._open.pop().exact
        noisy = exact + self._draw(Fraction(self.step.scale))
        self._open.append(_Block(length, exact, noisy))
        return sum(block.noisy for block in self._open)

    @cached_property
    def _factors(self) -> tuple[list[int], list[float]]:
        """Return B's diagonals in whole units, and those of ``A B^-1``."""
        left = roots(self.horizon)
        b = np.array(left, dtype=np.float64) / _RESOLUTION
        right = np.empty(self.horizon)
        for k in range(self.horizon):  # c * b = (1, 1, 1, ...)
            right[k] = 1.0 - float(right[:k] @ b[k:0:-1]) if k else 1.0
        return left, right.tolist()

    def _row(self, amount: int) -> float:
        left, right = self._factors
        self._past.append(amount)
        row = sum(f * x for f, x in zip(left, reversed(self._past), strict=False))
        noisy = row + self._draw(Fraction(self.step.scale) * _RESOLUTION)
        self._rows.append(noisy / _RESOLUTION)
        return float(np.dot(right[: self.steps], self._rows[::-1]))

    def __repr__(self) -> str:
        return f"<Counter by {self.step.method}: step {self.steps} of {self.horizon}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a counter cannot be pickled or copied: its state is not private")

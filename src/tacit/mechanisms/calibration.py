"""The least noise for a loss, and the accuracy of a mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from tacit import plotting
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number as ExactNumber
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, show
from tacit.arithmetic.roots_and_bisection import narrowed, smallest_integer
from tacit.calls import public
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    L1Distance,
    LInfinityDistance,
    Measurement,
    Number,
    PureDP,
    Space,
    Step,
    Transformation,
    Unfinished,
    Vector,
    ZeroConcentratedDP,
    convert,
)
from tacit.core.losses.additive_noise import GaussianShift
from tacit.core.losses.base import Dominating
from tacit.core.space import unfinished
from tacit.errors import InfeasibleError, MismatchError, UsageError
from tacit.mechanisms.additive import Gaussian, largest_rho, min_scale, min_sigma
from tacit.mechanisms.grid_noise import LatticeDistribution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The smallest scale at which a release, or a composition, is (epsilon, delta)-DP by its losses.
#
# What is bounded is ``m.delta(epsilon)``, the delta of the privacy losses of the whole at the
# epsilon asked for.  Its logarithm falls smoothly as the noise grows, so a line through two scales
# that are too small and large enough finds the next one; a few scales are enough, each of which is
# checked.


NO_NOISE = "inputs at this distance do not move what is released: no noise is needed"

_NEAR = 2.0**-32  # of the scale: so near the smallest one is the answer
_FARTHEST = 200
_GROWTH = 1.5
_STEPS = 100
_DIGITS = 40
_MIN_LOG = -1e5


def min_noise(
    build: Callable[[Fraction], Measurement],
    d_in: NumberLike,
    epsilon: Fraction,
    delta: Fraction,
) -> Measurement:
    """Return the release of the least scale that is (epsilon, delta)-DP, stated as such."""
    # build: a scale to a release whose losses never grow with it.
    target = _log(delta)

    def excess(exponent: float) -> float:
        """Return how far ln delta is above the one asked for, at a scale of e to the place."""
        return _log(build(_scale(exponent)).delta(epsilon, d_in).upper) - target

    low, high = _around(excess)
    exponent = _narrowed(excess, low, high)
    return stated_at(build(_scale(exponent)), as_fraction(d_in), epsilon, delta)


def _around(excess: Callable[[float], float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return a place that is too small and one that is enough, each with its excess."""
    step = math.log(2)
    here = (0.0, excess(0.0))
    way = 1 if here[1] > 0 else -1
    while True:
        there = (here[0] + way * step, excess(here[0] + way * step))
        if (there[1] > 0) != (here[1] > 0):
            return (here, there) if way > 0 else (there, here)
        here = there
        step *= _GROWTH
        if abs(here[0]) > _FARTHEST:
            break
    if way > 0:
        raise InfeasibleError("no amount of noise gives this guarantee")
    raise UsageError(NO_NOISE)


def _narrowed(
    excess: Callable[[float], float], low: tuple[float, float], high: tuple[float, float]
) -> float:
    """Return a place that is enough, so that what is a little less is not."""
    # By the rule of Illinois: the line between the two ends finds the next place, where the excess
    # of an end that has stayed before counts half.
    (a, over), (b, under) = low, high
    stayed = 0
    for _ in range(_STEPS):
        if b - a <= _NEAR:
            break
        flat = not _MIN_LOG < under < 0  # nothing to draw a line through
        middle = (a + b) / 2 if flat else a + (b - a) * over / (over - under)
        middle = min(max(middle, a + _NEAR / 2), b - _NEAR / 2)
        slack = excess(middle)
        if slack > 0:
            a, over = middle, slack
            under, stayed = (under / 2 if stayed > 0 else under), 1
        else:
            b, under = middle, slack
            over, stayed = (over / 2 if stayed < 0 else over), -1
    return b


def _scale(log_scale: float) -> Fraction:
    """Return about e to the place, with few digits: short numbers are quick to compute with."""
    mantissa, exponent = math.frexp(math.exp(log_scale))
    return Fraction(math.ceil(mantissa * (1 << _DIGITS)), 1 << _DIGITS) * Fraction(2) ** exponent


def _log(value: Fraction) -> float:
    if value <= 0:
        return _MIN_LOG
    return max(math.log(value.numerator) - math.log(value.denominator), _MIN_LOG)


def stated_at(m: Measurement, known: Fraction, epsilon: Fraction, delta: Fraction) -> Measurement:
    """State a release as (epsilon, delta)-DP at one delta, for every distance.

    >>> from tacit.core import AbsoluteDistance, Number, Space
    >>> from tacit.mechanisms import Gaussian
    >>> one = Space(Number("int"), AbsoluteDistance()) >> Gaussian(5)
    >>> pair = stated_at(one, Fraction(1), Fraction(1), Fraction(1, 10**6))
    >>> pair.map(1) == (1, Fraction(1, 10**6)), round(float(pair.map(2)[0]), 4)
    (True, 1.7596)
    """
    # known: the distance at which ``(epsilon, delta)`` has been proven already.

    def loss(d: Fraction) -> tuple[Fraction, Fraction]:
        if d == known:
            return epsilon, delta
        if not d:
            return Fraction(0), Fraction(0)
        enclosed = m.epsilon(delta, d)
        if not isinstance(enclosed, Enclosure):
            raise UsageError(f"no finite epsilon is known at distance {show(d)} and this delta")
        return enclosed.upper, delta

    stated = Measurement(
        m.input,
        ApproximateDP(),
        m.function,
        loss,
        distribution=m.law,
        losses=m.losses,
        witness=m.witness,
    )
    stated.links = m.links
    return stated


# The smallest noise that keeps a promise.


_CALIBRATION_STEPS = 40
_LARGEST_SCALE = 400


@public
def calibrate(
    step: Unfinished | type[Step] | Callable[[Fraction], Measurement],
    d_in: NumberLike = 1,
    d_out: object = None,
) -> Measurement:
    """Return the measurement with the smallest noise whose map at ``d_in`` is at most ``d_out``.

    Args:
        step: a chain that ends in a class of steps, such as ``space >> sum >> laplace``
            (further parameters by ``functools.partial``); the class on its own, for integers
            whose distance is given (a number, else two scores, as the step can take them); or
            a function from a scale to a measurement.
        d_in: the distance between neighbouring inputs.
        d_out: the loss: epsilon for pure DP, rho for zCDP, ``(epsilon, delta)`` for approximate DP.

    A step in pure DP is calibrated to the epsilon of a pair, and is that at any delta.  A function
    from a scale, such as a composition of many releases, is calibrated to a pair with a delta by
    the privacy losses of the whole (``m.delta``), to a relative 2^-32 of the scale.  Where the
    loss falls with the scale (pure) or with its square (zCDP), the answer is in closed form:
    exact, or a square root rounded up.  Gaussian noise on one number, for
    ``(epsilon, delta)``, takes the smallest sigma of the exact profile of the discrete distribution
    (:mod:`tacit.mechanisms.additive`); on a vector, the smallest that zCDP
    proves.  Anything else is searched by bisection, for a loss that never grows with the scale, to
    a relative 2^-40. Whatever is returned has been checked: ``m.check(d_in, d_out)`` holds.

    Raises:
        UsageError: a step that cannot be calibrated, a ``d_out`` of another measure, or inputs that
            need no noise.
        InfeasibleError: no amount of noise reaches ``d_out``.

    Example:
        >>> from tacit.core import Space, SymmetricDistance, Vector
        >>> from tacit.mechanisms import Gaussian, Laplace
        >>> from tacit.transformations import Clamp, Sum
        >>> total = Space(Vector(float), SymmetricDistance()) >> Clamp(0, 12) >> Sum()
        >>> calibrate(total >> Laplace, d_in=1, d_out="12/25").describe()["steps"][-1]["scale"]
        '25'
        >>> calibrate(Laplace, d_in=12, d_out="12/25").describe()["steps"][-1]["scale"]
        '25'
        >>> calibrate(total >> Gaussian, d_in=1, d_out=(1, "1e-6")).check(1, (1, "1e-6"))
        True
        >>> import tacit as tc
        >>> year = lambda scale: tc.framework.compose([total >> tc.framework.laplace(scale)] * 365)
        >>> m = calibrate(year, d_in=1, d_out=(1, "1e-6"))
        >>> m.check(1, (1, "1e-6")), m.check(1, (1, "9e-7"))
        (True, False)
    """
    if d_out is None:
        raise UsageError("say how much may be spent: calibrate(chain, d_in=..., d_out=...)")
    if isinstance(step, partial) or (isinstance(step, type) and issubclass(step, Step)):
        step = _on_whole_numbers(step)
    if isinstance(step, Unfinished):
        if "scale" not in step.fields:
            return _by_epsilon(step, d_in, d_out)
        if step.kind is Gaussian and isinstance(d_out, (tuple, list)):
            return _gaussian(step, d_in, ApproximateDP().read(d_out))
        return _by_scale(lambda scale: step.finish(scale=scale), d_in, d_out)
    if callable(step) and not isinstance(step, (Measurement, Transformation, type)):
        if isinstance(d_out, (tuple, list)) and ApproximateDP().read(d_out)[1]:
            return _by_losses(step, d_in, ApproximateDP().read(d_out))
        return _by_scale(step, d_in, d_out)
    raise UsageError(
        "calibrate takes a chain that ends in a class of steps, such as space >> sum >> "
        "tc.framework.laplace, or a function from a scale to a measurement"
    )


def _on_whole_numbers(step: Any) -> Any:
    """Put a step on its own behind the first space of whole numbers that it can be built on."""
    integers = Number("int")
    spaces = (
        Space(integers, AbsoluteDistance()),
        Space(Vector(integers, size=2), LInfinityDistance()),
        Space(Vector(integers, size=2), L1Distance()),
    )
    for space in spaces:
        chain = unfinished(space, step)
        if chain is None:
            return step  # a partial of a function from a scale
        try:
            chain.finish(**{chain.fields[0]: Fraction(1)})
        except MismatchError:
            continue
        return chain
    raise UsageError("this step needs a space: calibrate(space >> ... >> step, d_in=, d_out=)")


def _by_epsilon(step: Unfinished, d_in: NumberLike, d_out: Any) -> Measurement:
    """Scale the one parameter of mechanisms whose loss is a multiple of it."""
    once = step.finish(epsilon=Fraction(1))
    loss, allowed = once.map(d_in), _pure_part(once, d_out)
    if not loss:
        raise UsageError(NO_NOISE)
    return _stated(step.finish(epsilon=allowed / loss), d_in, d_out)


def _by_scale(
    build: Callable[[Fraction], Measurement], d_in: NumberLike, d_out: Any
) -> Measurement:
    one = build(Fraction(1))
    if isinstance(one.measure, ApproximateDP):
        return _bisected(build, d_in, d_out)
    loss: Any = one.map(d_in)
    if not loss:
        raise UsageError(NO_NOISE)
    concentrated = isinstance(one.measure, ZeroConcentratedDP)
    allowed = _pure_part(one, d_out)
    guess = min_scale(loss, allowed) if concentrated else loss / allowed
    chosen = build(guess)
    less = build(guess * (1 - Fraction(1, 1 << 40)))
    if chosen.check(d_in, allowed) and not less.check(d_in, allowed):
        return _stated(chosen, d_in, d_out)
    return _stated(_bisected(build, d_in, allowed), d_in, d_out)


def _pure_part(m: Measurement, d_out: Any) -> Fraction:
    """Return the loss to aim at in the measure of ``m``; a pair stands for its epsilon."""
    paired = isinstance(m.measure, PureDP) and isinstance(d_out, (tuple, list))
    allowed: Any = ApproximateDP().read(d_out)[0] if paired else m.measure.read(d_out)
    if isinstance(allowed, Fraction) and allowed <= 0:
        raise UsageError(f"a loss of {show(allowed)} would need infinite noise")
    return Fraction(allowed)


def _stated(m: Measurement, d_in: NumberLike, d_out: Any) -> Measurement:
    """State a pure guarantee as a pair where a pair was asked for, and check it."""
    if isinstance(d_out, (tuple, list)) and isinstance(m.measure, PureDP):
        m = convert(m, ApproximateDP())
    if not m.check(d_in, d_out):
        raise InfeasibleError("no amount of noise gives this guarantee")
    return m


def _by_losses(
    build: Callable[[Fraction], Measurement], d_in: NumberLike, pair: tuple[Fraction, Fraction]
) -> Measurement:
    """Return the least noise whose privacy losses together keep a pair with a delta."""
    epsilon, delta = pair
    if delta == 1:
        raise UsageError("a delta of 1 allows everything to be published; give one below 1")
    return min_noise(build, d_in, epsilon, delta)


def _bisected(
    build: Callable[[Fraction], Measurement], d_in: NumberLike, d_out: Any
) -> Measurement:
    """Return the least certified scale, for a loss that never grows with it."""

    def enough(scale: Fraction) -> bool:
        return build(scale).check(d_in, d_out)

    low = high = Fraction(1)
    tries = 0
    while not enough(high):
        low, high, tries = high, 2 * high, tries + 1
        if tries > _LARGEST_SCALE:
            raise InfeasibleError("no amount of noise gives this guarantee")
    while low == high or enough(low):
        low, high, tries = low / 2, low, tries + 1
        if tries > _LARGEST_SCALE:
            raise UsageError(NO_NOISE)
    return build(narrowed(enough, high, low, _CALIBRATION_STEPS)[0])


def _gaussian(
    step: Unfinished, d_in: NumberLike, promise: tuple[Fraction, Fraction]
) -> Measurement:
    """Return Gaussian noise for (epsilon, delta), stated as such at this delta."""
    epsilon, delta = promise
    if not 0 < delta < 1 or epsilon <= 0:
        raise UsageError("Gaussian noise needs an epsilon above zero and a delta above 0, below 1")
    one = step.finish(scale=Fraction(1))
    loss: Any = one.map(d_in)
    if not loss:
        raise UsageError(NO_NOISE)
    losses = None if one.losses is None else one.losses(as_fraction(d_in))
    losses = losses.losses if isinstance(losses, Dominating) else losses
    if isinstance(losses, GaussianShift):
        grid = 1 / losses.scale  # one grid unit, seen from a scale of one
        scale = min_sigma(losses.shift, epsilon, delta) * grid
    else:
        scale = min_scale(loss, largest_rho(epsilon, delta))
    m = step.finish(scale=scale)
    return stated_at(m, as_fraction(d_in), epsilon, delta)


# How accurate a release is for its privacy loss: the half-width of an interval, over losses.


_LOSSES = ("1/10", "1/5", "3/10", "1/2", "7/10", 1, "3/2", 2, 3, 5)


def half_width(measurement: Measurement, data: Any, level: ExactNumber = "0.95") -> float:
    """Return the smallest t such that the noise stays within t with probability ``level``.

    Args:
        measurement: that adds noise to one number on a grid.
        data: any data set: the noise does not depend on it.
        level: above 0 and below 1.

    Raises:
        UsageError: the measurement adds no such noise, or a level outside of that.

    >>> from tacit.core import AbsoluteDistance, Space
    >>> from tacit.core import Number as Numbers
    >>> from tacit.mechanisms import Laplace
    >>> half_width(Space(Numbers("int"), AbsoluteDistance()) >> Laplace(10), 0)
    30.0
    """
    share = as_fraction(level, "level")
    if not 0 < share < 1:
        raise UsageError("a level must be above 0 and below 1")
    distribution = measurement.distribution(data)
    if not isinstance(distribution, LatticeDistribution):
        raise UsageError("accuracy is known for noise on one number; ask one coordinate at a time")

    def mass_within(radius: int) -> Enclosure:
        """Enclose P(|X| <= reach); the distributions are symmetric."""
        return 1 - 2 * distribution.law.cdf(-radius - 1)  # type: ignore[no-any-return]

    radius = smallest_integer(lambda radius: mass_within(radius).lower >= share, -1, 1)
    return float(radius * distribution.grid)


@public
def plot_accuracy(
    chains: dict[str, Unfinished] | Unfinished,
    data: object,
    *,
    losses: Sequence[ExactNumber] = _LOSSES,
    d_in: ExactNumber = 1,
    level: ExactNumber = "0.95",
    loss: Callable[[Fraction], object] | None = None,
) -> Figure:
    """Draw the half-width of an interval against the privacy loss, for one chain or for several.

    Args:
        chains: one that ends in a class of steps, such as ``space >> sum >> laplace``, or a
            mapping of names to several of them.
        data: any data set: the noise does not depend on it.
        losses: the privacy losses to calibrate to.
        d_in: the distance between neighbouring inputs.
        level: the confidence level of the interval.
        loss: from a number of ``losses`` to the loss to calibrate to, such as
            ``lambda e: (e, "1e-6")``; the number itself by default.

    Returns:
        A matplotlib Figure.

    Raises:
        UsageError: a chain that is finished or cannot be calibrated.

    >>> from tacit.core import AbsoluteDistance, Space
    >>> from tacit.core import Number as Numbers
    >>> from tacit.mechanisms import Laplace
    >>> number = Space(Numbers("int"), AbsoluteDistance())
    >>> figure = plot_accuracy(number >> Laplace, 0, losses=[1, 2])
    >>> len(figure.axes)
    1
    """
    named = {chains.name: chains} if isinstance(chains, Unfinished) else dict(chains)
    goal = loss or (lambda e: e)
    exact = [as_fraction(e, "loss") for e in losses]
    figure: Figure = plotting.figure(6.4, 4.2)
    one = plotting.axes(figure, 1, 1)[0][0]
    for index, (name, chain) in enumerate(named.items()):
        widths = [half_width(calibrate(chain, d_in, goal(e)), data, level) for e in exact]
        one.plot([float(e) for e in exact], widths, label=name, **plotting.series(index).line())
    one.set_xscale("log")
    one.set_yscale("symlog", linthresh=1)
    one.set_ylim(bottom=0)
    one.set_xlabel("privacy loss (epsilon, or as the caller maps it)")
    one.set_ylabel(f"half-width of the {float(as_fraction(level)):.0%} interval")
    if len(named) > 1:
        one.legend(frameon=False, fontsize=9)
    plotting.title(one, "accuracy against privacy loss")
    return figure

"""The least noise that keeps a promise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from tacit.arithmetic.bisection import narrowed
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, show
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
from tacit.core.chain.partial_chain import unfinished
from tacit.core.losses.additive_noise import GaussianShift
from tacit.core.losses.bounds import Dominating
from tacit.errors import InfeasibleError, MismatchError, UsageError
from tacit.mechanisms.additive.gaussian import Gaussian
from tacit.mechanisms.additive.gaussian_calibration import largest_rho, least_scale, least_sigma
from tacit.mechanisms.combine.least_noise import NO_NOISE, least_noise, stated_at

__all__ = ["calibrate"]

_STEPS = 40
_FARTHEST = 400


@public
def calibrate(
    step: Unfinished | type[Step] | Callable[[Fraction], Measurement],
    d_in: NumberLike = 1,
    d_out: object = None,
) -> Measurement:
    """Return the measurement with the least noise whose map at ``d_in`` is at most ``d_out``.

    Args:
        step: a chain that ends in a class of steps, such as ``space >> sum >> tc.laplace`` (further
            parameters by ``functools.partial``); the class on its own, for whole numbers whose
            distance is given (a number, else two scores, as the step can take them); or
            a function from a scale to a measurement.
        d_in: the distance between neighbouring inputs.
        d_out: the loss: epsilon for pure DP, rho for zCDP, ``(epsilon, delta)`` for approximate DP.

    A step in pure DP is calibrated to the epsilon of a pair, and is that at any delta.  A function
    from a scale, such as a composition of many releases, is calibrated to a pair with a delta by
    the privacy losses of the whole (``m.delta``), to a relative 2^-32 of the scale.  Where the
    loss falls with the scale (pure) or with its square (zCDP), the answer is in closed form:
    exact, or a square root rounded up.  Gaussian noise on one number, for
    ``(epsilon, delta)``, takes the least sigma of the exact profile of the discrete distribution
    (:mod:`tacit.mechanisms.additive.gaussian_calibration`); on a vector, the least that zCDP
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
        >>> year = lambda scale: tc.compose([total >> tc.laplace(scale)] * 365)
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
        "tc.laplace, or a function from a scale to a measurement"
    )


def _on_whole_numbers(step: Any) -> Any:
    """Put a step on its own behind the first space of whole numbers that it can be built on."""
    whole = Number("int")
    spaces = (
        Space(whole, AbsoluteDistance()),
        Space(Vector(whole, size=2), LInfinityDistance()),
        Space(Vector(whole, size=2), L1Distance()),
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
    guess = least_scale(loss, allowed) if concentrated else loss / allowed
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
    return least_noise(build, d_in, epsilon, delta)


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
        if tries > _FARTHEST:
            raise InfeasibleError("no amount of noise gives this guarantee")
    while low == high or enough(low):
        low, high, tries = low / 2, low, tries + 1
        if tries > _FARTHEST:
            raise UsageError(NO_NOISE)
    return build(narrowed(enough, high, low, _STEPS)[0])


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
        scale = least_sigma(losses.shift, epsilon, delta) * grid
    else:
        scale = least_scale(loss, largest_rho(epsilon, delta))
    m = step.finish(scale=scale)
    return stated_at(m, as_fraction(d_in), epsilon, delta)

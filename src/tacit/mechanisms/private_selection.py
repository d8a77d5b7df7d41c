"""Private selection: the best of many runs of mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.calls import public
from tacit.core import ApproximateDP, Measurement
from tacit.core.conversions import LossMap, implied_loss
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.best_run import min_growth, selected
from tacit.errors import UsageError
from tacit.mechanisms.output_distribution import FiniteDistribution, PairMap, stated_at, sum_of

# Private selection among candidates that are themselves private: try often, keep the best.


_DISTANCES = 64


@public
def select_best(
    measurement: Measurement,
    score: Callable[..., object],
    stop: Number,
    *,
    delta: Number | None = None,
) -> Measurement:
    """Private selection: run a measurement a random number of times, and release the best run.

    After each run it stops with probability ``stop``, so there are ``1 / stop`` runs on average,
    geometrically many.  The number of runs is not released.

    **Map.** In pure DP ``d -> map(d) + 2 c``, at most ``3 map(d)``, however many runs there are on
    average.  In approximate DP a loss (epsilon, beta) gives ``(epsilon + 2 c, beta / stop)``.  With
    ``delta(.)`` the profile of one run, c is the smallest number with

        ``(1 - stop) delta(c) <= stop (e^c - 1)``,

    which is zero for one run and at most the epsilon of a run in pure DP.  Where the losses of a
    run are known, its profile is theirs.  ``m.epsilon(delta=)``, ``m.delta(epsilon=)`` and
    compositions follow the whole curve, which is that of the worst order of the outputs
    (:mod:`tacit.core.losses.best_run` proves it) and mostly lower.

    Proof.  Let
    p(y) be the probability of output y in one run, F(s) that of a score of at most s, ``F(s-)`` of
    less.  With N runs, ``P(N = n) = stop (1 - stop)^(n - 1)``, the best score is at most s with
    probability ``G(F(s))``, ``G(t) = stop t / (1 - (1 - stop) t)``, and given the best score the
    earliest run that has it is distributed as p among the outputs of that score.  So y comes out
    with probability

        ``p(y) (G(F(s)) - G(F(s-))) / (F(s) - F(s-)) = p(y) stop / (A(s) A(s-))``,

    ``A(s) = 1 - (1 - stop) F(s) = stop + (1 - stop) P(score > s)``.  Between neighbours p(y) grows
    by a factor of at most e^epsilon, and each A shrinks by at most e^c, for it is ``stop`` plus a
    multiple of the probability of an event.  Three factors.

    The proof asks for scores in a *total* order, for "the best so far" must not depend on the order
    of the runs.  So NaN is the lowest score there is, below minus infinity, and equal to itself; so
    is anything that is not a number, and a score that fails.  (Compared as floats, NaN is never
    beaten where it comes first and never wins where it comes later: whose loss was 3.45 where 3 is
    claimed.)

    Source: Liu and Talwar, "Private selection from private candidates", STOC 2019; Papernot and
    Steinke, "Hyperparameter tuning with Renyi differential privacy", ICLR 2022 (geometric case);
    for a delta compare Koskela, Redberg, Wang, "Privacy profiles for private selection", ICML 2024.

    Args:
        measurement: in pure or approximate DP, or in another measure with ``delta``; its output may
            hold the candidate that was drawn and its score.
        score: of a *released* output: a number, the larger the better; infinities are numbers, and
            NaN, what is no number, or an exception is the lowest score.
        stop: the probability of stopping after a run, above 0 and at most 1.
        delta: at which a measurement in another measure, whose losses are known, is stated (beta).

    Raises:
        MismatchError: another measure than pure or approximate DP, without a delta or known losses.
        UsageError: a probability outside of that, a score that is not a function.

    Example:
        >>> from tacit.core import AbsoluteDistance, Space
        >>> from tacit.core import Number as Numbers
        >>> from tacit.mechanisms import Laplace
        >>> noisy = Space(Numbers("int"), AbsoluteDistance()) >> Laplace(6)
        >>> float(select_best(noisy, score=lambda released: released, stop="1/10").map(1))
        0.4391...
        >>> import tacit as tc
        >>> from tacit import framework as fw
        >>> noisy = Space(Numbers("int"), AbsoluteDistance()) >> fw.gaussian(20)
        >>> best = select_best(noisy, score=lambda released: released, stop="1/10", delta="1e-9")
        >>> [float(part) for part in best.map(1)]
        [0.3503..., 1e-08]
    """
    chance = as_fraction(stop, "stop")
    if not 0 < chance <= 1:
        raise UsageError(
            f"the probability of stopping is above 0 and at most 1, not {show(chance)}"
        )
    if not callable(score):
        raise UsageError("score must be a function of a released output")
    measure, privacy = stated_at(measurement, delta)
    release, distribution, losses = measurement.function, measurement.law, _losses(measurement)

    def best(data: Any) -> Any:
        chosen = release(data)
        top = _points(score, chosen)
        while not noise.bernoulli(chance):
            output = release(data)
            points = _points(score, output)
            if points > top:
                chosen, top = output, points
        return chosen

    return Measurement(
        measurement.input,
        measure,
        best,
        _map(privacy, losses, chance, paired=isinstance(measure, ApproximateDP)),
        distribution=None
        if distribution is None
        else lambda data: _law(distribution(data), score, chance),
        losses=_selected(losses, chance),
        name=f"select_best of {measurement.links[-1].title}",
    )


def _losses(measurement: Measurement) -> LossMap:
    """Return losses that dominate those of one run: its own, or what its privacy map implies."""
    own, measure, privacy = measurement.losses, measurement.measure, measurement.privacy

    def losses(d: Fraction) -> PrivacyLoss | None:
        loss = None if own is None else own(d)
        return implied_loss(measure, privacy(d)) if loss is None else loss

    return losses


def _map(
    privacy: PairMap, losses: LossMap, stop: Fraction, *, paired: bool
) -> Callable[[Fraction], Any]:
    @lru_cache(maxsize=_DISTANCES)
    def loss(d: Fraction) -> Any:
        epsilon, delta = privacy(d)
        known = losses(d) if epsilon or delta else None
        if known is not None:
            epsilon += 2 * min_growth(known, stop)
            delta = min(delta / stop, Fraction(1))
        return (epsilon, delta) if paired else epsilon

    return loss


def _selected(losses: LossMap, stop: Fraction) -> LossMap:
    @lru_cache(maxsize=_DISTANCES)
    def bound(d: Fraction) -> PrivacyLoss | None:
        known = losses(d)
        return None if known is None else selected(known, stop)

    return bound


def _points(score: Callable[[Any], Any], output: Any) -> tuple[int, Fraction]:
    """Return a score as a place in a total order, whatever it is: NaN below all numbers.

    >>> places = [_points(float, x) for x in ("nan", "-inf", "-3", "1e9", "inf", "no number")]
    >>> places == [*sorted(places[:5]), places[0]]
    True
    """
    try:
        return _rank(score(output))
    except Exception:  # no output may stop a release, and no score may depend on the other runs
        return 0, Fraction(0)


def _rank(score: Any) -> tuple[int, Fraction]:
    number: Any = score.item() if isinstance(score, (np.generic, np.ndarray)) else score
    if isinstance(number, Decimal) and number.is_finite() and abs(number.adjusted()) > 1000:
        number = float(number)  # zero or infinite, and no number of a billion digits
    if not isinstance(number, (Real, Decimal)) or number != number:
        return 0, Fraction(0)
    if isinstance(number, (int, Fraction)):
        return 2, Fraction(number)
    if number in (math.inf, -math.inf):
        return (3 if number == math.inf else 1), Fraction(0)
    ratio: Any = number
    return 2, Fraction(*ratio.as_integer_ratio())


def _law(base: Any, score: Callable[[Any], Any], stop: Fraction) -> FiniteDistribution:
    """Return the distribution of the winner from that of one run, by the formula of the proof."""
    if not isinstance(base, FiniteDistribution) or base.rest:
        raise UsageError(
            "the distribution of the winner is listed only where that of one run is finite"
        )
    by_score: dict[Any, list[tuple[Any, Enclosure]]] = {}
    for output, p in base.table.items():
        by_score.setdefault(_points(score, output), []).append((output, p))
    table: dict[Any, Enclosure] = {}
    above = Enclosure.of(0)
    for points in sorted(by_score, reverse=True):
        here = sum_of(p for _, p in by_score[points])
        at, below = (stop + (1 - stop) * part for part in (above, above + here))
        factor = (stop / (at * below)).rounded(128)
        table |= {output: (p * factor).rounded(128) for output, p in by_score[points]}
        above = (above + here).rounded(160)
    return FiniteDistribution(table)

"""Measurements: random functions of a data set whose output is safe to publish."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.calls import public
from tacit.core import outputs as plot_outputs
from tacit.core.conversions import LossMap, bound_alone, delta_bound, epsilon_bound, losses_behind
from tacit.core.measures import ApproximateDP, Loss, Measure, PureDP
from tacit.core.metrics import EVERY, Witness
from tacit.core.space import ChainLink, Distribution, Space, Step, chain_card, chain_text, distances
from tacit.core.tradeoff import ProfilePoints, TradeoffFunction, min_mu
from tacit.core.transformation import Transformation, read_distance
from tacit.display.card import Card, Shown
from tacit.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class TwoParts:
    """A random function in two parts, so that much can be drawn on data that are read but once.

    >>> from tacit import noise
    >>> twice = TwoParts(lambda x: lambda: 2 * x + int(noise.bernoulli(1)))
    >>> twice(3)
    7
    """

    # an internal member to what draws a released value, with fresh noise each time.  It draws
    # nothing itself: all that is random comes after it.
    prepare: Callable[[Any], Callable[[], Any]]

    def __call__(self, member: Any) -> Any:
        """Release: prepare, and draw once."""
        return self.prepare(member)()


@public
class Measurement(Shown):
    """A randomised mechanism with a privacy map: ``divergence(M(u), M(v)) <= map(d(u, v))``.

    Args:
        input: the space of its data.
        measure: how distances between output distributions are counted.
        function: an internal member to a released value; draws its own secure noise.  One of
            :class:`TwoParts` where what comes before the noise takes long.
        privacy: the privacy map, from an input distance to a loss of ``measure``.
        distribution: an internal member to the exact output distribution, where it is discrete.
        losses: an input distance to the privacy losses that dominate those of all pairs within that
            distance, where they are known: they make :meth:`epsilon` tight.
        step: the recipe it was built from, if there is one.
        witness: which pairs of inputs have the losses, where they are more than a bound; by default
            all that far apart, or where records are counted a pair of its own.

    Attributes:
        function, privacy, losses: as given; they take internal members and distances that are read.
        law: ``distribution`` as given.

    ``t >> m`` runs a transformation first; its map is ``m.map(t.map(d))``.  ``m >> f`` applies any
    function to the *released* value: post-processing, which no map can make worse, since the
    divergence of images never exceeds the divergence of the originals (data processing).

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
        >>> from tacit.mechanisms import Laplace
        >>> from tacit.transformations import Count
        >>> m = Space(Vector(str), SymmetricDistance()) >> Count() >> Laplace(scale=2)
        >>> m.map(1), m.check(1, 1)
        (Fraction(1, 2), True)
    """

    def __init__(
        self,
        input: Space,
        measure: Measure,
        function: Callable[..., object],
        privacy: Callable[[Fraction], Loss],
        *,
        distribution: Callable[..., object] | None = None,
        losses: LossMap | None = None,
        step: Step | None = None,
        name: str = "",
        witness: Witness | Callable[[], Witness] | None = None,
    ) -> None:
        self.input = input
        self.measure = measure
        self.function = function
        self.privacy = privacy
        self.law = distribution
        self.losses = losses
        self._witness = witness
        self._last_proof: tuple[Fraction, tuple[Fraction, Fraction] | None] | None = None
        self.links: tuple[ChainLink, ...] = (
            ChainLink(name or (step.name if step else "noise"), step, measure, privacy),
        )

    @property
    def witness(self) -> Witness:
        """Which pairs of inputs have the losses, where these are more than a bound."""
        known = self._witness() if callable(self._witness) else self._witness
        self._witness = known or (Witness.own() if self.input.metric.counts_records else EVERY)
        return self._witness

    def map(self, d_in: Number) -> Loss:
        """Return the privacy loss at an input distance: a Fraction, or ``(epsilon, delta)``.

        Args:
            d_in: the distance between two inputs.

        Raises:
            UsageError: ``d_in`` is negative, or not an integer where records are counted.
        """
        return self.privacy(read_distance(self.input, d_in))

    def check(self, d_in: Number, d_out: object) -> bool:
        """Return whether the privacy loss at distance ``d_in`` is at most ``d_out``.

        Args:
            d_in: the distance between two inputs.
            d_out: the privacy loss, in the measure of the measurement.
        """
        return self.measure.at_most(self.map(d_in), self.measure.read(d_out))

    def epsilon(self, delta: Number, d_in: Number = 1) -> Enclosure | float:
        """Enclose the smallest epsilon such that the release is (epsilon, delta)-DP at ``d_in``.

        ``.lower`` and ``.upper`` are fractions, ``float()`` gives the upper end, rounded up.  Where
        the privacy losses of the mechanism are known (discrete Laplace and Gaussian noise on a
        number, and compositions of these) and some pair of inputs is known to have them, both ends
        are nearly equal.  Elsewhere the upper end is what the losses or the privacy map imply, and
        the lower end, of which nothing is proven, is zero: so it is after a transformation whose
        map no pair is known to attain (a filter may keep no one), and for releases of which only
        the map is known.  ``math.inf`` where no finite epsilon suffices.

        Args:
            delta: at least 0 and below 1, such as ``"1e-6"``.
            d_in: the distance between two inputs; 1, two neighbours, by default.

        Raises:
            UsageError: a delta below 0, or at or above 1 (which promises nothing: every release,
                that of the data themselves too, is (0, 1)-DP), or one that is not reached.
        """
        target = as_fraction(delta, "delta")
        if not 0 <= target < 1:
            raise UsageError(
                f"delta must be at least 0 and below 1, not {show(target)}: at 1 nothing is "
                "promised; give one far below 1 / (number of people), such as '1e-6'"
            )
        distance = read_distance(self.input, d_in)
        known = None if self.losses is None else self.losses(distance)
        if known is not None:
            return self._at_most_map(known.epsilon(target), distance, target)
        return epsilon_bound(self.measure, self.privacy(distance), target)

    def delta(self, epsilon: Number, d_in: Number = 1) -> Enclosure:
        """Enclose the smallest delta such that the release is (epsilon, delta)-DP at ``d_in``.

        The ends mean what those of :meth:`epsilon` do.

        Args:
            epsilon: at least 0.
            d_in: the distance between two inputs; 1, two neighbours, by default.

        Raises:
            UsageError: an epsilon below zero.

        >>> from tacit.core import AbsoluteDistance
        >>> from tacit.core import Number as Numbers
        >>> from tacit.mechanisms import Gaussian
        >>> m = Space(Numbers("int"), AbsoluteDistance()) >> Gaussian(4)
        >>> round(float(m.delta(1)), 8)
        3.06e-06
        """
        level = as_fraction(epsilon, "epsilon")
        if level < 0:
            raise UsageError(f"an epsilon must be at least 0, not {level}")
        distance = read_distance(self.input, d_in)
        known = None if self.losses is None else self.losses(distance)
        if known is not None:
            return self._within_map(known.delta(level), distance, level)
        return delta_bound(self.measure, self.privacy(distance), level)

    def tradeoff(self, d_in: Number = 1) -> TradeoffFunction:
        """Return the trade-off function at ``d_in``: the lowest miss rate of any attack, ``.beta``.

        Args:
            d_in: the distance between two inputs; 1, two neighbours, by default.

        >>> from tacit.core import AbsoluteDistance
        >>> from tacit.core import Number as Numbers
        >>> from tacit.mechanisms import Gaussian
        >>> m = Space(Numbers("int"), AbsoluteDistance()) >> Gaussian(4)
        >>> m.tradeoff().sentence("0.05")
        'an attack with 5% false alarms misses at least 91.8%'
        """
        return TradeoffFunction(self._profile(d_in))

    def gaussian_mu(self, delta: Number = 0, d_in: Number = 1) -> Enclosure:
        """Enclose the smallest mu such that the release is mu-GDP, up to a probability ``delta``.

        The release is then, at every epsilon, (epsilon, delta')-DP with delta' the larger of
        ``delta`` and that of a Gaussian release whose mean moves by mu standard deviations.  With a
        delta of zero it is mu-GDP (Dong, Roth, Su 2022); noise without a largest loss, as the
        discrete Gaussian, needs one above zero, such as "1e-15".

        Args:
            delta: from 0 (the default) to below 1.
            d_in: the distance between two inputs; 1, two neighbours, by default.

        Raises:
            UsageError: a delta below 0 or at or above 1, or one that no finite epsilon reaches.

        >>> from tacit.core import AbsoluteDistance
        >>> from tacit.core import Number as Numbers
        >>> from tacit.mechanisms import Gaussian
        >>> m = Space(Numbers("int"), AbsoluteDistance()) >> Gaussian(4)
        >>> round(float(m.gaussian_mu("1e-9")), 2)
        0.25
        """
        forgiven = as_fraction(delta, "delta")
        end = self.epsilon(forgiven, d_in)
        if not isinstance(end, Enclosure):
            raise UsageError(
                f"no finite epsilon reaches a delta of {show(forgiven)}; give a larger delta, "
                "such as gaussian_mu('1e-15')"
            )
        return min_mu(self._profile(d_in), end.upper, forgiven)

    def _profile(self, d_in: Number) -> ProfilePoints:
        """Return delta as a function of epsilon, that remembers where it was asked."""
        distance = read_distance(self.input, d_in)
        known = None if self.losses is None else self.losses(distance)
        if known is None:
            return ProfilePoints(lambda epsilon: self.delta(epsilon, d_in))

        def deltas(epsilons: Sequence[Fraction]) -> list[Enclosure]:
            pairs = zip(known.deltas(epsilons), epsilons, strict=True)
            return [self._within_map(delta, distance, epsilon) for delta, epsilon in pairs]

        return ProfilePoints(lambda epsilon: self.delta(epsilon, d_in), deltas)

    def _proven(self, distance: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return the epsilon and delta that the map proves; None where it is of another kind."""
        # The last one is cached: a profile asks at many epsilons of one distance, and the map of a
        # composition evaluates those of all its parts.
        if not isinstance(self.measure, (PureDP, ApproximateDP)):
            return None
        last = self._last_proof
        if last is None or last[0] != distance:
            loss: Any = self.privacy(distance)
            loss = (loss, Fraction(0)) if isinstance(self.measure, PureDP) else loss
            last = self._last_proof = (distance, None if math.inf in loss else loss)
        return last[1]

    def _at_most_map(
        self, epsilon: Enclosure | float, distance: Fraction, delta: Fraction
    ) -> Enclosure | float:
        """Lower the upper end to what the map proves at this delta, where that is less."""
        # Losses that are listed up to a small mass have to take that mass for infinite; the map is
        # proven without a list, so the lesser of the two holds.
        proven = self._proven(distance)
        if proven is None or delta < proven[1]:
            return epsilon
        if not isinstance(epsilon, Enclosure):
            return Enclosure(Fraction(0), proven[0])
        upper = min(epsilon.upper, proven[0])
        return Enclosure(min(epsilon.lower, upper), upper)

    def _within_map(self, enclosed: Enclosure, distance: Fraction, epsilon: Fraction) -> Enclosure:
        """Lower the upper end of a delta to that of the map, from its epsilon on."""
        proven = self._proven(distance)
        if proven is None or epsilon < proven[0]:
            return enclosed
        upper = min(enclosed.upper, proven[1])
        return Enclosure(min(enclosed.lower, upper), upper)

    def __call__(self, data: object) -> object:
        """Release: evaluate on data, with fresh noise."""
        return self.function(self.input.domain.read(data))

    def draws(self, data: object) -> Callable[[], object]:
        """Return a function that releases at each call, from data that are read once.

        Args:
            data: a member of the input domain.
        """
        member, function = self.input.domain.read(data), self.function
        if isinstance(function, TwoParts):
            return function.prepare(member)
        return lambda: function(member)

    def distribution(self, data: object) -> Distribution:
        """Return the exact distribution of the output on ``data``.  Not private: for teaching.

        Args:
            data: a member of the input domain.

        Raises:
            UsageError: this measurement has no explicit output distribution.
        """
        if self.law is None:
            raise UsageError("this measurement has no explicit output distribution")
        distribution: Any = self.law(self.input.domain.read(data))
        return distribution  # type: ignore[no-any-return]

    def after(self, first: Transformation) -> Measurement:
        """Return this measurement after a transformation (``first >> self``)."""
        inner, privacy, distribution = first.function, self.privacy, self.law
        stability, losses, release = first.stability, self.losses, self.function
        known = first.attained and self.witness == EVERY
        chained = Measurement(
            first.input,
            self.measure,
            _after(inner, release),
            lambda d: privacy(stability(d)),
            distribution=None if distribution is None else lambda data: distribution(inner(data)),
            losses=losses and losses_behind(stability, losses, onto=first.onto, known=known),
            witness=lambda: first.witness if known else Witness.own(),
        )
        chained.links = first.links + self.links
        return chained

    def __rshift__(self, function: Callable[..., object]) -> Measurement:
        if not callable(function):
            return NotImplemented
        release = self.function
        processed = Measurement(
            self.input,
            self.measure,
            lambda data: function(release(data)),
            self.privacy,
            losses=None if self.losses is None else bound_alone(self.losses),
        )
        title = getattr(function, "__name__", type(function).__name__)
        processed.links = (*self.links, ChainLink(title, None, self.measure, lambda loss: loss))
        return processed

    def plot(self, u: object, v: object, event: object = None) -> Figure:
        """Draw the output distributions on two data sets, an event shaded in both, the divergence.

        Args:
            u: a data set.
            v: another.
            event: a pair of ends, a set of outputs, or a function that says which are in it.

        Returns:
            A matplotlib Figure.  Not private: it shows what a release hides.

        Raises:
            UsageError: no explicit output distribution, or one that cannot be drawn.
            MissingExtraError: matplotlib is not installed.
        """
        return plot_outputs.outputs(self, u, v, event)  # type: ignore[no-any-return]

    def plot_privacy_loss(self, u: object, v: object) -> Figure:
        """Draw the privacy loss of each output, and how likely each loss is; see :meth:`plot`.

        Args:
            u: a data set.
            v: another.
        """
        return plot_outputs.privacy_losses(self, u, v)  # type: ignore[no-any-return]

    def plot_tradeoff(self, u: object, v: object) -> Figure:
        """Draw the error rates of the best test between two data sets; see :meth:`plot`.

        Args:
            u: a data set.
            v: another.
        """
        return plot_outputs.trade_off(self, u, v)  # type: ignore[no-any-return]

    def explain(self, d_in: Number = 1) -> str:
        """Return the chain as text, with the distance after each step and the loss at its end.

        Args:
            d_in: the distance between two inputs; 1, two neighbours, by default.
        """
        return chain_text(self.input, self.links, read_distance(self.input, d_in))

    def describe(self, d_in: Number = 1) -> dict[str, object]:
        """Return the chain as plain JSON values: its start, its steps, the distance after each."""
        start = read_distance(self.input, d_in)
        steps = []
        for link, distance in zip(self.links, distances(self.links, start), strict=True):
            shown = [str(d) for d in distance] if isinstance(distance, tuple) else str(distance)
            steps.append({**link.recipe, "distance": shown})
        return {
            "space": self.input.describe(),
            "d_in": str(start),
            "steps": steps,
            "measure": self.measure.describe(),
        }

    def card(self) -> Card:
        """Return what a notebook displays: each step with the distance after it."""
        return chain_card("Measurement", self.input, self.links, Fraction(1))

    def __repr__(self) -> str:
        steps = " >> ".join(link.title for link in self.links)
        return f"<Measurement {steps}: ({self.input}) -> {self.measure}>"


def _after(inner: Callable[[Any], Any], release: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a release behind a function that is not random; in two parts if it is in two."""
    if isinstance(release, TwoParts):
        prepare = release.prepare
        return TwoParts(lambda data: prepare(inner(data)))
    return lambda data: release(inner(data))

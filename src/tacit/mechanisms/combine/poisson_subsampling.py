"""Amplification by Poisson sampling, where Tacit draws the sample itself with secure bits."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, show
from tacit.calls import public
from tacit.core import (
    ApproximateDP,
    Frame,
    Measurement,
    SymmetricDistance,
    Vector,
)
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.bounds import Dominating
from tacit.core.losses.sampling.poisson import sampled
from tacit.core.measures.epsilon_bound import LossMap, implied_loss
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.combine.known_pair import loss_of_equal_records
from tacit.mechanisms.combine.sampled_records import amplified, kept_records, number_of_records
from tacit.mechanisms.shared.output_distribution import Mixture
from tacit.mechanisms.shared.pair_map import PairMap, stated_at

__all__ = ["poisson_sample"]

_MOST_LISTED = 12


@public
def poisson_sample(
    measurement: Measurement, rate: NumberLike, *, delta: NumberLike | None = None
) -> Measurement:
    """Release from a Poisson sample: each record is in it independently, with probability ``rate``.

    **Map.** Under the symmetric distance.  For one record that is added or removed, with the
    measurement's own loss epsilon there:

        ``ln(1 + rate (e^epsilon - 1))`` in pure DP, and delta becomes ``rate delta``.

    Proof.  Let v be u with d records more; the sample of v holds none of them with probability
    ``1 - q``, ``q = 1 - (1 - rate)^d``.  Given the sample of the common records, the output on u
    has distribution P0, on v ``(1 - q) P0 + q P1``, where P0 and P1 are (e, delta)-close, e and
    delta the measurement's loss at d.  So ``V(S) <= (1 - q) P0(S) + q (e^e P0(S) + delta)``, which
    is the claim for one direction.  For the other, ``P1(S) >= e^-e (P0(S) - delta)`` gives
    ``P0(S) <= V(S) / (1 - q + q e^-e) + q delta``, and ``1 / (1 - q + q e^-e) <= 1 + q (e^e - 1)``,
    since ``(1 - q + q e^-e)(1 - q + q e^e) >= 1``.  Inputs that differ by d records, a of them only
    in u and b only in v, go through what they share: the loss is at most the largest, over
    ``a + b = d``, of the two losses one after the other, which is computed; irrational numbers are
    rounded up.

    Source: Balle, Barthe, Gaboardi, "Privacy amplification by subsampling", NeurIPS 2018.

    ``m.epsilon(delta=)`` and compositions are tight for one record, by the losses of the sampled
    release in both directions (:mod:`tacit.core.losses.sampling.poisson`).  The lower ends are
    those of no record against one, where the noise is on a number: the sample holds it or does not.

    The sample must stay secret and be drawn afresh for every release, and here it is.

    Args:
        measurement: on a column or a table of no public size under the symmetric distance, in pure
            or approximate DP; or in another measure, whose losses are known, with ``delta``.
        rate: the probability, above 0 and at most 1.
        delta: at which a release in another measure, such as Gaussian noise, is stated.

    Raises:
        UsageError: a rate or a delta outside of that.
        MismatchError: another space or measure.

    Example:
        >>> from tacit.core import Space
        >>> from tacit.mechanisms import Laplace
        >>> from tacit.transformations import Count
        >>> count = Space(Vector(int), SymmetricDistance()) >> Count() >> Laplace(scale=1)
        >>> float(poisson_sample(count, "1/10").map(1))
        0.1585650787...
        >>> import tacit as tc
        >>> noisy = Space(Vector(int), SymmetricDistance()) >> Count() >> tc.gaussian(scale=1)
        >>> step = poisson_sample(noisy, "1/100", delta="1e-9")
        >>> float(tc.compose([step] * 10_000).epsilon("1e-6"))
        6.90738...
    """
    share = as_fraction(rate, "rate")
    if not 0 < share <= 1:
        raise UsageError(f"a sampling rate is above 0 and at most 1, not {show(share)}")
    space = measurement.input
    listed = isinstance(space.domain, (Vector, Frame))
    if not listed or not isinstance(space.metric, SymmetricDistance) or space.domain.size:  # type: ignore[attr-defined]
        raise MismatchError(
            "sampling works on records without a public size under the symmetric distance, not "
            f"({space})",
            space,
            SymmetricDistance(),
        )
    release, law = measurement.function, measurement.law
    measure, privacy = stated_at(measurement, delta)

    def sampled(data: Any) -> Any:
        kept = noise.bernoulli(share, number_of_records(data))
        return release(kept_records(data, kept))

    return Measurement(
        space,
        measure,
        sampled,
        _map(privacy, share, paired=isinstance(measure, ApproximateDP)),
        distribution=None if law is None else lambda data: _mixture(data, share, law),
        losses=_losses(measurement, share),
        name=f"poisson_sample(rate={show(share)}) of {measurement.links[-1].title}",
    )


def _losses(measurement: Measurement, rate: Fraction) -> LossMap:
    """Return the losses from the sample, for one record; for more the map is what is known."""
    known, measure, privacy = measurement.losses, measurement.measure, measurement.privacy

    @cache
    def below() -> tuple[PrivacyLoss, ...]:
        pair = loss_of_equal_records(measurement, None)
        mixed = None if pair is None else sampled(pair, rate)
        return () if mixed is None else (mixed,)

    def losses(d: Fraction) -> PrivacyLoss | None:
        if d != 1:
            return None
        found = None if known is None else known(d)
        found = implied_loss(measure, privacy(d)) if found is None else found
        both = None if found is None else sampled(found, rate)
        while isinstance(both, Dominating):
            both = both.losses
        return None if both is None else Dominating(both, below=below())

    return losses


def _map(privacy: PairMap, rate: Fraction, *, paired: bool) -> Callable[[Fraction], Any]:
    def one_sided(d: int) -> tuple[Fraction, Fraction]:
        return amplified(*privacy(Fraction(d)), 1 - (1 - rate) ** d)

    def loss(d: Fraction) -> Any:
        worst = Fraction(0), Fraction(0)
        for a in range(int(d) // 2 + 1):
            (e, delta), (f, gamma) = one_sided(a), one_sided(int(d) - a)
            together = delta + exp(e, 64).upper * gamma if gamma else delta
            back = gamma + exp(f, 64).upper * delta if delta else gamma
            worst = max(worst[0], e + f), max(worst[1], together, back)
        return (worst[0], min(Fraction(1), worst[1])) if paired else worst[0]

    return loss


def _mixture(data: Any, rate: Fraction, law: Callable[[Any], Any]) -> Mixture:
    """List every sample with its probability: for a few records, to be checked."""
    n = number_of_records(data)
    if n > _MOST_LISTED:
        raise UsageError(f"the samples of more than {_MOST_LISTED} records are too many to list")
    parts = []
    for bits in itertools.product((False, True), repeat=n):
        kept = np.array(bits, dtype=bool)
        weight = rate ** sum(bits) * (1 - rate) ** (n - sum(bits))
        if weight:
            parts.append((Enclosure.of(weight), law(kept_records(data, kept))))
    return Mixture(parts)

"""Amplification by a sample of fixed size, which Tacit draws itself with secure bits."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

import numpy as np

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_integer
from tacit.calls import public
from tacit.core import (
    ApproximateDP,
    ChangeOneDistance,
    Frame,
    Measurement,
    Space,
    Vector,
)
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.bounds import Dominating
from tacit.core.losses.sampling.poisson import sampled
from tacit.core.losses.sampling.without_replacement import sampled_without_replacement
from tacit.core.measures.epsilon_bound import LossMap, implied_loss
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.combine.known_pair import loss_of_equal_records
from tacit.mechanisms.combine.sampled_records import amplified, kept_records
from tacit.mechanisms.shared.output_distribution import Mixture
from tacit.mechanisms.shared.pair_map import PairMap, stated_at

__all__ = ["sample_without_replacement"]

_MOST_LISTED = 1 << 12
_KEYS = 1 << 63


@public
def sample_without_replacement(
    measurement: Measurement, size: int, *, delta: NumberLike | None = None
) -> Measurement:
    """Release from m of ``size`` records: every set of m records is the sample equally often.

    m is the public size of the data that the measurement takes, ``size`` that of the data to
    sample from; neighbours have one record changed.

    **Map.** Under the change-one distance.  For one record, with ``q = m / size`` and the
    measurement's own loss epsilon:

        ``ln(1 + q (e^epsilon - 1))`` in pure DP, and delta becomes ``q delta``.

    Proof.  Let d records be changed.  The sample has none of them with probability
    ``C(size - d, m) / C(size, m)``; let q be the rest, R the output of samples without them, A and
    B the outputs on the two data sets of samples with some of them.  The outputs are ``(1 - q) R
    + q A`` and ``(1 - q) R + q B``.  A and B, by the same sample, have at most ``min(d, m)``
    records changed.  So have A and R, and B and R, where there are samples without: of a sample
    with t of the d records, these are exchanged for t of those that are neither changed nor in
    the sample, drawn at random; by symmetry every sample without is then equally likely.  So with
    (e, delta), the measurement's loss at ``min(d, m)``, and any b from 0 to 1, ``A(S) <= e^e ((1 -
    b) R(S) + b B(S)) + delta``.  With ``x = 1 + q (e^e - 1)`` and ``b = x / e^e`` that is ``(1 -
    q) R(S) + q A(S) <= x ((1 - q) R(S) + q B(S)) + q delta``, since ``q (1 - b) e^e = (1 - q) (x -
    1)``.  Irrational numbers are rounded up.

    Source: Balle, Barthe, Gaboardi, "Privacy amplification by subsampling", NeurIPS 2018, theorem
    9 (d = 1).

    ``m.epsilon(delta=)`` and compositions go by the losses of the sampled release
    (:mod:`tacit.core.losses.sampling.without_replacement`), from above.  The lower ends are those
    of one pair of data sets, where the noise is on a number: all records equal, against one that
    is changed.  Samples without it are then the same data, so the outputs are ``(1 - q) R + q A``
    and R, and those of k releases the products of these.  One release attains the upper end so.

    The sample must stay secret and be drawn afresh for every release, and here it is.

    Args:
        measurement: on a column or a table of public size m under the change-one distance, in pure
            or approximate DP; or in another measure, whose losses are known, with ``delta``.
        size: how many records the data has that is sampled from; at least m.
        delta: at which a release in another measure, such as Gaussian noise, is stated.

    Raises:
        UsageError: a size below m, or a delta outside of 0 to 1.
        MismatchError: another space or measure.

    Example:
        >>> from tacit.core import ChangeOneDistance, Space
        >>> from tacit.transformations import Sum
        >>> import tacit as tc
        >>> ten = Space(Vector(int, bounds=(0, 1), size=10), ChangeOneDistance())
        >>> total = sample_without_replacement(ten >> Sum() >> tc.laplace(scale=1), 100)
        >>> float(total.map(1))
        0.1585650787...
        >>> noisy = ten >> Sum() >> tc.gaussian(scale=1)
        >>> step = sample_without_replacement(noisy, 1_000, delta="1e-9")
        >>> float(tc.compose([step] * 10_000).epsilon("1e-6").upper)
        8.9325...
    """
    space = measurement.input
    listed = isinstance(space.domain, (Vector, Frame))
    if not listed or not isinstance(space.metric, ChangeOneDistance) or not space.domain.size:  # type: ignore[attr-defined]
        raise MismatchError(
            "a sample of fixed size is of records of a public size, not 0, under the change-one "
            f"distance, not ({space})",
            space,
            ChangeOneDistance(),
        )
    drawn: int = space.domain.size  # type: ignore[attr-defined]
    whole = as_integer(size, "size", minimum=1)
    if whole < drawn:
        raise UsageError(f"{drawn} records cannot be drawn from {whole} without replacement")
    release, law = measurement.function, measurement.law
    measure, privacy = stated_at(measurement, delta)

    def sampled(data: Any) -> Any:
        return release(kept_records(data, _drawn(drawn, whole)))

    return Measurement(
        Space(replace(space.domain, size=whole), space.metric),  # type: ignore[type-var]
        measure,
        sampled,
        _map(privacy, drawn, whole, paired=isinstance(measure, ApproximateDP)),
        distribution=None if law is None else lambda data: _mixture(data, drawn, whole, law),
        losses=_losses(measurement, drawn, whole),
        name=f"sample_without_replacement(size={whole}) of {measurement.links[-1].title}",
    )


def _touched(changed: int, drawn: int, whole: int) -> Fraction:
    """Return the probability that the sample holds one of the changed records."""
    return 1 - Fraction(comb(max(whole - changed, 0), drawn), comb(whole, drawn))


def _drawn(drawn: int, whole: int) -> Any:
    """Draw which records are in the sample: those of the least keys, where no two are equal."""
    while True:
        keys = noise.uniform(_KEYS, whole)
        order = np.argsort(keys)
        if (np.diff(keys[order]) > 0).all():
            kept = np.zeros(whole, dtype=bool)
            kept[order[:drawn]] = True
            return kept


def _losses(measurement: Measurement, drawn: int, whole: int) -> LossMap:
    known, measure, privacy = measurement.losses, measurement.measure, measurement.privacy

    @cache
    def below() -> tuple[PrivacyLoss, ...]:
        pair = loss_of_equal_records(measurement, drawn - 1)
        mixed = None if pair is None else sampled(pair, Fraction(drawn, whole))
        return () if mixed is None else (mixed,)

    def losses(d: Fraction) -> PrivacyLoss | None:
        within, share = Fraction(min(int(d), drawn)), _touched(int(d), drawn, whole)
        if not share:
            return None if known is None else known(within)
        own = None if known is None else known(within)
        found = None if own is None else sampled_without_replacement(own, share)
        if found is None:
            implied = implied_loss(measure, privacy(within))
            found = None if implied is None else sampled_without_replacement(implied, share)
        while isinstance(found, Dominating):
            found = found.losses
        return None if found is None else Dominating(found, below=below() if d == 1 else ())

    return losses


def _map(privacy: PairMap, drawn: int, whole: int, *, paired: bool) -> Callable[[Fraction], Any]:
    def loss(d: Fraction) -> Any:
        within, share = Fraction(min(int(d), drawn)), _touched(int(d), drawn, whole)
        pair = amplified(*privacy(within), share)
        return pair if paired else pair[0]

    return loss


def _mixture(data: Any, drawn: int, whole: int, law: Callable[[Any], Any]) -> Mixture:
    """List every sample with its probability: for a few records, to be checked."""
    samples = comb(whole, drawn)
    if samples > _MOST_LISTED:
        raise UsageError(f"{samples} samples are too many to list; at most {_MOST_LISTED} are")
    weight = Enclosure.of(Fraction(1, samples))
    parts = []
    for places in itertools.combinations(range(whole), drawn):
        kept = np.zeros(whole, dtype=bool)
        kept[list(places)] = True
        parts.append((weight, law(kept_records(data, kept))))
    return Mixture(parts)

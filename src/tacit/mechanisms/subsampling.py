"""Mechanisms on a sample of the records: Poisson and without replacement."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

import numpy as np

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, as_integer, show
from tacit.calls import public
from tacit.core import (
    ApproximateDP,
    ChangeOneDistance,
    Frame,
    Measurement,
    Number,
    PureDP,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.core.conversions import LossMap, implied_loss
from tacit.core.losses.additive_noise import ShiftedLoss, shifted_losses
from tacit.core.losses.base import Dominating, EachWay, OfPair, PrivacyLoss
from tacit.core.losses.groups import sampled_groups, sampled_groups_of_pairs
from tacit.core.losses.sampling import sampled, sampled_without_replacement
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.output_distribution import Mixture, PairMap, stated_at
from tacit.transformations.counts import number_of_records


@dataclass(frozen=True)
class PairOfEqualRecords:
    """Losses of noise on a number, and the names of the pairs of data sets that have them."""

    losses: ShiftedLoss
    names: frozenset[Any]


def loss_of_equal_records(
    measurement: Measurement, common: int | None
) -> PairOfEqualRecords | None:
    """Return the losses of noise on a number, of a record among equal ones; None where not known.

    >>> import tacit as tc
    >>> from tacit import framework as fw
    >>> from tacit.core import Space, SymmetricDistance
    >>> ages = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
    >>> loss_of_equal_records(ages >> tc.sum() >> fw.laplace(3), None).losses
    LaplaceShift(scale=Fraction(3, 1), shift=9)
    """
    # Every sample without that record is the same data, whichever records it holds: so what comes
    # of a sample is exactly a mixture of the two output distributions.
    #
    # common: how many equal records the record is next to, in place of one more of them; None
    #   where it stands alone against no record.
    domain: Any = measurement.input.domain
    if not _is_on_numbers(domain):
        return None
    losses = None if measurement.losses is None else measurement.losses(Fraction(1))
    if measurement.law is None or not isinstance(_undominated(losses), ShiftedLoss):
        return None
    ends = _ends(domain.element)
    shifted: dict[ShiftedLoss, set[Any]] = {}
    for record in ends:
        rest = [] if common is None else [ends[0]] * common
        data = [*rest, record], rest if common is None else [ends[0]] * (common + 1)
        p, q = (measurement.law(domain.read(rows)) for rows in data)
        for one in shifted_losses(p, q)[:1]:
            shifted.setdefault(one, set()).add((common is None, record))
    best = max(shifted, key=lambda one: one.shift, default=None)
    return PairOfEqualRecords(best, frozenset(shifted[best])) if best and best.shift else None


def _is_on_numbers(domain: Any) -> bool:
    return isinstance(domain, Vector) and isinstance(domain.element, Number)


def _ends(element: Number) -> list[int | float]:
    """Return the largest and the smallest record, or zero where there is none."""
    if element.lower is None or element.upper is None:
        return [0] if element.contains(0) else []
    low, high = element.lower, element.upper
    ends = (
        [math.ceil(low), math.floor(high)] if element.kind == "int" else [float(low), float(high)]
    )
    return [end for end in ends if element.contains(end)]


def sampled_records(data: Any, mask: Any) -> Any:
    """Return the records of a column or a table where ``kept`` is true, in their order.

    >>> sampled_records({"x": [3, 4, 5]}, np.array([True, False, True]))
    {'x': [3, 5]}
    """
    if isinstance(data, dict):
        return {name: sampled_records(column, mask) for name, column in data.items()}
    if isinstance(data, np.ndarray):
        return data[mask]
    return [value for value, yes in zip(data, mask.tolist(), strict=True) if yes]


def amplified(epsilon: Fraction, delta: Fraction, share: Fraction) -> tuple[Fraction, Fraction]:
    """Return ``ln(1 + share (e^epsilon - 1))`` and ``share delta``; logarithms are rounded up.

    >>> amplified(Fraction(1), Fraction(1, 10), Fraction(1)), amplified(Fraction(0), Fraction(1), 0)
    ((Fraction(1, 1), Fraction(1, 10)), (Fraction(0, 1), Fraction(0, 1)))
    """
    if not 0 < share < 1:
        return share * epsilon, share * delta
    grown = log(1 + share * (exp(epsilon, 96) - 1), 96).rounded(80).upper
    return min(epsilon, grown), share * delta


# Amplification by Poisson sampling, where Tacit draws the sample itself with secure bits.


_MAX_LISTED = 12
MAX_GROUP = 10  # the losses of larger groups of records are those of the map


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
    ``a + b = d``, of the two losses sequentially, which is computed; irrational numbers are
    rounded up.

    Source: Balle, Barthe, Gaboardi, "Privacy amplification by subsampling", NeurIPS 2018.

    ``m.epsilon(delta=)`` and compositions are tight for one record, by the losses of the sampled
    release in both directions (:mod:`tacit.core.losses.sampling`), and for up to 10
    (:mod:`tacit.core.losses.groups`).  The lower ends are those of no record against one, or
    against equal ones, where the noise is on a number: the sample holds some of them or none.

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
        >>> from tacit import framework as fw
        >>> noisy = Space(Vector(int), SymmetricDistance()) >> Count() >> fw.gaussian(scale=1)
        >>> step = poisson_sample(noisy, "1/100", delta="1e-9")
        >>> float(fw.compose([step] * 10_000).epsilon("1e-6"))
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
    release, distribution = measurement.function, measurement.law
    measure, privacy = stated_at(measurement, delta)

    def sampled(data: Any) -> Any:
        mask = noise.bernoulli(share, number_of_records(data))
        return release(sampled_records(data, mask))

    return Measurement(
        space,
        measure,
        sampled,
        _poisson_map(privacy, share, paired=isinstance(measure, ApproximateDP)),
        distribution=None
        if distribution is None
        else lambda data: _poisson_mixture(data, share, distribution),
        losses=_poisson_losses(measurement, share),
        name=f"poisson_sample(rate={show(share)}) of {measurement.links[-1].title}",
    )


def _poisson_losses(measurement: Measurement, rate: Fraction) -> LossMap:
    """Return the losses from the sample: for one record, and for a group of a few."""
    known, measure, privacy = measurement.losses, measurement.measure, measurement.privacy

    @cache
    def below() -> tuple[PrivacyLoss, ...]:
        pair = loss_of_equal_records(measurement, None)
        mixed = None if pair is None else sampled(pair.losses, rate)
        return () if pair is None or mixed is None else (OfPair(mixed, pair.names),)

    @cache
    def of_group(d: int) -> PrivacyLoss | None:
        if rate == 1:
            return None if known is None else known(Fraction(d))
        each = [None if known is None else known(Fraction(k)) for k in range(1, d + 1)]
        alone = [_undominated(one) for one in each]
        shifts = [one for one in alone if isinstance(one, ShiftedLoss)]
        above = sampled_groups(shifts, rate) if len(shifts) == d else None
        if above is not None:
            return Dominating(above, below=_equal_groups(measurement, rate, d))
        if not isinstance(measure, (PureDP, ApproximateDP)):
            return None
        stated: list[Any] = [privacy(Fraction(k)) for k in range(1, d + 1)]
        paired = isinstance(measure, ApproximateDP)
        pairs = [one if paired else (one, Fraction(0)) for one in stated]
        if any(math.inf in pair for pair in pairs):
            return None
        return Dominating(sampled_groups_of_pairs(pairs, rate))

    def losses(d: Fraction) -> PrivacyLoss | None:
        if 1 < d <= MAX_GROUP:
            return of_group(int(d))
        if d != 1:
            return None
        loss = None if known is None else known(d)
        loss = implied_loss(measure, privacy(d)) if loss is None else loss
        both = _undominated(None if loss is None else sampled(loss, rate))
        return None if both is None else Dominating(both, below=below())

    return losses


def _undominated(losses: PrivacyLoss | None) -> PrivacyLoss | None:
    """Return the losses themselves, where they are known as a bound."""
    while isinstance(losses, Dominating):
        losses = losses.losses
    return losses


def _equal_groups(measurement: Measurement, rate: Fraction, d: int) -> tuple[PrivacyLoss, ...]:
    """Return the losses of d equal records against none, where the noise is on a number."""
    domain: Any = measurement.input.domain
    if measurement.law is None or not _is_on_numbers(domain):
        return ()
    found: dict[EachWay, set[Any]] = {}
    for record in _ends(domain.element):
        laws = [measurement.law(domain.read([record] * k)) for k in range(d + 1)]
        shifts = [shifted_losses(law, laws[0]) for law in laws]
        centres: list[Any] = [getattr(law, "centre", None) for law in laws]
        if None in centres or any(len(one) != 1 for one in shifts):
            continue
        moves = [centre - centres[0] for centre in centres]
        sizes = [abs(move) for move in moves]
        if sizes != sorted(sizes) or min(moves) < 0 < max(moves):
            continue  # not one side of the line
        group = sampled_groups([one[0] for one in shifts[1:]], rate, one_sided=True)
        if group is not None:
            found.setdefault(group, set()).add((d, record))
    farthest = max((group.ways[0].own[-1] for group in found), default=0)  # type: ignore[attr-defined]
    return tuple(
        OfPair(group, frozenset(names))
        for group, names in found.items()
        if group.ways[0].own[-1] == farthest  # type: ignore[attr-defined]
    )


def _poisson_map(privacy: PairMap, rate: Fraction, *, paired: bool) -> Callable[[Fraction], Any]:
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


def _poisson_mixture(data: Any, rate: Fraction, distribution: Callable[[Any], Any]) -> Mixture:
    """List every sample with its probability: for a few records, to be checked."""
    n = number_of_records(data)
    if n > _MAX_LISTED:
        raise UsageError(f"the samples of more than {_MAX_LISTED} records are too many to list")
    parts = []
    for bits in itertools.product((False, True), repeat=n):
        mask = np.array(bits, dtype=bool)
        weight = rate ** sum(bits) * (1 - rate) ** (n - sum(bits))
        if weight:
            parts.append((Enclosure.of(weight), distribution(sampled_records(data, mask))))
    return Mixture(parts)


# Amplification by a sample of fixed size, which Tacit draws itself with secure bits.


_MAX_LISTED_FIXED_SIZE = 1 << 12
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
    (:mod:`tacit.core.losses.sampling`), from above.  The lower ends are those
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
        >>> from tacit import framework as fw
        >>> ten = Space(Vector(int, bounds=(0, 1), size=10), ChangeOneDistance())
        >>> total = sample_without_replacement(ten >> Sum() >> fw.laplace(scale=1), 100)
        >>> float(total.map(1))
        0.1585650787...
        >>> noisy = ten >> Sum() >> fw.gaussian(scale=1)
        >>> step = sample_without_replacement(noisy, 1_000, delta="1e-9")
        >>> float(fw.compose([step] * 10_000).epsilon("1e-6").upper)
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
    population = as_integer(size, "size", minimum=1)
    if population < drawn:
        raise UsageError(f"{drawn} records cannot be drawn from {population} without replacement")
    release, distribution = measurement.function, measurement.law
    measure, privacy = stated_at(measurement, delta)

    def sampled(data: Any) -> Any:
        return release(sampled_records(data, _drawn(drawn, population)))

    return Measurement(
        Space(replace(space.domain, size=population), space.metric),  # type: ignore[type-var]
        measure,
        sampled,
        _fixed_size_map(privacy, drawn, population, paired=isinstance(measure, ApproximateDP)),
        distribution=None
        if distribution is None
        else lambda data: _fixed_size_mixture(data, drawn, population, distribution),
        losses=_fixed_size_losses(measurement, drawn, population),
        name=f"sample_without_replacement(size={population}) of {measurement.links[-1].title}",
    )


def _touched(changed: int, drawn: int, population: int) -> Fraction:
    """Return the probability that the sample holds one of the changed records."""
    return 1 - Fraction(comb(max(population - changed, 0), drawn), comb(population, drawn))


def _drawn(drawn: int, population: int) -> Any:
    """Draw which records are in the sample: those of the least keys, where no two are equal."""
    while True:
        keys = noise.uniform(_KEYS, population)
        order = np.argsort(keys)
        if (np.diff(keys[order]) > 0).all():
            mask = np.zeros(population, dtype=bool)
            mask[order[:drawn]] = True
            return mask


def _fixed_size_losses(measurement: Measurement, drawn: int, population: int) -> LossMap:
    known, measure, privacy = measurement.losses, measurement.measure, measurement.privacy

    @cache
    def below() -> tuple[PrivacyLoss, ...]:
        pair = loss_of_equal_records(measurement, drawn - 1)
        mixed = None if pair is None else sampled(pair.losses, Fraction(drawn, population))
        return () if pair is None or mixed is None else (OfPair(mixed, pair.names),)

    def losses(d: Fraction) -> PrivacyLoss | None:
        within, share = Fraction(min(int(d), drawn)), _touched(int(d), drawn, population)
        if not share:
            return None if known is None else known(within)
        own = None if known is None else known(within)
        loss = None if own is None else sampled_without_replacement(own, share)
        if loss is None:
            implied = implied_loss(measure, privacy(within))
            loss = None if implied is None else sampled_without_replacement(implied, share)
        loss = _undominated(loss)
        return None if loss is None else Dominating(loss, below=below() if d == 1 else ())

    return losses


def _fixed_size_map(
    privacy: PairMap, drawn: int, population: int, *, paired: bool
) -> Callable[[Fraction], Any]:
    def loss(d: Fraction) -> Any:
        within, share = Fraction(min(int(d), drawn)), _touched(int(d), drawn, population)
        pair = amplified(*privacy(within), share)
        return pair if paired else pair[0]

    return loss


def _fixed_size_mixture(
    data: Any, drawn: int, population: int, distribution: Callable[[Any], Any]
) -> Mixture:
    """List every sample with its probability: for a few records, to be checked."""
    samples = comb(population, drawn)
    if samples > _MAX_LISTED_FIXED_SIZE:
        raise UsageError(
            f"{samples} samples are too many to list; at most {_MAX_LISTED_FIXED_SIZE} are"
        )
    weight = Enclosure.of(Fraction(1, samples))
    parts = []
    for indices in itertools.combinations(range(population), drawn):
        mask = np.zeros(population, dtype=bool)
        mask[list(indices)] = True
        parts.append((weight, distribution(sampled_records(data, mask))))
    return Mixture(parts)

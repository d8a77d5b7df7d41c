"""Exact losses of a mechanism on a pair of inputs, from its stated distribution."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import exp, log
from tacit.arithmetic.exact import as_fraction, show
from tacit.core import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    Measure,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from tacit.core.divergences import (
    Product,
    excess,
    largest_of_chords,
    largest_ratio,
    log_moments,
    outcome,
)
from tacit.core.divergences import Product as ProductOfOutcomes
from tacit.errors import UsageError
from tacit.mechanisms.additive import ClampedDistribution
from tacit.mechanisms.grid_noise import LatticeDistribution
from tacit.mechanisms.output_distribution import FiniteDistribution, Mixture
from tacit.mechanisms.staircase import DiscreteStaircase
from tacit.noise import DiscreteGaussian, DiscreteLaplace, Enclosure

# Two output distributions side by side: the outcomes listed, and what is certain of the rest.
#
# A pair of distributions becomes a list of :class:`OutcomeTable`, one per independent part of the
# output that differs between the two (parts that are the same on both inputs cannot tell them
# apart, and drop out of every divergence).


_NONE = Enclosure(Fraction(0), Fraction(0))
_TAIL = Fraction(1, 1 << 90)
_MAX_OUTCOMES = 200_000


@dataclass(frozen=True)
class Tail:
    """All outcomes from ``start`` on, outwards, in steps of ``step``.

    >>> print(Tail(Fraction(3), Fraction(-1)), Tail(Fraction(3), Fraction(2)))
    3 and below 3, 5, 7, ...
    """

    start: Fraction
    step: Fraction
    unit: Fraction = Fraction(1)

    def __str__(self) -> str:
        if abs(self.step) == self.unit:
            return f"{show(self.start)} and {'above' if self.step > 0 else 'below'}"
        shown = ", ".join(show(self.start + i * self.step) for i in range(3))
        return f"{shown}, ..."


@dataclass(frozen=True)
class OutcomeTable:
    """Outcomes with their probability under p and under q."""

    # what is listed; a :class:`Tail` represents all outcomes beyond a point
    outcomes: tuple[Hashable, ...]
    # p, q: enclosures, one an outcome
    p: tuple[Enclosure, ...]
    q: tuple[Enclosure, ...]
    # rest_p, rest_q: upper bounds of the probability of what is not listed
    rest_p: Fraction = Fraction(0)
    rest_q: Fraction = Fraction(0)
    # whether the rest is the two tails of discrete Gaussian noise, along which the terms
    # ``p^a q^(1-a)`` fall ever faster and the ratios p / q move without end
    gaussian: bool = False

    def turned(self) -> OutcomeTable:
        """Return the table with p and q exchanged."""
        return OutcomeTable(self.outcomes, self.q, self.p, self.rest_q, self.rest_p, self.gaussian)

    @property
    def complete(self) -> bool:
        """True if every outcome is listed."""
        return not (self.rest_p or self.rest_q)

    def logs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ln p and ln q in doubles, each within ``2^-50 (1 + |ln|)``."""
        return np.array([_ln(e.middle) for e in self.p]), np.array([_ln(e.middle) for e in self.q])


def tables(p: Any, q: Any, orders: Fraction = Fraction(1)) -> list[OutcomeTable]:
    """Return the tables of two distributions, one for each independent part that differs."""
    # orders: the largest Renyi order that will be asked for; the window of Gaussian noise reaches
    #   as far as the terms of that order do.
    if isinstance(p, Product) and isinstance(q, Product) and len(p.parts) == len(q.parts):
        pairs = zip(p.parts, q.parts, strict=True)
        return [t for a, b in pairs if a != b for t in tables(a, b, orders)]
    if p == q:
        _check_kind(p)
        return []
    return [_side_by_side(_read(p), _read(q), orders)]


def _read(p: Any) -> Any:
    return FiniteDistribution.of(p) if isinstance(p, Mapping) else p


def _side_by_side(p: Any, q: Any, orders: Fraction) -> OutcomeTable:
    distributions = [*_noises(p), *_noises(q)]
    if distributions[0] is not None and all(
        distribution == distributions[0] for distribution in distributions
    ):
        return _windows(p, q, orders)
    left, right = listed(p), listed(q)
    outcomes = tuple(dict.fromkeys([*left.table, *right.table]))
    # What one side does not list may still be in its rest.
    absent = [Enclosure(Fraction(0), side.rest) for side in (left, right)]
    return OutcomeTable(
        outcomes,
        tuple(left.table.get(x, absent[0]) for x in outcomes),
        tuple(right.table.get(x, absent[1]) for x in outcomes),
        left.rest,
        right.rest,
    )


def _noises(p: Any) -> list[tuple[Any, Fraction] | None]:
    """Return the noise of a distribution on a lattice, by coordinate; [None] where it is none."""
    if isinstance(p, LatticeDistribution):
        return [(p.law, p.grid)]
    if isinstance(p, Mixture):
        return [distribution for _, part in p.parts for distribution in _noises(part)]
    return [None]


def _centres(p: Any) -> list[int]:
    if isinstance(p, LatticeDistribution):
        return [p.centre]
    return [c for _, part in p.parts for c in _centres(part)]


def _windows(p: Any, q: Any, orders: Fraction) -> OutcomeTable:
    first = _noises(p)[0]
    if first is None:
        raise UsageError("only noise on a lattice has a window of outcomes")
    noise, grid = first
    if isinstance(noise, DiscreteGaussian):
        return _gaussian_window(p, q, noise, grid, orders)
    if isinstance(noise, DiscreteLaplace):
        return _folded(p, q, noise, grid, 1, exp(-1 / noise.scale, 128))
    if isinstance(noise, DiscreteStaircase):
        return _folded(p, q, noise, grid, noise.period, exp(-noise.epsilon, 128))
    raise UsageError(f"the tails of {type(noise).__name__} are not known")


def _folded(
    p: Any, q: Any, noise: Any, grid: Fraction, period: int, decay: Enclosure
) -> OutcomeTable:
    """List what lies between the centres, and fold each tail into ``period`` outcomes."""
    # Beyond all centres ``P(x + period) = decay P(x)`` under p and q alike, so outcomes a period
    # apart have the same ratio of probabilities, and joining them loses nothing: the folded table
    # has exactly the divergences of the distributions, and nothing is left out of it.
    centres = [*_centres(p), *_centres(q)]
    lowest, highest = min(centres), max(centres)
    if highest - lowest + 2 * period > _MAX_OUTCOMES:
        raise UsageError("these inputs are too far apart, in grid units, to list what lies between")
    units = range(lowest - period + 1, highest + period)
    known = {k: noise.probability(k, 96) for k in range(-len(units), len(units) + 1)}
    normaliser = (1 / (1 - decay)).rounded(128)
    names: list[Hashable] = []
    sides: list[list[Enclosure]] = [[], []]
    for unit in units:
        above, below = unit >= highest, unit <= lowest
        name: Hashable = unit * grid
        if above or below:
            name = Tail(unit * grid, (1 if above else -1) * period * grid, grid)
        names.append(name)
        for side, distribution in zip(sides, (p, q), strict=True):
            here = _mixed(distribution, unit, known)
            side.append((here * normaliser).rounded(96) if above or below else here)
    return OutcomeTable(tuple(names), tuple(sides[0]), tuple(sides[1]))


def _gaussian_window(p: Any, q: Any, noise: Any, grid: Fraction, orders: Fraction) -> OutcomeTable:
    """List a window that leaves 2^-90 of either, and reaches as far as the highest order does."""
    centres = [*_centres(p), *_centres(q)]
    low, high = noise.support(1 - _TAIL)
    shift = math.ceil((orders + 1) * (max(centres) - min(centres)))
    units = range(min(centres) + low - shift, max(centres) + high + shift + 1)
    if len(units) > _MAX_OUTCOMES:
        raise UsageError(
            f"this noise spreads over {len(units)} grid units, more than can be listed; verify it "
            "at a smaller scale, which has the same proof"
        )
    radius = max(abs(units[0] - max(centres)), abs(units[-1] - min(centres)))
    half = [noise.probability(k) for k in range(radius + 1)]
    known = {k: half[abs(k)] for k in range(-radius, radius + 1)}
    single = isinstance(p, LatticeDistribution) and isinstance(q, LatticeDistribution)
    sides = [tuple(_mixed(d, u, known) for u in units) for d in (p, q)]
    names = tuple(u * grid for u in units)
    return OutcomeTable(names, sides[0], sides[1], _TAIL, _TAIL, gaussian=single)


def _mixed(p: Any, unit: int, known: Mapping[int, Enclosure]) -> Enclosure:
    if isinstance(p, LatticeDistribution):
        return known[unit - p.centre]
    total = _NONE
    for weight, part in p.parts:
        total = total + weight * _mixed(part, unit, known)
    return total.rounded(96)


def _check_kind(p: Any) -> None:
    """Raise if this is not a distribution, such as the None of a function without a return."""
    known = (
        Mapping,
        Product,
        Mixture,
        FiniteDistribution,
        ClampedDistribution,
        LatticeDistribution,
    )
    if isinstance(p, known) or (hasattr(p, "probability") and hasattr(p, "support")):
        return
    raise UsageError(
        "a distribution is a mapping of outcomes to probabilities, or answers probability(value) "
        "and support(mass)"
    )


def listed(p: Any) -> FiniteDistribution:
    """List a distribution that stands alone; its tails become the rest."""
    if isinstance(p, FiniteDistribution):
        return p
    if isinstance(p, ClampedDistribution):
        units = range(p.lowest, p.highest + 1)
        if len(units) > _MAX_OUTCOMES:
            raise UsageError("these bounds are too wide to list every outcome; verify closer ones")
        return FiniteDistribution({u * p.grid: p.of_unit(u) for u in units})
    if isinstance(p, LatticeDistribution):
        low, high = p.law.support(1 - _TAIL)
        units = range(p.centre + low, p.centre + high + 1)
        table: dict[Hashable, Enclosure] = {
            u * p.grid: p.law.probability(u - p.centre) for u in units
        }
        return FiniteDistribution(table, _TAIL)
    if isinstance(p, Mixture):
        return _listed_mixture(p)
    _check_kind(p)
    return _listed_outputs(p)


def _listed_mixture(p: Mixture) -> FiniteDistribution:
    table: dict[Hashable, Enclosure] = {}
    rest = Fraction(0)
    for weight, part in p.parts:
        distribution = listed(part)
        rest += weight.upper * distribution.rest
        for value, share in distribution.table.items():
            table[value] = (table.get(value, _NONE) + weight * share).rounded(128)
    return FiniteDistribution(table, rest)


def _listed_outputs(p: Any) -> FiniteDistribution:
    """Ask a distribution of the caller's own for the whole numbers of its support."""
    mass = 1 - Fraction(1, 1 << 60)
    ends = p.support(mass)
    is_integral = len(ends) == 2 and all(float(e) == int(e) for e in ends)
    outcomes: Iterable[Any] = range(int(ends[0]), int(ends[1]) + 1) if is_integral else ends
    table = {x: Enclosure.of(p.probability(x)) for x in outcomes}
    missing = 1 - sum((e.lower for e in table.values()), Fraction(0))
    return FiniteDistribution.of(table, max(Fraction(0), missing))


def _ln(value: Fraction) -> float:
    """Return the natural logarithm of a fraction, of any size, in doubles."""
    if value <= 0:
        return -math.inf
    top, bottom = value.numerator, value.denominator
    shift = top.bit_length() - bottom.bit_length()
    scaled = Fraction(top, bottom << shift) if shift >= 0 else Fraction(top << -shift, bottom)
    return math.log(float(scaled)) + shift * math.log(2)


# Run a measurement next to the distribution that it states, and test whether the two agree.
#
# A map is held against the stated distribution, exactly; that the function draws from it is another
# claim, and here it is tested.  Events are chosen from the distribution alone, before anything is
# drawn: the most likely outputs, half lines at quantiles, and pairs of them for independent parts.
# On each, and on each over all data sets together, the count of n draws is held to Hoeffding's
# bound for independent trials of mean probability p (1963, theorem 1):
# ``P(count / n >= a) <= exp(-n KL(a, p))`` for a above p, and the same below.  With this many
# events tested, a function that follows its distribution fails by chance less than once in 10^9
# runs of the test.  An output of probability zero refutes at once.
#
# What agrees is not proven: an error that the draws are too few to show stays unseen.


_CHANCE = 1e-9
_MASSES = (Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))
_SINGLE = 8  # how many outputs of a listed distribution are events of their own
_PARTS = 12
_NEVER = object()
_MIN_DRAWS = 4  # draws on each data set, however many data sets there are


@dataclass(frozen=True)
class Agreement:
    """Result of comparing the runs of a function with its distribution."""

    draws: int  # how many there were in all
    data_sets: int  # on how many data sets
    refuted: str = ""  # what does not fit, in words; empty where all fits

    def __str__(self) -> str:
        if not self.draws:
            return "the function was not run: the stated distribution alone was looked at"
        where = "one data set" if self.data_sets == 1 else f"{self.data_sets:,} data sets"
        return f"{self.draws:,} draws of the function on {where} agree with its distribution"


@dataclass(frozen=True)
class _Event:
    label: Hashable
    words: str
    holds: Callable[[Any], bool]
    chance: Enclosure


@dataclass
class _Tally:
    """Draws and hits of an event, and the sums of each draw's probabilities, from both sides."""

    words: str
    draws: int = 0
    hits: int = 0
    low: float = 0.0
    high: float = 0.0

    def add(self, draws: int, hits: int, chance: Enclosure) -> None:
        self.draws, self.hits = self.draws + draws, self.hits + hits
        self.low += draws * float(chance.lower) * (1 - 1e-12)
        self.high += draws * float(chance.upper) * (1 + 1e-12)

    def evidence(self) -> float:
        """Return -ln of the bound on the probability of a count so far out."""
        share, low, high = (x / self.draws for x in (self.hits, self.low, self.high))
        if low <= share <= high:
            return 0.0
        return self.draws * _relative_entropy(share, min(1.0, high if share > high else low))


def _relative_entropy(a: float, p: float) -> float:
    def term(x: float, y: float) -> float:
        return 0.0 if x == 0 else math.inf if y <= 0 else x * math.log(x / y)

    return term(a, p) + term(1 - a, 1 - p)


def agreement(
    prepare: Callable[[Any], Callable[[], Any]],
    distribution: Callable[[Any], Any],
    data_sets: Sequence[Any],
    draws: int,
) -> Agreement:
    """Draw on each data set, and hold what comes out to the distribution there.

    >>> from tacit import noise
    >>> fair = lambda data: FiniteDistribution.of({0: "1/2", 1: "1/2"})
    >>> print(agreement(lambda data: lambda: int(noise.bernoulli("1/2")), fair, ["any"], 500))
    500 draws of the function on one data set agree with its distribution
    >>> agreement(lambda data: lambda: 1, fair, ["any"], 500).refuted
    "on 'any', the output 0 came 0 of 500 times, and the distribution gives it 0.5"
    """
    # draws: in all, divided among the data sets, at least 4 on each; 0 for none.
    if not draws or not data_sets:
        return Agreement(0, 0)
    each = max(_MIN_DRAWS, draws // len(data_sets))
    pooled: dict[Hashable, _Tally] = {}
    single: list[_Tally] = []
    for data in data_sets:
        stated = distribution(data)
        stated = FiniteDistribution.of(stated) if hasattr(stated, "items") else stated
        draw = prepare(data)
        read = [(_as_event(stated, x), x) for x in (draw() for _ in range(each))]
        for value, output in read:
            if value is _NEVER:
                message = f"on {data!r}, {output!r} came, which the distribution does not have"
                return Agreement(each * len(data_sets), len(data_sets), message)
        outputs = Counter(value for value, _ in read)
        for event in _events(stated):
            hits = sum(times for x, times in outputs.items() if event.holds(x))
            here = _Tally(f"on {data!r}, {event.words}")
            together = pooled.setdefault(event.label, _Tally(event.words))
            for tally in (here, together):
                tally.add(each, hits, event.chance)
            single.append(here)
    return Agreement(each * len(data_sets), len(data_sets), _refuted(single, pooled))


def _refuted(single: list[_Tally], pooled: dict[Hashable, _Tally]) -> str:
    together = [t for t in pooled.values() if t.draws > single[0].draws] if single else []
    tallies = [*single, *together]
    limit = math.log(2 * max(1, len(tallies)) / _CHANCE)
    worst = max(tallies, key=_Tally.evidence, default=None)
    if worst is None or worst.evidence() <= limit:
        return ""
    chance = (worst.low + worst.high) / 2 / worst.draws
    return (
        f"{worst.words} came {worst.hits:,} of {worst.draws:,} times, and the distribution gives "
        f"it {chance:.3g}"
    )


def _as_event(distribution: Any, output: Any) -> Hashable:
    """Return an output as the events of a distribution take it; _NEVER where it has none such."""
    if isinstance(distribution, ProductOfOutcomes):
        values = distribution.outputs(output)
        if values is None:
            return _NEVER
        event = tuple(
            _as_event(part, value) for part, value in zip(distribution.parts, values, strict=True)
        )
        return _NEVER if _NEVER in event else event
    grid = _grid(distribution)
    if grid is not None:
        unit = _unit(output, grid)
        clamped = isinstance(distribution, ClampedDistribution)
        inside = unit is not None and not (clamped and distribution.of_unit(unit).upper <= 0)
        return unit if inside else _NEVER
    value = outcome(output)
    listed = isinstance(distribution, FiniteDistribution) and not distribution.rest
    return _NEVER if listed and distribution.probability(value).upper <= 0 else value


def _grid(distribution: Any) -> Fraction | None:
    """Return the grid of a distribution of noise on one, alone or mixed."""
    if isinstance(distribution, (LatticeDistribution, ClampedDistribution)):
        return distribution.grid
    if isinstance(distribution, Mixture):
        grids = {_grid(part) for _, part in distribution.parts}
        return grids.pop() if len(grids) == 1 else None
    return None


def _unit(output: Any, grid: Fraction) -> int | None:
    """Return the whole unit of a grid that a number was shown from; None for anything else."""
    value = outcome(output)
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if grid == 1 and isinstance(value, int):
        return value
    exact = as_fraction(value) / grid
    unit = round(exact)
    return unit if abs(exact - unit) <= (1 + abs(exact)) / (1 << 40) else None


def _events(distribution: Any) -> Iterator[_Event]:
    if isinstance(distribution, ProductOfOutcomes):
        yield from _events_of_parts(distribution)
    elif isinstance(distribution, FiniteDistribution):
        yield from _events_of_list(distribution)
    elif _grid(distribution) is not None:
        yield from _events_of_noise(distribution, _grid(distribution))
    else:
        yield from _events_of_list(listed(distribution))


def _events_of_list(distribution: FiniteDistribution) -> Iterator[_Event]:
    """The most likely outputs: each of the first, and the first that hold a share together."""
    rows = sorted(distribution.table.items(), key=lambda row: -row[1].lower)
    for index, (value, p) in enumerate(rows[:_SINGLE]):
        chance = Enclosure(p.lower, p.upper + distribution.rest)
        yield _Event(index, f"the output {value!r}", lambda x, v=value: x == v, chance)  # type: ignore[misc]
    for mass in _MASSES[1:]:
        low, high, chosen = Fraction(0), distribution.rest, set()
        for value, p in rows:
            if low >= mass:
                break
            low, high = low + p.lower, high + p.upper
            chosen.add(value)
        words = f"one of the {len(chosen)} most likely outputs"
        chance = Enclosure(low, min(high, Fraction(1)))
        yield _Event(mass, words, lambda x, chosen=chosen: x in chosen, chance)  # type: ignore[misc]


def _events_of_noise(distribution: Any, grid: Fraction | None) -> Iterator[_Event]:
    """Half lines that end where an interval of a share of the mass does, and its middle."""
    assert grid is not None
    for mass in _MASSES:
        low, high = (_unit(end, grid) for end in distribution.support(mass))
        if low is None or high is None:
            continue
        if not mass:
            p = distribution.probability(low * grid)
            yield _Event("middle", "the middle", lambda x, u=low: x == u, p)  # type: ignore[misc]
        yield _Event(
            ("low", mass),
            f"an output of at most {float(low * grid):.6g}",
            lambda x, u=low: x <= u,  # type: ignore[misc]
            distribution.cdf(low * grid),
        )
        yield _Event(
            ("high", mass),
            f"an output of at least {float(high * grid):.6g}",
            lambda x, u=high: x >= u,  # type: ignore[misc]
            1 - distribution.cdf((high - 1) * grid),
        )


def _events_of_parts(distribution: ProductOfOutcomes) -> Iterator[_Event]:
    """The events of each part, and pairs of parts at once: noise that is shared shows there."""
    middles = []
    for index, part in enumerate(distribution.parts[:_PARTS]):
        own = list(_events(part))
        for event in own:
            yield _Event(
                (index, event.label),
                f"in part {index + 1}, {event.words}",
                lambda x, index=index, e=event: e.holds(x[index]),  # type: ignore[misc]
                event.chance,
            )
        if own:
            middles.append((index, min(own, key=lambda e: abs(e.chance.middle - Fraction(1, 2)))))
    for (i, a), (j, b) in itertools.pairwise(middles):
        yield _Event(
            ("pair", i),
            f"in part {i + 1}, {a.words} with, in part {j + 1}, {b.words}",
            lambda x, i=i, j=j, a=a, b=b: a.holds(x[i]) and b.holds(x[j]),  # type: ignore[misc]
            (a.chance * b.chance).rounded(128),
        )


# What a pair of output distributions attains, in each measure, between certified ends.
#
# Sums of powers are made in doubles (:mod:`tacit.core.divergences` says how near), and
# verdicts allow for that.  Everything else is exact (:mod:`tacit.core.divergences`).


HIGHEST_ORDER = 64  # the order up to which zCDP is examined where the max divergence is not finite

_ROUNDING = 1e-9
_MAX_PAIRED_OUTCOMES = 1 << 20
_CUT = Fraction(1, 1 << 30)


@dataclass(frozen=True)
class Attained:
    """A divergence between certified ends, and the event that shows it."""

    # lower, upper: the ends; ``math.inf`` where an outcome is impossible on one side alone
    lower: float | Fraction
    upper: float | Fraction
    # outputs that p makes more likely than the claim allows: the event that breaks it
    event: tuple[Hashable, ...] = ()
    note: str = ""  # what was left out, if anything was


def attained(measure: Measure, parts: Sequence[OutcomeTable], claim: Any) -> Attained:
    """The divergence of a pair in one direction: epsilon, rho, or delta at the claimed epsilon."""
    # claim: a loss of ``measure``; its epsilon matters for approximate DP, its delta for
    #   approximate zCDP, of which rho is returned.
    if not parts:
        return Attained(Fraction(0), Fraction(0))
    if isinstance(measure, PureDP):
        return _pure(parts)
    if isinstance(measure, ApproximateDP):
        return _approximate(parts, claim[0])
    if isinstance(measure, RenyiDP):
        return _renyi(parts, measure.alpha)
    if isinstance(measure, ZeroConcentratedDP):
        return _concentrated(parts, claim)
    if isinstance(measure, ApproximateZeroConcentratedDP):
        rho, delta = claim
        return _concentrated_but_for(parts, rho, delta) if delta else _concentrated(parts, rho)
    raise UsageError(f"no verification is known for {measure}")


def _pure(parts: Sequence[OutcomeTable]) -> Attained:
    """Add the largest log ratio of each part; the outputs that attain them are the event."""
    low = high = Fraction(0)
    best: list[Hashable] = []
    notes = []
    for table in parts:
        ratio, where = _largest_ratio(table)
        if ratio is None:
            return Attained(math.inf, math.inf, (where,))
        low, high = low + ratio.lower, high + ratio.upper
        best.append(where)
        if table.gaussian:
            return Attained(math.inf, math.inf, (where,), "the ratio grows without end")
        if not table.complete:
            notes.append(f"outcomes of probability {float(table.rest_p):.1g} were not listed")
    return Attained(low, high, _event(best), "; ".join(dict.fromkeys(notes)))


def _largest_ratio(table: OutcomeTable) -> tuple[Enclosure | None, Hashable]:
    ratio = largest_ratio(zip(table.p, table.q, strict=True))
    if ratio.impossible is not None:
        return None, table.outcomes[ratio.impossible]
    # What is unsure belongs to what is not listed, which is stated in a note.
    if ratio.index is None:
        return Enclosure.of(0), None
    ends = log(ratio.lower, 80).lower, log(ratio.upper, 80).upper
    return Enclosure(*ends), table.outcomes[ratio.index]


def _event(outcomes: Sequence[Hashable]) -> tuple[Hashable, ...]:
    return (outcomes[0],) if len(outcomes) == 1 else (tuple(outcomes),)


def _approximate(parts: Sequence[OutcomeTable], epsilon: Fraction) -> Attained:
    """Return ``sum of max(0, p - e^epsilon q)``, over the product of the parts."""
    joint = _joint(parts)
    delta, certain = excess(zip(joint.p, joint.q, strict=True), epsilon, 128)
    event = tuple(joint.outcomes[i] for i in certain)
    return Attained(delta.lower, delta.upper + joint.rest_p, event)


def _joint(parts: Sequence[OutcomeTable]) -> OutcomeTable:
    """List the product of independent parts."""
    if len(parts) == 1:
        return parts[0]
    if math.prod(len(t.outcomes) for t in parts) > _MAX_PAIRED_OUTCOMES:
        raise UsageError("these outputs have too many parts to list together; verify fewer at once")
    names = tuple(itertools.product(*(t.outcomes for t in parts)))
    sides = []
    for side in ("p", "q"):
        products = itertools.product(*(getattr(t, side) for t in parts))
        sides.append(tuple(_product(factors) for factors in products))
    rest_p, rest_q = (
        sum((getattr(t, r) for t in parts), Fraction(0)) for r in ("rest_p", "rest_q")
    )
    return OutcomeTable(names, sides[0], sides[1], rest_p, rest_q)


def _product(factors: Sequence[Enclosure]) -> Enclosure:
    product = Enclosure.of(1)
    for factor in factors:
        product = (product * factor).rounded(96)
    return product


def _moments(
    parts: Sequence[OutcomeTable], orders: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return ``ln of sum p^a q^(1-a)`` for each order a, tails included; None where infinite."""
    total = np.zeros(len(orders))
    for table in parts:
        log_p, log_q = table.logs()
        impossible = np.array([e.upper <= 0 for e in table.q])
        possible = np.array([e.lower > 0 for e in table.p])
        if bool((possible & impossible).any()):
            return None
        # An outcome that only one side lists belongs to the rest, which is stated in a note.
        possible &= np.array([e.lower > 0 for e in table.q])
        log_p, log_q = log_p[possible], log_q[possible]
        total += log_moments(log_p, log_q, orders, tails=table.gaussian)
    return total


def _renyi(parts: Sequence[OutcomeTable], alpha: Fraction) -> Attained:
    order = float(alpha)
    moments = _moments(parts, np.array([order]))
    if moments is None:
        return Attained(math.inf, math.inf, _impossible(parts))
    value = float(moments[0]) / (order - 1)
    slack = _ROUNDING * (1 + abs(value))
    return Attained(value - slack, value + slack, (), _left_out(parts))


def _concentrated(parts: Sequence[OutcomeTable], claim: Any) -> Attained:
    """Enclose ``sup over a > 1 of D_a / a``."""
    # ``g(a) = (a - 1) D_a`` is convex with g(1) = 0, so between two orders it lies below the chord;
    # the largest ratio of a chord to ``a (a - 1)`` is found in closed form.  Near 1, D_a is at most
    # that of the first order.  Above the highest order A, ``D_a / a`` is at most D_infinity / A.
    top, highest = _order_range(parts, claim)
    above = np.geomspace(2.0**-20, highest - 1, 2500)
    moments = _moments(parts, 1 + above)
    if moments is None:
        return Attained(math.inf, math.inf, _impossible(parts))
    ratios = moments / (above * (1 + above))
    low = float(ratios.max())
    chords = float(largest_of_chords(above, moments).max())
    first = float(moments[0] / above[0])  # D at the first order, over a >= 1
    tail = 0.0 if top is None else top / highest
    high = max(low, first, tail, chords)
    slack = _ROUNDING * (1 + high)
    notes = [_left_out(parts)]
    if top is None:
        notes.append(f"orders up to {highest:.0f}")
    return Attained(low - slack, high + slack, (), "; ".join(n for n in notes if n))


def _concentrated_but_for(
    parts: Sequence[OutcomeTable], rho: Fraction, delta: Fraction
) -> Attained:
    """Enclose the least rho of P and Q given events of probability ``1 - delta``, the best ones."""
    # Let P' <= P and Q' <= Q have the total ``1 - delta`` (events, cut by a coin where an outcome
    # is partly in them).  ``sum of P'^a Q'^(1-a)`` is jointly convex, so it is least where no mass
    # can be moved for gain: where its derivative by P', ``a (P'/Q')^(a-1)``, is the same at all
    # outcomes that are cut and at most that elsewhere, ``P' = min(P, c Q')``; likewise
    # ``Q' = min(Q, c' P')``. With c and c' at least one this is ``P' = min(P, c Q)`` and
    # ``Q' = min(Q, c' P)``.  The best cut is the same for each order above one and in both
    # directions, so it is the best for their supremum; where c would be below one, ``min(P, Q)``
    # serves both sides, and rho is zero.
    #
    # Outcomes that are not listed are cut first: what is left is reached, and no lower end is
    # known. Nothing is known where the probabilities are less certain than a relative 2^-30 of
    # delta.
    table = _joint(parts)
    listed = table.complete
    note = "" if listed else "outcomes that were not listed are cut first"
    unsure = max(sum((e.width for e in side), Fraction(0)) for side in (table.p, table.q))
    if unsure > delta * _CUT:
        return Attained(0.0, math.inf, (), "probabilities are not known to a part of delta")
    one = _cut(table.p, table.q, delta - table.rest_p)
    two = _cut(table.q, table.p, delta - table.rest_q)
    if delta == 1 or (one is not None and one == two):
        return Attained(Fraction(0), Fraction(0), (), note)
    if one is None or two is None:
        return Attained(math.inf if listed else 0.0, math.inf, (), note)
    rest = _concentrated([OutcomeTable(table.outcomes, one, two)], rho)
    return Attained(rest.lower if listed else 0.0, rest.upper, (), note)


def _cut(
    p: Sequence[Enclosure], q: Sequence[Enclosure], delta: Fraction
) -> tuple[Enclosure, ...] | None:
    """Return ``min(p, c q)`` as probabilities, c at least 1 and such that delta is cut."""
    # None where q misses more than delta (up to a relative 2^-30) of p.
    pairs = [(a.middle, b.middle) for a, b in zip(p, q, strict=True)]
    cut_p = sum((a for a, b in pairs if not b), Fraction(0))
    cut_q = Fraction(0)
    if cut_p > delta * (1 + _CUT):
        return None
    ordered = sorted(((a / b, a, b) for a, b in pairs if b), reverse=True)
    c = ordered[0][0] if ordered else Fraction(1)
    for ratio, a, b in ordered:
        if cut_p - ratio * cut_q >= delta or ratio <= 1:
            break  # what is cut grows as c falls: it reaches delta above this ratio, or never
        cut_p, cut_q = cut_p + a, cut_q + b
        c = ratio
    if cut_q:
        c = max(Fraction(1), (cut_p - delta) / cut_q)
    minimum = [min(a, c * b) for a, b in pairs]
    total = sum(minimum, Fraction(0))
    return tuple(Enclosure.of(a / total) for a in minimum) if total else None


def _order_range(parts: Sequence[OutcomeTable], claim: Any) -> tuple[float | None, float]:
    """Return D_infinity (None where it is not finite) and the highest order to look at."""
    pure = _pure(parts)
    if not isinstance(pure.upper, Fraction) or pure.note:
        return None, float(HIGHEST_ORDER)
    top = float(pure.upper)
    wanted = float(claim)
    enough = 1.01 * top / wanted + 1 if wanted > 0 else HIGHEST_ORDER
    return top, min(max(4.0, enough), 1e6)


def _impossible(parts: Sequence[OutcomeTable]) -> tuple[Hashable, ...]:
    """Return the outcomes that q cannot give and p can."""
    return tuple(
        name
        for table in parts
        for name, p, q in zip(table.outcomes, table.p, table.q, strict=True)
        if p.lower > 0 and q.upper <= 0
    )


def _left_out(parts: Sequence[OutcomeTable]) -> str:
    rest = max(float(t.rest_p) for t in parts)
    unknown = any(not t.complete and not t.gaussian for t in parts)
    return f"outcomes of probability {rest:.1g} were not listed" if unknown else ""

"""Run a measurement beside the distribution that it states, and test whether the two agree.

A map is held against the stated distribution, exactly; that the function draws from it is another
claim, and here it is tested.  Events are chosen from the distribution alone, before anything is
drawn: the most likely outputs, half lines at quantiles, and pairs of them for independent parts.
On each, and on each over all data sets together, the count of n draws is held to Hoeffding's
bound for independent trials of mean probability p (1963, theorem 1): ``P(count / n >= a) <=
exp(-n KL(a, p))`` for a above p, and the same below.  With so many events tested, a function that
follows its distribution fails by chance less than once in 10^9 runs of the test.
An output of probability zero
refutes at once.

What agrees is not proven: an error that the draws are too few to show stays unseen.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import as_fraction
from tacit.audit.claims.outcome_table import listed
from tacit.core.divergences.outcomes import Product, outcome
from tacit.mechanisms.additive.truncated_geometric import ClampedDistribution
from tacit.mechanisms.shared.grid_noise import LatticeDistribution
from tacit.mechanisms.shared.output_distribution import FiniteDistribution, Mixture

__all__ = ["Agreement", "agreement"]

_CHANCE = 1e-9
_MASSES = (Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))
_SINGLE = 8
"""How many outputs of a listed distribution are events of their own."""
_PARTS = 12
_NEVER = object()
_LEAST = 4
"""Draws on each data set, however many data sets there are."""


@dataclass(frozen=True)
class Agreement:
    """What running a function beside its distribution showed.

    Attributes:
        draws: how many there were in all.
        data_sets: on how many data sets.
        refuted: what does not fit, in words; empty where all fits.
    """

    draws: int
    data_sets: int
    refuted: str = ""

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
    law: Callable[[Any], Any],
    data_sets: Sequence[Any],
    draws: int,
) -> Agreement:
    """Draw on each data set, and hold what comes out to the distribution there.

    Args:
        prepare: data to what releases, drawing anew each time.
        law: data to the explicit distribution that it is said to have.
        data_sets: where to run it.
        draws: in all, divided among the data sets, at least 4 on each; 0 for none.

    >>> from tacit import noise
    >>> fair = lambda data: FiniteDistribution.of({0: "1/2", 1: "1/2"})
    >>> print(agreement(lambda data: lambda: int(noise.bernoulli("1/2")), fair, ["any"], 500))
    500 draws of the function on one data set agree with its distribution
    >>> agreement(lambda data: lambda: 1, fair, ["any"], 500).refuted
    "on 'any', the output 0 came 0 of 500 times, and the distribution gives it 0.5"
    """
    if not draws or not data_sets:
        return Agreement(0, 0)
    each = max(_LEAST, draws // len(data_sets))
    pooled: dict[Hashable, _Tally] = {}
    single: list[_Tally] = []
    for data in data_sets:
        stated = law(data)
        stated = FiniteDistribution.of(stated) if hasattr(stated, "items") else stated
        draw = prepare(data)
        read = [(_read(stated, x), x) for x in (draw() for _ in range(each))]
        for found, output in read:
            if found is _NEVER:
                told = f"on {data!r}, {output!r} came, which the distribution does not have"
                return Agreement(each * len(data_sets), len(data_sets), told)
        outputs = Counter(found for found, _ in read)
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


def _read(law: Any, output: Any) -> Hashable:
    """Return an output as the events of a distribution take it; _NEVER where it has none such."""
    if isinstance(law, Product):
        values = law.outputs(output)
        if values is None:
            return _NEVER
        found = tuple(_read(part, value) for part, value in zip(law.parts, values, strict=True))
        return _NEVER if _NEVER in found else found
    grid = _grid(law)
    if grid is not None:
        unit = _unit(output, grid)
        clamped = isinstance(law, ClampedDistribution)
        inside = unit is not None and not (clamped and law.of_unit(unit).upper <= 0)
        return unit if inside else _NEVER
    value = outcome(output)
    listed = isinstance(law, FiniteDistribution) and not law.rest
    return _NEVER if listed and law.probability(value).upper <= 0 else value


def _grid(law: Any) -> Fraction | None:
    """Return the grid of a distribution of noise on one, alone or mixed."""
    if isinstance(law, (LatticeDistribution, ClampedDistribution)):
        return law.grid
    if isinstance(law, Mixture):
        grids = {_grid(part) for _, part in law.parts}
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


def _events(law: Any) -> Iterator[_Event]:
    if isinstance(law, Product):
        yield from _events_of_parts(law)
    elif isinstance(law, FiniteDistribution):
        yield from _events_of_list(law)
    elif _grid(law) is not None:
        yield from _events_of_noise(law, _grid(law))
    else:
        yield from _events_of_list(listed(law))


def _events_of_list(law: FiniteDistribution) -> Iterator[_Event]:
    """The most likely outputs: each of the first, and the first that hold a share together."""
    rows = sorted(law.table.items(), key=lambda row: -row[1].lower)
    for place, (value, p) in enumerate(rows[:_SINGLE]):
        chance = Enclosure(p.lower, p.upper + law.rest)
        yield _Event(place, f"the output {value!r}", lambda x, v=value: x == v, chance)  # type: ignore[misc]
    for mass in _MASSES[1:]:
        low, high, chosen = Fraction(0), law.rest, set()
        for value, p in rows:
            if low >= mass:
                break
            low, high = low + p.lower, high + p.upper
            chosen.add(value)
        words = f"one of the {len(chosen)} most likely outputs"
        chance = Enclosure(low, min(high, Fraction(1)))
        yield _Event(mass, words, lambda x, chosen=chosen: x in chosen, chance)  # type: ignore[misc]


def _events_of_noise(law: Any, grid: Fraction | None) -> Iterator[_Event]:
    """Half lines that end where an interval of a share of the mass does, and its middle."""
    assert grid is not None
    for mass in _MASSES:
        low, high = (_unit(end, grid) for end in law.support(mass))
        if low is None or high is None:
            continue
        if not mass:
            p = law.probability(low * grid)
            yield _Event("middle", "the middle", lambda x, u=low: x == u, p)  # type: ignore[misc]
        yield _Event(
            ("low", mass),
            f"an output of at most {float(low * grid):.6g}",
            lambda x, u=low: x <= u,  # type: ignore[misc]
            law.cdf(low * grid),
        )
        yield _Event(
            ("high", mass),
            f"an output of at least {float(high * grid):.6g}",
            lambda x, u=high: x >= u,  # type: ignore[misc]
            1 - law.cdf((high - 1) * grid),
        )


def _events_of_parts(law: Product) -> Iterator[_Event]:
    """The events of each part, and pairs of parts at once: noise that is shared shows there."""
    middles = []
    for place, part in enumerate(law.parts[:_PARTS]):
        own = list(_events(part))
        for event in own:
            yield _Event(
                (place, event.label),
                f"in part {place + 1}, {event.words}",
                lambda x, place=place, e=event: e.holds(x[place]),  # type: ignore[misc]
                event.chance,
            )
        if own:
            middles.append((place, min(own, key=lambda e: abs(e.chance.middle - Fraction(1, 2)))))
    for (i, a), (j, b) in itertools.pairwise(middles):
        yield _Event(
            ("pair", i),
            f"in part {i + 1}, {a.words} with, in part {j + 1}, {b.words}",
            lambda x, i=i, j=j, a=a, b=b: a.holds(x[i]) and b.holds(x[j]),  # type: ignore[misc]
            (a.chance * b.chance).rounded(128),
        )

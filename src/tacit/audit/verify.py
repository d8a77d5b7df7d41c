"""A claim held against its definition, exactly where the outputs can be listed."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import Number as ExactNumber
from tacit.arithmetic.exact import as_fraction, as_integer, show
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.audit.exact import HIGHEST_ORDER, Agreement, Attained, agreement, attained, tables
from tacit.calls import public
from tacit.core import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    Category,
    Domain,
    Frame,
    Measurement,
    Number,
    PureDP,
    RenyiCurve,
    RenyiDP,
    Transformation,
    Vector,
    ZeroConcentratedDP,
)
from tacit.core.divergences import outcome
from tacit.display.card import Shown
from tacit.errors import UsageError, VerificationError

# List the members of a small domain; shorten one that is infinite, and say so nowhere silently.


_MAX_MEMBERS = 2000
_SIZE = 3  # the length up to which vectors of no public size are listed


def members(domain: Domain) -> list[Any]:
    """List the members of a domain, in units that a caller would write.

    >>> members(Vector(Number("int", 0, 1), size=2))
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    # Integers between bounds are all listed, and -2..2 where there are no bounds (near a lone
    # bound: five from there); floats by their bounds, the middle, and a missing value; vectors of
    # unknown length up to three members.
    listed = list(itertools.islice(_members(domain), _MAX_MEMBERS + 1))
    if len(listed) > _MAX_MEMBERS:
        raise UsageError(
            f"this domain has more than {_MAX_MEMBERS} members ({domain}); give a list of "
            "data sets, a smaller domain, or pairs="
        )
    return listed


def _members(domain: Domain) -> Iterator[Any]:
    if isinstance(domain, Number):
        yield from _numbers(domain)
    elif isinstance(domain, Category):
        yield from domain.categories or ("a", "b", "c")
    elif isinstance(domain, Vector):
        sizes = range(_SIZE + 1) if domain.size is None else (domain.size,)
        elements = list(itertools.islice(_members(domain.element), _MAX_MEMBERS))
        for size in sizes:
            yield from map(list, itertools.product(elements, repeat=size))
    elif isinstance(domain, Frame):
        columns = [list(_members(kind)) for _, kind in domain.columns]
        rows = list(itertools.product(*columns))
        for size in range(3) if domain.size is None else (domain.size,):
            for chosen in itertools.combinations_with_replacement(rows, size):
                yield {n: [row[i] for row in chosen] for i, n in enumerate(domain.names)}
    else:
        raise UsageError(f"{domain} cannot be listed: give a list of data sets, or pairs=")


def _numbers(domain: Number) -> Iterator[Any]:
    step = domain.grid or (Fraction(1) if domain.kind == "int" else None)
    low, high = domain.lower, domain.upper
    if step is None:
        ends = [e for e in (low, high) if e is not None] or [Fraction(-1), Fraction(1)]
        yield from dict.fromkeys([float(ends[0]), float(sum(ends) / len(ends)), float(ends[-1])])
        if domain.nullable:
            yield math.nan
        return
    if low is None:
        low = -2 * step if high is None else high - 4 * step
    last = low + 4 * step if high is None else high
    first = math.ceil(low / step)
    for unit in range(first, math.floor(last / step) + 1):
        value = unit * step
        yield int(value) if value.denominator == 1 else value


# What a pair of outputs is held against: the part of a claim that it may reach, and how nearly.


_TOLERANCE = Fraction(1, 1 << 30)
# Of the supremum over Renyi orders, which is enclosed by chords.
_CURVE_TOLERANCE = Fraction(1, 20_000)
_OF_ALL_ORDERS = (ZeroConcentratedDP, ApproximateZeroConcentratedDP)


def goal_of(m: Measurement, claim: Any) -> Fraction:
    """Return what a pair is held against: delta at epsilon, and rho at delta."""
    if isinstance(m.measure, ApproximateDP):
        return Fraction(claim[1])
    return Fraction(claim[0] if isinstance(m.measure, ApproximateZeroConcentratedDP) else claim)


def comparable(m: Measurement, claim: Any, lower: Any) -> Any:
    """Return what was found in the shape of a claim."""
    if isinstance(m.measure, ApproximateDP):
        return claim[0], lower
    return (lower, claim[1]) if isinstance(m.measure, ApproximateZeroConcentratedDP) else lower


def highest_order(m: Measurement) -> Fraction:
    """Return the highest Renyi order that is looked at; one where none is."""
    if isinstance(m.measure, RenyiDP):
        return m.measure.alpha
    return Fraction(HIGHEST_ORDER if isinstance(m.measure, _OF_ALL_ORDERS) else 1)


def _slack(m: Measurement) -> Fraction:
    exactly = not isinstance(m.measure, (*_OF_ALL_ORDERS, RenyiDP))
    return _TOLERANCE if exactly else _CURVE_TOLERANCE


def within(divergence: Any, goal: Fraction, m: Measurement) -> bool:
    """Return whether an upper end keeps the claim, up to the width of the enclosures."""
    if not math.isfinite(divergence):
        return False
    tiny = _TOLERANCE if isinstance(m.measure, ApproximateDP) else 4 * _TOLERANCE
    slack = tiny * min(Fraction(1), goal + _TOLERANCE)
    return Fraction(divergence) <= goal * (1 + _slack(m)) + slack


def reaches(divergence: Any, goal: Fraction, m: Measurement) -> bool:
    """Return whether a lower end attains the claim, up to the width of the enclosures."""
    return bool(goal > 0 and divergence >= goal * (1 - _slack(m) * 2) - 4 * _TOLERANCE)


def ratio(divergence: Any, goal: Fraction) -> Fraction:
    """Return how near a claim is, zero where nothing is claimed.

    >>> ratio(0.25, Fraction(1, 2))
    Fraction(1, 2)
    """
    return Fraction(divergence) / goal if goal else Fraction(0)


# Where a measurement has no explicit distribution: an estimate from samples, with its confidence.
#
# One half of the samples chooses an event, the other half is counted on it: the choice cannot
# flatter the count.  The two probabilities get exact binomial limits (Clopper and Pearson 1934), so
# that with confidence 0.999 a pair attains at least what is reported.  It proves no claim: what is
# rarer than the samples can show stays unseen.


CONFIDENCE = 0.999
_MIN_COUNT = 8
_BINS = 64


def estimate(m: Measurement, u: Any, v: Any, claim: Any, samples: int) -> Attained:
    """A lower bound, at confidence 0.999, of what one pair attains; the upper end is open."""
    # For zCDP the bound is half the Renyi divergence of order 2 between the event and its
    # complement on the two sides, which is at most rho.
    if samples < 100:
        raise UsageError("an estimate needs at least 100 samples")
    half = samples // 2
    runs = [[_comparable(m(data)) for _ in range(2 * half)] for data in (u, v)]
    name = _binned(runs[0][:half] + runs[1][:half])
    trained = [Counter(map(name, run[:half])) for run in runs]
    event = _best_event(trained[0], trained[1], m, claim, half)
    counts = [sum(name(x) in event for x in run[half:]) for run in runs]
    low_p, _ = binomial_limits(counts[0], half)
    _, high_q = binomial_limits(counts[1], half)
    divergence = _divergence(m, low_p, high_q, claim)
    note = f"an estimate: {2 * half} runs a side, confidence {CONFIDENCE}"
    shown = tuple(sorted(event, key=str))
    return Attained(divergence, math.inf, shown, note)


def _comparable(output: Any) -> Hashable:
    """Return an output so that equals are equal; what cannot be compared stands as its text."""
    # That is a function of the output, which shows no more than the output does.
    value = outcome(output)
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _divergence(m: Measurement, p: float, q: float, claim: Any) -> float:
    """Return what probabilities of at least p and at most q on one event show."""
    if isinstance(m.measure, ApproximateDP):
        return max(0.0, p - math.exp(min(float(claim[0]), 700)) * q)
    if p <= q or q >= 1:
        return 0.0
    if isinstance(m.measure, PureDP):
        return math.log(p / q)
    if isinstance(m.measure, ZeroConcentratedDP):
        return math.log(p * p / q + (1 - p) ** 2 / (1 - q)) / 2
    raise UsageError(f"samples say nothing about {m.measure} here")


def _binned(values: Sequence[Any]) -> Any:
    """Return how an output is named: itself where outputs repeat, else the bin of its quantile."""
    distinct = set(values)
    numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in distinct)
    if not numeric or len(distinct) <= len(values) // 20:
        return lambda value: value
    ordered = sorted(v for v in values if v == v)
    edges = [ordered[i * len(ordered) // _BINS] for i in range(1, _BINS)]

    def name(value: Any) -> Hashable:
        if value != value:
            return "NaN"
        index = sum(edge <= value for edge in edges)
        return f"bin {index:02d} of {_BINS}"

    return name


def _best_event(
    p: Counter[Hashable], q: Counter[Hashable], m: Measurement, claim: Any, half: int
) -> frozenset[Hashable]:
    """Grow the event by falling ratio p / q, and keep the one whose limits show the most."""
    names = sorted(p.keys() | q.keys(), key=lambda x: -(p[x] + 0.5) / (q[x] + 0.5))
    best, event, grown = -math.inf, frozenset(names[:1]), []
    count_p = count_q = 0
    for x in names:
        grown.append(x)
        count_p, count_q = count_p + p[x], count_q + q[x]
        if count_p < _MIN_COUNT:
            continue
        low, _ = binomial_limits(count_p, half)
        _, high = binomial_limits(count_q, half)
        divergence = _divergence(m, low, high, claim)
        if divergence > best:
            best, event = divergence, frozenset(grown)
    return event


def binomial_limits(count: int, runs: int, level: float = CONFIDENCE) -> tuple[float, float]:
    """Return limits that hold the probability of a success, each end with error ``(1 - level)/2``.

    >>> low, high = binomial_limits(50, 100, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.3983, 0.6017)
    """
    # Clopper and Pearson (1934): the p at which so few, or this many, successes would be that rare.
    error = (1 - level) / 2
    low = 0.0 if count == 0 else _solve(lambda p: _at_most(runs - count, runs, 1 - p), error)
    high = 1.0 if count == runs else 1 - _solve(lambda p: _at_most(count, runs, 1 - p), error)
    return low, high


def _solve(tail: Any, error: float) -> float:
    """Return nearly the largest p at which a rising tail is at most the error, rounded down."""
    low, _ = narrowed(lambda p: tail(p) <= error, 0.0, 1.0, 60)
    return low * (1 - 1e-9)


def _at_most(count: int, runs: int, p: float) -> float:
    """Return P(X <= count) for X binomial, adding terms down from the largest."""
    if p <= 0:
        return 1.0
    if p >= 1:
        return float(count >= runs)
    start = min(count, int(runs * p))
    log_start = (
        math.lgamma(runs + 1)
        - math.lgamma(start + 1)
        - math.lgamma(runs - start + 1)
        + start * math.log(p)
        + (runs - start) * math.log1p(-p)
    )
    odds = p / (1 - p)
    total, term = 1.0, 1.0
    for k in range(start, 0, -1):
        term *= k / ((runs - k + 1) * odds)
        total += term
        if term < 1e-18 * total:
            break
    term = 1.0
    for k in range(start, count):
        term *= (runs - k) * odds / (k + 1)
        total += term
        if term < 1e-18 * total:
            break
    return min(1.0, math.exp(log_start) * total)


# Hold a claimed map against its definition, on every pair of neighbours of a small domain.


_MAX_PAIRS = 20_000


@public
@dataclass(frozen=True)
class Verdict(Shown):
    """Result of a verification.  True if the claim holds on every pair.

    Attributes:
        holds: whether no pair breaks the claim, and each is certified to keep it.
        pairs: how many pairs were examined, in both directions.
        tight: whether some pair attains its claim (up to the certified precision).
        left, right: the pair that breaks the claim, or else comes closest to it.
        distance: how far apart they are.
        claim, found: what the map says at that distance, and what the pair attains at least.
        event: outputs that the left makes more likely than the claim allows.
        broken: whether a pair certainly breaks it, or the function is refuted; where neither holds
            nor is broken, it could not be certified.
        kind: ``"exact"`` of the distribution that is stated, or ``"estimate"`` from samples.
        notes: what was left out of the check, if anything.
        draws: how many draws of the function were checked for an exact verdict: they agree with the
            distribution.
        refuted: where they do not agree, how they differ, in words.

    >>> from tacit.core import AbsoluteDistance, Number, Space
    >>> from tacit.mechanisms import Laplace
    >>> m = Space(Number("int", 0, 3), AbsoluteDistance()) >> Laplace(2)
    >>> print(verify(m))
    holds on all 6 pairs, and is tight: at distance 1 epsilon = 0.5 is attained by 0 against 1
    (400 draws of the function on 4 data sets agree with its distribution)
    """

    holds: bool
    pairs: int
    tight: bool
    left: object = None
    right: object = None
    distance: Fraction | None = None
    claim: object = None
    found: object = None
    event: tuple[Hashable, ...] = ()
    kind: str = "exact"
    notes: tuple[str, ...] = ()
    measured_in: str = ""
    broken: bool = False
    draws: int = 0
    refuted: str = ""

    def __bool__(self) -> bool:
        return self.holds

    def or_raise(self) -> Verdict:
        """Return this verdict, or raise it as an error if the claim does not hold.

        Raises:
            VerificationError: the claim is broken, or could not be certified.
        """
        if not self.holds:
            raise VerificationError(str(self))
        return self

    def __str__(self) -> str:
        if self.refuted:
            return f"BROKEN: the function does not follow its distribution: {self.refuted}"
        notes = f" ({'; '.join(self.notes)})" if self.notes else ""
        if self.distance is None:
            return f"nothing to hold it against: {self.pairs} pairs{notes}"
        where = f"at distance {show(self.distance)}"
        pair = f"{self.left!r} against {self.right!r}"
        if not self.holds:
            seen = f" on the event {self._shown_event()}" if self.event else ""
            word = "BROKEN" if self.broken else "NOT CERTIFIED"
            return (
                f"{word} {where}: {pair} attain {self._number(self.found)}{seen}, and the map "
                f"claims {self._number(self.claim)}{notes}"
            )
        sample = "no sample breaks it on" if self.kind == "estimate" else "holds on all"
        start = f"{sample} {self.pairs} pairs"
        if self.tight:
            claim = self._number(self.claim)
            return f"{start}, and is tight: {where} {claim} is attained by {pair}{notes}"
        return (
            f"{start}; the closest is {pair} {where}: {self._number(self.found)} of "
            f"{self._number(self.claim)}{notes}"
        )

    def _number(self, value: Any) -> str:
        if isinstance(value, tuple) and self.measured_in == ApproximateZeroConcentratedDP.name:
            return f"rho = {_show(value[0])} at delta = {_show(value[1])}"
        if isinstance(value, tuple):
            return f"delta = {_show(value[1])} at epsilon = {_show(value[0])}"
        return f"{self.measured_in} = {_show(value)}"

    def _shown_event(self) -> str:
        shown = [str(x) if not isinstance(x, str) else repr(x) for x in self.event[:6]]
        more = f", and {len(self.event) - 6} more" if len(self.event) > 6 else ""
        return "{" + ", ".join(shown) + more + "}"


@public
def verify(
    subject: Measurement | Transformation,
    domain: Domain | Iterable[object] | None = None,
    d_in: ExactNumber = 1,
    *,
    pairs: Iterable[tuple[object, object]] | None = None,
    samples: int = 100_000,
    draws: int = 400,
) -> Verdict:
    """Check a claimed map on every pair of neighbours, with certified arithmetic.

    A measurement with an explicit output distribution must satisfy
    ``divergence(M(u), M(v)) <= map(d(u, v))`` in its own measure: pure, approximate,
    zero-concentrated, approximate zero-concentrated (given the best events of probability
    ``1 - delta``) or Renyi DP at each of its orders, both directions; and its function is run
    next to the distribution, ``draws`` times (:mod:`tacit.audit.exact`), for that
    is a claim too.  One without is run ``samples`` times on each side, and the answer is an
    *estimate* which can break a claim (with confidence 0.999) but not prove it.  A transformation
    must satisfy ``distance(T(u), T(v)) <= map(d(u, v))``.

    A pair breaks a claim when the lower end of what it attains is above it.  It keeps the claim
    when the upper end is not above it by more than the enclosures are wide: a relative 2^-30, or
    1/20000 where a supremum over Renyi orders is bounded by chords.

    Args:
        subject: a measurement or a transformation.
        domain: the data sets to pair up, or a small domain to list them from; by default the
            subject's own input domain, shortened where it is infinite.
        d_in: pairs at most this far apart.
        pairs: the pairs themselves, in place of a domain.
        samples: how often a measurement without a distribution is run on each side of a pair.
        draws: how often one with a distribution is run in all, at least 4 times on each data set;
            0 to look at the distribution alone.

    Raises:
        UsageError: a domain that cannot be listed, or outputs too many to list.

    Example:
        >>> from tacit.core import AbsoluteDistance, Number, PureDP, Space
        >>> from tacit.mechanisms import user_measurement
        >>> space = Space(Number("int", 0, 1), AbsoluteDistance())
        >>> coin = lambda bit: {bit: "3/4", 1 - bit: "1/4"}
        >>> wrong = user_measurement(space, lambda bit: bit, lambda d: d, distribution=coin)
        >>> print(verify(wrong))
        BROKEN at distance 1: 0 against 1 attain epsilon = 1.09861 on the event {0}, and the map
        claims epsilon = 1
    """
    if not isinstance(subject, (Measurement, Transformation)):
        raise UsageError(
            "verify takes a Measurement or a Transformation; a certificate is verified by "
            "tc.Certificate.load('visits.json').verify()"
        )
    distance = as_fraction(d_in, "d_in")
    chosen = _chosen_pairs(subject, domain, distance, pairs)
    if isinstance(subject, Transformation):
        return _verify_transformation(subject, chosen)
    known_distributions = _Distributions(subject)
    verdict = _of_each_order(subject, chosen, samples, known_distributions)
    return (
        verdict
        if verdict.kind == "estimate"
        else _run(verdict, subject, chosen, draws, known_distributions)
    )


def _chosen_pairs(
    subject: Any, domain: Any, reach: Fraction, pairs: Any
) -> list[tuple[Any, Any, Fraction]]:
    """Return the pairs with their distances; those at distance zero must not differ either."""
    distance = subject.input.metric.distance
    given = pairs is not None
    if pairs is None:
        listed = members(subject.input.domain) if domain is None else domain
        listed = members(listed) if isinstance(listed, Domain) else list(listed)
        pairs = itertools.permutations(listed, 2)
    chosen = []
    for u, v in pairs:
        apart = distance(u, v)
        if isinstance(apart, Fraction) and apart <= reach:
            chosen.append((u, v, apart))
        if len(chosen) > _MAX_PAIRS:
            raise UsageError(
                f"more than {_MAX_PAIRS} pairs of neighbours: give a smaller domain, or pairs="
            )
    if not chosen or (reach and not given and not any(apart for _, _, apart in chosen)):
        raise UsageError(
            f"there is no pair of different data sets at distance {show(reach)} or less in this "
            "domain, so nothing would be checked: give a larger d_in, a list of data sets or pairs="
        )
    return chosen


class _Distributions:
    """The stated distributions, each worked out once: by the object, for data may not be hashed."""

    # Valid while the data sets live, which the pairs see to.

    def __init__(self, m: Measurement) -> None:
        self._measurement = m
        self._known: dict[int, Any] = {}

    def __call__(self, data: Any) -> Any:
        if id(data) not in self._known:
            self._known[id(data)] = self._measurement.distribution(data)
        return self._known[id(data)]


def _run(
    verdict: Verdict,
    m: Measurement,
    pairs: Sequence[tuple[Any, Any, Fraction]],
    draws: int,
    known_distributions: _Distributions,
) -> Verdict:
    """Run the function next to the distribution, if the latter breaks no claim."""
    if verdict.broken:
        return verdict
    apart = {id(data): data for u, v, _ in pairs for data in (u, v)}
    times = as_integer(draws, "draws", minimum=0)
    result: Agreement = agreement(m.draws, known_distributions, list(apart.values()), times)
    if result.refuted:
        return replace(
            verdict,
            holds=False,
            tight=False,
            broken=True,
            draws=result.draws,
            refuted=result.refuted,
        )
    return replace(verdict, draws=result.draws, notes=(*verdict.notes, str(result)))


def _of_each_order(
    m: Measurement,
    pairs: Sequence[tuple[Any, Any, Fraction]],
    samples: int,
    known_distributions: _Distributions,
) -> Verdict:
    """Verify the claim, that of a Renyi curve at each order; the worst one is told."""
    if not isinstance(m.measure, RenyiCurve):
        return _verify_measurement(m, pairs, samples, known_distributions)
    worst: tuple[Fraction, Verdict] | None = None
    for index, order in enumerate(m.measure.orders):
        verdict = _verify_measurement(
            _at_order(m, index, order), pairs, samples, known_distributions
        )
        verdict = replace(verdict, measured_in=f"epsilon of order {show(order)}")
        if not verdict.holds:
            return verdict
        divergences: Any = verdict.found
        claim: Any = verdict.claim
        closeness = ratio(divergences, claim)
        if worst is None or closeness > worst[0]:
            worst = closeness, verdict
    assert worst is not None
    return worst[1]


def _at_order(m: Measurement, index: int, order: Fraction) -> Measurement:
    def claimed(d: Fraction) -> Fraction:
        curve: Any = m.privacy(d)
        return Fraction(curve[index])

    return Measurement(m.input, RenyiDP(order), m.function, claimed, distribution=m.law)


def _verify_measurement(
    m: Measurement,
    pairs: Sequence[tuple[Any, Any, Fraction]],
    samples: int,
    known_distributions: _Distributions,
) -> Verdict:
    exact = m.law is not None
    best: tuple[Fraction, Verdict] | None = None
    doubtful: Verdict | None = None
    notes: dict[str, None] = {}
    orders = highest_order(m)
    for u, v, apart in pairs:
        claim = m.map(apart)
        if exact:
            seen = attained(
                m.measure, tables(known_distributions(u), known_distributions(v), orders), claim
            )
        else:
            seen = estimate(m, u, v, claim, samples)
        notes |= dict.fromkeys([seen.note] if seen.note else [])
        goal = goal_of(m, claim)
        verdict = Verdict(
            holds=exact and within(seen.upper, goal, m),
            pairs=len(pairs),
            tight=exact and reaches(seen.lower, goal, m),
            left=u,
            right=v,
            distance=apart,
            claim=claim,
            found=comparable(m, claim, seen.lower),
            event=seen.event,
            kind="exact" if exact else "estimate",
            notes=tuple(notes),
            measured_in=m.measure.name,
        )
        if seen.lower > goal:
            return replace(verdict, holds=False, broken=True)
        if exact and not verdict.holds and doubtful is None:
            ends = f"between {_show(seen.lower)} and {_show(seen.upper)}"
            doubtful = replace(verdict, notes=(*verdict.notes, f"the pair attains {ends}"))
        closeness = ratio(seen.lower, goal)
        if best is None or closeness > best[0]:
            best = closeness, verdict
    if doubtful is not None:
        return doubtful
    assert best is not None
    closest = best[1]
    return replace(closest, holds=True, notes=tuple(notes))


def _verify_transformation(
    t: Transformation, pairs: Sequence[tuple[Any, Any, Fraction]]
) -> Verdict:
    best: tuple[Fraction, Verdict] | None = None
    for u, v, apart in pairs:
        claim = t.map(apart)
        d_out = t.output.metric.distance(t(u), t(v))
        exceeds = not isinstance(d_out, Fraction) or d_out > claim + _rounding(t, claim)
        verdict = Verdict(
            holds=not exceeds,
            pairs=len(pairs),
            tight=bool(claim and d_out >= claim - _rounding(t, claim)),
            left=u,
            right=v,
            distance=apart,
            claim=claim,
            found=d_out,
            measured_in="distance",
        )
        if exceeds:
            return replace(verdict, broken=True)
        closeness = ratio(d_out, claim)
        if best is None or closeness > best[0]:
            best = closeness, verdict
    assert best is not None
    return best[1]


def _rounding(t: Transformation, claim: Fraction) -> Fraction:
    """Outputs are shown as doubles, which widens a gap by one part in 2^40 at most."""
    if t.output.metric.counts_records:
        return Fraction(0)
    return Fraction(1, 1 << 40) * (1 + claim)


def _show(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else show(Fraction(f"{float(value):.6g}"))

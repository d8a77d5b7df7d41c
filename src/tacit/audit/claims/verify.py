"""Hold a claimed map against its definition, on every pair of neighbours of a small domain."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import Number, as_fraction, as_integer, show
from tacit.audit.claims.agreement import Agreement, agreement
from tacit.audit.claims.attained_loss import attained
from tacit.audit.claims.from_samples import estimate
from tacit.audit.claims.goals import beside, goal_of, highest_order, ratio, reaches, within
from tacit.audit.claims.outcome_table import tables
from tacit.audit.claims.small_domain import members
from tacit.calls import public
from tacit.core import (
    ApproximateZeroConcentratedDP,
    Domain,
    Measurement,
    RenyiCurve,
    RenyiDP,
    Transformation,
)
from tacit.display.card import Shown
from tacit.errors import UsageError, VerificationError

__all__ = ["Verdict", "verify"]

_MOST_PAIRS = 20_000


@public
@dataclass(frozen=True)
class Verdict(Shown):
    """What a verification found.  True when the claim holds on every pair.

    Attributes:
        holds: whether no pair breaks the claim, and each is certified to keep it.
        pairs: how many pairs were looked at, in both directions.
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
        told = f"{self.left!r} against {self.right!r}"
        if not self.holds:
            seen = f" on the event {self._shown_event()}" if self.event else ""
            word = "BROKEN" if self.broken else "NOT CERTIFIED"
            return (
                f"{word} {where}: {told} attain {self._number(self.found)}{seen}, and the map "
                f"claims {self._number(self.claim)}{notes}"
            )
        sample = "no sample breaks it on" if self.kind == "estimate" else "holds on all"
        start = f"{sample} {self.pairs} pairs"
        if self.tight:
            claim = self._number(self.claim)
            return f"{start}, and is tight: {where} {claim} is attained by {told}{notes}"
        return (
            f"{start}; the closest is {told} {where}: {self._number(self.found)} of "
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
    d_in: Number = 1,
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
    beside the distribution, ``draws`` times (:mod:`tacit.audit.claims.agreement`), for that
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
        >>> from tacit.mechanisms import measurement
        >>> space = Space(Number("int", 0, 1), AbsoluteDistance())
        >>> coin = lambda bit: {bit: "3/4", 1 - bit: "1/4"}
        >>> wrong = measurement(space, lambda bit: bit, lambda d: d, distribution=coin)
        >>> print(verify(wrong))
        BROKEN at distance 1: 0 against 1 attain epsilon = 1.09861 on the event {0}, and the map
        claims epsilon = 1
    """
    if not isinstance(subject, (Measurement, Transformation)):
        raise UsageError(
            "verify takes a Measurement or a Transformation; a certificate is verified by "
            "tc.Certificate.load('visits.json').verify()"
        )
    reach = as_fraction(d_in, "d_in")
    chosen = _chosen_pairs(subject, domain, reach, pairs)
    if isinstance(subject, Transformation):
        return _verify_transformation(subject, chosen)
    laws = _Laws(subject)
    verdict = _of_each_order(subject, chosen, samples, laws)
    return verdict if verdict.kind == "estimate" else _run(verdict, subject, chosen, draws, laws)


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
    found = []
    for u, v in pairs:
        apart = distance(u, v)
        if isinstance(apart, Fraction) and apart <= reach:
            found.append((u, v, apart))
        if len(found) > _MOST_PAIRS:
            raise UsageError(
                f"more than {_MOST_PAIRS} pairs of neighbours: give a smaller domain, or pairs="
            )
    if not found or (reach and not given and not any(apart for _, _, apart in found)):
        raise UsageError(
            f"there is no pair of different data sets at distance {show(reach)} or less in this "
            "domain, so nothing would be checked: give a larger d_in, a list of data sets or pairs="
        )
    return found


class _Laws:
    """The stated distributions, each worked out once: by the object, for data may not be hashed.

    Valid while the data sets live, which the pairs see to.
    """

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
    laws: _Laws,
) -> Verdict:
    """Run the function beside the distribution, where that breaks no claim by itself."""
    if verdict.broken:
        return verdict
    apart = {id(data): data for u, v, _ in pairs for data in (u, v)}
    times = as_integer(draws, "draws", minimum=0)
    found: Agreement = agreement(m.draws, laws, list(apart.values()), times)
    if found.refuted:
        return replace(
            verdict, holds=False, tight=False, broken=True, draws=found.draws, refuted=found.refuted
        )
    return replace(verdict, draws=found.draws, notes=(*verdict.notes, str(found)))


def _of_each_order(
    m: Measurement, pairs: Sequence[tuple[Any, Any, Fraction]], samples: int, law: _Laws
) -> Verdict:
    """Verify the claim, that of a Renyi curve at each order; the worst one is told."""
    if not isinstance(m.measure, RenyiCurve):
        return _verify_measurement(m, pairs, samples, law)
    worst: tuple[Fraction, Verdict] | None = None
    for place, order in enumerate(m.measure.orders):
        verdict = _verify_measurement(_at_order(m, place, order), pairs, samples, law)
        verdict = replace(verdict, measured_in=f"epsilon of order {show(order)}")
        if not verdict.holds:
            return verdict
        found: Any = verdict.found
        claim: Any = verdict.claim
        closeness = ratio(found, claim)
        if worst is None or closeness > worst[0]:
            worst = closeness, verdict
    assert worst is not None
    return worst[1]


def _at_order(m: Measurement, place: int, order: Fraction) -> Measurement:
    def claimed(d: Fraction) -> Fraction:
        curve: Any = m.privacy(d)
        return Fraction(curve[place])

    return Measurement(m.input, RenyiDP(order), m.function, claimed, distribution=m.law)


def _verify_measurement(
    m: Measurement, pairs: Sequence[tuple[Any, Any, Fraction]], samples: int, law: _Laws
) -> Verdict:
    exact = m.law is not None
    best: tuple[Fraction, Verdict] | None = None
    doubtful: Verdict | None = None
    notes: dict[str, None] = {}
    orders = highest_order(m)
    for u, v, apart in pairs:
        claim = m.map(apart)
        if exact:
            seen = attained(m.measure, tables(law(u), law(v), orders), claim)
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
            found=beside(m, claim, seen.lower),
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
        found = t.output.metric.distance(t(u), t(v))
        exceeds = not isinstance(found, Fraction) or found > claim + _rounding(t, claim)
        verdict = Verdict(
            holds=not exceeds,
            pairs=len(pairs),
            tight=bool(claim and found >= claim - _rounding(t, claim)),
            left=u,
            right=v,
            distance=apart,
            claim=claim,
            found=found,
            measured_in="distance",
        )
        if exceeds:
            return replace(verdict, broken=True)
        closeness = ratio(found, claim)
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

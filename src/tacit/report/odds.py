"""What a release reveals about a person, as odds, and the error of local estimates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tacit.accounting import Budget
from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import float_up, show
from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.local import Estimate, KeyValueEstimate, MeanEstimate, Oracle, State

# The guarantee as odds: how far a release can move anyone's belief about a person.


STATED_DELTA = Fraction(1, 10**6)  # the delta at which a rho is stated as an epsilon

_MAX_EPSILON = Fraction(10)
# How many people a table has where that is not public: no row is read to find out.
_ASSUMED_SIZE = 100_000

# How much is added to an epsilon that comes with a delta; see :class:`Odds`.
_MARGIN = Fraction(1, 10)


@dataclass(frozen=True)
class Odds:
    """Odds that a loss allows anyone to reach.

    >>> odds = Odds.of(Budget("pure", Fraction(1)))
    >>> odds.percent(10), odds.exception
    (23.2, Fraction(0, 1))
    """

    # Someone believes with probability p, before they see the answers, that the data set is u and
    # not its neighbour v.  By Bayes' rule their belief afterwards is ``L p / (L p + 1 - p)``, with
    # L the ratio of the probabilities of the answers under u and v.
    #
    # *Pure epsilon.*  ``L <= e^epsilon`` always, so the belief is at most
    # ``e^epsilon p / (e^epsilon p + 1 - p)``.
    #
    # *(epsilon, delta).*  Let B be the answers with ``L > e^(epsilon + m)``.  Then
    # ``P_u(B) <= e^epsilon P_v(B) + delta <= e^-m P_u(B) + delta``, so
    # ``P_u(B) <= delta / (1 - e^-m)``, and ``P_v(B)`` is below it.  So the bound above holds at
    # ``epsilon + m``, except for answers of that probability.  Here ``m = 1/10``.
    #
    # *rho.*  It is (epsilon, delta)-DP for every delta, with the epsilon of
    # :meth:`~tacit.accounting.Budget.epsilon_at`; then as before.
    #
    # "Is this person in the table or not" is one step between neighbours.  "Does the table hold
    # this version of their rows or that one" is two, one version leaves and another joins:
    # ``2 epsilon``; ``(2 epsilon, (1 + e^epsilon) delta)``; ``4 rho`` (group privacy, which Dwork
    # and Roth 2014, theorem 2.2, and Bun and Steinke 2016, proposition 1.9, prove).

    epsilon: Fraction  # the ratio is at most ``e^epsilon``
    # except for answers of at most this probability; zero for pure epsilon
    exception: Fraction = Fraction(0)

    @classmethod
    def of(cls, loss: Budget, steps: int = 1) -> Odds:
        """Return the odds of a loss, ``steps`` (1 or 2) neighbours apart."""
        if loss.kind == "concentrated":
            moved = Budget(loss.kind, loss.amount * steps**2)
            return cls._but_for(moved.epsilon_at(STATED_DELTA), STATED_DELTA)
        delta = loss.delta
        if not delta:
            return cls(steps * loss.amount)
        if steps == 2:
            delta = delta * (1 + exp(loss.amount, 64).upper) if loss.amount < 60 else Fraction(1)
        return cls._but_for(steps * loss.amount, min(delta, Fraction(1)))

    @classmethod
    def _but_for(cls, epsilon: Fraction, delta: Fraction) -> Odds:
        exception = delta / (1 - exp(-_MARGIN, 64).upper)
        return cls(epsilon + _MARGIN, min(exception, Fraction(1)))

    def percent(self, before: int) -> float:
        """Return the most that a belief of ``before`` in 100 can become, rounded up."""
        return percent_at_most(self.epsilon, before)


def percent_at_most(epsilon: Fraction, before: int) -> float:
    """Return ``100 e^epsilon p / (e^epsilon p + 1 - p)`` for ``p = before / 100``, rounded up.

    >>> percent_at_most(Fraction(0), 10), percent_at_most(Fraction(500), 10)
    (10.0, 100.0)
    """
    # It is ``100 / (1 + e^-epsilon (100 - before) / before)``; up to a tenth.
    if epsilon > 60:  # within 1e-20 of certainty
        return 100.0
    ratio = exp(-epsilon, 64).lower * Fraction(100 - before, before)
    return math.ceil(Fraction(1000) / (1 + ratio)) / 10


def odds_words(cost: Budget, what: str = "this release") -> str:
    """Describe what a release, or several of a cost together, reveal about a person at most.

    >>> odds_words(Budget("pure", Fraction(1, 2)))
    'The odds: someone who is 10% sure ... could become at most 15.5% sure ...'
    """
    if cost.is_nothing:
        return ""
    sure = show(Odds.of(cost, 1).percent(10))
    return (
        "The odds: someone who is 10% sure that a given person is in the data could become at most "
        f"{sure}% sure from {what}, whatever else they know."
    )


def weak_guarantee(loss: Budget, size: int | None = None) -> str | None:
    """Describe why a loss protects too little; None if it protects.

    Above an epsilon of 10 someone who is 10% sure can become practically certain.  A delta allows a
    release that publishes each person with that probability, all their rows, so it must be below
    one divided by the number of people.  At that number itself a delta is weak where the number is
    public; the 100,000 of other tables are a guess.

    Args:
        loss: of one release, or of all of them.
        size: how many people the table has, where that is public; 100,000 is assumed otherwise.

    >>> from tacit.accounting import epsilon, epsilon_delta
    >>> print(weak_guarantee(epsilon(11)))
    epsilon 11 is above 10: someone who is 10% sure could become at most 99.99% sure
    >>> print(weak_guarantee(epsilon(10_000)))
    epsilon 10000 is above 10: someone who is 10% sure could become practically certain
    >>> print(weak_guarantee(epsilon_delta(1, "1e-3"), size=5000))
    delta 0.001 is above 1/5000, one divided by the number of people: the rows of 1 in \
1,000 people could be published as they are
    >>> weak_guarantee(epsilon(10)), weak_guarantee(epsilon_delta(1, "1e-5"))
    (None, None)
    """
    rho = loss.kind == "concentrated"
    epsilon = loss.epsilon_at(STATED_DELTA) if rho else loss.amount
    if epsilon > _MAX_EPSILON:
        guarantee = f"epsilon {show(epsilon)}"
        if rho:
            guarantee = (
                f"rho {show(loss.amount)}, an epsilon of {float(epsilon):.4g} at a delta of "
            )
            guarantee += show(STATED_DELTA) + ","
        sure = _nearly(epsilon, 10)
        become = "practically certain" if sure == "100" else f"at most {sure}% sure"
        return f"{guarantee} is above 10: someone who is 10% sure could become {become}"
    people = _ASSUMED_SIZE if size is None else size
    reached = loss.delta * people
    if reached < 1 or (reached == 1 and size is None):
        return None
    known = "one divided by the number of people" if size else "which is for 100,000 people"
    above = "above " if reached > 1 else ""
    guarantee = (
        f"delta {show(loss.delta)} is {above}1/{people}, {known}: the rows of "
        f"{probability_words(loss.delta)} people could be published as they are"
    )
    return guarantee if size else f"{guarantee} (a data set may declare the size of its tables)"


def _nearly(epsilon: Fraction, before: int) -> str:
    """Return the most that a belief can become, in percent, with the digits that tell it from 100.

    >>> _nearly(Fraction(11), 10), _nearly(Fraction(20), 10), _nearly(Fraction(900), 10)
    ('99.99', '99.999999', '100')
    """
    if epsilon > 20:
        return "100"
    ratio = exp(-epsilon, 64).lower * Fraction(100 - before, before)
    doubt = 100 * ratio / (1 + ratio)
    digits = max(1, math.ceil(-math.log10(doubt)))
    at_most = 100 - Fraction(math.floor(doubt * 10**digits), 10**digits)
    return f"{float(at_most):.{digits}f}"


def probability_words(probability: Fraction) -> str:
    """Write a small probability as a chance, never below it.

    >>> probability_words(Fraction(1, 95000)), probability_words(Fraction(1))
    ('1 in 95,000', '1')
    """
    if probability >= Fraction(1, 2):
        return f"{float_up(probability):.3g}"
    digits = math.floor(math.log10(1 / probability)) - 1
    unit = 10 ** max(digits, 0)
    return f"1 in {int(1 / probability) // unit * unit:,}"


# What is reported of the answers to a local question, of every kind: a table, and JSON.


PARTS = 8  # into how many equal parts a spread of numbers is cut where no ranges are asked for


@dataclass(frozen=True)
class Wanted:
    """Options of an estimate from the sums."""

    level: str = "0.95"  # the confidence of the intervals
    together: bool = False  # whether all intervals hold at once
    # the answers to look for, where any text may have been given
    candidates: list[str] | None = None
    ranges: str | None = None  # of integers, such as ``18..25,26..64``
    heaviest: int | None = None  # how many of the most frequent answers
    flag: str = ""  # what is before the name of an option in a message


@dataclass(frozen=True)
class Result:
    """One table, the same as plain JSON values, and how it is drawn."""

    header: list[str]
    cells: list[list[str]]
    record: dict[str, Any]
    name: str | None = None
    figure: Callable[[], Any] | None = None
    notes: list[str] = field(default_factory=list)


def results_of(oracle: Oracle, state: State, wanted: Wanted) -> Iterator[Result]:
    """Return a table for the question, or one for each of its attributes."""
    from tacit import local

    if isinstance(oracle, (local.AttributeSplitting, local.AttributeSampling)) and not isinstance(
        oracle, (local.KeyValue, local.HierarchicalRanges, local.PrefixExtending)
    ):
        for name, part in oracle.parts:
            one = _result(part, oracle.states(state)[name], wanted)
            yield Result(one.header, one.cells, one.record, name, None, one.notes)
        return
    requested = {
        "candidates": (local.Rappor, local.CountMeanSketch, local.HadamardCountMeanSketch),
        "ranges": (local.HierarchicalRanges,),
        "heaviest": (local.PrefixExtending,),
    }
    for option, kinds in requested.items():
        if getattr(wanted, option) is not None and not isinstance(oracle, kinds):
            raise UsageError(
                f"{wanted.flag}{option} is not for {type(oracle).__name__}: leave it out"
            )
    yield _result(oracle, state, wanted)


def _result(oracle: Any, state: State, wanted: Wanted) -> Result:
    from tacit import local

    if isinstance(oracle, local.KeyValue):
        return _keys(oracle.estimate(state), wanted)
    if isinstance(oracle, local.MeanOracle):
        return _mean(oracle.estimate(state), wanted)
    if isinstance(oracle, local.SquareWave):
        cuts = sorted({oracle.bins * i // PARTS for i in range(PARTS + 1)})
        return _counts(oracle.estimate(state, unbiased=True, edges=cuts), wanted, " to ")
    if isinstance(oracle, local.HierarchicalRanges):
        lowest: Any = oracle.oracles[0]
        size = len(lowest.domain)
        return _counts(oracle.estimate_ranges(state, _ranges(wanted.ranges, size)), wanted, "..")
    if isinstance(oracle, local.PrefixExtending):
        return _counts(oracle.heaviest(state, wanted.heaviest or 10), wanted)
    if isinstance(oracle, local.FrequencyOracle | local.PaddedSets):
        return _counts(oracle.estimate(state), wanted)
    if not wanted.candidates:
        raise UsageError(
            f"any answer may have been given: name those to look for, {wanted.flag}candidates a,b"
        )
    if isinstance(oracle, local.Rappor):
        estimate = oracle.estimate(state, wanted.candidates, nonnegative=False)
    else:
        estimate = oracle.estimate(state, wanted.candidates)
    return _counts(estimate, wanted)


def _ranges(text: str | None, size: int) -> list[tuple[int, int]]:
    """Read ``18..25,26..64``; by default equal parts of all values."""
    if text is None:
        cuts = sorted({size * i // PARTS for i in range(PARTS + 1)})
        return [(low, high - 1) for low, high in pairwise(cuts)]
    matches = [re.fullmatch(r"\s*(\d{1,10})\.\.(\d{1,10})\s*", part) for part in text.split(",")]
    if not all(matches):
        raise UsageError("write ranges as 18..25,26..64: the first and last value of each")
    return [(int(one[1]), int(one[2])) for one in matches if one is not None]


def _counts(estimate: Estimate, wanted: Wanted, between: str = ", ") -> Result:
    low, high = (estimate.simultaneous if wanted.together else estimate.interval)(wanted.level)
    rows: list[Any] = list(
        zip(estimate.items, estimate.counts.tolist(), low.tolist(), high.tolist(), strict=True)
    )
    in_order = isinstance(estimate.items[0], tuple)
    shown = rows if in_order else sorted(rows, key=lambda row: -row[1])

    def named(item: Any) -> str:
        return between.join(f"{end:g}" for end in item) if isinstance(item, tuple) else str(item)

    cells = [
        [
            named(item),
            f"{count:,.0f}",
            f"{minimum:,.0f} to {maximum:,.0f}",
            f"{count / max(1, estimate.n):.1%}",
        ]
        for item, count, minimum, maximum in shown[:100]
    ]
    all_at_once = wanted.together or bool(estimate.chosen_from)
    ranges = f"{float(wanted.level):.0%} range" + (" (all at once)" if all_at_once else "")
    left = len(rows) - len(cells)
    more = f"the {len(cells)} largest of {len(rows):,} answers; all of them with --json"
    record = {
        "n": estimate.n,
        "items": [
            {
                "item": list(item) if in_order else item,
                "count": count,
                "low": minimum,
                "high": maximum,
            }
            for item, count, minimum, maximum in rows
        ],
    }
    return Result(
        ["answer", "people", ranges, "share"],
        cells,
        record,
        figure=lambda: estimate.plot(wanted.level),
        notes=[more] if left else [],
    )


def _mean(estimate: MeanEstimate, wanted: Wanted) -> Result:
    low, high = estimate.interval(wanted.level)
    cells = [[f"{estimate.mean:.6g}", f"{low:.6g} to {high:.6g}"]]
    record = {"n": estimate.n, "mean": estimate.mean, "low": low, "high": high}
    return Result(["mean", f"{float(wanted.level):.0%} range"], cells, record)


def _keys(estimates: dict[str, KeyValueEstimate], wanted: Wanted) -> Result:
    cells, items = [], []
    for name, one in estimates.items():
        low, high = one.interval(wanted.level)
        minimum, maximum = one.mean_interval(wanted.level)
        cells.append(
            [
                name,
                f"{one.frequency:.1%}",
                f"{low:.1%} to {high:.1%}",
                f"{one.mean:.4g}",
                f"{minimum:.4g} to {maximum:.4g}",
            ]
        )
        numbers = {"share": one.frequency, "low": low, "high": high}
        means = {"mean": one.mean, "mean_low": minimum, "mean_high": maximum}
        known = means if one.mean == one.mean else dict.fromkeys(means)
        items.append({"item": name, "n": one.n, **numbers, **known})
    width = f"{float(wanted.level):.0%} range"
    n = sum(one.n for one in estimates.values())
    return Result(["key", "share", width, "mean", width], cells, {"n": n, "items": items})

"""A search for the pair of inputs on which a mechanism loses most."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from tacit.arithmetic.exact import Number as ExactNumber
from tacit.arithmetic.exact import as_integer, positive
from tacit.arithmetic.mixing import Repeatable
from tacit.audit.bets import expected_bound
from tacit.audit.events import learned_score
from tacit.audit.sampled import SampledAudit, checked_numbers, outputs_of_both, sampled
from tacit.calls import public
from tacit.core import (
    AbsoluteDistance,
    Category,
    ChangeOneDistance,
    Domain,
    Frame,
    Number,
    Space,
    Vector,
)
from tacit.display.card import Shown
from tacit.errors import TacitError, UsageError
from tacit.statistics import Interval, sensitivity

# Pairs of neighbours on which a mechanism may lose the most, proposed without running it.
#
# What breaks mechanisms is at the ends: the bounds, numbers that are no numbers, nothing at all,
# ties, one record next to many equal ones.  So data sets are made of the extremes of a domain, and
# neighbours by the largest moves that the metric allows.  Every pair that is proposed lies in the
# domain, at a distance of at most ``d_in``, as the metric computes it.


Pair = tuple[Any, Any]

_HOSTILE = (0, 1, -1, 0.5, -0.0, 2**53 + 1, 2**63 - 1, 1e308, -1e308, 5e-324)
_ODD = (math.nan, math.inf, -math.inf, None)
_TEXTS = ("", "a", "A", "a ", "\0", "\u00e9", "e\u0301", "0", "null", "'")
_SIZES = (0, 1, 2, 5)


def extremes(domain: Domain) -> list[Any]:
    """Return the members of a domain of single values that are most likely to do harm.

    >>> extremes(Number("int", 0, 12))
    [0, 12, 1]
    """
    if isinstance(domain, Category):
        return list(domain.categories or _TEXTS)
    if not isinstance(domain, Number):
        return []
    ends = [e for e in (domain.lower, domain.upper) if e is not None]
    is_integral = domain.kind == "int"
    values: list[Any] = [int(e) if is_integral or e.denominator == 1 else float(e) for e in ends]
    hostile = _HOSTILE if is_integral else map(float, _HOSTILE)
    values = [*values, *hostile, *_ODD]
    return [x for i, x in enumerate(values) if domain.contains(x) and x not in values[:i]]


def _record_ends(domain: Domain) -> list[Any]:
    """Return extreme records: of a table the rows in which one column is at another of its ends.

    >>> _record_ends(Frame({"g": Category(("a", "b")), "x": Number("int", 0, 5)}))
    [('a', 0), ('b', 0), ('a', 5), ('a', 1), ('b', 1)]
    """
    if isinstance(domain, Vector):
        return extremes(domain.element)
    assert isinstance(domain, Frame)
    ends = [extremes(kind) or [None] for _, kind in domain.columns]
    first = tuple(column[0] for column in ends)
    one = [
        (*first[:index], end, *first[index + 1 :])
        for index, column in enumerate(ends)
        for end in column
    ]
    return list(dict.fromkeys([*one, tuple(column[-1] for column in ends)]))


def _records(domain: Domain, data: Any) -> list[Any]:
    return (
        list(zip(*(data[name] for name in domain.names), strict=True))
        if isinstance(domain, Frame)
        else list(data)
    )


def _of_records(domain: Domain, records: list[Any]) -> Any:
    if not isinstance(domain, Frame):
        return records
    return {name: [row[index] for row in records] for index, name in enumerate(domain.names)}


def data_sets(space: Space, d_in: Fraction, draw: random.Random) -> Iterator[Any]:
    """Yield members of a space: all equal, halves, all different, of several sizes, and random."""
    domain = space.domain
    if isinstance(domain, (Vector, Frame)):
        ends = _record_ends(domain)
        more = (min(int(d_in), _MAX_RECORDS),) if d_in > max(_SIZES) else ()
        for size in (*_SIZES, *more) if domain.size is None else (domain.size,):
            for end in ends[:6]:
                yield _of_records(domain, [end] * size)
            for first, second in pairwise(ends[:3]):
                for part in {size // 2, 1 if size > 1 else 0, max(0, size - 1)}:
                    yield _of_records(domain, [first] * part + [second] * (size - part))
            if ends:
                yield _of_records(domain, [ends[i % len(ends)] for i in range(size)])
    else:
        yield from extremes(domain)
    for _ in range(4):
        yield domain.sample(draw)


_MAX_RECORDS = 50


def moves(space: Space, data: Any, d_in: Fraction, draw: random.Random) -> Iterator[Any]:
    """Yield data sets near one: records added, left out or changed, numbers moved."""
    domain = space.domain
    if isinstance(domain, (Vector, Frame)):
        if Frame in space.metric.carries:
            records, ends = _records(domain, data), _record_ends(domain)
            for moved in _record_moves(records, ends, int(d_in), draw):
                yield _of_records(domain, moved)
        if isinstance(domain, Vector) and len(data):
            yield from _number_moves(domain, list(data), d_in, draw)
    else:
        yield from extremes(domain)
        if isinstance(space.metric, AbsoluteDistance):
            yield from (_as_kind(domain, data, step) for step in (d_in, -d_in))


def _record_moves(
    records: list[Any], ends: list[Any], maximum: int, draw: random.Random
) -> Iterator[list[Any]]:
    """Yield records of which at most so many were added, left out or changed."""
    # Also all at once, as those of one person are: equal ones, or each of another kind, as under
    # other keys; and all records of one kind left out, so that a key is gone.
    index = draw.randrange(len(records)) if records else 0
    for many in dict.fromkeys((min(maximum, _MAX_RECORDS), 1)):
        yield from ([*records, *[end] * many] for end in ends)
        if many > 1:
            yield [*records, *(ends[i % len(ends)] for i in range(many) if ends)]
        yield records[many:]
        yield records[: max(0, len(records) - many)]
        some = min(many, len(records) - index)
        yield from ([*records[:index], *[end] * some, *records[index + some :]] for end in ends)
    for kind in list(dict.fromkeys(map(repr, records)))[:3]:
        yield [record for record in records if repr(record) != kind]


def _number_moves(
    domain: Vector, data: list[Any], d_in: Fraction, draw: random.Random
) -> Iterator[Any]:
    index = draw.randrange(len(data))
    yield from ([*data[:index], end, *data[index + 1 :]] for end in extremes(domain.element))
    for signs in ([1] * len(data), [-1] * len(data), [draw.choice((-1, 1)) for _ in data]):
        yield [_as_kind(domain.element, x, s * d_in) for x, s in zip(data, signs, strict=True)]
    for part in {len(data) // 2, 1, len(data) - 1}:
        for sign in (1, -1):  # the first ones up and the others down, or the other way
            signs = [sign] * part + [-sign] * (len(data) - part)
            yield [_as_kind(domain.element, x, s * d_in) for x, s in zip(data, signs, strict=True)]
    for step in (d_in, -d_in):
        yield [*data[:index], _as_kind(domain.element, data[index], step), *data[index + 1 :]]


def _as_kind(domain: Domain, value: Any, step: Fraction) -> Any:
    """Return a number moved by a step; where that leaves the domain, the number as it was."""
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return value
    moved: Any = Fraction(value) + step
    is_integral = isinstance(domain, Number) and domain.kind == "int"
    moved = int(moved) if is_integral else float(moved)
    return moved if domain.contains(moved) else value


def proposed(
    space: Space,
    d_in: Fraction,
    draw: random.Random,
    statistic: str | Callable[[Any], Any] | None = None,
) -> list[Pair]:
    """Return pairs of neighbours, each once: first those that a sensitivity is attained at.

    >>> from tacit.arithmetic.mixing import Repeatable
    >>> from tacit.core import SymmetricDistance
    >>> space = Space(Vector(Number("int", 0, 9)), SymmetricDistance())
    >>> proposed(space, Fraction(1), Repeatable(0), "sum")[0]
    ([0, 0], [0, 0, 9])
    """
    proposals = _witnesses(space, statistic)
    each = [
        [(data, other) for other in moves(space, data, d_in, draw)]
        for data in data_sets(space, d_in, draw)
    ]
    # one pair of each data set in turn, each beginning with another move: all ends come early
    turned = [
        pairs[i % len(pairs) :] + pairs[: i % len(pairs)] for i, pairs in enumerate(each) if pairs
    ]
    for turn in zip_longest(*turned):
        proposals += [pair for pair in turn if pair is not None]
    near = [pair for pair in proposals if _is_near(space, pair, d_in)]
    return list({repr(pair): pair for pair in near}.values())


def changed(space: Space, pair: Pair, d_in: Fraction, draw: random.Random) -> list[Pair]:
    """Return neighbours that are near a pair: one step of hill climbing."""
    pairs: list[Pair] = []
    for data in (pair[0], pair[1], *moves(space, pair[0], d_in, draw)):
        pairs += [(data, other) for other in moves(space, data, d_in, draw)]
    draw.shuffle(pairs)
    return [other for other in pairs if _is_near(space, other, d_in)]


def _is_near(space: Space, pair: Pair, d_in: Fraction) -> bool:
    try:
        if not all(space.domain.contains(data) for data in pair):
            return False
        return 0 < Fraction(space.metric.distance(*pair)) <= d_in
    except (TacitError, TypeError, ValueError, OverflowError):
        return False


def _witnesses(space: Space, statistic: Any) -> list[Pair]:
    domain = space.domain
    if (
        statistic is None
        or not isinstance(domain, Vector)
        or not isinstance(domain.element, Number)
    ):
        return []
    low, high = domain.element.lower, domain.element.upper
    relation: Any = "bounded" if isinstance(space.metric, ChangeOneDistance) else "unbounded"
    if low is None or high is None:
        return []
    pairs: list[Pair] = []
    wrong: TacitError | None = None
    for size in (2, 5) if domain.size is None else (domain.size,):
        try:
            pair = sensitivity(
                statistic, over=Interval(low, high, size=size), relation=relation
            ).witness
        except TacitError as error:
            wrong = error
            continue
        if pair is not None:
            kind = int if domain.element.kind == "int" else float
            pairs.append(([kind(x) for x in pair[0]], [kind(x) for x in pair[1]]))
    if wrong is not None and not pairs and type(wrong) is UsageError:
        raise wrong  # such as a name that is none; what is too hard to find is left out
    return pairs


# Look for the pair of neighbours on which a mechanism loses the most, and audit it there.


# Runs a side of the first look at a pair, at least; each later look has four times as many.
_SHORT, _SHORT_OF_BATCHES = 60, 600
_PART = 4  # the first looks have this part of the runs of the audit together, or more


@public
@dataclass(frozen=True)
class SearchResult(Shown):
    """The worst pair that was found, and its audit.  True where the claim is not refuted.

    Attributes:
        u: a data set.
        v: its neighbour.
        audit: of this pair, by runs of its own.
        tried: how many pairs were run.
    """

    u: Any
    v: Any
    audit: SampledAudit
    tried: int

    def __bool__(self) -> bool:
        return bool(self.audit)

    def __str__(self) -> str:
        shown = " against ".join(repr(x)[:60] for x in (self.u, self.v))
        return f"{self.audit}; of {self.tried} pairs the worst is {shown}"


@public
def search(
    mechanism: Callable[..., Any],
    space: Space,
    *,
    epsilon: ExactNumber | None = None,
    delta: ExactNumber = 0,
    d_in: ExactNumber = 1,
    statistic: str | Callable[[Any], Any] | None = None,
    pairs: int = 60,
    confidence: float = 0.99,
    samples: int = 10_000,
    batch: bool = False,
    seed: int = 0,
) -> SearchResult:
    """Search for the pair of neighbours with the largest privacy loss, and audit it.

    Pairs are proposed from the extremes of the space (its bounds, NaN and infinities where it holds
    them, the empty data set, ties, one record next to many, all records of a person or under a key
    at once, as far as ``d_in`` goes), and, where a ``statistic`` is named,
    from the neighbours that attain its exact sensitivity.  A short run of each estimates
    the bound that an audit would reach, and how far apart the outputs are; the best quarter by
    either is run four times as long, and neighbours of the best one are tried.  All of that takes
    about as many runs as the audit.  The audit of the last pair counts runs of its own, so its
    bound is valid however the pair was chosen.  Where all pairs lose little, a better one than
    the last may be missed: one is distinguished from another by as many runs as a refutation takes.

    Args:
        mechanism: called with a data set, gives an output, as for :func:`tacit.audit.sampled`.
        space: the data sets, and what neighbours are.
        epsilon: the claim, where there is one.
        delta: the delta at which epsilon is bounded.
        d_in: the largest distance of neighbours.
        statistic: what the mechanism releases with noise, by its name or as a function.
        pairs: how many pairs are run at first.
        confidence: of the audit.
        samples: the most runs of the audit on each side.
        batch: the mechanism is called with a data set and a number, and returns that many outputs.
        seed: of the proposals; the mechanism draws its own noise.

    Raises:
        UsageError: the space has no two members that near to each other, there is no such
            statistic, or as for ``sampled``.

    Source: Bichsel et al., "DP-Sniper" (S&P 2021), and Ding et al., "Detecting violations of
        differential privacy" (CCS 2018), for searches of this kind.

    Example:
        >>> import tacit as tc
        >>> from tacit import framework as fw
        >>> column = fw.Space(fw.Vector(fw.Number("int", 0, 100)), fw.SymmetricDistance())
        >>> def forgetful(ages):  # noise for a count, on a sum
        ...     return sum(ages) + tc.noise.discrete_laplace(1)
        >>> found = search(forgetful, column, epsilon=1, pairs=20, samples=500)
        >>> bool(found), abs(sum(found.u) - sum(found.v)) > 1
        (False, True)
    """
    if not isinstance(space, Space):
        kind = type(space).__name__
        raise UsageError(f"space is a tc.framework.Space of a domain and a distance, not a {kind}")
    draw = Repeatable(as_integer(seed, "seed", minimum=0))
    far, most = positive(d_in, "d_in"), as_integer(pairs, "pairs", minimum=1)
    limit, rest, confidence = checked_numbers(samples, delta, confidence)
    every = proposed(space, far, draw, statistic)
    if not every:
        raise UsageError(
            f"no two members of {space.domain} at a distance of at most {far} were found; "
            "is d_in too small for this distance?"
        )
    first, later = every[: most // 2], every[most // 2 :]
    pool = first + draw.sample(later, min(len(later), most - len(first)))
    tried = len(pool)
    runs = max(_SHORT_OF_BATCHES if batch else _SHORT, limit // (_PART * tried))

    def best(candidates: list[Pair], keep: int) -> list[Pair]:
        scores = [
            _scores(mechanism, pair, runs, rest, batch, limit, confidence) for pair in candidates
        ]
        ways = [np.argsort([-one[way] for one in scores], kind="stable") for way in (0, 1)]
        # the first by either score in turn, each once
        both = dict.fromkeys(int(i) for pair in zip(*ways, strict=True) for i in pair)
        return [candidates[i] for i in list(both)[:keep]]

    pool = best(pool, max(1, len(pool) // 4))
    while len(pool) > 1:
        runs *= 4
        fresh = changed(space, pool[0], far, draw)[: max(1, len(pool) // 2)]
        tried += len(fresh)
        pool = best([*pool, *fresh], max(1, len(pool) // 4))
    u, v = pool[0]
    audit = sampled(
        mechanism,
        u,
        v,
        epsilon=epsilon,
        delta=delta,
        confidence=confidence,
        samples=samples,
        batch=batch,
    )
    return SearchResult(u, v, audit, tried)


def _scores(
    mechanism: Callable[..., Any],
    pair: Pair,
    runs: int,
    delta: float,
    batch: bool,
    samples: int,
    confidence: float,
) -> tuple[float, float]:
    """Estimate what an audit of a pair may reach, and how far apart its outputs are."""
    # Grades are learned on one half of the runs and counted on the other.  The first score is the
    # largest claim against which bets on them would grow, in all samples of the audit, to what
    # refutes.  Few runs tell little of that; the second is the difference of the mean grades in its
    # standard errors, which few runs tell better and rare outputs hardly move.
    sides = outputs_of_both(mechanism, pair, runs, batch)
    half = runs // 2
    score = learned_score(sides[0][:half], sides[1][:half])
    grades = score(sides[0][half:]), score(sides[1][half:])
    error = math.sqrt(sum(float(np.var(one)) + 1e-12 for one in grades) / (runs - half))
    return (
        expected_bound(grades, samples, delta, confidence),
        float(np.mean(grades[0]) - np.mean(grades[1])) / error,
    )

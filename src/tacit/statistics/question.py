"""The question asked: which domain, at which data, how far, along which relation."""

# A *move* ``(r, a)`` leads from a release ``x`` to a neighbour ``y`` by removing ``r`` records and
# adding ``a`` others.  The relation, the distance and whether *within* or *exactly* is meant say
# which moves count:
#
# =============  =======================================  ============================
# relation       within ``k``                             exactly ``k``, one direction
# =============  =======================================  ============================
# ``unbounded``  ``1 <= r + a <= k``                      ``(k, 0)`` and ``(0, k)``
# ``add``        ``r = 0``, ``1 <= a <= k``               ``(0, k)``
# ``remove``     ``a = 0``, ``1 <= r <= k``               ``(k, 0)``
# ``bounded``    ``1 <= r = a <= k``                      ``(k, k)``
# =============  =======================================  ============================
#
# Moves that the domain cannot make (no such records left) drop out, and so does a move to the empty
# release where the statistic has no value on it (``fewest`` is 1; a count, a sum and a histogram
# have one, and are asked with ``fewest`` 0: noise that hides the last record must cover the step
# from one record to none).  Records are people: one that is substituted may be followed by another
# with an equal value, so that over values without limit exactly ``k`` substitutions include fewer.
# Within ``k`` is the definition of differential privacy's neighbours (the symmetric distance, or
# the change-one distance).  Exactly ``k`` is what experiments in the literature use; it is not
# monotone in ``k`` and misses mixed neighbours, so no noise may be based on it.

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias, get_args

from tacit.arithmetic.exact import as_integer, show
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError, did_you_mean, shown_value
from tacit.statistics.domains import Domain, Interval, Records
from tacit.statistics.samples import Sample

Relation: TypeAlias = Literal["unbounded", "add", "remove", "bounded"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
# What others call the relations: the most similar name of ours may be one that protects less.
_ELSEWHERE = {
    **dict.fromkeys(("addremove", "insertdelete", "unboundeddp", "symmetric"), "unbounded"),
    **dict.fromkeys(
        ("change", "changeone", "hamming", "replace", "replaceone", "substitute", "swap"), "bounded"
    ),
}


def unknown_relation(relation: object, known: Iterable[str] = RELATIONS) -> UsageError:
    """Return the error of a relation that is not known, with the one that is meant.

    >>> print(unknown_relation("add-remove"))
    relation 'add-remove' is unknown; did you mean 'unbounded'?
    """
    letters = re.sub("[^a-z]", "", str(relation).lower()) if isinstance(relation, str) else ""
    near = did_you_mean(_ELSEWHERE.get(letters, letters), known)
    return UsageError(f"relation {shown_value(relation)} is unknown; {near}")


def without_empty(names: Iterable[str]) -> tuple[str, ...]:
    """Return a note for each statistic that has no value on the empty release in question."""
    return tuple(f"the empty release is left out: {name} has no value there" for name in names)


@public
@dataclass(frozen=True)
class Question:
    """One sensitivity asked for, checked: every question that exists has an answer.

    Attributes:
        domain: which values a release may hold.
        at: the release for the local sensitivity, or None for the global one.
        distance: how many records may differ, at least 1; within more than any two releases differ
            by is within the farthest that they do, and stands here as that.
        relation: what counts as one step.
        within: neighbours within the distance (True), or exactly at it in one direction.
        fewest: the fewest records that a release may have: 0 where the statistic has a value on
            none, else 1.

    Raises:
        UsageError: an unknown relation, a distance below 1, data outside the domain.
        InfeasibleError: exactly a distance for which no move is left.

    >>> Question(Records([1, 2, 3, 10, 11], size=3), distance=1).size
    3
    """

    domain: Domain
    at: Sample | None = None
    distance: int = 1
    relation: Relation = "unbounded"
    within: bool = True
    fewest: int = 1

    _requested_distance: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "distance", as_integer(self.distance, "distance", minimum=1))
        if self.relation not in RELATIONS:
            raise unknown_relation(self.relation)
        _ = self.domain.sample  # a table of several columns is refused here
        if self.at is not None:
            self._check_release(self.at)
        self._check_distance()

    @property
    def size(self) -> int | None:
        """The size of the release: that of ``at``, or the domain's (None: every size)."""
        return self.domain.size if self.at is None else len(self.at)

    @property
    def population(self) -> int | None:
        """Number of records in total, or None if values repeat without limit."""
        return len(self.domain.sample) if isinstance(self.domain, Records) else None

    @property
    def rest(self) -> Sample:
        """The records of the population that are not in ``at`` (only for local Records)."""
        rest = self._rest
        if rest is None:
            raise UsageError("only a release of some records of a known population leaves a rest")
        return rest

    @cached_property
    def _rest(self) -> Sample | None:
        if self.at is None or not isinstance(self.domain, Records):
            return None
        return self.domain.sample.without(self.at)

    def max_added(self, size: int) -> float:
        """The most records that a release of ``size`` can gain (infinity: no limit)."""
        return math.inf if self.population is None else self.population - size

    def moves(self, size: int) -> Iterator[tuple[int, int]]:
        """Every feasible move ``(removed, added)`` from a release of ``size`` records."""
        for r, a in self._requested_moves(size):
            if r <= size and a <= self.max_added(size) and size - r + a >= self.fewest:
                yield r, a

    def frontier(self, size: int) -> Iterator[tuple[int, int]]:
        """The moves that suffice for a global sensitivity where an extreme can be dropped.

        Let ``f`` never fall when the smallest record is dropped and never rise when the largest
        is (mean, quantiles, min and max do so).  Take a pair with ``f(y) - f(x) >= 0`` and
        ``r + a < k`` and drop the smallest record of ``y``: if ``x`` holds it too the distance
        grows by one, else it shrinks by one, and the difference does not fall.  Each drop makes
        ``y`` smaller, so this ends at ``r + a = k`` or at a ``y`` of one record.  The mirror image
        serves ``f(y) <= f(x)``.  Only ``unbounded`` within ``k`` is thinned out by this; for the
        other relations all moves come, of which there are at most ``k``.
        """
        if self.relation != "unbounded" or not self.within:
            yield from self.moves(size)
            return
        k = self.distance
        candidates = {(r, k - r) for r in range(min(k, size) + 1)}
        if size - 1 <= k:
            candidates.add((size - 1, 0))
        if size + 1 <= k:
            candidates.add((size, 1))
        for r, a in sorted(candidates - {(0, 0)}):
            if a <= self.max_added(size) and size - r + a >= 1:
                yield r, a

    def _requested_moves(self, size: int) -> Iterator[tuple[int, int]]:
        k = self.distance
        nearest = 1 if self.within else k
        if self.relation == "add":
            yield from ((0, a) for a in range(nearest, k + 1))
        elif self.relation == "remove":
            yield from ((r, 0) for r in range(nearest, min(k, size) + 1))
        elif self.relation == "bounded":
            yield from ((d, d) for d in range(nearest, min(k, size) + 1))
        elif not self.within:
            yield from ((k, 0), (0, k))
        else:
            for r in range(min(k, size) + 1):
                yield from ((r, a) for a in range(0 if r else 1, k - r + 1))

    def _check_release(self, at: Sample) -> None:
        size = self.domain.size
        if size is not None and size != len(at):
            raise UsageError(f"at has {len(at)} records, but the domain has size={size}")
        if isinstance(self.domain, Interval):
            for value in (at[0], at[-1]):
                if not self.domain.lower <= value <= self.domain.upper:
                    raise UsageError(f"at contains {show(value)}, which is outside {self.domain!r}")
        elif isinstance(self.domain, Records):
            if self._rest is None:
                raise UsageError(
                    f"at is not a part of the population: {self._outside(at)} "
                    "(each record can be used once)"
                )
        elif outside := self._outside(at):
            raise UsageError(f"at contains a value that is not in the value set: {outside}")

    def _outside(self, at: Sample) -> str:
        """Name one value of ``at`` that the domain does not have (often enough)."""
        have: dict[Fraction, float] = {}
        values, counts = self.domain.sample.distinct()
        limited = isinstance(self.domain, Records)
        for value, count in zip(values.fractions(), counts.tolist(), strict=True):
            have[value] = count if limited else math.inf
        distinct, times = at.distinct()
        for value, count in zip(distinct.fractions(), times.tolist(), strict=True):
            if count > have.get(value, 0):
                there = f" {count} times, but it exists {have[value]}" if value in have else ""
                return f"{show(value)}{there}"
        return ""

    def _check_distance(self) -> None:
        maximum = self.farthest()
        if self.distance <= maximum:
            return
        if self.within:
            # All pairs are nearer: those within the farthest distance there is are those within k.
            object.__setattr__(self, "_requested_distance", self.distance)
            object.__setattr__(self, "distance", max(1, int(maximum)))
            return
        who = f"a release of {self.size} records" if self.size else "a release"
        if self.population is not None:
            who += f" out of a population of {self.population}"
        remains = self.fewest and self.relation not in ("add", "bounded")
        note = " (one record must remain)" if remains else ""
        can = (
            f"the greatest distance is {int(maximum)}" if maximum >= 1 else "there is no neighbour"
        )
        word = {"add": "added", "remove": "removed", "bounded": "substituted"}.get(
            self.relation, "removed, or added,"
        )
        raise InfeasibleError(
            f"distance={self.distance} cannot be made: {self.distance} records {word} "
            f"from {who}{note}; {can}"
        )

    def left_out(self) -> tuple[str, ...]:
        """Parts of the question that the domain cannot make, one sentence each."""
        n, k = self.size, self.distance
        if self._requested_distance is not None:
            return (self._how_far(self._requested_distance),)
        if n is None or self.relation in ("add", "remove"):
            return ()
        room = self.max_added(n)
        if self.relation == "bounded":
            few = k > room
            return (f"only {room} records are left to substitute",) if few else ()
        if self.within:
            return ()
        ends = []
        if k > n - self.fewest:
            ends.append(f"{k} records cannot be removed from {n}: only additions count")
        if k > room:
            ends.append(f"{k} records cannot be added, as {room} are left: only removals count")
        return tuple(ends)

    def smallest(self) -> int:
        """The fewest records that a release in question or a neighbour of it has."""
        if self.size is None:
            return self.fewest
        lost = self.distance if self.relation in ("unbounded", "remove") else 0
        return max(self.fewest, self.size - lost)

    @property
    def leaves_out_empty(self) -> bool:
        """True if the empty release would be included without the minimum size."""
        if not self.fewest or self.relation == "bounded":
            return False
        k = self.distance if self._requested_distance is None else self._requested_distance
        if self.size is None:  # a release of one record, and the empty one
            return self.within or self.population is None or k <= self.population
        if self.relation == "add":
            return False
        return k >= self.size if self.within else k == self.size

    def _how_far(self, distance: int) -> str:
        maximum = self.farthest()
        if self.relation == "bounded" and self.size is not None:
            maximum = min(maximum, self.max_added(self.size))
        if maximum < 1:
            return f"no record can be changed, let alone {distance}: there is no other release"
        return f"within {distance} was asked, and no neighbour is more than {int(maximum)} away"

    def farthest(self) -> float:
        """The greatest distance that some pair of releases has (infinity: no limit).

        Within ``k`` under ``bounded``, every ``k`` up to the size counts as feasible, because the
        question is total: where fewer records can be exchanged, fewer are.
        """
        n, population = self.size, self.population
        if n is None:
            return self._farthest_of_any_size()
        room = self.max_added(n)
        if self.relation == "bounded":
            return n if self.within else min(n, room)
        if self.relation == "add":
            return room
        if self.relation == "remove":
            return n - self.fewest
        if not self.within:
            return max(n - self.fewest, room)
        return n - self.fewest if population == n else n + room

    def _farthest_of_any_size(self) -> float:
        if self.population is None:
            return math.inf
        if self.relation == "bounded":
            return self.population if self.within else self.population // 2
        if self.relation == "unbounded" and self.within and self.population > 1:
            return self.population
        return self.population - self.fewest

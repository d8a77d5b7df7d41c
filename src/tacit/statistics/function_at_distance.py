"""Local sensitivity at a distance of any function over a small value set, by dilation, exact."""

# The function is evaluated once on every multiset that can be met (:mod:`tacit.statistics.search`).
# The local sensitivity of each follows from its neighbours, one step along the axes.  ``A(t)`` is
# then the largest of these within ``t`` more steps: the table of local sensitivities, dilated ``t``
# times.  What is dilated are ranks, so nothing is rounded.
#
# Under ``bounded`` and ``remove`` there are finitely many releases, and ``A`` is known for every
# ``t``. Under ``unbounded`` and ``add`` it is known up to a chosen ``farthest``; beyond it, only a
# public bound on the global sensitivity can speak.

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

from tacit.arithmetic.exact import show
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.question import Relation
from tacit.statistics.samples import Sample, on_common_unit
from tacit.statistics.search import CountBox, Function, Indices, Ranks, evaluate, spread
from tacit.statistics.statistic import AtDistance, Exact, Statistic, distance_between

_MAX_STATES = 1 << 22
_NEVER = np.iinfo(np.int32).max


class LatticeAtDistance(AtDistance):
    """``A(t)`` of any statistic or function of records out of a small value set.

    >>> import tacit.statistics as ts
    >>> a = LatticeAtDistance(ts.lookup("median"), Sample([1, 2, 9]), Sample([1, 2, 9]), "bounded")
    >>> [str(a.at(t)) for t in range(3)]
    ['7', '8', '8']
    """

    # statistic: what is computed; a function is called once for each distinct release.
    # largest: under ``unbounded`` and ``add``, a proven bound on the global sensitivity, which is
    #   what ``A(t)`` is taken to be beyond ``farthest``.

    def __init__(
        self,
        statistic: Statistic,
        data: Sample,
        values: Sample,
        relation: Relation,
        farthest: int = 2,
        largest: Fraction | None = None,
    ) -> None:
        self.statistic, self.relation, self.largest = statistic, relation, largest
        self._values, _ = values.distinct()
        self._data = _counted(data, self._values)
        n = len(data)
        self._fewest = statistic.min_size
        self.farthest = {"bounded": n, "remove": max(n - 1 - self._fewest, 0)}.get(
            relation, farthest
        )
        self._grows = relation in ("unbounded", "add")
        self.last = self.farthest + self._grows
        self.exact = not self._grows
        room = n + farthest + 1 if self._grows else n
        limits = self._data if relation == "remove" else [room] * len(self._data)
        states = math.prod(limit + 1 for limit in limits)
        if states > _MAX_STATES:
            raise InfeasibleError(
                f"{len(self._data)} values, each up to {max(limits)} times, make {states:,} "
                f"counts, and at most {_MAX_STATES:,} can be searched; take fewer values, fewer "
                "records or a smaller farthest"
            )
        self._box = CountBox(limits)

    def at(self, distance: int) -> Fraction | float:
        """``A(distance)``, exact up to ``farthest``."""
        if distance <= self.farthest or not self._grows:
            return self._profile[min(distance, len(self._profile) - 1)]
        if self.largest is None:
            raise InfeasibleError(
                f"A(t) was searched up to t = {self.farthest}; give a larger farthest, or "
                "largest: a proven bound on the global sensitivity, used beyond it"
            )
        return self.largest

    @cached_property
    def _profile(self) -> list[Fraction | float]:
        local, gaps = self._local
        home = self._box.index(self._data)
        distances = []
        for _ in range(self.farthest + 1):
            reached = int(local.ravel()[home])
            distances.append(gaps[reached] if reached >= 0 else Fraction(0))
            local = self._dilated(local)
        return distances

    @cached_property
    def _local(self) -> tuple[Ranks, list[Fraction | float]]:
        """The rank of every release's local sensitivity, and what the ranks stand for."""
        used, values = self._evaluated()
        ladder = sorted(set(values))
        step = {value: k for k, value in enumerate(ladder)}
        own = np.array([step[value] for value in values], dtype=np.int32)
        high, low = (self._nearby(used, own, b, w).ravel()[used] for b, w in _EXTREMES)
        high, low = np.maximum(high, own), np.minimum(low, own)
        pairs = {(a, b): Fraction(0) for a, b in zip(own.tolist(), own.tolist(), strict=True)}
        moves = [*zip(high.tolist(), own.tolist(), strict=True)]
        falls = [*zip(low.tolist(), own.tolist(), strict=True)]
        gap = {p: distance_between(ladder[p[0]], ladder[p[1]]) for p in {*pairs, *moves, *falls}}
        largest = [max(gap[m], gap[f]) for m, f in zip(moves, falls, strict=True)]
        gaps = sorted(set(largest))
        rank = {g: k for k, g in enumerate(gaps)}
        return self._placed(used, np.array([rank[g] for g in largest], dtype=np.int32), -1), gaps

    def _evaluated(self) -> tuple[Indices, list[Exact]]:
        n = sum(self._data)
        first, last = {
            "bounded": (n, n),
            "remove": (self._fewest, n),
            "add": (n, n + self.farthest + 1),
            "unbounded": (max(self._fewest, n - self.farthest - 1), n + self.farthest + 1),
        }[self.relation]
        blocks = [self._box.at_level(size) for size in range(first, last + 1)]
        used = np.concatenate(blocks)
        if isinstance(self.statistic, Function):
            evaluated = evaluate(self.statistic, self._values.floats, blocks, self._box.counts)
            return used, [Fraction(v) for v in np.concatenate(evaluated).tolist()]
        values = self._values.fractions()
        return used, [
            self.statistic.exact([v for v, c in zip(values, row, strict=True) for _ in range(c)])
            for row in self._box.counts(used).tolist()
        ]

    def _nearby(self, used: Indices, own: Ranks, better: np.ufunc, worst: int) -> Ranks:
        ranks = self._placed(used, own, worst)
        if self.relation == "bounded":
            return spread(
                spread(ranks, 1, better, up=True, stay=False), 1, better, down=True, stay=False
            )
        up, down = self.relation != "remove", self.relation != "add"
        return spread(ranks, 1, better, up=up, down=down, stay=False)

    def _dilated(self, local: Ranks) -> Ranks:
        if self.relation == "bounded":
            shared = spread(local, 1, np.maximum, up=True, stay=False)
            return spread(shared, 1, np.maximum, down=True, stay=False)
        up, down = self.relation != "remove", self.relation != "add"
        return spread(local, 1, np.maximum, up=up, down=down)

    def _placed(self, used: Indices, ranks: Ranks, elsewhere: int) -> Ranks:
        box = np.full(self._box.states, elsewhere, dtype=np.int32)
        box[used] = ranks
        return box.reshape(self._box.shape)


_EXTREMES: tuple[tuple[np.ufunc, int], ...] = ((np.maximum, -1), (np.minimum, _NEVER))


def _counted(data: Sample, values: Sample) -> list[int]:
    """Return the number of occurrences of each value in the data."""
    records, known = on_common_unit(data, values)
    at = np.searchsorted(known.raw, records.raw)
    inside = at < len(known)
    inside[inside] = known.raw[at[inside]] == records.raw[inside]
    if not inside.all():
        outside = show(data[int(np.flatnonzero(~inside)[0])])
        raise UsageError(
            f"data contains {outside}, which is not one of the values; list it, or bin"
        )
    return [int(c) for c in np.bincount(at, minlength=len(known))]

"""A sensitivity as a stability map: for every distance in, how far the statistic can move.

A map must answer for every ``d_in``, never fall, and be proven (the distributions of
:mod:`tacit.core`).  A global sensitivity *within* the distance is all of that.  Where a distance is
so large that no two releases are that far apart, every pair is nearer, and the farthest distance
there is answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

from tacit.arithmetic.exact import as_integer
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.ask.registry import lookup
from tacit.statistics.ask.sensitivity import Asked, ask
from tacit.statistics.base.domain import Domain
from tacit.statistics.base.question import Question, Relation
from tacit.statistics.base.result import Sensitivity
from tacit.statistics.base.statistic import Statistic

__all__ = ["StabilityMap", "map_of", "stability_map"]


@public
@dataclass(frozen=True)
class StabilityMap:
    """``d_in`` to the largest distance between two values of the statistic.

    Attributes:
        statistic: the statistic.
        domain: the releases that it speaks of.
        relation: the neighbour relation whose distance ``d_in`` counts.
    """

    statistic: Statistic
    domain: Domain
    relation: Relation = "unbounded"
    _known: dict[int, Sensitivity] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, d_in: int) -> Fraction | float:
        """The sensitivity within ``d_in`` (a float is rounded up).

        Raises:
            UsageError: a negative distance, or one that is no whole number.
        """
        distance = as_integer(d_in, "d_in", minimum=0)
        return Fraction(0) if distance == 0 else self.answer(distance).value

    def answer(self, d_in: int) -> Sensitivity:
        """The whole answer, with its witness, at a distance of at least 1."""
        distance = min(as_integer(d_in, "d_in", minimum=1), max(1, self._farthest()))
        if distance not in self._known:
            answer = ask(self.statistic, self.domain, None, distance, self.relation, within=True)
            self._known[distance] = _guaranteed(answer)
        return self._known[distance]

    def _farthest(self) -> int:
        fewest = min(1, self.statistic.least)
        farthest = Question(self.domain, None, 1, self.relation, fewest=fewest).farthest()
        return 1 << 62 if math.isinf(farthest) else int(farthest)


@public
def stability_map(statistic: Asked, over: Domain, relation: Relation = "unbounded") -> StabilityMap:
    """Return the stability map of a statistic, checked once at distance 1.

    Args:
        statistic: as for :func:`tacit.sensitivity`.
        over: the domain, of one column.
        relation: the neighbour relation, as for :func:`tacit.sensitivity`.

    Raises:
        UsageError: no guarantee can be given, or the function fails on some release.
        InfeasibleError: the sensitivity cannot be computed, or no release has a neighbour.

    >>> from tacit.statistics import Records
    >>> d = stability_map("median", over=Records([1, 2, 3, 10, 11], size=3), relation="bounded")
    >>> [d(k) for k in (0, 1, 2, 99)]
    [Fraction(0, 1), Fraction(8, 1), Fraction(8, 1), Fraction(8, 1)]
    """
    if isinstance(over, Mapping) or over.columns is not None:
        raise UsageError("a stability map speaks of one column; give the domain of that column")
    made = StabilityMap(lookup(statistic), over, relation)
    if made._farthest() < 1:
        raise InfeasibleError(
            f"there is no neighbour: no release over {over!r} can be changed, so a map would say "
            "nothing"
        )
    made.answer(1)
    if relation in ("unbounded", "remove") and made.statistic.least > 1:
        raise UsageError(
            f"a stability map answers for every distance, and {made.statistic.name} has no value "
            f"of fewer than {made.statistic.least} records: take relation='bounded' over releases "
            "of a public size"
        )
    return made


def map_of(answer: Sensitivity) -> StabilityMap:
    """Turn an answer into the stability map of its question, for every distance.

    Raises:
        UsageError: the answer is no guarantee; says why.

    >>> from tacit.statistics import Interval, sensitivity
    >>> map_of(sensitivity("sum", over=Interval(-3, 2)))(4)
    Fraction(12, 1)
    """
    question = _guaranteed(answer).question
    return stability_map(cast(Statistic, answer.statistic), question.domain, question.relation)


def _guaranteed(answer: Sensitivity) -> Sensitivity:
    if answer.why_no_guarantee is not None:
        raise UsageError(f"{answer!r} cannot serve as a stability map: {answer.why_no_guarantee}")
    return answer

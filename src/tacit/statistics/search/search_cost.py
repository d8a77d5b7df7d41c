"""What an exhaustive search takes, stated before it starts, and where it is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.calls import public
from tacit.errors import InfeasibleError
from tacit.statistics.base.domain import Domain, Interval, Records
from tacit.statistics.base.question import Question, Relation
from tacit.statistics.base.statistic import Statistic
from tacit.statistics.samples.sample import Sample
from tacit.statistics.search.count_lattice import evaluations

__all__ = [
    "MOST_EVALUATIONS",
    "MOST_LISTED",
    "MOST_STATES",
    "SearchCost",
    "cost_of",
    "levels_of",
    "refuse_large",
    "search_cost",
    "sizes_of",
    "values_and_counts",
]

MOST_STATES = 1 << 26
"""The largest lattice searched: 64 million points, about 1 GiB."""
MOST_EVALUATIONS = 50_000_000
"""The most releases evaluated."""
MOST_LISTED = 1 << 27
"""The most counts listed, one a neighbour and distinct value: 1 GiB."""


def values_and_counts(name: str, question: Question) -> tuple[Sample, list[int]]:
    """The distinct values and how many records of each can be in play."""
    domain = question.domain
    if isinstance(domain, Interval):
        raise InfeasibleError(
            f"{name} has no formula over an interval, and its infinitely many releases "
            "cannot be searched; give Values(...), a finite set of values, or ask lower_bound(...)"
        )
    if isinstance(domain, Records):
        distinct, copies = domain.sample.distinct()
        return distinct, copies.tolist()
    if question.size is None:
        raise InfeasibleError(
            f"releases of every size over {domain!r} cannot be searched; give size=..."
        )
    # A release of n has at most n of a value, and its neighbour at most n + k.
    growth = 0 if question.relation in ("bounded", "remove") else question.distance
    return domain.sample, [question.size + growth] * len(domain.sample)


@dataclass(frozen=True)
class SearchCost:
    """What a global search takes.

    Attributes:
        evaluations: how many distinct releases are evaluated.
        states: how many points the lattice has.
    """

    evaluations: int
    states: int

    @property
    def bytes(self) -> int:
        """About how much memory: a few integers a point, and a few numbers a release."""
        return 20 * self.states + 40 * self.evaluations + (1 << 26)

    @property
    def feasible(self) -> bool:
        """Whether the search is small enough to be made."""
        return self.states <= MOST_STATES and self.evaluations <= MOST_EVALUATIONS

    def __str__(self) -> str:
        return (
            f"{_large(self.evaluations)} evaluations on a lattice of {_large(self.states)} points, "
            f"{_memory(self.bytes)} of memory"
        )


def _large(number: int) -> str:
    """Write all digits where they can be read, else a power of ten.

    >>> _large(48620), _large(3 * 10**89)
    ('48,620', 'more than 10^89')
    """
    return f"{number:,}" if number < 10**15 else f"more than 10^{len(str(number)) - 1}"


def _memory(size: int) -> str:
    return f"about {size / 2**30:,.1f} GiB" if size < 2**60 else f"{_large(size >> 30)} GiB"


@public
def search_cost(
    over: Domain, distance: int = 1, relation: Relation = "unbounded", within: bool = True
) -> SearchCost:
    """Return the cost of the exhaustive search of a global sensitivity, without running it.

    Args:
        over: the domain, with a size.
        distance: how many records may differ.
        relation: the neighbour relation, as for :func:`tacit.sensitivity`.
        within: as for :func:`tacit.sensitivity`.

    Raises:
        InfeasibleError: an interval, or values without a size: there is no end to the search.

    >>> search_cost(Records(range(18), size=9), relation="bounded").evaluations
    48620
    """
    question = Question(over, None, distance, relation, within)
    return cost_of(question, values_and_counts("a function", question)[1])


def cost_of(question: Question, counts: list[int]) -> SearchCost:
    """The cost of a question whose distinct values have so many records each."""
    needed = sum(evaluations(counts, size) for size in levels_of(question, sum(counts)))
    return SearchCost(needed, math.prod(c + 1 for c in counts))


def sizes_of(question: Question, population: int) -> list[int]:
    """The sizes of the releases asked about."""
    return [question.size] if question.size else list(range(question.fewest, population + 1))


def levels_of(question: Question, population: int) -> list[int]:
    """The sizes of the releases asked about and of their neighbours."""
    sizes = sizes_of(question, population)
    found = set(sizes)
    for n in sizes:
        found.update(n - r + a for r, a in question.moves(n))
    return sorted(n for n in found if n <= population)


def refuse_large(statistic: Statistic, cost: SearchCost) -> None:
    """Refuse a search that is too large, with what to do instead."""
    if not cost.feasible:
        raise InfeasibleError(
            f"the search for {statistic.name} is too large: {cost}; at most "
            f"{MOST_EVALUATIONS:,} evaluations and {MOST_STATES:,} points. Ask with fewer distinct "
            "values or a smaller size, ask lower_bound(...) for a lower bound, or "
            "sampled_sensitivity(...)"
        )

"""Pairs of neighbours: the smallest records go, the largest come (or mirrored).

Such pairs attain the sensitivities of many statistics, and they show whether a question has any
two neighbours that differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from tacit.statistics.base.domain import Records
from tacit.statistics.base.extreme_records import Ends, pool_of
from tacit.statistics.base.question import Question
from tacit.statistics.samples.sample import Sample, merge

__all__ = ["differing_pair", "extreme_pair"]


def extreme_pair(
    question: Question, size: int, removed: int, added: int, *, up: bool = True
) -> tuple[Sample, Sample]:
    """Return ``(x, y)`` where ``y`` loses extreme records of ``x`` and gains opposite ones.

    Upward, ``y`` loses the smallest and gains the largest that there are; otherwise the mirror
    image. ``x`` is the release asked about, or, for a global question, one of ``size`` records
    that holds what is removed and not what is added.
    """
    if question.at is not None:
        rest = question.rest if isinstance(question.domain, Records) else None
        pool = pool_of(question.domain, rest)
        x = question.at
        if up:
            return x, merge(x.slice(removed, size), pool.top(added))
        return x, merge(x.slice(0, size - removed), pool.bottom(added))
    union = size + added
    ends = Ends(pool_of(question.domain), size if up else added, union)
    if up:
        return ends.sample(0, size), ends.sample(removed, union)
    return ends.sample(added, union), ends.sample(0, union - removed)


def differing_pair(question: Question, least: int = 1) -> tuple[Sample, Sample] | None:
    """Return two neighbours that are not equal, or None where the question has none.

    A move of as many additions as removals changes nothing only where what goes equals what comes.
    If that is so of the smallest that go and the largest that come, and of the mirror image too,
    then all that can go and come is one value, and no choice of records makes a difference.

    Args:
        question: which moves count.
        least: the fewest records that either of the two may have.

    >>> from tacit.statistics.base.domain import Values
    >>> [side.values() for side in differing_pair(Question(Values([1, 4], size=2), None, 1))]
    [(1, 1), (1, 1, 4)]
    >>> differing_pair(Question(Values([3], size=2), None, 1, "bounded"))
    """
    if question.relation == "bounded" and question.domain.lower == question.domain.upper:
        return None
    for size in _sizes(question, least):
        for removed, added in question.moves(size):
            if min(size, size - removed + added) < least:
                continue
            for up in (True, False):
                x, y = extreme_pair(question, size, removed, added, up=up)
                if x != y:
                    return x, y
    return None


def _sizes(question: Question, least: int) -> Iterator[int]:
    """Sizes of a release among which some has a neighbour, if any has."""
    if question.size is not None:
        yield question.size
        return
    largest = least + question.distance
    if question.population is not None:
        largest = min(largest, question.population)
    yield from range(least, largest + 1)

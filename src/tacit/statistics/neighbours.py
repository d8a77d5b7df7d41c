"""The two neighbours that extreme records make: the smallest go, the largest come (or mirrored)."""

from __future__ import annotations

from tacit.statistics.domain import Records
from tacit.statistics.pool import Ends, pool_of
from tacit.statistics.question import Question
from tacit.statistics.sample import Sample, merge

__all__ = ["extreme_pair"]


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

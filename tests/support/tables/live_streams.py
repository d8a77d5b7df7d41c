"""Growing tables in pure Python: what each read shows, and the blocks that it makes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tacit.tables.streaming.periods import PeriodTree

Row = tuple[int, int]
"""The period of a row, and the first read that shows it."""


def first_rows(times: Sequence[int], k: int, first: int, end: int) -> int:
    """The rows of one person that count in [first, end), by the definition."""
    inside = sum(first <= t < end for t in times)
    before = sum(0 <= t < first for t in times)
    return min(inside, max(0, k - before))


def blocks_of(
    rows: Sequence[Row],
    reads: Iterable[int],
    tree: PeriodTree,
    k: int,
    count: Callable[[Sequence[int], int, int, int], int] = first_rows,
) -> list[list[int]]:
    """The blocks of one person, level by level, as updates after so many periods publish them."""
    levels: list[list[int]] = [[] for _ in tree.widths]
    done = 0
    for closed in reads:
        seen = [time for time, shown in rows if shown <= closed]
        for level, first, end in tree.closing(done, closed):
            width = tree.widths[level]
            levels[level] += [count(seen, k, i * width, (i + 1) * width) for i in range(first, end)]
        done = closed
    return levels


def histories(periods: int, most: int) -> Iterable[tuple[Row, ...]]:
    """Every person of at most so many rows: all periods, all times of arrival, also late ones."""
    rows = list(itertools.product(range(periods), range(periods + 1)))
    for number in range(most + 1):
        yield from itertools.combinations_with_replacement(rows, number)


def schedules(periods: int) -> list[tuple[int, ...]]:
    """Every way to update: after which numbers of periods."""
    ends = range(1, periods + 1)
    return [c for n in ends for c in itertools.combinations(ends, n)]


def counted(rows: Iterable[tuple[Any, int | None]], k: int | None, closed: int) -> list[int]:
    """The count of each period in one read of a whole table of people and periods."""
    kept = [(who, t) for who, t in rows if t is not None and 0 <= t < closed]
    if k is None:
        found = Counter(t for _, t in kept)
        return [found[t] for t in range(closed)]
    people: dict[Any, list[int]] = {}
    for who, t in kept:
        if who is not None:
            people.setdefault(who, []).append(t)
    return [sum(first_rows(p, k, t, t + 1) for p in people.values()) for t in range(closed)]

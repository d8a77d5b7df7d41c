"""Percentiles of one column that a plan asks for under several labels, chosen together.

Percentiles of the same values (one column, bounds, groups and filter) can be one part of a plan
(:mod:`tacit.tables.answers.percentiles`), with the loss of all of them, or a part each.  What is
compared is how far their intervals are expected to reach, in rows: the total of the squares of
that, together (the widest reach counts for each) and one by one with the best split of the loss.
Both depend on public facts alone: the grid, which percentiles, and the kind of the noise.  Where
the noise is wide beside one row, a loss is a common factor of both.

*The best split.*  With an even share each, let r_i be the reach of interval i, one of m.  With the
share ``s_i / m`` it is ``r_i / s_i`` under an epsilon, and ``r_i / sqrt(s_i)`` under a rho.  The
total ``sum r_i^2 / s_i^2`` with ``sum s_i = m`` is least at ``(sum r_i^(2/3))^3 / m^2``, and ``sum
r_i^2 / s_i`` at ``(sum r_i)^2 / m``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from tacit.accounting.budgets.budget import Budget
from tacit.tables.answers.aggregate import Aggregate, kind_of
from tacit.tables.answers.percentiles import PercentilesPart, percentiles
from tacit.tables.answers.quantile import QuantilePart
from tacit.tables.chain.part import LEVEL, Noise
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.together.grouped import GroupedPart

__all__ = ["Shared", "SharedPercentiles", "shared_percentiles"]

_MOST_DIGITS = 100
"""Percentages with at most this denominator are asked for exactly by several at once."""
_WIDE = Fraction(1, 1000)

Asked = Sequence[tuple[str, Aggregate]]
Shared = Mapping[str, tuple[str, int, int]]
"""Of a label that another one answers: which, the place among its numbers of a group, and how many
there are of these."""


@dataclass(frozen=True)
class SharedPercentiles:
    """What is asked, with the percentiles that are chosen together as one.

    Attributes:
        asked: the answers by label, each set of percentiles where its first one stood.
        shared: where the labels are that are no longer among them.
        members: of each new label those that it stands for, one for each percentile.
        served: of each new label all those that it answers, as they were asked.
    """

    asked: list[tuple[str, Aggregate]]
    shared: Shared
    members: Mapping[str, tuple[str, ...]]
    served: Mapping[str, tuple[str, ...]]


def shared_percentiles(
    asked: Asked, whole: Query, noise: Literal["laplace", "gaussian"]
) -> SharedPercentiles:
    """Return what a plan asks, with percentiles together where their intervals are shorter.

    Args:
        asked: the answers by label.
        whole: the plan as a question, for its columns and unit.
        noise: what the budget is spent with.
    """
    sets: dict[Any, dict[Fraction, list[str]]] = {}
    for label, each in asked:
        one = each.of or each
        if one.method is None and one.q is not None and 0 < one.q < 100:  # no extreme
            axes = None if each.axes is None else str([axis.to_json() for axis in each.axes])
            known = sets.setdefault((axes, one.clamped), {})
            if one.q.denominator <= _MOST_DIGITS:
                known.setdefault(one.q, []).append(label)
    of = dict(asked)
    made: dict[str, tuple[str, Aggregate]] = {}
    shared: dict[str, tuple[str, int, int]] = {}
    members: dict[str, tuple[str, ...]] = {}
    served: dict[str, tuple[str, ...]] = {}
    for several in sets.values():
        rising = sorted(several)
        first = [several[q][0] for q in rising]
        if len(rising) < 2:
            continue
        together = _as_one(of[first[0]], rising)
        if not _is_shorter(together, [of[label] for label in first], whole, noise):
            continue
        name = _free(_label(together), {*of, *members})
        members[name] = tuple(first)
        every = [label for q in rising for label in several[q]]
        served[name] = tuple(label for label, _ in asked if label in every)
        made[served[name][0]] = name, together
        for place, q in enumerate(rising):
            shared |= dict.fromkeys(several[q], (name, place, len(rising)))
    kept = [(label, each) for label, each in asked if label not in shared or label in made]
    found = [made.get(label, (label, each)) for label, each in kept]
    return SharedPercentiles(found, shared, members, served)


def _as_one(first: Aggregate, percentages: Sequence[Fraction]) -> Aggregate:
    one = first.of or first
    made = percentiles(one.require_column(), [str(q) for q in percentages], one.lower, one.upper)
    return replace(first, of=made) if first.of is not None else made


def _label(together: Aggregate) -> str:
    made = together.of or together
    return kind_of(made.kind).label(made)


def _is_shorter(together: Aggregate, single: Sequence[Aggregate], whole: Query, noise: Any) -> bool:
    """Return whether the widest interval of the percentiles together reaches less far."""
    unit = whole.unit
    each = Noise(noise, _WIDE, unit.rows, unit.one)
    several = Noise(noise, _WIDE * len(single), unit.rows, unit.one)
    part: Any = _part(together, whole)
    assert isinstance(part, PercentilesPart)
    m, reaches = len(single), []
    for asked in single:
        alone: Any = _part(asked, whole)
        assert isinstance(alone, QuantilePart)
        reaches.append(alone.interval(each, LEVEL))
    power, root = (2 / 3, 3) if noise == "laplace" else (1, 2)
    least = sum(reach**power for reach in reaches) ** root / m ** (root - 1)
    return bool(m * part.half_width(together.kind, several, 1, LEVEL) ** 2 < least)


def _part(asked: Aggregate, whole: Query) -> Any:
    query = replace(whole, by=(), keys=None, aggregates=(("asked", asked),), weights=())
    (part,) = Plan(query, Budget("pure", Fraction(1))).parts
    return part.inner if isinstance(part, GroupedPart) else part


def _free(name: str, taken: set[str]) -> str:
    tried = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
    return next(each for each in tried if each not in taken)

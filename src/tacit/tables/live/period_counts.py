"""Counts of rows in every block of periods of a growing table: the step, and its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.square_root import sqrt_up
from tacit.core import L1Distance, L2Distance, Number, Space, Transformation, Vector, register
from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.timeline import Timeline
from tacit.report.text.vocabulary import say_step
from tacit.tables.chain.row_steps import TableStep
from tacit.tables.chain.space import UnitDistance
from tacit.tables.live.block_tree import PeriodTree
from tacit.tables.open_source import Source
from tacit.tables.plan.query import Query

__all__ = ["CountsOverTime", "counts_of_periods"]

_FEW = 50
"""Where a read is about less than this part of the periods, few people have rows in them."""


@register
@dataclass(frozen=True)
class CountsOverTime(TableStep):
    """Count the rows in each block of periods, each person's first ``rows`` rows by time only.

    The table grows, and a block is counted once, when its last period is over.  Let D_s be the
    table as it is read at s, with reads in the order in which blocks are published; of a person
    let ``N(x)`` be the rows in D_s with a time in ``[start, x)``.  Then the person adds to the
    block ``[a, b)``, read at s,

        ``c = min(k, N(b)) - min(k, N(a)) = min(rows in [a, b), max(0, k - rows in [start, a)))``,

    with k = ``rows``: no choice among rows of one time is needed, and all that counts is what this
    one read shows.

    **Assumption.**  The table, and each table that is joined, is only added to: each read shows
    every row, with its time and its person, that an earlier read showed.  Neighbours are two such
    histories that differ in one person, with all their rows, whenever they come.

    **Joins.**  What is counted are the rows of the join, and of one person these too only come,
    or are all gone from one read on.  With a public table a row of the join is a function of a row
    and of values that do not change.  An inner join with a protected table has a row for each row
    and match, which stay, until the person has more than ``most`` rows there: from then on the
    person has no row of the join.  A left join with a protected table is refused
    (:func:`tacit.tables.live.period_plan.require_rows`): a match that comes takes away the row
    without one, and beyond ``most`` all matches become that one row again, so that one person may
    reach the limit three times.

    **Map**, with h = levels.  L1: ``d -> d k h``.  L2: ``d -> d k sqrt(h)`` (rounded up).
    *Proof.*  Another person's c does not read this person's rows, so only one person's own c
    differ, and they are at least zero on one side and zero on the other.  The blocks B_0, B_1, ...
    of one level do not overlap and are published in their order, so B_j for j < i was read no later
    than B_i, at which read every row of B_j that was counted then is there to see, or no row of
    the person is and ``c_i = 0``: otherwise
    ``rows in [start, a_i) at s_i >= sum_{j<i} rows in B_j at s_j >= sum_{j<i} c_j``.  Hence
    ``c_i <= max(0, k - sum_{j<i} c_j)``, and by induction ``sum_{j<=i} c_j <= k``.  So one person
    moves a level by at most k in L1, hence in L2, and all h levels by k h in L1 and by
    ``sqrt(h k^2)`` in L2; people add up by the triangle inequality.  It does not matter that levels
    are read at different times, and that a row which comes late, when its period is published
    already, is in the longer blocks that close later and not in its period.
    For people of one row each no order is needed: a row is in one block of each level.

    What later rows are may depend on what was published: then each block's noise is independent
    of all before, the loss of block i given the past is at most ``c_i / scale`` (in zCDP
    ``c_i^2 / (2 scale^2)``), and the sums above are bounded on every path, which is all that
    adaptive composition needs (Whitehouse, Ramdas, Rogers, Wu, "Fully-adaptive composition in
    differential privacy", ICML 2023).

    Source: Dwork, Naor, Pitassi, Rothblum, STOC 2010; Chan, Shi, Song, ICALP 2010.

    Args:
        column, reads, start, every, periods: the periods; see
            :class:`~tacit.expressions.timeline.Timeline`.
        branching: how many blocks make one of the next level.
        rows: the most rows of a person that count.
        norm: ``"L1"`` or ``"L2"``.

    Raises:
        UsageError: an unknown norm, no periods, fewer than two branches, fewer than one row.
    """

    column: str
    reads: str
    start: int
    every: int
    periods: int
    branching: int
    rows: int
    norm: str
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "counts_over_time"

    def __post_init__(self) -> None:
        if self.norm not in ("L1", "L2"):
            raise UsageError(f"the norm is 'L1' or 'L2', not {self.norm!r}")
        for name in ("every", "periods", "rows"):
            as_integer(getattr(self, name), name, minimum=1)
        self.tree  # noqa: B018  (checks the branching)

    @property
    def tree(self) -> PeriodTree:
        """The blocks."""
        return PeriodTree(self.periods, self.branching)

    @property
    def timeline(self) -> Timeline:
        """The periods."""
        return Timeline(self.column, self.reads, self.start, self.every, self.periods)

    def build(self, space: Space) -> Transformation:
        """Return the counts of all blocks, level by level, the shortest first."""
        self._require(space, UnitDistance)
        output = self.output(self.tree.nodes)
        levels = Fraction(self.tree.levels)
        stretch = self.rows * (levels if self.norm == "L1" else sqrt_up(levels))
        return Transformation(
            space, output, lambda answers: answers.of(self), lambda d: d * stretch, step=self
        )

    def output(self, size: int) -> Space:
        """Return the space of the counts of so many blocks."""
        metric = L1Distance() if self.norm == "L1" else L2Distance()
        return Space(Vector(Number("int", grid=Fraction(1)), size=size), metric)


def counts_of_periods(
    source: Source, query: Query, step: CountsOverTime, first: int, closed: int
) -> Sequence[int]:
    """Count the rows of the periods from ``first`` to before ``closed``, in one read of the table.

    Of a person the first ``step.rows`` rows by time count, all periods from the start considered;
    within one read the count of a block is the sum of its periods' (see :class:`CountsOverTime`).
    What comes back is not private.

    Raises:
        UsageError: a filter or a person column that does not fit the table.
        DataSourceError: the engine failed.
    """
    d = source.engine.dialect
    derived = query.resolved
    place, inside = step.timeline.sql(source.schema, d, closed)
    tests = [inside, *(c.substitute(derived).sql(source.schema, d) for c in query.where)]
    person = query.unit.person(source.schema, d)
    tests += [f"{person} is not null"] if person is not None else []
    # What lies before the first period asked for is one heap: -1.
    begin = d.literal(first)
    heap = f"case when {place} < {begin} then {d.literal(-1)} else {place} - {begin} end"
    chosen = f"{heap} as place" + (f", {person} as u" if person is not None else "")
    kept = f"select {chosen} from {source.relation} as tacit_rows where {' and '.join(tests)}"
    if person is not None and _FEW * (closed - first) < closed:
        # People without a row in these periods add nothing to them: most need not be added up.
        late = f"select u from ({kept}) as late where place >= 0"
        kept = f"select * from ({kept}) as early where u in ({late})"
    counted = _rows_sql(kept) if person is None else _first_rows_sql(kept, step.rows, d)
    counts = [0] * (closed - first)
    with source.engine.reading():  # a state of its own, not one that another thread looks at
        rows = source.engine.rows(counted)
    for found, number in rows:
        counts[int(found)] = int(number)
    return counts


def _rows_sql(kept: str) -> str:
    return f"select place, count(*) from ({kept}) as kept where place >= 0 group by place"


def _first_rows_sql(kept: str, rows: int, d: Dialect) -> str:
    """Return the SQL of ``sum over people of min(k, N(end)) - min(k, N(beginning))`` by place."""
    limit = d.literal(rows)
    running = d.cast("sum(own) over (partition by u order by place)", "integer")
    own = f"select u, place, count(*) as own from ({kept}) as kept group by u, place"
    upto = f"select place, own, {running} as upto from ({own}) as people"
    added = f"least(upto, {limit}) - least(upto - own, {limit})"
    return f"select place, sum({added}) from ({upto}) as running where place >= 0 group by place"


def _step_words(step: Mapping[str, Any]) -> str:
    first = "" if step["rows"] == 1 else f"{step['rows']} "
    return (
        f"Count the rows in each of {step['periods']} periods of {step['column']}, and in blocks "
        f"of {step['branching']}, and of {step['branching']} of those, and so on; of each person "
        f"the first {first}{'row' if step['rows'] == 1 else 'rows'} by time"
    )


say_step("counts_over_time", _step_words)

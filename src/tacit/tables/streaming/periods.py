"""Periods, the tree of their blocks, their counts and their price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

from tacit.accounting.budget import Budget
from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.core import (
    L1Distance,
    L2Distance,
    Number,
    Space,
    Step,
    Transformation,
    Vector,
    register,
    step_from,
)
from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.timeline import Timeline
from tacit.mechanisms import Gaussian, Laplace, calibrate
from tacit.report.text import say_answer, say_step
from tacit.tables.open_source import Source
from tacit.tables.plan.plan import Chains, chain_of_rows
from tacit.tables.plan.price import read_tag
from tacit.tables.plan.query import Query
from tacit.tables.steps import TableStep, UnitDistance

# The tree over periods: which blocks of periods are counted, and what a running total adds up.
#
# The blocks of level l are ``branching^l`` periods long, sequentially; those that are whole
# within the periods are *nodes*.  The total up to t adds, from the longest blocks to the shortest,
# as many blocks of each level as the digit of t in base ``branching`` says.
#
# Source: Dwork, Naor, Pitassi, Rothblum, STOC 2010; Chan, Shi, Song, ICALP 2010 (two branches);
# more branches: Qardaji, Yang, Li, "Understanding hierarchical methods for differentially private
# histograms", VLDB 2013.


_MAX_BRANCHES = 64


@dataclass(frozen=True)
class PeriodTree:
    """Blocks of ``branching^level`` periods.

    >>> tree = PeriodTree(periods=10, branching=3)
    >>> tree.widths, tree.nodes, tree.terms[5]
    ((1, 3, 9), 14, 3)
    """

    periods: int
    branching: int  # how many blocks make one of the next level, at least two

    def __post_init__(self) -> None:
        as_integer(self.periods, "periods", minimum=1)
        as_integer(self.branching, "branching", minimum=2)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The length of a block of each level, in periods."""
        widths = [1]
        while widths[-1] * self.branching <= self.periods:
            widths.append(widths[-1] * self.branching)
        return tuple(widths)

    @property
    def levels(self) -> int:
        """The number of levels; a period is in at most one block of each."""
        return len(self.widths)

    @property
    def nodes(self) -> int:
        """The number of blocks."""
        return sum(self.periods // width for width in self.widths)

    def closing(self, before: int, after: int) -> list[tuple[int, int, int]]:
        """Return the blocks that are over after ``after`` periods and not after ``before``."""
        # Returns: for each level with such blocks its position, and the first and the end of the
        # blocks' places in it; from the shortest level to the longest.
        ends = [(level, before // w, after // w) for level, w in enumerate(self.widths)]
        return [(level, first, end) for level, first, end in ends if first < end]

    def sums(self, before: int, after: int, counts: Sequence[int]) -> list[int]:
        """Return the sum of each closing block, in their order."""
        start = self.first_period(before, after)
        total = [0, *accumulate(counts)]
        return [
            total[(index + 1) * self.widths[level] - start]
            - total[index * self.widths[level] - start]
            for level, first, end in self.closing(before, after)
            for index in range(first, end)
        ]

    def first_period(self, before: int, after: int) -> int:
        """Return the first period that any closing block holds."""
        return min(first * self.widths[level] for level, first, _ in self.closing(before, after))

    def steps(self, closed: int) -> Iterator[tuple[int, int, int]]:
        """Yield how each total up to 1, 2, ... comes from an earlier one and one block."""
        # Yields: the earlier total's place, the block's level, and the block's place in it: the
        # total up to t is that up to t less its lowest digit's block, and that block.
        for t in range(1, closed + 1):
            level = 0
            while level + 1 < self.levels and t % self.widths[level + 1] == 0:
                level += 1
            yield t - self.widths[level], level, t // self.widths[level] - 1

    @cached_property
    def terms(self) -> tuple[int, ...]:
        """The number of blocks that the total up to 0, 1, 2, ... adds."""
        terms = [0]
        for earlier, _, _ in self.steps(self.periods):
            terms.append(terms[earlier] + 1)
        return tuple(terms)


def best_branching(periods: int, *, squared: bool) -> int:
    """Return the branching with the smallest mean variance of the running totals.

    >>> best_branching(24 * 365, squared=True), best_branching(24 * 365, squared=False)
    (21, 5)
    >>> best_branching(12, squared=True)  # so few periods are best counted one by one
    13
    """
    # The variance of a block grows with the levels: with their square where the loss adds up in L1
    # (Laplace), with their number where it adds up in squares (Gaussian).  The mean number of
    # blocks in a total is the mean sum of the digits, in closed form.
    if periods < 1:
        raise UsageError("there must be at least one period")

    def cost(branching: int) -> tuple[int, int]:
        tree = PeriodTree(periods, branching)
        digits = sum(_digits(periods, branching, width, tree) for width in tree.widths)
        return digits * tree.levels ** (2 if squared else 1), branching

    choices = {*range(2, min(periods, _MAX_BRANCHES) + 1), periods + 1}
    return min(cost(b) for b in choices)[1]


def _digits(periods: int, branching: int, width: int, tree: PeriodTree) -> int:
    """Return the sum of one digit over 0, 1, ..., periods; the highest digit has no end."""
    numbers = periods + 1
    if width == tree.widths[-1]:
        quotient, rest = divmod(numbers, width)
        return width * quotient * (quotient - 1) // 2 + quotient * rest
    rounds, rest = divmod(numbers, width * branching)
    quotient, odd = divmod(rest, width)
    each = width * branching * (branching - 1) // 2
    return rounds * each + width * quotient * (quotient - 1) // 2 + quotient * odd


# Counts of rows in every block of periods of a growing table: the step, and its numbers.


_FEW = 50  # where a read is about less than this part of the periods, few people have rows in them


@register
@dataclass(frozen=True)
class CountsOverTime(TableStep):
    """Count the rows in each block of periods, each person's first ``rows`` rows by time only."""

    # The table grows, and a block is counted once, when its last period is over.  Let D_s be the
    # table as it is read at s, with reads in the order in which blocks are published; of a person
    # let ``N(x)`` be the rows in D_s with a time in ``[start, x)``.  Then the person adds to the
    # block ``[a, b)``, read at s,
    #
    #     ``c = min(k, N(b)) - min(k, N(a)) = min(rows in [a, b), max(0, k - rows in [start, a)))``,
    #
    # with k = ``rows``: no choice among rows of one time is needed, and all that counts is what
    # this one read shows.
    #
    # **Assumption.**  The table, and each table that is joined, is only added to: each read shows
    # every row, with its time and its person, that an earlier read showed.  Neighbours are two such
    # histories that differ in one person, with all their rows, whenever they come.
    #
    # **Joins.**  What is counted are the rows of the join, and of one person these too only come,
    # or are all gone from one read on.  With a public table a row of the join is a function of a
    # row and of values that do not change.  An inner join with a protected table has a row for each
    # row and match, which stay, until the person has more than ``most`` rows there: from then on
    # the person has no row of the join.  A left join with a protected table is refused
    # (:func:`tacit.tables.streaming.periods.require_rows`): a match that comes takes away the row
    # without one, and beyond ``most`` all matches become that one row again, so that one person may
    # reach the limit three times.
    #
    # **Map**, with h = levels.  L1: ``d -> d k h``.  L2: ``d -> d k sqrt(h)`` (rounded up).
    # *Proof.*  Another person's c does not read this person's rows, so only one person's own c
    # differ, and they are at least zero on one side and zero on the other.  The blocks B_0, B_1,
    # ... of one level do not overlap and are published in their order, so B_j for j < i was read no
    # later than B_i, at which read every row of B_j that was counted then is there to see, or no
    # row of the person is and ``c_i = 0``: otherwise ``rows in [start, a_i) at s_i >= sum_{j<i}
    # rows in B_j at s_j >= sum_{j<i} c_j``.  Hence ``c_i <= max(0, k - sum_{j<i}
    # c_j)``, and by induction ``sum_{j<=i} c_j <= k``.  So one person moves a level by at most k in
    # L1, hence in L2, and all h levels by k h in L1 and by ``sqrt(h k^2)`` in L2; people add up by
    # the triangle inequality.  It does not matter that levels are read at different times, and that
    # a row which comes late, when its period is published already, is in the longer blocks that
    # close later and not in its period. For people of one row each no order is needed: a row is in
    # one block of each level.
    #
    # What later rows are may depend on what was published: then each block's noise is independent
    # of all before, the loss of block i given the past is at most ``c_i / scale`` (in zCDP
    # ``c_i^2 / (2 scale^2)``), and the sums above are bounded on every path, which is all that
    # adaptive composition needs (Whitehouse, Ramdas, Rogers, Wu, "Fully-adaptive composition in
    # differential privacy", ICML 2023).
    #
    # Source: Dwork, Naor, Pitassi, Rothblum, STOC 2010; Chan, Shi, Song, ICALP 2010.

    # column, reads, start, every, periods: the periods; see
    # :class:`~tacit.expressions.timeline.Timeline`
    column: str
    reads: str
    start: int
    every: int
    periods: int
    branching: int  # how many blocks make one of the next level
    rows: int  # the most rows of a person that count
    norm: str  # ``"L1"`` or ``"L2"``
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
        factor = self.rows * (levels if self.norm == "L1" else sqrt_up(levels))
        return Transformation(
            space, output, lambda answers: answers.of(self), lambda d: d * factor, step=self
        )

    def output(self, size: int) -> Space:
        """Return the space of the counts of this many blocks."""
        metric = L1Distance() if self.norm == "L1" else L2Distance()
        return Space(Vector(Number("int", grid=Fraction(1)), size=size), metric)


def counts_of_periods(
    source: Source, query: Query, step: CountsOverTime, first: int, closed: int
) -> Sequence[int]:
    """Count the rows of the periods from ``first`` to before ``closed``, in one read."""
    # Of a person the first ``step.rows`` rows by time count, all periods from the start considered;
    # within one read the count of a block is the sum of its periods' (see :class:`CountsOverTime`).
    # What comes back is not private.
    d = source.engine.dialect
    derived = query.resolved
    period, inside = step.timeline.sql(source.schema, d, closed)
    tests = [inside, *(c.substitute(derived).sql(source.schema, d) for c in query.where)]
    person = query.unit.person(source.schema, d)
    tests += [f"{person} is not null"] if person is not None else []
    # What lies before the first period asked for is one heap: -1.
    begin = d.literal(first)
    heap = f"case when {period} < {begin} then {d.literal(-1)} else {period} - {begin} end"
    chosen = f"{heap} as place" + (f", {person} as u" if person is not None else "")
    rows_sql = f"select {chosen} from {source.relation} as tacit_rows where {' and '.join(tests)}"
    if person is not None and _FEW * (closed - first) < closed:
        # People without a row in these periods add nothing to them: most need not be added up.
        late = f"select u from ({rows_sql}) as late where place >= 0"
        rows_sql = f"select * from ({rows_sql}) as early where u in ({late})"
    counted = _rows_sql(rows_sql) if person is None else _first_rows_sql(rows_sql, step.rows, d)
    counts = [0] * (closed - first)
    with source.engine.reading():  # a state of its own, not one that another thread looks at
        rows = source.engine.rows(counted)
    for code, number in rows:
        counts[int(code)] = int(number)
    return counts


def _rows_sql(rows: str) -> str:
    return f"select place, count(*) from ({rows}) as kept where place >= 0 group by place"


def _first_rows_sql(base: str, rows: int, d: Dialect) -> str:
    """Return the SQL of ``sum over people of min(k, N(end)) - min(k, N(beginning))`` by place."""
    limit = d.literal(rows)
    running = d.cast("sum(own) over (partition by u order by place)", "integer")
    own = f"select u, place, count(*) as own from ({base}) as kept group by u, place"
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


# The plan of a count over time: its question, its chain and its noise, from public facts alone.
#
# The same functions charge a counter, carry it out and, from its certificate, plan it again.


def count_aggregates(line: Timeline, branching: int | None) -> list[Any]:
    """Return what is asked, as the aggregates of a question."""
    described = {**line.to_json(), "branching": branching}
    return [[kind, {"kind": f"{kind}_over_time", **described}] for kind in ("count", "total")]


def require_rows(query: Query) -> None:
    """Raise if rows may leave: a count over time needs rows that only come."""
    if query.by or query.aggregates or query.inner:
        raise UsageError(
            "a count over time is of rows, without groups or aggregates: start from the "
            "session, or after filter(...); for groups make one counter each, with a filter"
        )
    for join in query.joins:
        if join.public is None and join.how != "inner":
            raise UsageError(
                f"a count over time joins {join.table!r} with how='inner': the row that a left "
                "join makes of a row without a match disappears when a match is added, and rows "
                "that disappear let a person count more often than the limit says"
            )


@dataclass(frozen=True)
class PeriodPlan:
    """Count over time with its noise, as :class:`~tacit.tables.plan.plan.Plan` for others."""

    query: Query  # the rows that are counted
    question: Mapping[str, Any]  # what is asked, with its tree and its noise, as a ledger keeps it

    def __post_init__(self) -> None:
        require_rows(self.query)

    @classmethod
    def calibrated(
        cls, query: Query, line: Timeline, branching: int, granted: Budget, spec: Mapping[str, Any]
    ) -> PeriodPlan:
        """Return the plan whose noise is calibrated to what was granted."""
        kind: type[Step] = Gaussian if granted.kind == "concentrated" else Laplace
        bare = cls(query, question_of(query, line, branching, {"step": kind.name}, spec))
        share: Any = calibrate(bare.counts >> kind, 1, granted.amount)
        noise = {"step": kind.name, "scale": share.describe()["steps"][-1]["scale"]}
        return cls(query, {**bare.question, "noise": noise})

    @cached_property
    def step(self) -> CountsOverTime:
        """The step that counts the blocks."""
        described = {
            k: v for k, v in self.question["query"]["aggregates"][0][1].items() if k != "kind"
        }
        norm = "L2" if self.question["noise"]["step"] == Gaussian.name else "L1"
        return CountsOverTime(**described, rows=self.query.unit.rows, norm=norm)

    @cached_property
    def counts(self) -> Any:
        """The chain from the table to the counts."""
        return chain_of_rows(self.query) >> self.step

    @property
    def noise(self) -> Step:
        """The noise on each block."""
        return step_from(dict(self.question["noise"]))

    @cached_property
    def chains(self) -> Chains:
        """The whole chain, from the table to the noise."""
        return Chains(self.query.schema, [("counts over time", [self.counts >> self.noise])])

    @property
    def cost(self) -> Budget:
        """The privacy loss of all periods."""
        return self.chains.cost

    def released(self, exact: Sequence[int]) -> list[int]:
        """Return the counts of blocks with fresh noise."""
        measurement: Any = self.step.output(len(exact)) >> self.noise
        return [int(value) for value in measurement(exact)]


@dataclass(frozen=True)
class PeriodQuestion:
    """A count over time, at its price for all periods."""

    query: Query  # the rows that are counted
    line: Timeline
    request: Budget  # what all periods together may spend
    tag: str | None = None  # text that makes it another release of the same question
    # how many blocks make one of the next level; None for the smallest error
    branching: int | None = None

    def __post_init__(self) -> None:
        read_tag(self.tag)

    @property
    def _said(self) -> dict[str, Any]:
        return {"request": self.request.to_json(), "tag": self.tag}

    @cached_property
    def public(self) -> dict[str, Any]:
        """The identity of its release: what was asked, and nothing that was chosen for it."""
        return question_of(self.query, self.line, self.branching, None, self._said)

    @property
    def family(self) -> None:
        """Nothing: the price decides how the periods are divided."""
        return None

    def plan(self, granted: Budget, like: object = None) -> PeriodPlan:
        """Return its plan, calibrated to what is granted."""
        branching = self.branching
        if branching is None:
            gaussian = granted.kind == "concentrated"
            branching = best_branching(self.line.periods, squared=not gaussian)
        return PeriodPlan.calibrated(self.query, self.line, branching, granted, self._said)


def question_of(
    query: Query,
    line: Timeline,
    branching: int | None,
    noise: Mapping[str, Any] | None,
    spec: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a count over time as plain JSON; without what was chosen for whoever asks, its key."""
    described = {**query.describe(), "aggregates": count_aggregates(line, branching)}
    return {"query": described, **spec, "noise": noise}


@dataclass(frozen=True)
class _OverTime:
    """The words of a count over time: one noun for the periods, and one for running totals."""

    noun: str
    amount: bool = True
    each: tuple[str, str] = "period", "rows"

    def words(self, described: Mapping[str, Any]) -> str:
        """Describe one answer, with its periods."""
        return self.noun.format(
            column=described["column"], periods=described["periods"], line=_periods(described)
        )


def _periods(aggregate: Mapping[str, Any]) -> str:
    values = (aggregate[name] for name in ("column", "reads", "start", "every", "periods"))
    line = Timeline(*values)
    unit = "" if line.reads == "integers" else f" {line.reads}"
    return f"from {line.label(0)}, {line.every}{unit} each"


say_answer(
    "count_over_time",
    _OverTime("the number of rows in each of {periods} periods of {column}, {line}"),
)
say_answer(
    "total_over_time",
    _OverTime("the number of rows from the start to the end of each of them"),
)

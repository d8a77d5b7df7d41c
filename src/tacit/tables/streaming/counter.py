"""Counts over time: released period by period, and answered for spans."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tacit import plotting
from tacit.accounting import Entry, Ledger
from tacit.accounting.budget import Budget
from tacit.accounting.ledger import charge_once, parts_of, record_part, staying_open
from tacit.arithmetic.exact import as_fraction, show
from tacit.calls import public
from tacit.display.card import Shown
from tacit.errors import UsageError, need
from tacit.expressions.timeline import Moment, Timeline
from tacit.report import issue, versions
from tacit.report.text import protects_line
from tacit.tables.noise import FIRST_RULES, GridNoise, sum_half_width
from tacit.tables.plan.preview import period_notes, warn_if_weak, warn_of_periods
from tacit.tables.plan.query import Query
from tacit.tables.release.answer import Answer
from tacit.tables.release.opened_table import OpenedTable, settled
from tacit.tables.release.release import Charge, without_rows
from tacit.tables.streaming.periods import PeriodPlan, PeriodQuestion, PeriodTree, counts_of_periods

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What a count over time has published so far: from recorded parts to a table and a figure.


@public
class PeriodAnswer(Answer):
    """Counts by period, and running totals, with their errors: a line a period.

    As every :class:`Answer` it becomes a table (``to_pandas()`` and the like), with the columns
    ``period`` (where it starts), ``count`` and ``total``, each with its error and interval.  A
    number that was published never changes.  A total adds other noise than the counts: it is
    more exact than their sum, and may go down by a little.
    """

    @classmethod
    def so_far(
        cls, entry: Entry, ledger: Ledger, parts: Sequence[Mapping[str, object]], replayed: bool
    ) -> PeriodAnswer:
        """Return the answer that the parts of a charge make, with its certificate."""
        released = published(entry.question, parts)
        entry_with = replace(entry, answer={**(entry.answer or {}), **released})
        return cls(("period",), released, issue(entry_with, ledger), entry.cost, replayed)

    def plot(self) -> Figure:
        """Draw the counts and the running totals, with their 95% intervals, over time.

        Returns:
            A matplotlib Figure.

        Raises:
            MissingExtraError: matplotlib is not installed.
            UsageError: no period is over yet.
        """
        if not self.keys:
            raise UsageError("no period is over yet: there is nothing to draw")
        need("matplotlib.dates", "plot")
        fig = plotting.figure(8, 5)
        grid = plotting.axes(fig, len(self.labels), 1)
        across = [_instant(key[0]) for key in self.keys]
        for (axes,), label in zip(grid, self.labels, strict=True):
            column = self.column(label)
            axes.fill_between(
                across, column["low"], column["high"], color=plotting.FAINT, linewidth=0
            )
            axes.plot(across, column["value"], color=plotting.ACCENT, linewidth=1.3)
            axes.plot(across[-1:], column["value"][-1:], color=plotting.ACCENT, marker="o")
            axes.margins(x=0.01)
            plotting.title(axes, label, _DETAIL[label])
        figure: Figure = fig
        return figure


_DETAIL = {
    "count": "rows in each period, with 95% intervals",
    "total": "rows from the start to the end of each period, with 95% intervals",
}


def _instant(period: Any) -> Any:
    return datetime.datetime.fromisoformat(period) if isinstance(period, str) else period


def law_of(question: Mapping[str, Any]) -> GridNoise:
    """Return the noise on one block."""
    noise = question["noise"]
    return GridNoise(noise["step"], float(as_fraction(noise["scale"])), 1.0, FIRST_RULES)


def published(
    question: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], most: int | None = None
) -> dict[str, Any]:
    """Return keys and columns, as an answer holds them, of the parts of a count over time."""
    _, tree = periods_of(question)
    blocks: list[list[int]] = [[] for _ in tree.widths]
    for part in parts:
        listed = iter(part["blocks"])
        for level, first, end in tree.closing(*part["periods"]):
            blocks[level] += [next(listed) for _ in range(first, end)]
    closed = len(blocks[0]) if most is None else min(most, len(blocks[0]))
    whole = zip(blocks, tree.widths, strict=True)
    return answer_of_blocks(question, [level[: closed // width] for level, width in whole])


def periods_of(question: Mapping[str, Any]) -> tuple[Timeline, PeriodTree]:
    """Return the periods of a question, and their blocks."""
    described = question["query"]["aggregates"][0][1]
    line = Timeline(*(described[name] for name in ("column", "reads", "start", "every", "periods")))
    return line, PeriodTree(line.periods, described["branching"])


def answer_of_blocks(
    question: Mapping[str, Any], blocks: Sequence[Sequence[int]]
) -> dict[str, Any]:
    """The answer that the noisy counts of blocks make: their post-processing, and no more."""
    line, tree = periods_of(question)
    closed = len(blocks[0])
    totals = [0]
    for earlier, level, index in tree.steps(closed):
        totals.append(totals[earlier] + blocks[level][index])
    distribution = law_of(question)
    return {
        "keys": [[line.label(index)] for index in range(closed)],
        "columns": [
            _column("count", list(blocks[0]), [1] * closed, distribution),
            _column("total", totals[1:], tree.terms[1 : closed + 1], distribution),
        ],
        "released": [list(level) for level in blocks],
    }


def _column(
    label: str, values: list[int], terms: Sequence[int], distribution: GridNoise
) -> dict[str, Any]:
    errors = {m: math.sqrt(m * distribution.variance) for m in set(terms)}
    halves = {m: math.ceil(sum_half_width(distribution, m)) for m in set(terms)}
    pairs = list(zip(values, terms, strict=True))
    # No count is below zero, but a noisy one may be: the interval holds it all the same.
    return {
        "label": label,
        "kind": f"{label}_over_time",
        "value": values,
        "standard_error": [errors[m] for m in terms],
        "low": [min(value, max(0, value - halves[m])) for value, m in pairs],
        "high": [max(value, 0, value + halves[m]) for value, m in pairs],
    }


# A count that is continued over time: charged once, then released period by period.


@public
class TimeCounter:
    """Counts of rows by period, and running totals, of a table that grows.

    Made by :meth:`tacit.Session.count_over_time`.  The first :meth:`update` pays for the whole
    horizon, durably, before it reads a row; each update then releases the periods that are over,
    at no more cost.  Any process of any machine that shares the ledger may do so, also when the
    one before was killed.

    **How the proof carries over to updates.**  The noise of a block is drawn once for what is
    published: an update makes one part of all blocks that closed since the last recorded part, and
    the ledger writes it, in an exclusive transaction, only if that part is still the last.  Of two
    updates at once one is written, and the other throws its own away, unseen, and starts again.
    Hence: each block is published once, with one noise, replayed ever after; and each part was
    read from the table after all parts before it were written, which is the order of reads that
    :class:`~tacit.tables.streaming.periods.CountsOverTime` asks for.  A process that dies before
    the ledger wrote has shown nothing; one that dies after has published what the next one replays.
    Exact counts and the noise alone are written nowhere.  Which periods are published depends on
    the clock and never on the data.

    **Limits.**  The table may only be added to (rows that are deleted or changed break the bound
    for the people in them), and a read must show what earlier reads showed (no replica that lags,
    no transaction that was started earlier).  A row that comes after its period was published is
    missing from that period; ``grace`` waits for it.
    """

    def __init__(
        self,
        table: OpenedTable,
        ledger: Ledger,
        query: Query,
        line: Timeline,
        request: Budget,
        *,
        grace: int = 0,
        branching: int | None = None,
        tag: str | None = None,
    ) -> None:
        self._table = table
        self._ledger = ledger
        self._query = query
        self._line = line
        self._grace = grace
        question = PeriodQuestion(query, line, request, tag, branching)
        self._charge = Charge(ledger, question, table.plans)
        self._charge.plan_within(ledger.remaining)  # refuses now what can be refused

    @property
    def cost(self) -> Budget:
        """The cost of all periods together, charged once."""
        existing = self._charge.look()
        if existing.entry is not None:
            return existing.entry.cost
        return self._charge.plan_within(existing.remaining).cost

    @property
    def begun(self) -> bool:
        """True if it was paid for: the next update costs nothing."""
        return self._charge.look().is_charged

    def preview(self) -> CounterPreview:
        """Return the expected errors, before anything is spent; no row is read."""
        remaining = self._ledger.remaining
        plan = self._charge.plan_within(remaining)
        cost = plan.cost.cost_in(remaining.kind)
        noise, tree = law_of(plan.question), plan.step.tree
        mean = sum(tree.terms[1:]) / self._line.periods
        return CounterPreview(
            cost,
            remaining,
            self._line.periods,
            tree.branching,
            math.sqrt(noise.variance),
            sum_half_width(noise, 1),
            math.sqrt(mean * noise.variance),
            math.sqrt(max(tree.terms) * noise.variance),
            protects_line(self._query.unit.describe()),
            self._ledger.whereabouts,
            period_notes(self._query, self._line),
        )

    def update(self, now: Moment | None = None) -> PeriodAnswer:
        """Release the periods that are over, and return all that was published so far.

        Args:
            now: up to when the table is complete; by default the machine's clock, and for a
                column of integers it must be given.  An earlier ``now`` than before releases
                nothing new.

        Raises:
            BudgetError: the first update costs more than remains; nothing was spent.
            UsageError: ``now`` does not fit the column.
            DataSourceError: the table cannot be read; what was paid stays paid, and the next
                update continues.
        """
        closed = self.closed(now)
        ledger = self._ledger
        entry, replayed = self._open()
        while True:
            parts = parts_of(ledger, entry)
            done = parts[-1]["periods"][1] if parts else 0
            if done >= closed:
                return PeriodAnswer.so_far(entry, ledger, parts, replayed)
            # Read only now, after what stands was read: see the proof.
            part = staying_open(entry.cost, partial(self._part, entry, done, closed))
            if record_part(ledger, entry, len(parts), part):
                replayed = False

    def closed(self, now: Moment | None = None) -> int:
        """Return how many periods are over, with their grace; reads no row.

        Raises:
            UsageError: ``now`` does not fit the column.
        """
        return self._line.closed(self._line.now(now) - self._grace)

    def due(self, periods: int) -> int | None:
        """Return when this many periods are over, with their grace: seconds since 1970, in UTC.

        None where the column holds integers, of which no clock says how far they have come.
        """
        lengths = {"seconds": 1, "days": 86400}
        if self._line.reads not in lengths:
            return None
        return (self._line.end(periods) + self._grace) * lengths[self._line.reads]

    def answer(self, periods: int | None = None) -> PeriodAnswer:
        """Return what was published so far; reads no row, and costs nothing.

        Args:
            periods: leave out what was published of later periods than this many.

        Raises:
            UsageError: there was no update yet.
        """
        entry = self._charge.entry
        if entry is None or entry.answer is None:
            raise UsageError(
                "nothing was released yet: call update() first, which pays for all periods"
            )
        ledger = self._ledger
        parts = parts_of(ledger, entry)
        if periods is not None:
            parts = [part for part in parts if part["periods"][1] <= periods]
        return PeriodAnswer.so_far(entry, ledger, parts, True)

    # --- the charge

    def _open(self) -> tuple[Entry, bool]:
        """Return the charge, with its chain recorded as its answer, and whether it was there."""
        # It is made now if there is none.
        ledger, charge = self._ledger, self._charge
        entry = charge.entry
        stood = entry is not None
        if entry is None:
            plan = charge.plan_within(ledger.remaining)
            self._dry_run(plan)
            warn_if_weak(plan.cost, None)
            warn_of_periods(self._query, self._line)
            entry = charge_once(ledger, charge.key, plan.cost, plan.question)
        if entry.answer is not None:
            return entry, stood
        # What is recorded follows from the charge alone: after a crash, or another's charge, too.
        paid = PeriodPlan(self._query, entry.question)
        described = paid.chains.describe()
        empty = answer_of_blocks(entry.question, [[] for _ in paid.step.tree.widths])
        made = {"versions": versions(), **ledger.balance(charge.key)}
        opening = {**empty, **described, **made}
        return ledger.record(entry, opening), stood

    def _dry_run(self, plan: PeriodPlan) -> None:
        """Count no rows, so that what can be known beforehand fails before the charge."""
        source, periods = without_rows(self._table.source), self._line.periods
        count = partial(counts_of_periods, source, self._query, plan.step, 0, periods)
        settled(count, "nothing was spent")

    # --- the release

    def _part(self, entry: Entry, done: int, closed: int) -> dict[str, Any]:
        """Count the blocks that closed, and add their noise: the only place where the two meet."""
        source = self._table.reopen()  # after the charge: it may look at the rows
        plan = PeriodPlan(self._query, entry.question)
        first = plan.step.tree.first_period(done, closed)
        counts = counts_of_periods(source, self._query, plan.step, first, closed)
        exact = plan.step.tree.sums(done, closed, counts)
        return {"periods": [done, closed], "blocks": plan.released(exact)}

    def __repr__(self) -> str:
        line = self._line
        return f"<TimeCounter of {line.column!r}: {line.periods} periods from {line.label(0)}>"


@public
@dataclass(frozen=True)
class CounterPreview(Shown):
    """The cost of a count over time, and the expected errors of its numbers.

    Attributes:
        cost: what the first update takes, for all periods together.
        remaining: the budget that is left before it.
        periods: how many periods it releases.
        branching: how many blocks make one of the next level.
        count_error: the standard error of the count of a period.
        count_half_width: half of the 95% interval around it.
        total_error: the root of the mean variance of the running totals.
        largest_total_error: the standard error of the running total with the largest one.
        protects: whom the counts protect, in one line.
        whereabouts: where the budget is kept, as the end of a sentence.
        notes: how columns are read that no one declared, one sentence each.
    """

    cost: Budget
    remaining: Budget
    periods: int
    branching: int
    count_error: float
    count_half_width: float
    total_error: float
    largest_total_error: float
    protects: str = ""
    whereabouts: str = ""
    notes: tuple[str, ...] = ()

    @property
    def affordable(self) -> bool:
        """True if what remains covers the cost."""
        return self.remaining.covers(self.cost)

    def __str__(self) -> str:
        one, mean, largest = (
            show(float(f"{error:.3g}"))
            for error in (self.count_error, self.total_error, self.largest_total_error)
        )
        location = f", {self.whereabouts}" if self.whereabouts else ""
        return (
            f"{self.protects}\n"
            f"{self.periods} periods: a count is off by {one} (standard error), a running total by "
            f"{mean} on average and {largest} at most\n"
            f"cost {self.cost!r} of the {self.remaining!r} that is left{location}; "
            "once for all periods" + "".join(f"\n{note}" for note in self.notes)
        )

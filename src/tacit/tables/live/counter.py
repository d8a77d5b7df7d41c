"""A count that is continued over time: charged once, then released period by period."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from tacit.accounting import Entry, Ledger
from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.installments import charge_once, parts_of, record_part
from tacit.accounting.ledger.open_release import staying_open
from tacit.arithmetic.exact import show
from tacit.calls import public
from tacit.display.card import Shown
from tacit.errors import UsageError
from tacit.expressions.timeline import Moment, Timeline
from tacit.report import versions
from tacit.report.text.words import protects_line
from tacit.tables.chain.noise_sums import sum_half_width
from tacit.tables.live.answer import PeriodAnswer, answer_of_blocks, law_of
from tacit.tables.live.period_counts import counts_of_periods
from tacit.tables.live.period_plan import PeriodPlan, PeriodQuestion
from tacit.tables.plan.notes import period_notes, warn_if_weak, warn_of_periods
from tacit.tables.plan.query import Query
from tacit.tables.release.charge import Charge
from tacit.tables.release.opened_table import OpenedTable, settled
from tacit.tables.release.rehearsal import without_rows

__all__ = ["CounterPreview", "TimeCounter"]


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
    updates at once one is written, and the other throws its own away, unseen, and begins again.
    Hence: each block is published once, with one noise, replayed ever after; and each part was
    read from the table after all parts before it were written, which is the order of reads that
    :class:`~tacit.tables.live.period_counts.CountsOverTime` asks for.  A process that dies before
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
        asked = PeriodQuestion(query, line, request, tag, branching)
        self._charge = Charge(ledger, asked, table.plans)
        self._charge.plan_within(ledger.remaining)  # refuses now what can be refused

    @property
    def cost(self) -> Budget:
        """What all periods together take from the budget, once."""
        standing = self._charge.look()
        if standing.entry is not None:
            return standing.entry.cost
        return self._charge.plan_within(standing.remaining).cost

    @property
    def begun(self) -> bool:
        """Whether it was paid for: the next update costs nothing."""
        return self._charge.look().is_charged

    def preview(self) -> CounterPreview:
        """Return the expected errors, before anything is spent; no row is read."""
        remaining = self._ledger.remaining
        plan = self._charge.plan_within(remaining)
        cost = plan.cost.cost_in(remaining.kind)
        law, tree = law_of(plan.question), plan.step.tree
        mean = sum(tree.terms[1:]) / self._line.periods
        return CounterPreview(
            cost,
            remaining,
            self._line.periods,
            tree.branching,
            math.sqrt(law.variance),
            sum_half_width(law, 1),
            math.sqrt(mean * law.variance),
            math.sqrt(max(tree.terms) * law.variance),
            protects_line(self._query.unit.describe()),
            self._ledger.whereabouts,
            period_notes(self._query, self._line),
        )

    def update(self, now: Moment | None = None) -> PeriodAnswer:
        """Release the periods that are over, and return all that was published so far.

        Args:
            now: up to when the table is complete; by default the machine's clock, and for a
                column of whole numbers it must be given.  An earlier ``now`` than before releases
                nothing new.

        Raises:
            BudgetError: the first update costs more than remains; nothing was spent.
            UsageError: ``now`` does not fit the column.
            DataSourceError: the table cannot be read; what was paid stays paid, and the next
                update goes on.
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

        Args:
            now: as in :meth:`update`.

        Raises:
            UsageError: ``now`` does not fit the column.
        """
        return self._line.closed(self._line.now(now) - self._grace)

    def due(self, periods: int) -> int | None:
        """Return when so many periods are over, with their grace: seconds since 1970, in UTC.

        None where the column holds whole numbers, of which no clock says how far they have come.
        """
        lengths = {"seconds": 1, "days": 86400}
        if self._line.reads not in lengths:
            return None
        return (self._line.end(periods) + self._grace) * lengths[self._line.reads]

    def answer(self, periods: int | None = None) -> PeriodAnswer:
        """Return what was published so far; reads no row, and costs nothing.

        Args:
            periods: leave out what was published of later periods than so many.

        Raises:
            UsageError: there was no update yet.
        """
        entry = self._charge.standing
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
        """Return the charge, with its chain recorded as its answer, and whether it was there.

        It is made now if there is none.
        """
        ledger, charge = self._ledger, self._charge
        entry = charge.standing
        stood = entry is not None
        if entry is None:
            plan = charge.plan_within(ledger.remaining)
            self._rehearse(plan)
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

    def _rehearse(self, plan: PeriodPlan) -> None:
        """Count no rows, so that what can be known beforehand fails before the charge."""
        source, periods = without_rows(self._table.source), self._line.periods
        count = partial(counts_of_periods, source, self._query, plan.step, 0, periods)
        settled(count, "nothing was spent")

    # --- the release

    def _part(self, entry: Entry, done: int, closed: int) -> dict[str, Any]:
        """Count the blocks that closed, and add their noise: the only place where the two meet."""
        source = self._table.reopen()  # after the charge: it may look at the rows
        plan = PeriodPlan(self._query, entry.question)
        first = plan.step.tree.reach(done, closed)
        counts = counts_of_periods(source, self._query, plan.step, first, closed)
        exact = plan.step.tree.sums(done, closed, counts)
        return {"periods": [done, closed], "blocks": plan.released(exact)}

    def __repr__(self) -> str:
        line = self._line
        return f"<TimeCounter of {line.column!r}: {line.periods} periods from {line.label(0)}>"


@public
@dataclass(frozen=True)
class CounterPreview(Shown):
    """What a count over time would cost, and how far off its numbers would be.

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
        notes: how columns are read that nobody declared, one sentence each.
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
        """Whether what remains covers the cost."""
        return self.remaining.covers(self.cost)

    def __str__(self) -> str:
        one, mean, most = (
            show(float(f"{error:.3g}"))
            for error in (self.count_error, self.total_error, self.largest_total_error)
        )
        place = f", {self.whereabouts}" if self.whereabouts else ""
        return (
            f"{self.protects}\n"
            f"{self.periods} periods: a count is off by {one} (standard error), a running total by "
            f"{mean} on average and {most} at most\n"
            f"cost {self.cost!r} of the {self.remaining!r} that is left{place}; "
            "once for all periods" + "".join(f"\n{note}" for note in self.notes)
        )

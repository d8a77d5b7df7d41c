"""A question to the table of a session: built part by part, previewed, released."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple, Self, Unpack

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.entry import Entry
from tacit.accounting.ledger.ledger import Ledger
from tacit.arithmetic.exact import Number
from tacit.calls import listed, public
from tacit.display.progress import working
from tacit.expressions.timeline import Moment, Span, Timeline, span
from tacit.report import Certificate
from tacit.tables.asking import Asking
from tacit.tables.earlier.free_answer import Earlier, free_errors_of
from tacit.tables.live.counter import TimeCounter
from tacit.tables.live.period_plan import require_rows
from tacit.tables.plan.declared import NOTHING_DECLARED, Declared
from tacit.tables.plan.notes import asked_loss, noted, warn_if_undeclared, warn_if_weak
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import Amount, Price, request_of
from tacit.tables.plan.query import Query
from tacit.tables.plan.target import read_confidence
from tacit.tables.release.answer import Answer
from tacit.tables.release.arrangement import AS_IT_IS, Arrangement
from tacit.tables.release.asked_join import On
from tacit.tables.release.charge import QueryCharge
from tacit.tables.release.draw_noise import release_answer
from tacit.tables.release.joined_table import join_table
from tacit.tables.release.opened_table import OpenedTable, SharedTable, settled
from tacit.tables.release.priced import Priced

__all__ = ["Held", "Question", "held_by"]


@public
class Question(Asking, Priced):
    """A question about the table of a session; it spends nothing until it is released."""

    def __init__(
        self,
        table: OpenedTable,
        ledger: Ledger,
        query: Query,
        declared: Declared = NOTHING_DECLARED,
        arrangement: Arrangement = AS_IT_IS,
    ) -> None:
        self._table, self._ledger, self._query = table, ledger, query
        self._declared, self._arrangement = declared, arrangement

    def join(self, table: str, *, on: On = None, how: str | None = None) -> Self:
        """Join the rows with another table of the declared data set.

        A public table is joined by its key, each value of which occurs once.  A protected one is
        joined by the person: every row of the join is made of rows of one person, and the limits of
        the unit hold for the joined rows.  A column whose name is taken is called ``table.column``;
        the key is not added again.

        Args:
            table: its name in the data set.
            on: the columns of the rows that are equal to the public key, in its order, or a mapping
                of them to the key's columns; by default those of the same names.
            how: ``"left"`` keeps rows without a match, with missing values; ``"inner"`` leaves them
                out.  By default left for a public table, and inner for a protected one.

        Raises:
            UsageError: no such table; one that has no unique key, or other people; a join by
                anything else.
            DataSourceError: the table cannot be opened.
        """
        query, said = self._query, self._declared
        opened, query, said = join_table(self._table, query, said, table, on, how)
        return type(self)(opened, self._ledger, query, said)

    def preview(
        self,
        epsilon: Amount | None = None,
        delta: Number | None = None,
        rho: Amount | None = None,
        *,
        total: Number | None = None,
        rows: Iterable[int] = (100, 1_000, 10_000),
        confidence: Number | None = None,
    ) -> Preview:
        """Return the expected error of every answer, before anything is spent.

        Reads no row and draws no noise: an error depends on the distribution of the noise, which is
        public, and for means and the like on the size of the group, of which a few are shown.  It
        says where the answer would be free: where it follows from earlier releases without a tag
        (:meth:`free_answer`).

        Args:
            epsilon: as in :meth:`release`.
            delta: as in :meth:`release`.
            rho: as in :meth:`release`.
            total: as in :meth:`release`.
            rows: sizes of a group.
            confidence: where given, the expected half-widths of intervals at this level are shown
                too, as ``intervals``.

        Raises:
            UsageError: as :meth:`release`, or a confidence that is not between 0 and 1.
        """
        level = None if confidence is None else read_confidence(confidence)
        charge = self._priced(epsilon, delta, rho, total)
        plan, named = charge.on_paper(), self._table.named
        sizes = listed(rows, "rows is a list of sizes of a group, such as [100, 1000]")
        found = noted(plan, sizes, self._declared, self._ledger, named, level)
        # what others asked is told to nobody, and neither is how many releases they had
        own = not isinstance(self._table, SharedTable)
        (free,) = free_errors_of([self._query], self._ledger) if own else [{}]
        return replace(found, notes=(*found.notes, *self.notes), free=free)

    def release(
        self,
        epsilon: Amount | None = None,
        delta: Number | None = None,
        rho: Amount | None = None,
        *,
        total: Number | None = None,
        tag: str | None = None,
    ) -> Answer:
        """Publish the answers, with noise, and pay for them.

        The budget is charged, durably, before the first row is read.  If anything fails after that,
        the release stays open: the same question at the same price can be released again under the
        same charge, at no further cost.  Once answered, the same question gets the recorded answer
        from the ledger, at no cost.

        Args:
            epsilon: pure differential privacy, which any budget can pay: an amount, split evenly
                over the parts that answer; or a weight for each label, ``{"n": 1, "cost": 3}``, by
                which they split the ``total``.  Labels that one part answers together (a mean and a
                sum of one column) get the largest of their weights.
            delta: with ``epsilon``, the delta of partition selection, for keys that are not listed;
                from an (epsilon, delta) budget.
            rho: zero-concentrated differential privacy (Gaussian noise), from a rho budget: an
                amount or weights, as ``epsilon``.
            total: with weights, the epsilon or rho that they split.
            tag: a label that makes this a new, separately paid release: for a table that changes.

        Raises:
            BudgetError: more than remains; nothing was spent.
            UsageError: neither epsilon nor rho, one that is not above zero, or one that the budget
                cannot pay.
            DataSourceError: the table cannot be read any more; the message says what was spent.
            LedgerError: the charge or the answer cannot be written; the message says what was
                spent.
        """
        ledger = self._ledger
        charge = self._priced(epsilon, delta, rho, total, tag)
        standing = charge.standing
        if standing is not None and standing.answer is not None:
            return Answer.of(standing, ledger, self._arrangement, replayed=True)
        # What is charged already was tried before; what fails now leaves it open all the same.
        plan = charge.plan(standing) if standing else self._tried(charge, None)
        warn_if_weak(None if standing else asked_loss(plan), self._declared.size)
        if standing is None:
            warn_if_undeclared(plan)

        def answer() -> dict[str, Any]:
            # Only here, after the charge, is the first private byte read.
            with working("reading the table and drawing noise"):
                released = release_answer(plan, self._table.collector.collect(plan))
            declared = self._declared.about(self._query)
            return {**released, "declared": declared, **ledger.balance(charge.key)}

        entry = ledger.release(charge.key, plan.cost, charge.public, answer)
        return Answer.of(entry, ledger, self._arrangement)

    def rehearse(self, *, tag: str | None = None, **price: Unpack[Price]) -> None:
        """Check whether :meth:`release` would be refused, without reading a row or spending.

        Args:
            tag: as in :meth:`release`.
            **price: ``epsilon``, ``delta``, ``rho`` and ``total`` as in :meth:`release`.

        Raises:
            BudgetError, UsageError, DataSourceError: as :meth:`release`; nothing was spent.
        """
        charge = self._priced(**price, tag=tag)
        self._tried(charge, charge.standing)

    def _tried(self, charge: QueryCharge, standing: Entry | None) -> Plan:
        """Return the plan of a charge, once it was carried out on no rows."""
        plan = charge.plan(standing)
        rehearsed, source = self._table.rehearsed, self._table.source
        settled(lambda: rehearsed.rehearse(source, plan), "nothing was spent")
        return plan

    def recorded(self, *, tag: str | None = None, **price: Unpack[Price]) -> Answer | None:
        """Return the answer that the ledger holds, or None; never spends, and reads no row.

        Args:
            tag: as in :meth:`release`.
            **price: ``epsilon``, ``delta``, ``rho`` and ``total`` as in :meth:`release`.

        Raises:
            UsageError: as :meth:`release`.
        """
        standing = self._priced(**price, tag=tag).standing
        if standing is None or standing.answer is None:
            return None
        return Answer.of(standing, self._ledger, self._arrangement, replayed=True)

    def free_answer(
        self, certificates: Iterable[Certificate] = (), *, tag: str | None = None
    ) -> Answer | None:
        """Return the answer where it follows from earlier releases; never spends, reads no row.

        Counts, histograms, ranges and prefix sums, in all or by listed groups, follow where they
        are sums of cells that were counted before, alone or in a plan: a histogram with fewer
        edges, the total of groups that a filter lists, fewer keys, a range, a marginal of a plan.
        Each label is answered from the release with the least error.  Its error and interval are
        those of the noise that was released.

        Whether there is an answer depends on the questions that were answered, not on the data.
        The certificate holds those of the releases it follows from, and ``verify()`` derives the
        answer from them; the ledger keeps the question and the releases beside their charge.

        Args:
            certificates: of releases of this data set that stand in another ledger.
            tag: of the releases.  Those with another tag may be of another version of the table.

        Returns:
            None where a label does not follow: with another filter, other limits on the rows of a
            person, a value that had no cell of its own, or another statistic.

        Raises:
            UsageError: a certificate that does not hold, or is of another data set.
            LedgerError: the ledger cannot be written.

        Example:
            >>> import pyarrow as pa, tacit as tc
            >>> session = tc.Session(pa.table({"age": [31, 45]}), tc.one_row_each, tc.epsilon(1))
            >>> fine = session.agg(ages=tc.histogram("age", range(0, 101, 10)))
            >>> coarse = session.agg(ages=tc.histogram("age", [0, 20, 100]))
            >>> coarse.free_answer() is None
            True
            >>> _ = fine.release(epsilon=1)
            >>> answer = coarse.free_answer()
            >>> answer.cost, bool(answer.certificate.verify(session.ledger)), session.remaining
            (epsilon(0), True, epsilon(0))
        """
        (found,) = Earlier(self._ledger, certificates, tag).certificates([self._query])
        return None if found is None else Answer.free(found, self._arrangement)

    def free_errors(
        self, certificates: Iterable[Certificate] = (), *, tag: str | None = None
    ) -> dict[str, float] | None:
        """Return the standard errors that :meth:`free_answer` would have; writes nothing.

        Args:
            certificates: as in :meth:`free_answer`.
            tag: as in :meth:`free_answer`.

        Returns:
            For each label the root mean square of its standard errors; None where the answer does
            not follow from earlier releases.

        Raises:
            UsageError: as :meth:`free_answer`.
        """
        return Earlier(self._ledger, certificates, tag).errors(self._query)

    def count_over_time(
        self,
        column: str,
        *,
        start: Moment,
        every: Span,
        periods: int,
        epsilon: Number | None = None,
        rho: Number | None = None,
        grace: Span | None = None,
        branching: int | None = None,
        tag: str | None = None,
    ) -> TimeCounter:
        """Count the rows of each period, as the table grows, at one price for all periods.

        Args:
            column: the time of a row: a time, a date, or a whole number.  Times without a zone are
                read as UTC.
            start: where the first period begins, such as ``"2026-01-01"``.
            every: how long a period is: ``"15min"``, ``"1h"``, ``"1d"``, ``"1w"``, a timedelta, or
                a whole number where the column holds such.
            periods: how many there are; all of them are paid for.
            epsilon: as in :meth:`release`.
            rho: as in :meth:`release`.
            grace: how long after its end a period waits for late rows.
            branching: how many blocks of periods make a longer one; by default the number with the
                least error of running totals.
            tag: as in :meth:`release`.

        Returns:
            A counter; its :meth:`~tacit.tables.TimeCounter.update` releases the periods that are
            over.

        Raises:
            UsageError: a column that holds no times, periods that do not fit it, groups or
                aggregates in the question, a left join with a protected table, or neither epsilon
                nor rho.
        """
        require_rows(self._query)
        line = Timeline.of(self._table.source.schema, column, start, every, periods)
        wait = 0 if grace is None else span(grace, line.reads, "grace")
        paid = request_of(self._ledger.kind, epsilon, None, rho)
        asked = (self._table, self._ledger, self._query, line, paid)
        return TimeCounter(*asked, grace=wait, branching=branching, tag=tag)

    def cost(self, *, tag: str | None = None, **price: Unpack[Price]) -> Budget:
        """Return what :meth:`release` would charge now: zero if it is answered or was charged.

        Args:
            tag: as in :meth:`release`.
            **price: ``epsilon``, ``delta``, ``rho`` and ``total`` as in :meth:`release`.

        Raises:
            UsageError: as :meth:`release`.

        Example:
            >>> import pyarrow as pa, tacit as tc
            >>> session = tc.Session(pa.table({"a": [1]}), tc.one_row_each, tc.epsilon(1))
            >>> session.agg(n=tc.count()).cost(epsilon="1/2")
            epsilon(0.5)
        """
        return self._priced(**price, tag=tag).cost()

    def _of(self, query: Query, declared: Declared, arrangement: Arrangement) -> Self:
        return type(self)(self._table, self._ledger, query, declared, arrangement)


class Held(NamedTuple):
    """What a question is made of, for whoever makes one of several."""

    table: OpenedTable
    ledger: Ledger
    query: Query
    declared: Declared
    arrangement: Arrangement


def held_by(question: Question) -> Held:
    """Return what a question is made of."""
    own = question
    return Held(own._table, own._ledger, own._query, own._declared, own._arrangement)

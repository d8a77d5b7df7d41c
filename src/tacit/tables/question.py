"""A question to the table of a session: built part by part, previewed, released."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.ledger import Ledger
from tacit.arithmetic.exact import Number
from tacit.errors import UsageError
from tacit.expressions.expression import Expression
from tacit.expressions.schema import Schema
from tacit.expressions.timeline import Moment, Span, Timeline, span
from tacit.tables.answers.aggregate import Aggregate, kind_of
from tacit.tables.live.counter import TimeCounter
from tacit.tables.live.period_plan import refuse_groups
from tacit.tables.plan.declared import NOTHING_DECLARED, Declared
from tacit.tables.plan.labels import check_labels, labels_of
from tacit.tables.plan.notes import asked_loss, noted, warn_if_weak
from tacit.tables.plan.per_person import asked_per_person
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import Amount, Price, request_of
from tacit.tables.plan.query import Query, Unit
from tacit.tables.plan.target import read_confidence
from tacit.tables.release.answer import Answer
from tacit.tables.release.arrangement import AS_IT_IS, Arrangement
from tacit.tables.release.draw_noise import release_answer
from tacit.tables.release.joined_table import On, join_table
from tacit.tables.release.opened_table import OpenedTable, settled
from tacit.tables.release.priced import Priced
from tacit.tables.release.rehearsal import rehearse
from tacit.tables.spec.public_keys import public_keys

__all__ = ["Question"]

_MOST_FILTERS = 50  # joined with &, no deeper than an expression may be


class Question(Priced):
    """A question to the table of a session; it spends nothing until it is released."""

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

    @property
    def schema(self) -> Schema:
        """The columns that the question can name, with the derived ones."""
        return self._query.columns

    @property
    def unit(self) -> Unit:
        """Whom an answer protects."""
        return self._query.unit

    @property
    def declared(self) -> Declared:
        """The bounds and keys that a declared data set has for the columns."""
        return self._declared

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the answers."""
        return self._arrangement.notes

    def join(self, table: str, *, on: On = None, how: str | None = None) -> Question:
        """Put the columns of another table of the declared data set beside the rows.

        A public table is joined by its key, of which each value stands once.  A protected one is
        joined by the person: every row of the join is made of rows of one person, and the limits
        of the unit hold for the joined rows.  A column whose name is taken is called
        ``table.column``; the key is not added again.

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
        return Question(opened, self._ledger, query, said)

    def filter(self, *conditions: Expression) -> Question:
        """Keep the rows for which every condition holds.

        Conditions are total expressions such as ``tc.col("age") >= 18``: they cannot raise on a
        value, and a comparison with a missing value is false.

        Raises:
            UsageError: an unknown column, kinds that cannot be compared, or more than 50 filters.
        """
        for condition in conditions:
            if not isinstance(condition, Expression):
                raise UsageError('a filter is an expression such as tc.col("age") >= 18')
            if condition.kind(self._query.columns) not in ("boolean", "undeclared", "missing"):
                raise UsageError(f"a filter is true or false on each row; {condition} is neither")
        if len(self._query.where) + len(conditions) > _MOST_FILTERS:
            raise UsageError(
                f"a question has at most {_MOST_FILTERS} filters: join some with &, or put "
                "several values into one is_in"
            )
        return self._with(where=(*self._query.where, *conditions))

    def with_column(self, name: str, expression: Expression) -> Question:
        """Add a column computed from each row alone.

        Raises:
            UsageError: the name exists already, or the expression does not fit the table.
        """
        if not isinstance(expression, Expression):
            raise UsageError('a column is an expression such as tc.col("age").cut([0, 18, 100])')
        if name in self._query.columns:
            raise UsageError(f"there is a column {name!r} already; choose another name")
        question = self._with(derived=(*self._query.derived, (name, expression)))
        question._query.columns  # noqa: B018  (checks the expression now)
        return question

    def per_person(self, /, **aggregates: Aggregate) -> Question:
        """Ask about people: make one row of all rows of each person first.

        What comes after is about that table: its columns are the person and these, its filters
        keep people, and each person has one row, so that nothing is down-weighted.

        Args:
            aggregates: the columns, by name.  ``tc.count()`` is how many rows a person has,
                ``tc.sum("cost", 0, 5000)`` their exact total, held within [0, 5000];
                ``tc.mean``, ``tc.min`` and ``tc.max`` are of values that are held within their
                bounds, and the last two also of text and dates, without bounds.  Missing values
                are left out; who has none but those has a missing one.

        Raises:
            UsageError: another statistic, groups or answers before it, or a session without a
                person column.

        Example:
            >>> import tacit as tc
            >>> from tacit.data import health_insurance
            >>> unit, whole = tc.unit("person", rows=5), tc.epsilon(1)
            >>> session = tc.Session(health_insurance(), unit, whole, tc.in_memory)
            >>> people = session.per_person(years=tc.count(), visits=tc.sum("visits", 0, 100))
            >>> answer = people.agg(visits=tc.mean("visits")).release(epsilon="1/2")
            >>> 0 <= answer.value("visits") <= 100
            True
        """
        query, said = asked_per_person(self._query, self._declared, labels_of(aggregates))
        return Question(self._table, self._ledger, query, said)

    def group_by(self, *by: str, keys: Any = None) -> Question:
        """Answer for each group.

        Args:
            by: the grouping columns.
            keys: the public keys: a list of values (of tuples, for several columns), a mapping of
                column to values (all combinations), or a public table with those columns.  Every
                key given is answered, also when nobody has it; others are left out.  None takes
                those that the data set declares, or that follow for a derived column (the bins of a
                cut, the days of a week); without any it releases the keys themselves, those above
                a threshold, which takes a delta.

        Raises:
            UsageError: an unknown column, a column given twice, or keys that do not fit.
        """
        if not by:
            raise UsageError('name at least one column: group_by("site")')
        if self._query.by:
            raise UsageError("the question is grouped already; name all columns in one group_by")
        for name in by:
            self._query.columns.column(name)
        if len(set(by)) < len(by):
            raise UsageError("a grouping column is given twice")
        if keys is None and self._declared.dataset is not None:
            keys = self._declared.keys_of(by, self._query.derived)
        return self._with(by=tuple(by), keys=None if keys is None else public_keys(by, keys))

    def agg(self, /, **aggregates: Aggregate) -> Question:
        """Say what is asked, by label: ``agg(n=tc.count(), age=tc.mean("age", 0, 99))``.

        Raises:
            UsageError: something that is no aggregate, an unknown column, text where numbers must
                be, or a label that is a grouping column.
        """
        derived, columns = self._query.derived, self._query.columns
        named = labels_of(aggregates)
        for _, aggregate in named:
            for one in aggregate.clamped:
                columns.column(one.column)
        fresh = [(label, self._declared.bounded(a, derived)) for label, a in named]
        for _, aggregate in fresh:
            kind_of(aggregate.kind).check(aggregate, columns)
        asked = (*self._query.aggregates, *fresh)
        check_labels([label for label, _ in asked], self._query.by)
        return self._with(aggregates=asked)

    def arranged(self, arrangement: Arrangement) -> Question:
        """Say how the answer is shown: which groups, in which order, called what.

        It is post-processing: the ledger and the certificate hold the whole answer, and the same
        question shown in another way is answered from the ledger.
        """
        return Question(self._table, self._ledger, self._query, self._declared, arrangement)

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

        Reads no row and draws no noise: an error depends on the noise, which is public, and for
        means and the like on the size of the group, of which a few are shown.

        Args:
            epsilon: as in :meth:`release`.
            delta: as in :meth:`release`.
            rho: as in :meth:`release`.
            total: as in :meth:`release`.
            rows: sizes of a group.
            confidence: where given, how far intervals at this level are expected to reach is shown
                too, as ``intervals``.

        Raises:
            UsageError: as :meth:`release`, or a confidence that is not between 0 and 1.
        """
        level = None if confidence is None else read_confidence(confidence)
        charge = self._priced(epsilon, delta, rho, total)
        plan, named = charge.on_paper(), self._table.named
        found = noted(plan, tuple(rows), self._declared, self._ledger, named, level)
        return replace(found, notes=(*found.notes, *self.notes))

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
        the release stays open: the same question at the same price goes on under its own charge, at
        no further cost.  Once answered, it is answered from the ledger, with the same numbers.

        Args:
            epsilon: pure differential privacy, paid from any budget: an amount, shared evenly by
                the parts that answer; or for each label its weight, ``{"n": 1, "cost": 3}``, by
                which they share the ``total``.  What one part answers together (a mean and a sum
                of one column) has the largest weight of these.
            delta: with ``epsilon``: what unknown keys may add, from an (epsilon, delta) budget.
            rho: zero-concentrated differential privacy (Gaussian noise), from a rho budget: an
                amount or weights, as ``epsilon``.
            total: with weights, the epsilon or rho that they split.
            tag: a label that makes this a new, separately paid release: for a table that changes.

        Raises:
            BudgetError: more than remains; nothing was spent.
            UsageError: no loss given, zero or below, or one that the budget cannot pay.
            DataSourceError: the table cannot be read any more; the message says what was spent.
            LedgerError: the charge or the answer cannot be written; the message says what stands.
        """
        ledger = self._ledger
        charge = self._priced(epsilon, delta, rho, total, tag)
        standing = charge.standing
        if standing is not None and standing.answer is not None:
            return Answer.of(standing, ledger, self._arrangement, replayed=True)
        plan = charge.plan(standing)
        settled(lambda: rehearse(self._table.source, plan), "nothing was spent")
        warn_if_weak(None if standing else asked_loss(plan), self._declared.size, 2)

        def answer() -> dict[str, Any]:
            # Only here, after the charge, is the first private byte read.
            released = release_answer(plan, self._table.collector.collect(plan))
            return {**released, "declared": self._declared.about(self._query), **ledger.balance()}

        entry = ledger.release(charge.key, plan.cost, charge.public, answer)
        return Answer.of(entry, ledger, self._arrangement)

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
            grace: how long after its end a period waits for rows that come late.
            branching: how many blocks of periods make a longer one; by default the number with the
                least error of running totals.
            tag: as in :meth:`release`.

        Returns:
            A counter; its :meth:`~tacit.tables.TimeCounter.update` releases what is over.

        Raises:
            UsageError: a column that holds no times, periods that do not fit it, groups or
                aggregates in the question, or no loss given.
        """
        refuse_groups(self._query)
        line = Timeline.of(self._table.source.schema, column, start, every, periods)
        wait = 0 if grace is None else span(grace, line.reads, "grace")
        paid = request_of(self._ledger.total.kind, epsilon, None, rho)
        asked = (self._table, self._ledger, self._query, line, paid)
        return TimeCounter(*asked, grace=wait, branching=branching, tag=tag)

    def cost(self, *, tag: str | None = None, **price: Unpack[Price]) -> Budget:
        """Return what :meth:`release` would take now: zero where it is answered, or still open.

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

    def _with(self, **changes: Any) -> Question:
        query = replace(self._query, **changes)
        return Question(self._table, self._ledger, query, self._declared, self._arrangement)

    def __repr__(self) -> str:
        asked: Sequence[str] = [f"{label}={a}" for label, a in self._query.aggregates]
        by = f" by {', '.join(self._query.by)}" if self._query.by else ""
        people = " of people" if self._query.inner else ""
        return f"<Question {', '.join(asked) or 'about nothing yet'}{people}{by}>"

"""Questions to the table of a session: built part by part, previewed, released."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar, Unpack

from tacit.accounting.budget import Budget
from tacit.accounting.ledger import Ledger
from tacit.accounting.ledger_chain import Payer
from tacit.arithmetic.exact import Number
from tacit.calls import instead, listed, public
from tacit.display.card import Card, CardTable, Shown, working
from tacit.errors import UsageError
from tacit.expressions.expression import Expression
from tacit.expressions.schema import Schema
from tacit.expressions.timeline import Moment, Span, Timeline, span
from tacit.report import Certificate
from tacit.report.text import aggregate_words, protects_line, question_words
from tacit.tables.cell_axis import Keys, public_keys
from tacit.tables.derived.derive import Earlier, free_errors_of
from tacit.tables.missing_codes import refuse_as_keys
from tacit.tables.plan.parse_question import per_person_question
from tacit.tables.plan.plan import Plan, check_rounds, read_rounds
from tacit.tables.plan.preview import (
    Preview,
    noted,
    requested_loss,
    warn_if_undeclared,
    warn_if_weak,
)
from tacit.tables.plan.price import (
    Amount,
    Price,
    min_epsilon,
    priced,
    read_confidence,
    request_of,
)
from tacit.tables.plan.query import (
    ANSWERS,
    NOTHING_DECLARED,
    SUGGESTIONS,
    Declared,
    Query,
    Unit,
    check_labels,
    columns_named,
    labels_of,
    refuse_brackets,
    suggestion_for,
)
from tacit.tables.query.keys import fit_keys
from tacit.tables.release.answer import AS_IT_IS, Answer, Arrangement
from tacit.tables.release.opened_table import On, OpenedTable, SharedTable, join_table, settled
from tacit.tables.release.release import (
    Charge,
    LedgerState,
    QueryCharge,
    TableQuestion,
    release_answer,
)
from tacit.tables.statistics.base import Aggregate
from tacit.tables.streaming.counter import TimeCounter
from tacit.tables.streaming.periods import require_rows

# A question, built part by part from public facts alone: what it names, filters, groups, asks.
#
# Nothing here knows where the table is.  Who holds it, and who pays, is added below this class: a
# question to a session (:mod:`tacit.tables.question`), or to a service that others run.


_MOST_FILTERS = 50  # joined with &, no deeper than an expression may be


# The question itself; editors read it where they do not read ``Self``.
_A = TypeVar("_A", bound="QuestionBase")


@public
@instead(**{**SUGGESTIONS, "to_pandas": SUGGESTIONS["to_dict"].replace("to_dict", "to_pandas")})
class QuestionBase(Shown, ABC):
    """The parts of a question."""

    _query: Query
    _declared: Declared
    _arrangement: Arrangement

    if not TYPE_CHECKING:  # to editors, brackets are the mistake that they are
        __getitem__ = refuse_brackets

    @abstractmethod
    def _of(self, query: Query, declared: Declared, arrangement: Arrangement) -> Self:
        """Return the same question with other parts."""

    @abstractmethod
    def join(self: _A, table: str, *, on: On = None, how: str | None = None) -> _A:
        """Join the rows with another table of the declared data set."""

    def _instead_of(self, name: str) -> str:
        return suggestion_for(self.schema, name)

    @property
    def schema(self) -> Schema:
        """The columns that the question can name, including derived ones."""
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

    def described(self) -> dict[str, object]:
        """Return the question as plain JSON values: equal questions, equal values."""
        return self._query.describe()

    def filter(self: _A, *conditions: Expression) -> _A:
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

    def with_columns(self: _A, /, **columns: Expression) -> _A:
        """Add columns computed from each row alone.

        Args:
            **columns: expressions such as ``tc.col("age").cut([0, 18, 100])``, by the name of the
                new column; each of them sees the columns that there were before the call.

        Raises:
            UsageError: a name exists already, or an expression does not fit the table.

        Example:
            >>> import pyarrow as pa, tacit as tc
            >>> session = tc.Session(pa.table({"age": [31, 45]}), tc.one_row_each, tc.epsilon(1))
            >>> list(session.with_columns(old=tc.col("age") >= 65, next=tc.col("age") + 1).schema)
            ['age', 'old', 'next']
        """
        for name, expression in columns.items():
            if not isinstance(expression, Expression):
                raise UsageError('a column is an expression: with_columns(old=tc.col("age") >= 65)')
            if name in self._query.columns:
                raise UsageError(f"there is a column {name!r} already; choose another name")
            expression.kind(self._query.columns)
        query = self._query.with_columns(**columns).with_uuids()
        return self._of(query, self._declared, self._arrangement)

    def per_person(self: _A, /, **aggregates: Aggregate) -> _A:
        """Ask about people: first combine all rows of each person into one row.

        What comes after is about that table: its columns are the person and these, its filters
        keep people, and each person has one row, so that nothing is down-weighted.

        Args:
            aggregates: the columns, by name.  ``tc.count()`` is how many rows a person has,
                ``tc.count_distinct("site")`` how many different values of a column,
                ``tc.sum("cost", 0, 5000)`` their exact total, clamped to [0, 5000]; ``tc.mean``,
                ``tc.min`` and ``tc.max`` are of values that are clamped to their bounds, and the
                last two also of text and dates, without bounds.  Missing values are left out; a
                person with missing values only gets a missing value.

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
        query, declared = per_person_question(
            self._query, self._declared, labels_of([], aggregates)
        )
        return self._of(query, declared, AS_IT_IS)

    def group_by(self: _A, *by: str | Sequence[str], keys: Keys = None, rounds: int = 1) -> _A:
        """Answer for each group.

        Args:
            by: the grouping columns, one by one or in a list.
            keys: the public keys: a list of values (of tuples, for several columns), a mapping of
                column to values (all combinations), or a public table with those columns; or
                ``"labels"``, the values that have a label in a file of SPSS, Stata or SAS.  Every
                key given is answered, also when nobody has it; others are left out.  By default
                they are those that the data set declares, or that follow for a derived column (the
                bins of a cut, the days of a week).  Where there are none, partition selection
                releases the keys whose noisy number of people is above a threshold, which needs a
                delta.
            rounds: 2 finds keys that are not public in two rounds: what the first finds takes none
                of the groups that a person counts in in the second.  It shows more keys where many
                people are in more groups than the unit lets them count in, and asks for about 5%
                more people of a key where they are not.

        Raises:
            UsageError: an unknown column, a column given twice, or keys that do not fit, such as
                text for a column of whole numbers.
        """
        names = columns_named(by)
        if not names:
            raise UsageError('name at least one column: group_by("site")')
        if self._query.by:
            raise UsageError("the question is grouped already; name all columns in one group_by")
        for name in names:
            self._query.columns.column(name)
        if len(set(names)) < len(names):
            raise UsageError("a grouping column is given twice")
        if keys is None:
            keys = self._declared.keys_of(names, self._query.derived)
        keys = self._declared.labelled(names, keys)
        if read_rounds(rounds) > 1:
            check_rounds(names, keys, self._query.unit.column)
        if keys is None:
            return self._with(by=names, keys=None, rounds=rounds)
        listed = public_keys(names, keys)
        fit_keys(listed, names, self._query.columns)
        for index, name in enumerate(names):
            codes = self._query.reading.missing.get(name, [])
            refuse_as_keys((key[index] for key in listed), codes, repr(name))
        return self._with(by=names, keys=listed)

    def agg(self: _A, /, *unnamed: Aggregate, **aggregates: Aggregate) -> _A:
        """Choose the statistics, by label: ``agg(n=tc.count(), age=tc.mean("age", 0, 99))``.

        Without a label, ``tc.count()`` is called ``count`` and ``tc.mean("age")`` ``mean_age``.

        Args:
            *unnamed: statistics without a label.
            **aggregates: statistics by label.

        Raises:
            UsageError: an argument that is not an aggregate, an unknown column, text where numbers
                are needed, or a label that is a grouping column.
        """
        derived, columns = self._query.derived, self._query.columns
        named = labels_of(unnamed, aggregates)
        for _, aggregate in named:
            for one in aggregate.clamped:
                columns.column(one.column)
        known = derived, columns.values()
        fresh = [(label, self._declared.bounded(a, *known)) for label, a in named]
        for _, aggregate in fresh:
            aggregate.check(columns)
        combined = (*self._query.aggregates, *fresh)
        check_labels([label for label, _ in combined], self._query.by)
        return self._with(aggregates=combined)

    def arranged(self: _A, arrangement: Arrangement) -> _A:
        """Set how the answer is shown: which groups, in which order, under which names.

        It is post-processing: the ledger and the certificate hold the whole answer, and the same
        question shown in another way is answered from the ledger.
        """
        return self._of(self._query, self._declared, arrangement)

    def _with(self, **changes: Any) -> Self:
        query = self._query.asking(**changes).with_uuids()
        return self._of(query, self._declared, self._arrangement)

    def card(self) -> Card:
        """Return what a notebook displays: what is asked, in words."""
        rows = [[label, aggregate_words(a.to_json())] for label, a in self._query.aggregates]
        tables = [CardTable(["label", "what is asked"], rows)] if rows else []
        words = question_words({"query": self._query.describe()}) if rows else "about nothing yet"
        todo = "nothing is spent yet: .preview(epsilon=...) shows the errors, .release(...) answers"
        protects = protects_line(self._query.unit.describe())
        return Card("Question", protects, tables, [words, *self.notes, todo])

    def __repr__(self) -> str:
        aggregates: Sequence[str] = [f"{label}={a}" for label, a in self._query.aggregates]
        by = f" by {', '.join(self._query.by)}" if self._query.by else ""
        people = " of people" if self._query.inner else ""
        return f"<{type(self).__name__} {', '.join(aggregates) or 'about nothing yet'}{people}{by}>"


Q = TypeVar("Q", bound=QuestionBase)

_FIRST = "say first what is asked: session.agg(n=tc.count()).release(epsilon='1/2')"


@public
@instead(**{**SUGGESTIONS, **dict.fromkeys(("preview", "release", "cost", *ANSWERS), _FIRST)})
class QueryableTable(ABC, Generic[Q]):
    """A table that questions begin at."""

    if not TYPE_CHECKING:
        __getitem__ = refuse_brackets

    @abstractmethod
    def _question(self) -> Q:
        """Return a question about all rows, with nothing asked yet."""

    def _instead_of(self, name: str) -> str:
        return suggestion_for(self._question().schema, name)

    def join(self, table: str, *, on: On = None, how: str | None = None) -> Q:
        """Join the rows with another declared table; see :meth:`Question.join`."""
        return self._question().join(table, on=on, how=how)

    def filter(self, *conditions: Expression) -> Q:
        """Ask about the rows that all conditions hold for; see :meth:`Question.filter`."""
        return self._question().filter(*conditions)

    def with_columns(self, /, **columns: Expression) -> Q:
        """Add columns computed from each row; see :meth:`Question.with_columns`."""
        return self._question().with_columns(**columns)

    def group_by(self, *by: str | Sequence[str], keys: Keys = None, rounds: int = 1) -> Q:
        """Ask about each group; see :meth:`Question.group_by`."""
        return self._question().group_by(*by, keys=keys, rounds=rounds)

    def per_person(self, /, **aggregates: Aggregate) -> Q:
        """Ask about people, with one row per person; see :meth:`Question.per_person`."""
        return self._question().per_person(**aggregates)

    def agg(self, /, *unnamed: Aggregate, **aggregates: Aggregate) -> Q:
        """Choose the statistics to release; see :meth:`Question.agg`."""
        return self._question().agg(*unnamed, **aggregates)


# What a question may spend: looked up in the ledger, or found for a target.


@public
class Priced:
    """A question that a ledger pays for."""

    _table: OpenedTable
    _ledger: Ledger
    _query: Query

    def epsilon_for(
        self,
        targets: Mapping[str, Number],
        confidence: Number = "0.95",
        *,
        rows: int = 1000,
        delta: Number | None = None,
        weights: Mapping[str, Number] | None = None,
    ) -> Fraction:
        """Return the least epsilon with which answers are expected to be within their targets.

        Reads no row: the targets are for the noise alone, on values spread evenly over their
        bounds in a group of a public size.

        Args:
            targets: for each label the largest half-width of its interval, in the unit of its
                preview: that of the answer, or rows in rank for quantiles.  Labels without a target
                get their share too.
            confidence: the level of the interval, 0.95 by default: it covers in 95 of 100 releases.
            rows: the size of a group, for means and the like.
            delta: as in :meth:`release`.
            weights: as ``epsilon`` in :meth:`release`; an even share for each part without them.

        Returns:
            An exact number with four significant digits: the ``epsilon`` of a release, or its
            ``total``.

        Raises:
            UsageError: a label that is not asked, or a target that no epsilon reaches.
        """
        price: Price = {"epsilon": 1} if weights is None else {"epsilon": weights, "total": 1}
        query, _ = priced(self._query, self._ledger.kind, {**price, "delta": delta})
        return min_epsilon(query, targets, read_confidence(confidence), rows, delta)

    def is_answered(
        self,
        epsilon: Amount | None = None,
        delta: Number | None = None,
        rho: Amount | None = None,
        *,
        total: Number | None = None,
        tag: str | None = None,
    ) -> bool:
        """Return whether :meth:`release` would replay a recorded answer, at no cost.

        Raises:
            UsageError: as :meth:`release`.
        """
        charge = self._priced(epsilon=epsilon, delta=delta, rho=rho, total=total, tag=tag)
        return charge.look().is_answered

    def _priced(self, **price: Unpack[Price]) -> QueryCharge:
        query, request = priced(self._query, self._ledger.kind, price)
        question = TableQuestion(query, request, price.get("tag"))
        return Charge(self._ledger, question, self._table.plans)


def charge_of(question: Priced, **price: Unpack[Price]) -> QueryCharge:
    """Return a question at a price: its key, what the ledger holds of it, its cost."""
    return question._priced(**price)


# A question to the table of a session: built part by part, previewed, released.


@public
class Question(QuestionBase, Priced):
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
        query, declared = self._query, self._declared
        opened, query, declared = join_table(self._table, query, declared, table, on, how)
        return type(self)(opened, self._ledger, query, declared)

    def preview(
        self,
        epsilon: Amount | None = None,
        delta: Number | None = None,
        rho: Amount | None = None,
        *,
        total: Number | None = None,
        tag: str | None = None,
        rows: Iterable[int] = (100, 1_000, 10_000),
        confidence: Number | None = None,
    ) -> Preview:
        """Return the expected error of every answer, before anything is spent.

        Reads no row and draws no noise: an error depends on the distribution of the noise, which is
        public, and for means and the like on the size of the group, of which a few are shown.  It
        says where the answer would be free: where it follows from earlier releases of the same tag
        (:meth:`free_answer`).

        Args:
            epsilon: as in :meth:`release`.
            delta: as in :meth:`release`.
            rho: as in :meth:`release`.
            total: as in :meth:`release`.
            tag: as in :meth:`release`.
            rows: sizes of a group.
            confidence: where given, the expected half-widths of intervals at this level are shown
                too, as ``intervals``.

        Raises:
            UsageError: as :meth:`release`, or a confidence that is not between 0 and 1.
        """
        level = None if confidence is None else read_confidence(confidence)
        charge = self._priced(epsilon=epsilon, delta=delta, rho=rho, total=total, tag=tag)
        plan, named = charge.requested_plan(), self._table.named
        sizes = listed(rows, "rows is a list of sizes of a group, such as [100, 1000]")
        result = noted(plan, sizes, self._declared, self._ledger, named, level)
        # what others asked is told to nobody, and neither is how many releases they had
        own = not isinstance(self._table, SharedTable)
        (free,) = free_errors_of([self._query], self._ledger, tag) if own else [{}]
        return replace(result, notes=(*result.notes, *self.notes), free=free)

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
        price: Price = {"epsilon": epsilon, "delta": delta, "rho": rho, "total": total, "tag": tag}
        charge = self._priced(**price)
        return self._released(charge, charge.look())

    def _released(self, charge: QueryCharge, state: LedgerState, *, look: bool = True) -> Answer:
        # look: whether the charge is looked for again before the first row is read.
        ledger, entry = self._ledger, state.entry
        if entry is not None and entry.answer is not None:
            return Answer.of(entry, ledger, self._arrangement, replayed=True)
        # What is charged already was tried before; what fails now leaves it open all the same.
        plan = charge.plan(entry) if entry else _tried(self._table, charge, state)
        warn_if_weak(None if entry else requested_loss(plan), self._declared.size)
        if entry is None:
            warn_if_undeclared(plan)

        def answer() -> dict[str, Any]:
            # Only here, after the charge, is the first private byte read.
            with working("reading the table and drawing noise"):
                released = release_answer(plan, self._table.collector.collect(plan))
            declared = self._declared.about(self._query, released["keys"])
            # a charge on account of someone says what it left
            balance = entry.balance if entry is not None and ledger.payer != Payer() else None
            balance = balance or ledger.balance(charge.key)
            return {**released, "declared": declared, **balance}

        known = None if look else entry
        paid = ledger.release(charge.key, plan.cost, charge.public, answer, entry=known)
        return Answer.of(paid, ledger, self._arrangement)

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
        (certificate,) = Earlier(self._ledger, certificates, tag).certificates([self._query])
        return None if certificate is None else Answer.free(certificate, self._arrangement)

    def free_errors(
        self, certificates: Iterable[Certificate] = (), *, tag: str | None = None
    ) -> dict[str, float] | None:
        """Return the standard errors that :meth:`free_answer` would have; writes nothing.

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
        if column in self._query.reading.missing:
            raise UsageError(
                f"codes for missing values are declared of {column!r}, which holds the times: a "
                "count over time that goes on would not notice that they changed. Make them "
                "missing in the table, or count by another column"
            )
        wait = 0 if grace is None else span(grace, line.reads, "grace")
        paid = request_of(self._ledger.kind, epsilon, None, rho)
        query = self._query.asking(timed=column)
        arguments = (self._table, self._ledger, query, line, paid)
        return TimeCounter(*arguments, grace=wait, branching=branching, tag=tag)

    def cost(self, **price: Unpack[Price]) -> Budget:
        """Return what :meth:`release` would charge now: zero if it is answered or was charged.

        Args:
            **price: ``epsilon``, ``delta``, ``rho``, ``total`` and ``tag`` as in :meth:`release`.

        Raises:
            UsageError: as :meth:`release`.

        Example:
            >>> import pyarrow as pa, tacit as tc
            >>> session = tc.Session(pa.table({"a": [1]}), tc.one_row_each, tc.epsilon(1))
            >>> session.agg(n=tc.count()).cost(epsilon="1/2")
            epsilon(0.5)
        """
        return self._priced(**price).cost()

    def _of(self, query: Query, declared: Declared, arrangement: Arrangement) -> Self:
        return type(self)(self._table, self._ledger, query, declared, arrangement)


class QuestionParts(NamedTuple):
    """What a question is made of, for whoever makes one of several."""

    table: OpenedTable
    ledger: Ledger
    query: Query
    declared: Declared
    arrangement: Arrangement


def question_parts(question: Question) -> QuestionParts:
    """Return what a question is made of."""
    own = question
    return QuestionParts(own._table, own._ledger, own._query, own._declared, own._arrangement)


# What a service does with a question apart from releasing it: functions, as no analyst needs them.


def check_release(
    question: Question, charge: QueryCharge, state: LedgerState | None = None
) -> None:
    """Check whether a release would be refused, without reading a row or spending.

    Args:
        question: what is asked.
        charge: its price.
        state: what the ledger held of it a moment ago, where the caller has looked.

    Raises:
        BudgetError, UsageError, DataSourceError: as :meth:`Question.release`; nothing was spent.
    """
    _tried(question._table, charge, state or charge.look())


def release_charged(question: Question, charge: QueryCharge, state: LedgerState) -> Answer:
    """Release a question that was charged, as ``state`` says; see :meth:`Question.release`."""
    return question._released(charge, state, look=False)


def recorded_answer(question: Question, charge: QueryCharge) -> Answer | None:
    """Return the answer that the ledger holds, or None; never spend, and read no row."""
    entry = charge.entry
    if entry is None or entry.answer is None:
        return None
    return Answer.of(entry, question._ledger, question._arrangement, replayed=True)


def _tried(table: OpenedTable, charge: QueryCharge, state: LedgerState) -> Plan:
    """Return the plan of a charge, once it was carried out on no rows."""
    plan = charge.plan(state.entry, state.head)
    settled(lambda: table.validated.check(table.source, plan), "nothing was spent")
    return plan

"""A question, built part by part from public facts alone: what it names, filters, groups, asks.

Nothing here knows where the table is.  Who holds it, and who pays, is added below this class: a
question to a session (:mod:`tacit.tables.question`), or to a service that others run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from tacit.calls import instead, public
from tacit.display.card import Card, Shown, Table
from tacit.errors import UsageError
from tacit.expressions.expression import Expression
from tacit.expressions.schema import Schema
from tacit.report.text.words import aggregate_words, protects_line, question_words
from tacit.tables.answers.aggregate import Aggregate, kind_of
from tacit.tables.plan.declared import Declared
from tacit.tables.plan.labels import (
    ANSWERS,
    INSTEAD,
    check_labels,
    columns_named,
    instead_of,
    labels_of,
    refuse_brackets,
)
from tacit.tables.plan.per_person import asked_per_person
from tacit.tables.plan.query import Query, Unit
from tacit.tables.plan.unlisted_keys import check_rounds, read_rounds
from tacit.tables.query.keys_sql import fit_keys
from tacit.tables.release.arrangement import AS_IT_IS, Arrangement
from tacit.tables.release.asked_join import On
from tacit.tables.spec.public_keys import Keys, public_keys

__all__ = ["AskedTable", "Asking"]

_MOST_FILTERS = 50  # joined with &, no deeper than an expression may be


_A = TypeVar("_A", bound="Asking")
"""The question itself; editors read it where they do not read ``Self``."""


@public
@instead(**{**INSTEAD, "to_pandas": INSTEAD["to_dict"].replace("to_dict", "to_pandas")})
class Asking(Shown, ABC):
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
        return instead_of(self.schema, name)

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

        Args:
            *conditions: expressions that are true or false on each row; all must hold.

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

    def with_column(self: _A, name: str, expression: Expression) -> _A:
        """Add a column computed from each row alone.

        Args:
            name: of the new column.
            expression: what it holds, such as ``tc.col("age").cut([0, 18, 100])``.

        Raises:
            UsageError: the name exists already, or the expression does not fit the table.
        """
        if not isinstance(expression, Expression):
            raise UsageError('a column is an expression such as tc.col("age").cut([0, 18, 100])')
        if name in self._query.columns:
            raise UsageError(f"there is a column {name!r} already; choose another name")
        query = self._query.with_column(name, expression)
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
        query, said = asked_per_person(self._query, self._declared, labels_of([], aggregates))
        return self._of(query, said, AS_IT_IS)

    def group_by(self: _A, *by: str | Sequence[str], keys: Keys = None, rounds: int = 1) -> _A:
        """Answer for each group.

        Args:
            by: the grouping columns, one by one or in a list.
            keys: the public keys: a list of values (of tuples, for several columns), a mapping of
                column to values (all combinations), or a public table with those columns.  Every
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
        if read_rounds(rounds) > 1:
            check_rounds(names, keys, self._query.unit.column)
        if keys is None:
            return self._with(by=names, keys=None, rounds=rounds)
        listed = public_keys(names, keys)
        fit_keys(listed, names, self._query.columns)
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
        fresh = [(label, self._declared.bounded(a, derived)) for label, a in named]
        for _, aggregate in fresh:
            kind_of(aggregate.kind).check(aggregate, columns)
        asked = (*self._query.aggregates, *fresh)
        check_labels([label for label, _ in asked], self._query.by)
        return self._with(aggregates=asked)

    def arranged(self: _A, arrangement: Arrangement) -> _A:
        """Set how the answer is shown: which groups, in which order, under which names.

        It is post-processing: the ledger and the certificate hold the whole answer, and the same
        question shown in another way is answered from the ledger.
        """
        return self._of(self._query, self._declared, arrangement)

    def _with(self, **changes: Any) -> Self:
        query = self._query.asking(**changes)
        return self._of(query, self._declared, self._arrangement)

    def card(self) -> Card:
        """Return what a notebook displays: what is asked, in words."""
        rows = [[label, aggregate_words(a.to_json())] for label, a in self._query.aggregates]
        asked = [Table(["label", "what is asked"], rows)] if rows else []
        words = question_words({"query": self._query.describe()}) if rows else "about nothing yet"
        todo = "nothing is spent yet: .preview(epsilon=...) shows the errors, .release(...) answers"
        protects = protects_line(self._query.unit.describe())
        return Card("Question", protects, asked, [words, *self.notes, todo])

    def __repr__(self) -> str:
        asked: Sequence[str] = [f"{label}={a}" for label, a in self._query.aggregates]
        by = f" by {', '.join(self._query.by)}" if self._query.by else ""
        people = " of people" if self._query.inner else ""
        return f"<{type(self).__name__} {', '.join(asked) or 'about nothing yet'}{people}{by}>"


Q = TypeVar("Q", bound=Asking)

_FIRST = "say first what is asked: session.agg(n=tc.count()).release(epsilon='1/2')"


@public
@instead(**{**INSTEAD, **dict.fromkeys(("preview", "release", "cost", *ANSWERS), _FIRST)})
class AskedTable(ABC, Generic[Q]):
    """A table that questions begin at."""

    if not TYPE_CHECKING:
        __getitem__ = refuse_brackets

    @abstractmethod
    def _question(self) -> Q:
        """Return a question about all rows, with nothing asked yet."""

    def _instead_of(self, name: str) -> str:
        return instead_of(self._question().schema, name)

    def join(self, table: str, *, on: On = None, how: str | None = None) -> Q:
        """Join the rows with another declared table; see :meth:`Question.join`."""
        return self._question().join(table, on=on, how=how)

    def filter(self, *conditions: Expression) -> Q:
        """Ask about the rows that all conditions hold for; see :meth:`Question.filter`."""
        return self._question().filter(*conditions)

    def with_column(self, name: str, expression: Expression) -> Q:
        """Add a column computed from each row; see :meth:`Question.with_column`."""
        return self._question().with_column(name, expression)

    def group_by(self, *by: str | Sequence[str], keys: Keys = None, rounds: int = 1) -> Q:
        """Ask about each group; see :meth:`Question.group_by`."""
        return self._question().group_by(*by, keys=keys, rounds=rounds)

    def per_person(self, /, **aggregates: Aggregate) -> Q:
        """Ask about people, with one row per person; see :meth:`Question.per_person`."""
        return self._question().per_person(**aggregates)

    def agg(self, /, *unnamed: Aggregate, **aggregates: Aggregate) -> Q:
        """Choose the statistics to release; see :meth:`Question.agg`."""
        return self._question().agg(*unnamed, **aggregates)

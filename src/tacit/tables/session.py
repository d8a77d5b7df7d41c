"""A session: a table, whom it protects, and a budget that cannot be overdrawn."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Unpack

from tacit.accounting import Ledger, open_ledger
from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.shared_budget import continued
from tacit.accounting.open_ledger import InMemory, check_ledger, has_ledger
from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.display.card import Card, Shown
from tacit.errors import LedgerError, UsageError, did_you_mean
from tacit.expressions.timeline import Moment, Span
from tacit.tables.asking import AskedTable
from tacit.tables.described import described_question
from tacit.tables.engines.csv.format import CsvOptions
from tacit.tables.ledger_place import ledger_beside
from tacit.tables.live.counter import TimeCounter
from tacit.tables.open_source import Source
from tacit.tables.plan.declared import NOTHING_DECLARED, Declared
from tacit.tables.plan.notes import warn_of_budget
from tacit.tables.plan.query import Query, Unit
from tacit.tables.planned.session_plans import Planning
from tacit.tables.question import Question
from tacit.tables.reading import Reading
from tacit.tables.release.history import History, session_card
from tacit.tables.release.opened_table import OpenedTable
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit

__all__ = ["Session"]

_SQL = "tacit.sql.translate"
"""A room above, loaded when a question is first written in SQL."""

NEIGHBOURS = "unbounded"
"""One unit of privacy, with all its rows, added or removed."""


@public
class Session(Planning, AskedTable[Question], Shown):
    """Ask a table for differentially private statistics, under one privacy budget.

    Args:
        source: a path to a CSV or Parquet file, a folder or a glob of them; a pandas, polars or
            Arrow table; a DuckDB relation; with ``table``, a DuckDB connection or file, or the URL
            of a PostgreSQL database or an open connection of psycopg to it; a DataFrame of Spark,
            or a SparkSession with ``table``.
        unit: whom an answer protects: :func:`tacit.unit`, or :data:`tacit.one_row_each` where each
            row is a different person.  Required.
        budget: the total privacy loss that may ever be spent: ``tc.epsilon(1)``,
            ``tc.epsilon_delta(1, "1e-6")`` or ``tc.rho(0.1)``.
        ledger: the file that keeps the budget, or ``postgresql://user@host/db?ledger=name`` for one
            that several machines share; created if it does not exist.  By default it is
            ``visits.ledger`` beside a file or folder ``visits.csv``.  :data:`tacit.in_memory`
            writes no file: the budget ends with the session, and nothing stops the next session
            from spending it again.  This is the default where there is no folder for a ledger: for
            a data frame, a database, a glob of files, and the table that comes with Tacit.
        table: the table of a database.
        name: the public name of the data set, which its ledger and certificates show; by default
            the name of the file.  A data frame has no name of its own: give it one.  With the name
            that a ledger began with, the budget of its people goes on in another file, or where
            the columns have other names.
        memory_limit, threads: limits of the query engine, such as ``"4GB"`` and 2; by default those
            of the engine.
        timeout: the most seconds that one query may take, in PostgreSQL and Spark.
        **csv: how a CSV file is written, such as ``types={"age": "integer"}`` or ``delimiter=";"``;
            nothing is guessed from the rows (:func:`tacit.tables.open_source.open_source` lists
            every option).

    Raises:
        DataSourceError: the table cannot be read.
        LedgerError: the ledger belongs to another data set, has another budget, or cannot be
            written.
        UsageError: no unit, no budget, or a person column that does not exist.

    Example:
        >>> import tacit as tc
        >>> from tacit.data import health_insurance
        >>> session = tc.Session(
        ...     health_insurance(), unit=tc.unit("person", rows=5), budget=tc.epsilon(1)
        ... )
        >>> answer = session.agg(visits=tc.mean("visits", 0, 20)).release(epsilon="1/2")
        >>> 0 <= answer.value("visits") <= 20, session.remaining
        (True, epsilon(0.5))
    """

    def __init__(
        self,
        source: object,
        unit: Unit | None = None,
        budget: Budget | None = None,
        ledger: str | os.PathLike[str] | Ledger | InMemory | None = None,
        *,
        table: str | None = None,
        name: str | None = None,
        memory_limit: str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        **csv: Unpack[CsvOptions],
    ) -> None:
        if not isinstance(unit, (OneRowEach, PersonUnit)):
            raise UsageError(
                "say whom an answer protects: unit=tc.unit('person', rows=5), where a person may "
                "have several rows, or unit=tc.one_row_each, where each row is another person"
            )
        if budget is not None and not isinstance(budget, Budget):
            made_by = "tc.epsilon(1), tc.epsilon_delta(1, '1e-6') or tc.rho('1/10')"
            raise UsageError(f"a budget is {made_by}")
        limits = {"memory_limit": memory_limit, "threads": threads, "timeout": timeout}
        options = {"table": table, "name": name, **limits, **csv}
        opened, beside = OpenedTable(source, options), None
        if ledger is None:
            ledger = beside = ledger_beside(source, table)
        try:
            self._begin(opened, unit, budget, ledger, NOTHING_DECLARED, {})
        except LedgerError as error:
            if beside is None:
                raise
            raise type(error)(
                f"{error}. It is the default ledger of {opened.source.name}, beside it: name "
                "another place with ledger='...', or ask for none with ledger=tc.in_memory"
            ) from None

    @classmethod
    def of_dataset(
        cls,
        table: OpenedTable,
        unit: Unit,
        budget: Budget | None,
        ledger: str | os.PathLike[str] | Ledger | InMemory | None,
        declared: Declared,
        others: Mapping[str, Callable[[Ledger], Session]],
    ) -> Session:
        """Return a session on a table of a declared data set; users call :func:`tacit.open`.

        Args:
            table: the table, opened.
            unit: whom an answer protects, by the columns of this table.
            budget: as the class takes it.
            ledger: as the class takes it.
            declared: what is declared of the table, and of the ledger that it shares.
            others: how the other protected tables of the data set are opened, by name.
        """
        session = cls.__new__(cls)
        session._begin(table, unit, budget, ledger, declared, others)
        return session

    def _begin(
        self,
        table: OpenedTable,
        unit: Unit,
        budget: Budget | None,
        ledger: str | os.PathLike[str] | Ledger | InMemory | None,
        declared: Declared,
        others: Mapping[str, Callable[[Ledger], Session]],
    ) -> None:
        """Hold the table and its ledger, or close the table again."""
        self._table, self.unit = table, unit
        self._declared, self._others = declared, others
        try:
            unit.person(self.source.schema, self.source.engine.dialect)
            self.ledger = self._open(ledger, budget)
            warn_of_budget(budget, self._declared.size)
        except BaseException:
            self.source.close()
            raise

    def _open(
        self, ledger: str | os.PathLike[str] | Ledger | InMemory | None, budget: Budget | None
    ) -> Ledger:
        terms = {"unit": self._declared.unit or self.unit.describe(), "neighbours": NEIGHBOURS}
        if isinstance(ledger, Ledger):
            # What a ledger assumes of those who are answered changes nothing for a charge.
            terms |= {name: ledger.terms[name] for name in ("assumes",) if name in ledger.terms}
            ledger = continued(ledger, self.dataset, terms, same=self._says_same)
            return check_ledger(ledger, dataset=self.dataset, budget=budget, terms=terms)
        if budget is None and (ledger is None or not has_ledger(ledger)):
            raise UsageError(
                "say how much may be spent in all: budget=tc.epsilon(1), "
                "tc.epsilon_delta(1, '1e-6') or tc.rho('1/10')"
            )
        try:
            return open_ledger(ledger, dataset=self.dataset, budget=budget, terms=terms)
        except LedgerError:
            found = self._continued(ledger, budget, terms)
            if found is None:
                raise
            return found

    def _continued(
        self,
        ledger: str | os.PathLike[str] | InMemory | None,
        budget: Budget | None,
        terms: Mapping[str, Any],
    ) -> Ledger | None:
        """Return the ledger of the same people, which began with other columns; None elsewhere."""
        if ledger is None or isinstance(ledger, InMemory) or not has_ledger(ledger):
            return None
        with open_ledger(ledger, create=False) as begun:
            first = begun.dataset
        if first == self.dataset:
            return None
        whole = open_ledger(ledger, dataset=first, create=False)
        try:
            found = continued(whole, self.dataset, terms, same=self._says_same)
            if found is not whole:
                return check_ledger(found, dataset=self.dataset, budget=budget, terms=terms)
        except BaseException:
            whole.close()
            raise
        whole.close()
        return None

    @property
    def _says_same(self) -> bool:
        """Whether the user gave the table its name, and so says whose rows it holds."""
        return not self._declared.dataset and self._table.called is not None

    @property
    def source(self) -> Source:
        """The table, as it was opened or last refreshed."""
        return self._table.source

    @property
    def dataset(self) -> str:
        """The identity of the data set: its public name and a digest of its column names.

        Of a declared data set (:func:`tacit.open`) it is its name and a digest of its tables'.
        """
        return self._declared.dataset or f"{self.source.name} ({self.source.identity[:16]})"

    @property
    def columns(self) -> dict[str, str]:
        """The kind of every column, by name."""
        return self.source.columns

    @property
    def budget(self) -> Budget:
        """The whole budget."""
        return self.ledger.total

    @property
    def spent(self) -> Budget:
        """The budget spent so far."""
        return self.ledger.spent

    @property
    def remaining(self) -> Budget:
        """The budget that is left."""
        return self.ledger.remaining

    @property
    def declared(self) -> Declared:
        """The bounds and keys that a declared data set has for the table (:func:`tacit.open`)."""
        return self._declared

    def history(self) -> History:
        """Return every charge so far, as a list of entries that shows itself as a small table."""
        return History(self.ledger.history(), self.ledger.total, self.ledger.remaining)

    def _question(self) -> Question:
        said = self._declared
        query = Query(
            self.source.schema,
            self.unit,
            table=said.table,
            tables=said.tables,
            reading=self._reading(),
        )
        return Question(self._table, self.ledger, query, said)

    def _reading(self) -> Reading:
        """Return how the table is read: of a table of its own, as seen from its ledger."""
        if self._declared.dataset is not None:
            return self._declared.reading
        home = self.ledger.home or {}
        folder = os.path.dirname(home["path"]) if "path" in home else None
        return self.source.reading_from(None if folder is None else os.path.realpath(folder))

    def table(self, name: str) -> Session:
        """Return a session on another table of the same declared data set, under the same ledger.

        Args:
            name: of the table in the data set.

        Raises:
            UsageError: the data set has no such protected table.
            DataSourceError: the table does not exist.
        """
        if name not in self._others:
            hint = did_you_mean(name, self._others)
            raise UsageError(f"there is no other table {name!r}; {hint}")
        return self._others[name](self.ledger)

    def sql(self, text: str) -> Question:
        """Ask a question that is written in SQL, in the dialect of DuckDB.

        The text is never executed: it becomes the same question as the methods here make, and what
        has no translation is refused.  The page ``docs/sql.md`` lists the whole grammar.

        Args:
            text: one query, ``select site, count(*) as n from visits group by site``.

        Returns:
            A question with the names of the select list; nothing is spent until it is released.

        Raises:
            UnsupportedQueryError: the query has no translation; ``reason`` and ``position`` (line,
                column) say why and where.
            MissingExtraError: sqlglot is not installed (the extra ``sql``).

        Example:
            >>> import tacit as tc
            >>> from tacit.data import health_insurance
            >>> session = tc.Session(
            ...     health_insurance(), unit=tc.unit("person", rows=5), budget=tc.epsilon(1)
            ... )
            >>> session.sql("select count(*) as n from health_insurance where visits > 2")
            <Question n=count()>
        """
        translate = importlib.import_module(_SQL)
        question: Question = translate.question_of(
            text, self._names(), self._beside(), self._question_to
        )
        return question

    def described(self, said: Mapping[str, object]) -> Question:
        """Build a question from its description, as a service receives it.

        Args:
            said: the description, as plain JSON values
                (:meth:`tacit.tables.plan.query.Query.describe`); for a join, ``table``, ``how`` and
                ``on`` are enough.

        Raises:
            UsageError: the description does not fit this data set, or has another unit of privacy.

        Example:
            >>> import tacit as tc
            >>> from tacit.data import health_insurance
            >>> session = tc.Session(
            ...     health_insurance(), unit=tc.unit("person", rows=5), budget=tc.epsilon(1)
            ... )
            >>> said = {
            ...     "unit": session.unit.describe(),
            ...     "where": [],
            ...     "derived": [],
            ...     "by": [],
            ...     "keys": None,
            ...     "aggregates": [["n", {"kind": "count"}]],
            ... }
            >>> session.described(said)
            <Question n=count()>
        """
        return described_question(said, self._question_to)

    def _names(self) -> list[str]:
        """Return what a query may call the tables."""
        if self._declared.table is not None:
            return [self._declared.table, *self._others]
        name = self.source.name
        stem = name.replace("\\", "/").rsplit("/", 1)[-1].split(".")[0]
        return list(dict.fromkeys([name, stem]))

    def _beside(self) -> list[str]:
        """Return the names of the tables of the data set, which can be joined."""
        own = self._declared.table
        return [own, *self._table.others] if own is not None else []

    def _question_to(self, name: str) -> Question:
        """Return a question about all rows of a table, by what a query calls it."""
        return self.table(name)._question() if name in self._others else self._question()

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
        """Count the rows of each period as the table grows; see :meth:`Question.count_over_time`.

        Example:
            >>> import tacit as tc
            >>> visits = {"day": [0, 0, 1, 2, 2, 2], "who": [1, 2, 1, 3, 4, 5]}
            >>> import pyarrow
            >>> rows = pyarrow.table(visits)
            >>> session = tc.Session(rows, unit=tc.one_row_each, budget=tc.epsilon(1))
            >>> counter = session.count_over_time("day", start=0, every=1, periods=365, epsilon=1)
            >>> answer = counter.update(now=3)
            >>> answer.keys, counter.update(now=2).replayed, session.remaining
            ([(0,), (1,), (2,)], True, epsilon(0))
        """
        return self._question().count_over_time(
            column,
            start=start,
            every=every,
            periods=periods,
            epsilon=epsilon,
            rho=rho,
            grace=grace,
            branching=branching,
            tag=tag,
        )

    def refresh(self) -> None:
        """Open the table again, to see rows and files that were added since it was opened.

        A session keeps in the engine what it can use again: a CSV file, the list of a folder's
        files, the bounded rows of people.  So its answers are about the table as it was opened or
        last refreshed, or newer.  The same question at the same price is still answered from the
        ledger; a ``tag`` makes it a new release.  What cannot be opened again stays as it is: a
        data frame, and files in a :class:`~tacit.tables.Source` that was opened elsewhere.

        Raises:
            DataSourceError: the table cannot be read any more, or has other columns.
        """
        self._table.reopen()

    def close(self) -> None:
        """Close the table and the ledger's file."""
        self.source.close()
        self.ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._table.__reduce_ex__(protocol)

    def card(self) -> Card:
        """Return what a notebook displays: whom it protects, the budget, the columns."""
        return session_card(self._called(), self.unit, self.columns, self.ledger)

    def _called(self) -> str:
        return repr(self.source.name) if self._table.named else "a table without a name (name=)"

    def __repr__(self) -> str:
        told = f"{self.remaining!r} left, {self.ledger.whereabouts}"
        return f"<Session on {self._called()}, {self.unit}: {told}>"

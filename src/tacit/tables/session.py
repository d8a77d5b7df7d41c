"""Sessions: a table, a unit of privacy, a budget and a ledger."""

from __future__ import annotations

import importlib
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from tacit import plotting
from tacit.accounting import Budget, Entry, Ledger, open_ledger
from tacit.accounting.budget import share, shares
from tacit.accounting.ledger import continued
from tacit.accounting.ledger_chain import canonical
from tacit.accounting.open_ledger import InMemory, check_ledger, has_ledger
from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.display.card import Card, CardTable, Shown
from tacit.errors import LedgerError, UsageError, did_you_mean, need
from tacit.expressions.expression import from_json
from tacit.expressions.schema import UUID, uuid_text
from tacit.expressions.timeline import Moment, Span
from tacit.report.text import protects_line, question_words
from tacit.tables.engines.base import InPlaceEngine
from tacit.tables.joint_plans.session_plans import Planning
from tacit.tables.missing_codes import ReadOptions
from tacit.tables.open_source import Source
from tacit.tables.plan.parse_question import aggregate_from
from tacit.tables.plan.preview import warn_of_budget
from tacit.tables.plan.query import NOTHING_DECLARED, Declared, Query, Unit
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.question import QueryableTable, Question
from tacit.tables.reading import Reading, without_reading
from tacit.tables.release.opened_table import OpenedTable, SharedTable
from tacit.tables.streaming.counter import TimeCounter

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

# Where the ledger of a table stands by default: beside its file.


def ledger_beside(source: Any, table: str | None = None) -> Path | None:
    """Return the ledger's place beside a file or a folder: the same from whatever folder one asks.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "visits.csv"
    >>> path.touch()
    >>> ledger_beside(path).name, ledger_beside("visits-*.csv")
    ('visits.ledger', None)
    >>> folder.cleanup()
    """
    # Returns: ``visits.ledger`` beside ``visits.csv``; None where there is no place: for a data
    # frame, a connection, an address, a pattern of files, and for the table that comes with Tacit,
    # which is public and stands among the program's own files.
    if not isinstance(source, (str, os.PathLike)) or "://" in os.fspath(source):
        return None
    path = Path(os.path.expanduser(os.fspath(source)))
    if not os.fspath(source) or not path.exists():
        return None
    location = path.resolve()
    from tacit.data import health_insurance

    if location == health_insurance().resolve():
        return None
    stem = location.name if location.is_dir() else location.name.split(".")[0] or location.name
    return location.with_name(f"{stem}.{table}.ledger" if table else f"{stem}.ledger")


# A question as a program describes it, asked again through the doors that a person's goes through.
#
# A description is what :meth:`tacit.tables.plan.query.Query.describe` writes, and it may come from
# anybody: a service reads it from a request.  So each part of it is handed to the method that a
# user calls in Python, which refuses what cannot be asked of the table as it is hosted; and in the
# end the question that was built describes itself, and is refused unless that is what was said.
# Whom the answers protect is therefore always what the data set declares: a description that says
# otherwise is another question, and refused.


_UUIDS = re.compile(rf'(?<="){UUID.pattern}(?=")')
_MOST = 1000  # computed columns, and answers, of one question
_BROKEN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def described_question(spec: Mapping[str, Any], open: Callable[[str], Question]) -> Question:
    """Return the question that a description says."""
    # open: returns a question about all rows of a table, by its name in the data set; of a table
    #   without one it is given empty text.
    try:
        question, joins = _built(spec, open)
        # how the tables are read is what the data set declares, whatever is said of it
        built, stated = map(without_reading, (question.described(), _with_joins(spec, joins)))
        same = _with_uuids(canonical(built)) == _with_uuids(canonical(stated))
    except UsageError:
        raise
    except _BROKEN:
        raise UsageError(
            "this does not describe a question: a client of another version may have written "
            "it; ask in SQL, or use the client of the version that the service runs"
        ) from None
    if not same:
        raise UsageError(
            "the description of the question has unknown parts, is not in the form that Tacit "
            "writes, or names other people than the data set protects: write it as "
            "Query.describe() does"
        )
    return question


def _with_uuids(text: str) -> str:
    """Return a description in which no UUID is written in two ways: columns of them read both."""
    return _UUIDS.sub(lambda found: uuid_text(found[0]), text)


def _built(spec: Mapping[str, Any], open: Callable[[str], Question]) -> tuple[Question, list[Any]]:
    """Return the question, built part by part, and the joins that it made."""
    name = spec.get("table", "")
    if not isinstance(name, str):
        raise TypeError(name)
    rows = open(name)
    inner = spec.get("inner")
    for join in (spec if inner is None else inner).get("joins", ()):
        on = {str(here): str(there) for here, there in join["on"]}
        rows = rows.join(str(join["table"]), on=on, how=str(join["how"]))
    joins: Any = rows.described().get("joins", [])
    if inner is not None:
        rows = _filtered(rows, inner).per_person(**_aggregates(inner))
    question = _filtered(rows, spec).agg(**_aggregates(spec))
    if spec["by"]:
        keys = spec["keys"]
        by = [str(column) for column in spec["by"]]
        question = question.group_by(
            *by, keys=None if keys is None else [tuple(key) for key in keys]
        )
    return question, joins


def _filtered(rows: Question, spec: Mapping[str, Any]) -> Question:
    """Return rows with the columns that are computed and the filters."""
    if max(len(spec["derived"]), len(spec["aggregates"])) > _MOST:
        raise UsageError(f"a question has at most {_MOST} columns and {_MOST} answers")
    for name, expression in spec["derived"]:
        rows = rows.with_columns(**{str(name): from_json(expression)})
    return rows.filter(*(from_json(expression) for expression in spec["where"]))


def _aggregates(spec: Mapping[str, Any]) -> dict[str, Any]:
    labelled = [(str(label), aggregate_from(one)) for label, one in spec["aggregates"]]
    if len(dict(labelled)) < len(labelled):
        raise UsageError("each answer needs a label of its own")
    return dict(labelled)


def _with_joins(spec: Mapping[str, Any], joins: list[Any]) -> dict[str, Any]:
    """Return a description with joins as the data set makes them, in the place of those said."""
    if "inner" in spec:
        return {**spec, "inner": _with_joins(spec["inner"], joins)}
    return {**spec, "joins": joins} if joins else dict(spec)


# A budget as a bar of its charges: who spent what of it, when, and for what.


_PLOT_HISTORY_MOST = 12
_WIDE = 128
_LINE = 0.19  # the height of a line of text, in inches


def history_figure(entries: Sequence[Entry], total: Budget | None, left: Budget | None) -> Any:
    """Draw the bar, and below it a line per charge; the first ones as one if there are many."""
    if total is None or left is None:
        raise UsageError("take the history of a session to draw it: session.history().plot()")
    early, late = list(entries[:-_PLOT_HISTORY_MOST]), list(entries[-_PLOT_HISTORY_MOST:])
    costs = [share(entry.cost, total) for entry in entries]
    gone, scale = 1 - share(left, total), sum(costs)
    widths = [cost * gone / scale if scale else 0.0 for cost in costs]
    bars = ([sum(widths[: len(early)])] if early else []) + widths[len(early) :]
    texts = [f"{len(early):,} earlier charges"] if early else []
    texts += [_words(entry) for entry in late]
    names = ([f"1-{len(early)}"] if early else []) + [
        str(len(early) + 1 + i) for i in range(len(late))
    ]
    lines = [
        (name, textwrap.wrap(words, _WIDE, max_lines=3, placeholder=" ..."))
        for name, words in zip(names, texts, strict=True)
    ]
    height = 1.1 + _LINE * (sum(len(wrapped) + 0.5 for _, wrapped in lines) + 1)
    figure = plotting.figure(9, height)
    top, below = (row[0] for row in plotting.axes(figure, 2, 1, heights=[0.75, height - 0.75]))
    _bar(top, bars, names, total, left)
    _list(below, lines, height - 1.1)
    return figure


def _bar(
    one: Any, bars: Sequence[float], names: Sequence[str], total: Budget, left: Budget
) -> None:
    start = 0.0
    for location, (wide, name) in enumerate(zip(bars, names, strict=True)):
        colour, ink = (
            (plotting.ACCENT, "white") if location % 2 == 0 else (plotting.FAINT, plotting.INK)
        )
        one.barh([0], [wide], left=[start], color=colour, edgecolor=plotting.INK, linewidth=0.8)
        if wide > 0.012 * (len(name) + 1):
            one.text(start + wide / 2, 0, name, ha="center", va="center", fontsize=9, color=ink)
        start += wide
    one.barh([0], [max(1 - start, 0)], left=[start], color="white", edgecolor=plotting.INK, lw=0.8)
    one.set_xlim(0, 1)
    one.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    one.set_yticks([])
    one.grid(visible=False)
    one.spines["left"].set_visible(False)
    plotting.title(one, f"The budget: {total}", f"left: {left} ({1 - start:.1%}), in white")


def _list(one: Any, lines: Sequence[tuple[str, list[str]]], height: float) -> None:
    one.set_axis_off()
    one.set_xlim(0, 1)
    one.set_ylim(-height, 0)
    down = -_LINE / 2
    if not lines:
        one.text(0, down, "nothing was released yet", fontsize=9, color=plotting.MUTED, va="top")
    for name, wrapped in lines:
        one.text(0.03, down, name, fontsize=9, fontweight="bold", ha="right", va="top")
        for text in wrapped:
            one.text(0.045, down, text, fontsize=8.5, va="top", color=plotting.INK)
            down -= _LINE
        down -= _LINE / 2


def _words(entry: Entry) -> str:
    who = f" by {', '.join(entry.accounts)}" if entry.accounts else ""
    where = f" on {entry.dataset}" if entry.dataset else ""
    state = "" if entry.state == "answered" else ", not answered yet"
    when = entry.when[:16].replace("T", " ")
    return f"{when} UTC, {entry.cost}{who}{where}{state}: {question_words(entry.question)}"


# What a session shows of itself: its budget and columns, and its charges as a small table.


class History(list[Entry], Shown):
    """Every charge so far, the first one first.

    >>> import pyarrow, tacit as tc
    >>> ages = pyarrow.table({"age": [31, 45, 52]})
    >>> session = tc.Session(ages, unit=tc.one_row_each, budget=tc.epsilon(1))
    >>> _ = session.agg(n=tc.count()).release(epsilon="1/4")
    >>> session.history().to_dict()["cost"]
    ['epsilon 0.25']
    """

    def __init__(
        self, entries: Iterable[Entry] = (), total: Budget | None = None, left: Budget | None = None
    ) -> None:
        super().__init__(entries)
        self._total, self._left = total, left

    def plot(self) -> Figure:
        """Draw the budget as a bar: who spent what of it, when, and for what.

        Where many small charges cost less together than their sum, they share what is gone of the
        budget in proportion to their costs.

        Returns:
            A matplotlib Figure; save it with ``.savefig("budget.png")``.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        figure: Figure = history_figure(self, self._total, self._left)
        return figure

    def to_dict(self) -> dict[str, list[int | str]]:
        """Return it as columns: ``charge`` (1, 2, 3), ``when``, ``cost``, ``state``, ``question``.

        A state is ``open`` where the charge has no answer yet: asking the same again is free.
        """
        return {
            "charge": list(range(1, len(self) + 1)),
            "when": [entry.when[:19].replace("T", " ") for entry in self],
            "cost": [str(entry.cost) for entry in self],
            "state": [entry.state for entry in self],
            "question": [question_words(entry.question) for entry in self],
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return it as a pandas DataFrame (needs the extra ``pandas``)."""
        table: pandas.DataFrame = need("pandas", "pandas").DataFrame(self.to_dict())
        return table

    def card(self) -> Card:
        """Return what a notebook displays."""
        if not self:
            return Card("History", "nothing was released yet")
        table = self.to_dict()
        rows = [[str(cell) for cell in row] for row in zip(*table.values(), strict=True)]
        head = ["when (UTC)" if name == "when" else name for name in table]
        return Card("History", "", [CardTable(head, rows)])

    def __repr__(self) -> str:
        return self.card().text()


def session_card(name: str, unit: Unit, columns: Mapping[str, str], ledger: Ledger) -> Card:
    """Return what a notebook shows of a session: whom it protects, the budget, the columns."""
    kinds: dict[str, list[str]] = {}
    for column, kind in columns.items():
        kinds.setdefault(kind, []).append(column)
    rows = [[kind, ", ".join(listed)] for kind, listed in kinds.items()]
    bar = shares(ledger.total, ledger.spent, ledger.remaining)
    notes = [f"the budget is {ledger.whereabouts}"]
    protects = protects_line(unit.describe())
    return Card(f"Session on {name}", protects, [bar, CardTable(["kind", "columns"], rows)], notes)


# A session: a table, whom it protects, and a budget that cannot be overdrawn.


_SQL = "tacit.sql.select"  # a room above, loaded when a question is first written in SQL

NEIGHBOURS = "unbounded"  # one unit of privacy, with all its rows, added or removed


@public
class Session(Planning, QueryableTable[Question], Shown):
    """Ask a table for differentially private statistics, under one privacy budget.

    Args:
        source: a path to a CSV or Parquet file, or one of SPSS, Stata or SAS, a folder or a glob of
            them; a pandas, polars or Arrow table; a DuckDB relation; with ``table``, a DuckDB
            connection, a file of DuckDB or SQLite, or the URL of a PostgreSQL database or an open
            connection of psycopg to it; a DataFrame of Spark, or a SparkSession with ``table``.
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
        missing: codes that are missing values, by column: numbers, texts, days, and ranges with
            both ends, such as ``{"age": [98, 99], "income": [(-9, -1)], "answer": ["refused"]}``.
        **read: ``missing``, and how a CSV file is written, such as ``types={"age": "integer"}`` or
            ``delimiter=";"``; nothing is guessed from the rows
            (:func:`tacit.tables.open_source.open_source` lists every option).

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
        **read: Unpack[ReadOptions],
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
        options = {"table": table, "name": name, **limits, **read}
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
            existing = self._continued(ledger, budget, terms)
            if existing is None:
                raise
            return existing

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
            continuing = continued(whole, self.dataset, terms, same=self._says_same)
            if continuing is not whole:
                return check_ledger(continuing, dataset=self.dataset, budget=budget, terms=terms)
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
        spec = replace(self._declared, labels=self.source.labels)
        query = Query(
            self.source.schema,
            self.unit,
            table=spec.table,
            tables=spec.tables,
            reading=self._reading(),
        )
        return Question(self._table, self.ledger, query, spec)

    def _reading(self) -> Reading:
        """Return how the table is read: of a table of its own, as seen from its ledger."""
        if self._declared.dataset is not None:
            return self._declared.reading
        home = self.ledger.home or {}
        folder = os.path.dirname(home["path"]) if "path" in home else None
        return self.source.reading_from(None if folder is None else os.path.realpath(folder))

    def table(self, name: str) -> Session:
        """Return a session on another table of the same declared data set, under the same ledger.

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

    def described(self, spec: Mapping[str, object]) -> Question:
        """Build a question from its description, as a service receives it.

        Args:
            spec: the description, as plain JSON values
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
        return described_question(spec, self._question_to)

    def _names(self) -> list[str]:
        """Return what a query may call the tables."""
        if self._declared.table is not None:
            return [self._declared.table, *self._others]
        name = self.source.name
        file = name.replace("\\", "/").rsplit("/", 1)[-1]
        names = [name, file.split(".")[0]]
        _, colon, table = file.partition(":")  # a table of DuckDB
        if not colon and isinstance(self.source.engine, InPlaceEngine):
            table = name
        if table:
            names.insert(1, table.rsplit(".", 1)[-1].strip("`"))
        return list(dict.fromkeys(names))

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
        state = f"{self.remaining!r} left, {self.ledger.whereabouts}"
        return f"<Session on {self._called()}, {self.unit}: {state}>"


# A session on a table that another one holds open, whose releases another ledger pays.


class PaidSession(Session):
    """A session that shares the open table of another; closing it closes nothing.

    >>> import tacit as tc
    >>> from tacit.accounting.ledger import on_account_of
    >>> from tacit.data import health_insurance
    >>> whole = tc.Session(health_insurance(), tc.unit("person", rows=5), tc.epsilon(1))
    >>> ada = PaidSession(whole, on_account_of(whole.ledger, "analyst:ada"), {})
    >>> ada.agg(n=tc.count()).release(epsilon="1/2").cost, whole.remaining
    (epsilon(0.5), epsilon(0.5))
    """

    def __init__(
        self, whole: Session, ledger: Ledger, others: Mapping[str, Callable[[Ledger], Session]]
    ) -> None:
        self._table, self.unit = SharedTable(whole._table), whole.unit
        self._declared, self._others = whole._declared, others
        self.ledger = self._open(ledger, None)

    def close(self) -> None:
        """Do nothing: whoever opened the table and the ledger closes them."""

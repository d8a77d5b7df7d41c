"""The query that a question states: its statistics, groups, filters and labels."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn, TypeAlias, TypeVar

from tacit.arithmetic.exact import as_fraction
from tacit.errors import UsageError
from tacit.expressions.expression import Expression
from tacit.expressions.schema import Column, Schema, uuid_text
from tacit.expressions.value_range import public_values, range_of
from tacit.tables.privacy_unit import OneRowEach, Person, PersonUnit
from tacit.tables.query.joins import Join
from tacit.tables.reading import DEFAULT_READING, Reading, texts_in
from tacit.tables.statistics.base import Aggregate, Clamped, TableStatistic, statistics

# A question to a table, from public facts alone: its identity.
#
# The key of a ledger, a certificate and its check rest on :meth:`Query.describe`.


Unit: TypeAlias = OneRowEach | PersonUnit


@dataclass(frozen=True)
class Query:
    """A question to a table, from public facts alone."""

    schema: Schema  # the columns of the source
    unit: Unit
    where: tuple[Expression, ...] = ()  # filters, all of which must hold
    derived: tuple[tuple[str, Expression], ...] = ()  # columns computed from each row, by name
    by: tuple[str, ...] = ()  # the grouping columns
    # the public keys, one tuple each; None where they are unknown (or there is no ``by``)
    keys: tuple[tuple[Any, ...], ...] | None = None
    aggregates: tuple[tuple[str, TableStatistic], ...] = ()  # what is asked, by label
    table: str | None = None  # which table is asked, of a declared data set
    # the protected tables of that data set, each with its person column
    tables: tuple[tuple[str, Person | None], ...] = ()
    # what each label counts where the loss is split, in lowest terms; none for evenly
    weights: tuple[tuple[str, int], ...] = ()
    # the rows that people are made of, where the table asked has one row a person: ``schema`` is
    # that of people then (:mod:`tacit.tables.plan.parse_question`)
    inner: Query | None = None
    # the other tables of the data set whose columns are next to those of the source
    joins: tuple[Join, ...] = ()
    rounds: int = 1  # how often people are counted to release unknown keys
    reading: Reading = DEFAULT_READING  # how the table is read, where that is not the default
    timed: str | None = None  # the column of the times of a count over time

    @cached_property
    def columns(self) -> Schema:
        """The columns with those of joined tables and the derived ones."""
        columns: dict[str, Column] = dict(self.schema)
        for join in self.joins:
            columns = join.after(columns)
        own = [(name, expression.kind) for name, expression in self.derived]
        return Schema(list(columns.values())).with_derived(own)

    def with_columns(self, **columns: Expression) -> Query:
        """Return the question with more derived columns, the others not examined again."""
        query = replace(self, derived=(*self.derived, *columns.items()))
        kinds = [(name, expression.kind) for name, expression in columns.items()]
        return query._of_columns(self.columns.with_derived(kinds))

    def asking(self, **changes: Any) -> Query:
        """Return the question about the same columns with other filters, groups or answers."""
        return replace(self, **changes)._of_columns(self.columns)

    def with_uuids(self) -> Query:
        """Return the question with UUIDs as their columns have them, however they were written."""
        names = {name for name, column in self.schema.items() if column.is_uuid}
        if not names:
            return self
        for name, expression in self.derived:
            if expression.operation == "col" and expression.columns() <= names:
                names.add(name)
        listed = [name in names for name in self.by]
        keys = self.keys and tuple(
            tuple(as_uuid(part) if own else part for part, own in zip(key, listed, strict=True))
            for key in self.keys
        )
        if keys and len(set(keys)) < len(keys):
            raise UsageError("a key is given twice: two of them are one UUID, written in two ways")
        return self.asking(
            where=tuple(condition.with_uuids(names) for condition in self.where),
            derived=tuple((name, value.with_uuids(names)) for name, value in self.derived),
            keys=keys,
            aggregates=tuple((label, a.with_uuids(names)) for label, a in self.aggregates),
        )

    def _of_columns(self, columns: Schema) -> Query:
        self.__dict__["columns"] = columns  # where cached_property keeps it
        return self

    @property
    def source_schema(self) -> Schema:
        """The columns of the table that is read."""
        return self.schema if self.inner is None else self.inner.source_schema

    @property
    def row_steps(self) -> int:
        """The number of steps of a chain from the table to the rows of the question."""
        own = len(self.joins) + len(self.where) + len(self.derived)
        return own if self.inner is None else self.inner.row_steps + 1 + own

    @cached_property
    def columns_read(self) -> set[str]:
        """The columns of the source that it reads; more where an answer's text has such a name."""
        each = [*self.where, *(expression for _, expression in self.derived)]
        texts = {*self.by, *(here for join in self.joins for here, _ in join.on)}
        texts |= texts_in([*self.unit.columns, *(a.to_json() for _, a in self.aggregates)])
        return texts.union(*(expression.columns() for expression in each)) & {*self.schema}

    @cached_property
    def resolved(self) -> dict[str, Expression]:
        """The derived columns in terms of the table's own."""
        known: dict[str, Expression] = {}
        for name, expression in self.derived:
            known[name] = expression.substitute(known)
        return known

    @property
    def unknown_keys(self) -> bool:
        """True if the keys themselves must be released."""
        return bool(self.by) and self.keys is None

    @property
    def is_plain(self) -> bool:
        """True if it is about one table, in listed groups, by methods that no price changes."""
        if self.joins or self.inner is not None or self.unknown_keys:
            return False
        return all(aggregate.method is None for _, aggregate in self.aggregates)

    @cached_property
    def rows(self) -> str:
        """A text of the rows and columns that it is about: equal text, equal rows."""
        where, derived = self._conditions()
        inner = None if self.inner is None else self.inner.describe()
        return repr([self.unit.describe(), where, derived, list(self.by), inner])

    def _conditions(self) -> tuple[list[Any], list[Any]]:
        """Return the filters and the derived columns as plain JSON values."""
        derived = [[name, expression.to_json()] for name, expression in self.derived]
        return [expression.to_json() for expression in self.where], derived

    def _described_keys(self) -> list[list[Any]] | None:
        """Return the public keys as plain JSON values: what they mean is what is written."""
        # A column of dates reads the text of a date as that date.  One that no one declared may
        # read the two differently, and did so before both were dates, so that a date is written as
        # one there.  Text stays text: that is what older ledgers and certificates hold, and how
        # they are read back.
        if self.keys is None:
            return None
        dated = [self.columns[name].kind == "undeclared" for name in self.by]
        return [
            [
                _dated_key(part) if own else plain_key(part)
                for part, own in zip(k, dated, strict=True)
            ]
            for k in self.keys
        ]

    def describe(self) -> dict[str, Any]:
        """Return the question as plain JSON values: equal questions, equal values."""
        tables = [list(table) for table in self.tables]
        where, derived = self._conditions()
        times = {self.timed} if self.timed and self.reading.has_format(self.timed) else set()
        reading = self.reading.describe(self.columns_read | times)
        return {
            **({"table": self.table, "tables": tables} if tables else {}),
            **({"joins": [join.describe() for join in self.joins]} if self.joins else {}),
            **({"reading": reading} if reading else {}),
            "unit": self.unit.describe(),
            "where": where,
            "derived": derived,
            "by": list(self.by),
            "keys": self._described_keys(),
            **({"rounds": self.rounds} if self.rounds > 1 else {}),
            "aggregates": [[label, a.to_json()] for label, a in self.aggregates],
            **({"weights": [list(each) for each in self.weights]} if self.weights else {}),
            **({} if self.inner is None else {"inner": self.inner.describe()}),
        }


def as_uuid(part: Any) -> Any:
    """Return a part of a key as a column of UUIDs has it."""
    return uuid_text(part) if isinstance(part, str) else part


def plain_key(value: Any) -> Any:
    """Return a part of a key as plain JSON: a date as text."""
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)


def _dated_key(value: Any) -> Any:
    if not isinstance(value, datetime.date):
        return plain_key(value)
    day = value.date() if isinstance(value, datetime.datetime) else value
    return {"date": day.isoformat()}


# What a question is given: columns by name, and aggregates with the labels of their answers.


_NO_STATISTICS = 'ask for statistics in agg: agg(n=tc.count(), age=tc.mean("age", 0, 100))'
_RELEASED = "release it first: answer = question.release(epsilon='1/2'), then answer."
# What an answer becomes, which people look for in a question.
ANSWERS = ("to_polars", "to_arrow", "to_csv", "to_excel", "to_parquet", "to_dict", "plot")
_SORTED = "sort the answer: answer.to_pandas().sort_values('n'), or write SQL with ORDER BY"
_RUN = "it is answered by release: question.release(epsilon='1/2')"
_CHANGED = 'compute a column: with_columns(filled=tc.col("age").fill_null(0))'
_DISTINCT = 'different values are counted: agg(sites=tc.count_distinct("site"))'
# What to write for names of other libraries that people look for.
SUGGESTIONS = {
    **{name: f"{_RELEASED}{name}()" for name in ANSWERS},
    **{name: f"{_RELEASED}{name}('n')" for name in ("value", "interval", "column")},
    **dict.fromkeys(("collect", "compute", "execute", "run", "fetchall", "result"), _RUN),
    **dict.fromkeys(("answer", "show", "fetch", "get"), _RUN),
    **dict.fromkeys(("sort_values", "order_by", "sort", "arrange", "limit", "having"), _SORTED),
    **dict.fromkeys(("groupby", "groupBy"), 'it is called group_by("site")'),
    **dict.fromkeys(("merge", "left_join", "inner_join"), 'it is called join("sites", on="site")'),
    **dict.fromkeys(("fillna", "fill_null", "replace", "astype", "cast", "apply"), _CHANGED),
    **dict.fromkeys(
        ("with_column", "assign", "mutate", "withColumn"),
        'columns are added with with_columns(old=tc.col("age") >= 65)',
    ),
    **dict.fromkeys(
        ("dropna", "drop_na", "drop_nulls"),
        'filter(tc.col("age").is_not_null()) leaves rows out; statistics pass over missing values',
    ),
    **dict.fromkeys(("unique", "distinct", "drop_duplicates"), _DISTINCT),
    **dict.fromkeys(
        ("dtypes", "info", "names", "schema", "columns"),
        "the columns with their kinds: session.columns, question.schema",
    ),
    "is_charged": "a release costs nothing more where question.cost(epsilon='1/2').is_nothing",
    **dict.fromkeys(("shape", "size", "nrow", "len"), _NO_STATISTICS),
    **dict.fromkeys(("hist", "crosstab", "pivot_table", "summarise", "summarize"), _NO_STATISTICS),
    **dict.fromkeys(("sd", "n", "avg", "average", "stddev", "aggregate"), _NO_STATISTICS),
    **dict.fromkeys((known.kind for known in statistics()), _NO_STATISTICS),
    **dict.fromkeys(("mode", "corr", "cov", "nunique"), _NO_STATISTICS),
    **dict.fromkeys(("quantile", "describe", "value_counts", "select"), _NO_STATISTICS),
    **dict.fromkeys(("where", "query"), 'keep rows with filter(tc.col("age") >= 18)'),
    **dict.fromkeys(
        ("head", "tail", "sample", "iloc", "loc", "to_pandas"), "no row can be seen: ask with agg"
    ),
}


def suggestion_for(columns: Iterable[str], name: str) -> str:
    """Return how a column is named, where a name that an object has not is that of a column."""
    wanted = name.lower()
    known = [each for each in columns if each.lower() == wanted]
    if not known:
        return ""
    quoted = f'"{known[0]}"'
    return f"a column is named by tc.col({quoted}), or by its name: tc.mean({quoted}, 0, 100)"


def refuse_brackets(_table: object, name: object) -> NoReturn:
    """Return the message with the spelling that replaces ``table["age"]``."""
    column = name if isinstance(name, str) and name.isidentifier() else "age"
    raise UsageError(
        "no column can be read out: ask for a statistic of it, as in "
        f'agg({column}=tc.mean("{column}", 0, 100)), or name it in an expression, '
        f'tc.col("{column}")'
    )


def columns_named(by: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    """Return the columns that are given one by one, or in one list.

    >>> columns_named(["site", "plan"]), columns_named([["site", "plan"]])
    (('site', 'plan'), ('site', 'plan'))
    """
    if len(by) == 2 and isinstance(by[0], str) and isinstance(by[1], (list, tuple, range)):
        raise UsageError(f'the keys are named: group_by("{by[0]}", keys=[...])')
    first = by[0] if len(by) == 1 else by
    names = (first,) if isinstance(first, str) else first
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise UsageError(
            'group by columns, named by text: group_by("site", "year"); to group by an '
            'expression, make it a column first, with_columns(old=tc.col("age") >= 65)'
        )
    return tuple(names)


def labels_of(
    unnamed: Sequence[Aggregate], named: Mapping[str, Aggregate]
) -> tuple[tuple[str, TableStatistic], ...]:
    """Check what a question was given, and return it in order, each with its label.

    >>> from tacit.tables.statistics.counts import count
    >>> [label for label, _ in labels_of([count()], {"n": count()})]
    ['count', 'n']
    """
    checked: list[tuple[str, TableStatistic]] = []
    for label, aggregate in [*((None, each) for each in unnamed), *named.items()]:
        if label == "":
            raise UsageError("an answer needs a label that is not empty: agg(n=tc.count())")
        if not isinstance(aggregate, TableStatistic):
            name = getattr(aggregate, "__name__", "")
            called = f"call it: tc.{name}(...)" if name else "agg(n=tc.count()) names one answer n"
            raise UsageError(
                f"{label or 'it'} must be an aggregate such as tc.count() or "
                f"tc.mean('age', 0, 100), not a {type(aggregate).__name__}; {called}"
            )
        if aggregate.fields:
            aggregate.require_column()
        checked.append((aggregate.label() if label is None else label, aggregate))
    return tuple(checked)


def check_labels(labels: Sequence[str], by: Sequence[str]) -> None:
    """Raise if labels do not distinguish the columns of an answer."""
    if set(labels) & set(by) or len(set(labels)) < len(labels):
        raise UsageError("each answer needs a label of its own, other than the grouping columns")
    shown = [label + suffix for label in labels for suffix in ("", "_error", "_low", "_high")]
    if len({*shown, *by}) < len(shown) + len(by):
        raise UsageError(
            "an answer takes the columns label, label_error, label_low and label_high; choose "
            "labels (and grouping columns) without these endings"
        )


# What a data set declares of a table, for what a question leaves out.


_S = TypeVar("_S", bound=TableStatistic)
GivenKeys: TypeAlias = Iterable[object] | Mapping[str, Iterable[object]] | None


LABELS = "labels"  # keys that are the values with a label in the file
Labels: TypeAlias = Mapping[Any, str]  # of values
_MOST_LABELS = 10_000  # that a certificate repeats


def labelled_keys(name: str, labels: Labels) -> list[object]:
    """Return the values with a label as public keys; raise where they cannot be."""
    if not labels:
        raise UsageError(
            f"keys='labels' takes the keys of {name!r} from the labels of its values, and its "
            "table has none (but for missing values): list the keys, keys=[1, 2, 3]"
        )
    for key in labels:
        if isinstance(key, float):
            raise UsageError(
                f"the labels of {name!r} are of numbers with fractions, such as {key!r}, which "
                "are no keys: cut the column into bins, as in tc.col('x').cut([0, 10, 20])"
            )
    return list(labels)


@dataclass(frozen=True)
class Declared:
    """Public bounds and categories of columns, and the ledger that tables share.

    Attributes:
        dataset: the identity of the data set, for its ledger; None for a table of its own.
        unit: whom the ledger protects, as plain JSON; None where that is the table's own unit.
        table: the name of the table, in the data set.
        tables: the protected tables of the data set, each with its person columns.
        bounds: of columns by name.
        keys: the categories of columns by name.
        told: the ``meaning`` and the ``unit`` of columns by name, for readers.
        labels: the labels of the values of columns by name, as the file of the table has them.
        size: how many people the table has, where that is public.
        reading: how the table is read, where that is not the default.
    """

    dataset: str | None = None
    unit: Mapping[str, object] | None = None
    table: str | None = None
    tables: tuple[tuple[str, Person | None], ...] = ()
    bounds: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[object]] = field(default_factory=dict)
    descriptions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    size: int | None = None
    reading: Reading = DEFAULT_READING
    labels: Mapping[str, Labels] = field(default_factory=dict)

    def bounded(
        self,
        aggregate: _S,
        derived: Sequence[tuple[str, Expression]] = (),
        columns: Iterable[Column] = (),
    ) -> _S:
        """Return a statistic with the bounds of its column, where it names none.

        Those of a derived column follow from the declared bounds of the columns that it reads
        (:mod:`tacit.expressions.value_range`); one that is always the same has bounds that hold
        zero too, because bounds must rise.  Those of true and false are 0 and 1.

        Args:
            aggregate: the statistic.
            derived: the columns that the question computes, by name, in their order.
            columns: the columns that it can ask about.

        Raises:
            UsageError: there are none.
        """
        aggregate = aggregate.with_keys(self.keys)
        if not aggregate.lacks_bounds:
            return aggregate
        known = {one.name: (Fraction(0), Fraction(1)) for one in columns if one.kind == "boolean"}
        known |= self.ranges(_read_by([one.column for one in aggregate.clamped], derived))
        bounded = []
        for one in aggregate.clamped:
            if one.lower is None and one.column not in known:
                raise UsageError(self._remedies(aggregate, one.column, dict(derived)))
            lower, upper = known[one.column] if one.lower is None else (one.lower, one.upper)
            if lower == upper:
                lower, upper = min(lower, Fraction(0)), max(upper, Fraction(not upper))
            bounded.append(Clamped(one.column, lower, upper))
        return aggregate.with_bounds(bounded)

    def ranges(
        self, derived: Sequence[tuple[str, Expression]]
    ) -> dict[str, tuple[Fraction, Fraction]]:
        """Return the bounds of columns: those declared, and those that follow for derived ones."""
        known = dict(self.bounds)
        for name, expression in derived:
            value_range = range_of(expression, known)
            if value_range is not None:
                known[name] = value_range
        return known

    def _remedies(
        self, aggregate: TableStatistic, column: str, derived: Mapping[str, Expression]
    ) -> str:
        """Return the ways to give a statistic of a column bounds."""
        kind, ends = aggregate.kind, f"{aggregate.lowest}, 100"
        named = repr(column) if column.isidentifier() or column not in derived else "..."
        example = (
            f"..., bounds={{{column!r}: ({ends})}}"
            if len(aggregate.clamped) > 1
            else f"{named}, {ends}"
        )
        given = f"give them, such as tc.{kind}({example})"
        if column not in derived:
            remedy = f"{given}, or declare them for the column in a data set, {column} = "
            remedy += f"{{ bounds = [{ends}] }}"
        else:
            remedy = f"none follow for {derived[column]}: {given}, or clip it, (...).clip({ends})"
            lacking = sorted(derived[column].columns() - {*self.bounds, *derived})
            if lacking:
                remedy += f", or declare bounds of {', '.join(map(repr, lacking))} in a data set"
        return (
            f"{kind} of {column!r} needs public bounds: {remedy}. They limit what one person can "
            "change, and must not be read off the private data"
        )

    def keys_of(
        self, by: Sequence[str], derived: Sequence[tuple[str, Expression]] = ()
    ) -> dict[str, list[object]] | None:
        """Return the public categories of grouping columns; None unless all have some.

        Args:
            by: the grouping columns.
            derived: the columns that the question computes, by name, in their order; of these the
                values that follow from their expressions (a weekday, a bin) are public too.
        """
        ranges, known = self.ranges(derived), dict(self.keys)
        for name, expression in derived:
            values = public_values(expression, ranges, known)
            if values:
                known[name] = values
        if not all(name in known for name in by):
            return None
        return {name: list(known[name]) for name in by}

    def labelled(self, by: Sequence[str], keys: GivenKeys) -> GivenKeys:
        """Return keys with the values that have a label, where they are ``"labels"``."""
        if isinstance(keys, str) and keys == LABELS:
            return {name: self._labelled(name) for name in by}
        if isinstance(keys, Mapping):
            return {
                name: self._labelled(name) if isinstance(each, str) and each == LABELS else each
                for name, each in keys.items()
            }
        return keys

    def _labelled(self, name: str) -> list[object]:
        return labelled_keys(name, self.labels.get(name, {}))

    def with_columns(
        self,
        bounds: Mapping[str, tuple[Fraction, Fraction]],
        keys: Mapping[str, Sequence[object]],
        descriptions: Mapping[str, Mapping[str, str]],
        labels: Mapping[str, Labels],
    ) -> Declared:
        """Return what is declared of these columns too, which a join adds."""
        return replace(
            self,
            bounds={**self.bounds, **bounds},
            keys={**self.keys, **keys},
            descriptions={**self.descriptions, **descriptions},
            labels={**self.labels, **labels},
        )

    def about(
        self, query: Query, released: Iterable[Sequence[object]] | None = None
    ) -> dict[str, dict[str, object]]:
        """Return what a reader of an answer learns of its columns, as plain JSON values.

        That is the meaning and the unit of each column that the question names, and where its
        bounds or keys go beyond the declared ones, the declared bounds and the keys beyond.  A
        question that stays within says no more than it did.  Of labels it learns those of the keys
        that are public or released: others may have been made of the data.

        Args:
            query: the question.
            released: the keys of its answer; by default those that are listed.
        """
        clamped = [each for _, aggregate in query.aggregates for each in aggregate.clamped]
        names = dict.fromkeys([each.column for each in clamped] + list(query.by))
        about: dict[str, dict[str, Any]] = {
            name: {**self.descriptions.get(name, {})} for name in names
        }
        if query.inner is None:
            for each in clamped:
                name = each.column
                if name in self.bounds and _wider(each, *self.bounds[name]):
                    about[name]["bounds"] = [str(end) for end in self.bounds[name]]
            for index, name in enumerate(query.by):
                known = {(type(key), key) for key in map(plain_key, self.keys.get(name, ()))}
                keys = dict.fromkeys(plain_key(key[index]) for key in query.keys or ())
                beyond = [key for key in keys if known and (type(key), key) not in known]
                if beyond:
                    about[name]["keys_beyond"] = beyond
        listed = query.keys if released is None else released
        for index, name in enumerate(query.by):
            known_labels = self.labels.get(name, {})
            if query.keys is not None and self.table is not None:
                # Who asks of a data set learns the labels of its declared keys alone: labels may be
                # made of the data (Stata's encode), and listing numbers would show them all.
                own = set(self.keys.get(name, ()))
                known_labels = {key: one for key, one in known_labels.items() if key in own}
            keys = dict.fromkeys(key[index] for key in listed or ())
            named = [[key, known_labels[key]] for key in keys if key in known_labels]
            if query.keys is not None and known_labels and set(keys) == set(known_labels):
                about[name]["keys"] = LABELS
            if named and len(named) <= _MOST_LABELS:
                about[name]["labels"] = named
        return {name: words for name, words in about.items() if words}


def _read_by(
    columns: Sequence[str], derived: Sequence[tuple[str, Expression]]
) -> list[tuple[str, Expression]]:
    """Return the derived columns that these are, or that they are computed from, in their order."""
    wanted, read = set(columns), []
    for name, expression in reversed(derived):
        if name in wanted:
            wanted |= expression.columns()
            read.append((name, expression))
    return read[::-1]


def _wider(clamped: Clamped, low: Fraction, high: Fraction) -> bool:
    if clamped.lower is None or clamped.upper is None:
        return False
    return as_fraction(clamped.lower) < low or as_fraction(clamped.upper) > high


NOTHING_DECLARED = Declared()

"""Tables that questions are asked of, with their ledger and price, and joins of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias, TypeVar

from tacit.errors import DataSourceError, UsageError, did_you_mean
from tacit.tables.open_source import Source, open_source
from tacit.tables.plan.query import Declared, Labels, Query, labelled_keys
from tacit.tables.privacy_unit import Person, person_columns
from tacit.tables.query.joins import (
    HOW,
    MOST_ROWS,
    Join,
    PublicRows,
    by_person,
    joined,
    key_kind,
    names_after_join,
    of_people,
    person_pair,
    read_public,
)
from tacit.tables.release.release import PlanCache, PlanRunner, ValidatedPlans

# A table of a declared data set that another one may be joined with.


@dataclass(frozen=True)
class OtherTable:
    """A table that may be joined; nothing of it is opened yet."""

    name: str  # its name in the data set
    # the person column of a protected table; the columns that name a public table's rows
    key: tuple[str, ...]
    public: bool  # whether everyone may know its rows
    # how it is opened: a protected one in the engine of the table that it is given
    opened: Callable[[Source], Source]
    # the declared bounds of its columns, by name
    bounds: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    # the declared categories of its columns, by name
    keys: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    labelled: tuple[str, ...] = ()  # columns whose categories are the values with a label
    # the meaning and the unit of its columns, by name
    descriptions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


# A join as it is asked for, from public facts alone: by which columns, and what it adds.


# Columns of the rows, or pairs of them with columns of the joined table.
On: TypeAlias = str | Sequence[str] | Mapping[str, str] | None


def requested_join(
    others: Mapping[str, OtherTable], query: Query, name: str, on: On, how: str | None
) -> tuple[OtherTable, str, tuple[tuple[str, str], ...]]:
    """Return the table to join, which rows stay, and the pairs of columns that are equal."""
    if query.by or query.aggregates or query.inner is not None:
        raise UsageError("join first: session.join('patients').group_by(...).agg(...)")
    if any(join.table == name and join.public is None for join in query.joins):
        raise UsageError(f"{name!r} is joined already: its columns are there")
    own, person = query.table, query.unit.column
    other = _other(others, own, name)
    if how is not None and how not in HOW:
        raise UsageError(f"how is {' or '.join(map(repr, HOW))}, not {how!r}")
    pairs = _public_pairs(other, on) if other.public else _person_pairs(other, own, person, on)
    return other, how or ("left" if other.public else "inner"), pairs


def joined_columns(
    taken: Iterable[str], table: str, added: Mapping[str, str]
) -> tuple[tuple[str, str, str], ...]:
    """Return of each column that a join adds its name here, its name there, and its kind.

    >>> joined_columns(["person", "age"], "patients", {"age": "integer"})
    (('patients.age', 'age', 'integer'),)
    """
    names = names_after_join(taken, table, added)
    return tuple((names[name], name, kind) for name, kind in added.items())


def beside(
    query: Query,
    declared: Declared,
    join: Join,
    other: OtherTable,
    labels: Mapping[str, Labels] | None = None,
) -> tuple[Query, Declared]:
    """Return a question with a join, and what is declared with the columns that it adds."""
    # labels: those of the values of the other table, where it is open
    known = labels or {}
    keys = {**other.keys, **{c: labelled_keys(c, known.get(c, {})) for c in other.labelled}}
    taken = {each for each, _ in query.derived} & {here for here, _, _ in join.columns}
    if taken:
        raise UsageError(
            f"join before with_columns: {other.name!r} has a column {taken.pop()!r} too"
        )
    declared = declared.with_columns(
        {here: other.bounds[there] for here, there, _ in join.columns if there in other.bounds},
        {here: keys[there] for here, there, _ in join.columns if there in keys},
        {
            here: other.descriptions[there]
            for here, there, _ in join.columns
            if there in other.descriptions
        },
        {here: known[there] for here, there, _ in join.columns if there in known},
    )
    return replace(query, joins=(*query.joins, join)), declared


def _other(others: Mapping[str, OtherTable], own: str | None, name: str) -> OtherTable:
    if own is None:
        raise UsageError(
            "only tables of a data set are joined: declare both in one file, say whom they protect "
            "and which of them is public, and open that: tc.open('visits.toml').join('patients')"
        )
    if name == own:
        raise UsageError(
            f"{name!r} is the table that is asked: joined with itself, one row would hold rows "
            "of several people. Ask about each row, or about each person"
        )
    if name not in others:
        raise UsageError(f"the data set has no other table {name!r}; {did_you_mean(name, others)}")
    return others[name]


def _named(other: OtherTable, on: On) -> list[tuple[str, str]]:
    """Return the pairs that are said; a column alone is equal to the key in its position."""
    if isinstance(on, Mapping):
        return [(str(here), str(there)) for here, there in on.items()]
    columns = [on] if isinstance(on, str) else list(on or other.key)
    if len(columns) != len(other.key):
        raise UsageError(
            f"the key of {other.name!r} is {', '.join(other.key)}: give as many columns in on="
        )
    return list(zip(map(str, columns), other.key, strict=True))


def _public_pairs(other: OtherTable, on: On) -> tuple[tuple[str, str], ...]:
    if not other.key:
        raise UsageError(
            f"the public table {other.name!r} has no key: declare the column that names its rows, "
            f"[tables.{other.name}] key = 'site', each value of it once"
        )
    pairs = {there: here for here, there in _named(other, on)}
    if set(pairs) != set(other.key):
        raise UsageError(
            f"{other.name!r} is joined by its key, {', '.join(other.key)}, of which each value "
            "occurs once: on another column a row could match several"
        )
    return tuple((pairs[there], there) for there in other.key)


def _person_pairs(
    other: OtherTable, own: str | None, person: Person | None, on: On
) -> tuple[tuple[str, str], ...]:
    if person is None:
        raise UsageError(
            f"{other.name!r} is protected, and each row of {own!r} is a person of its own: tables "
            "of people are joined by the person, unit = { person = 'person_id', rows = 5 }. A "
            "table that everyone may know is joined by its key: public = true"
        )
    pairs = by_person(person, other.key)
    if pairs is None:
        raise UsageError(
            f"{own!r} names a person by {' and '.join(person_columns(person))}, and {other.name!r} "
            f"by {' and '.join(other.key)}: tables of people are joined by as many columns each"
        )
    if on is not None and sorted(_named(other, on)) != sorted(pairs):
        named = " and ".join(f"{here} = {there}" for here, there in pairs)
        raise UsageError(
            f"{own!r} and {other.name!r} are tables of people, and are joined by the person, "
            f"{named}, alone: every row of the join must belong to one person, "
            "and joined on anything else one row would hold rows of different people"
        )
    return pairs


# The table of a session, as it is open now: what questions are asked of.


_T = TypeVar("_T")


class OpenedTable:
    """A table that can be opened again, and what its engine keeps of earlier questions."""

    # called: the name that the user gave it; None where it has that of its file.
    # joined: what it was joined with since it was opened last, as
    #   :mod:`tacit.tables.release.opened_table` keeps it.

    def __init__(self, opened: Any, options: Mapping[str, Any]) -> None:
        self._opened, self._options = opened, options
        self.named = isinstance(opened, (str, os.PathLike, Source)) or any(
            options.get(option) is not None for option in ("name", "table")
        )
        self.called = options.get("name")
        self._source = open_source(opened, **options)
        self._collector = PlanRunner(self._source)
        self.plans, self.validated = PlanCache(), ValidatedPlans()
        self.others: Mapping[str, OtherTable] = {}
        self.joined: dict[Any, Any] = {}

    @property
    def source(self) -> Source:
        """The table as it was opened last."""
        return self._source

    @property
    def collector(self) -> PlanRunner:
        """The queries of the table, and their cache."""
        return self._collector

    def reopen(self) -> Source:
        """Return the table, opened after this was called; another thread may open it again."""
        fresh = open_source(self._opened, **self._options)
        if list(fresh.schema) != list(self.source.schema):
            raise DataSourceError(
                f"{self.source.name} has other columns than before"
                f"{changed_columns(self.source.schema, fresh.schema)}: close the session, and open "
                f"the table again with name={self.source.name!r}, which goes on with its ledger"
            )
        self._collector.forget()
        self.joined, self.validated = {}, ValidatedPlans()
        # An engine that another thread still reads is closed when that thread releases it.
        if fresh is not self._source:
            self._source, self._collector = fresh, PlanRunner(fresh)
        return fresh

    def beside(self, made: OpenedTable) -> OpenedTable:
        """Return the join of this table with another one, as who asks this table asks it."""
        return made

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UsageError(
            "a session cannot be pickled: open the table and the ledger where they are"
        )


class SharedTable(OpenedTable):
    """A table that someone else holds open, for one of the many who ask it."""

    # The plans of the questions, and what of them was tried on no rows, are kept apart: a question
    # that is answered faster because someone asked the same a moment ago tells that they did.
    # What the table was joined with is shared: a public table is read once for all.

    def __init__(self, whole: OpenedTable) -> None:
        self._table, self.named, self.called = whole, whole.named, whole.called
        self.others, self.plans = whole.others, PlanCache()
        self._tried: tuple[Source, ValidatedPlans] | None = None

    @property
    def source(self) -> Source:
        return self._table.source

    @property
    def collector(self) -> PlanRunner:
        return self._table.collector

    @property
    def joined(self) -> dict[Any, Any]:  # type: ignore[override]
        """The tables that were joined with it since it was opened."""
        return self._table.joined

    @property
    def validated(self) -> ValidatedPlans:  # type: ignore[override]
        """The plans that were validated since the table was opened."""
        source, tried = self.source, self._tried
        if tried is None or tried[0] is not source:
            self._tried = tried = source, ValidatedPlans(apart=True)
        return tried[1]

    def reopen(self) -> Source:
        """Return the table, opened after this was called."""
        return self._table.reopen()

    def beside(self, made: OpenedTable) -> OpenedTable:
        """Return a join of the table, with plans kept apart as well."""
        return SharedTable(made)


def changed_columns(before: Iterable[str], after: Iterable[str]) -> str:
    """Return how the columns of a table have changed, as a part of a sentence.

    >>> changed_columns(["a", "b"], ["b", "c"]), changed_columns(["a", "b"], ["b", "a"])
    (" (gone: 'a'; new: 'c')", ' (their order)')
    """
    old, new = list(before), list(after)
    parts = {
        "gone": [name for name in old if name not in new],
        "new": [name for name in new if name not in old],
    }
    changes = [
        f"{word}: {', '.join(map(repr, names[:5]))}"
        + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        for word, names in parts.items()
        if names
    ]
    return f" ({'; '.join(changes) or 'their order'})"


def settled(ask: Callable[[], _T], outcome: str) -> _T:
    """Return what ``ask`` returns; where the engine fails, say what became of the budget.

    >>> def ask():
    ...     raise DataSourceError("the connection was cut")
    >>> settled(ask, "nothing was spent")
    Traceback (most recent call last):
    tacit.errors.DataSourceError: the connection was cut; nothing was spent
    """
    try:
        return ask()
    except DataSourceError as error:
        failed, message = type(error), f"{error}; {outcome}"
    raise failed(message)


# A table with the columns of another one next to it, opened where the table is.
#
# A public table is read when it is joined, which costs nothing; what was read then is joined by
# every question of this table.  A protected one is read by the questions alone, in the statement
# that reads the table (:mod:`tacit.tables.query.joins`).


class JoinedTable(OpenedTable):
    """A table next to which another one stands; it is opened again when the table is."""

    def __init__(
        self, base: OpenedTable, other: OtherTable, join: Join, rows: PublicRows | None
    ) -> None:
        self._base, self._other, self._join, self._rows = base, other, join, rows
        self._lock = threading.RLock()
        self._of: Source | None = None
        self.others, self.joined = base.others, {}
        self.plans, self.validated = PlanCache(), ValidatedPlans()
        self.named, self.called = base.named, base.called

    @property
    def source(self) -> Source:
        """The rows of the join, of the table as it was opened last."""
        return self._at(self._base.source)[0]

    @property
    def collector(self) -> PlanRunner:
        """The queries of the join, and their cache."""
        return self._at(self._base.source)[1]

    def reopen(self) -> Source:
        """Return the join of the table, opened after this was called."""
        return self._at(self._base.reopen())[0]

    def _at(self, base: Source) -> tuple[Source, PlanRunner]:
        """Return the join of the table as it was opened then, and its collector."""
        with self._lock:
            if self._of is not base:
                made = self._made(base)
                self._of, self._current = base, (made, PlanRunner(made))
            return self._current

    def _made(self, base: Source) -> Source:
        join = self._join
        if self._rows is not None:
            names = [here for here, _ in join.on]
            return joined(base, join, self._rows.import_into(names, base.schema, base.engine))
        # what is opened for it is closed with it
        self._opened = other = self._other.opened(base)
        kinds = {name: column.kind for name, column in other.schema.items()}
        if any(kinds.get(there) != kind for _, there, kind in join.columns):
            known = [there for _, there, _ in join.columns]
            changed = changed_columns(known, [name for name in known if name in kinds])
            raise UsageError(
                f"{join.table!r} has other columns or kinds than before{changed}: open the data "
                "set again"
            )
        return joined(base, join, of_people(base, other, join))


def join_table(
    table: OpenedTable, query: Query, declared: Declared, name: str, on: On, how: str | None
) -> tuple[OpenedTable, Query, Declared]:
    """Return a table with another of its data set, the question, and the declarations."""
    other, how, pairs = requested_join(table.others, query, name, on, how)
    known = (name, how, pairs)
    if known not in table.joined:
        table.joined[known] = _join(table, other, how, pairs)
    made, join, labels = table.joined[known]
    return table.beside(made), *beside(query, declared, join, other, labels)


def _join(
    table: OpenedTable, other: OtherTable, how: str, pairs: tuple[tuple[str, str], ...]
) -> tuple[OpenedTable, Join, Mapping[str, Labels]]:
    base, rows = table.source, None
    with base.engine.dry_run():  # it is examined, and opened for good once it fits
        opened = other.opened(base)
    for here, there in pairs:
        base.schema.column(here), opened.schema.column(there)
    if other.public:
        sides = [(base.schema[here], opened.schema[there]) for here, there in pairs]
        kinds = [key_kind(*side, other.name) for side in sides]
        with opened:
            uuids = {there for here, there in pairs if base.schema[here].is_uuid}
            rows = read_public(opened, other.name, other.key, kinds, uuids)
        added = {name: kind for name, _, kind in rows.columns}
    else:
        person_pair(base.schema, opened.schema, pairs, base.engine.dialect)
        added = {
            name: column.kind
            for name, column in opened.schema.items()
            if name not in other.key and column.kind not in ("other", "missing")
        }
    columns = joined_columns(base.schema, other.name, added)
    if rows is None:
        reading = opened.reading
        join = Join(other.name, how, pairs, columns, most=MOST_ROWS, reading=reading)
    else:
        join = Join(other.name, how, pairs, columns, rows.digest)
    made = JoinedTable(table, other, join, rows)
    made.source  # noqa: B018  (refuses now what does not fit)
    return made, join, opened.labels

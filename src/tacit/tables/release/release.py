"""A release: dry run, charged, read as exact integers, and drawn."""

from __future__ import annotations

import itertools
import math
import operator
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from threading import Lock
from typing import Any, Generic, NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.budget import Budget, fit
from tacit.accounting.ledger import Ledger, look_at
from tacit.accounting.ledger_chain import Account, Entry, Head, Payment, canonical, key_of
from tacit.calls import calls_inside
from tacit.core import Measurement, Step
from tacit.errors import BudgetError, DataSourceWarning, UsageError
from tacit.expressions.expression import Expression, col
from tacit.expressions.schema import Schema
from tacit.mechanisms.propose_test_release import BoundedAnswer
from tacit.report import versions
from tacit.tables.engines.base import Engine
from tacit.tables.noise import FIRST_RULES, Estimate
from tacit.tables.open_source import Source
from tacit.tables.plan.parse_question import person_values
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.price import read_tag
from tacit.tables.plan.query import Query, plain_key
from tacit.tables.privacy_unit import PersonUnit
from tacit.tables.query.integer_query import PartedQuery
from tacit.tables.query.keys import person_source, sample_keys
from tacit.tables.query.requests import ExactAggregates, Request
from tacit.tables.reading import without_reading, without_time_format
from tacit.tables.statistics.base import TableStatistic
from tacit.tables.statistics.part import LEVEL
from tacit.tables.steps import Answers

# A question at its price, as a ledger knows it: what represents it, and the plan that it pays.
#
# What is asked may be a query of a table, or a count that is continued over time: a charge needs
# its public description and, for a loss that is granted, its plan.


_MAX_PLANS = 32
# The formats of ledgers from which on a question says how its table is read, and a count over time
# in which format its times are written.
_READINGS, _TIMES = 4, 5
_UNRECORDED = (
    "the ledger holds this release at no further cost, from a version of Tacit that did not record "
    "how the table is read: its null texts, encoding, kinds of columns or file may have been "
    "others than now. For an answer of the table as it is read now, ask with a tag, which is "
    "charged as a new release"
)


class _Priced(Protocol):
    """A plan, as far as a charge needs it."""

    @property
    def cost(self) -> Budget:
        """The privacy loss of the release."""


P = TypeVar("P", bound=_Priced)
P_co = TypeVar("P_co", bound=_Priced, covariant=True)


class PricedQuestion(Protocol[P_co]):
    """A question at its price."""

    @property
    def query(self) -> Query:
        """The rows and columns that it is about."""

    @property
    def request(self) -> Budget:
        """The loss that it may spend."""

    @property
    def public(self) -> dict[str, Any]:
        """The identity of its release: whatever makes it another one, as plain JSON."""

    @property
    def family(self) -> str | None:
        """The part that it shares with the same question at other prices, or None."""

    def plan(self, granted: Budget, like: Any = None) -> P_co:
        """Return its plan, for a loss that is granted."""
        # like: a plan of the same family, if there is one.


@dataclass(frozen=True)
class TableQuestion:
    """A query of a table, at its price."""

    query: Query
    request: Budget  # what it may spend
    tag: str | None = None  # text that makes it another release of the same query

    def __post_init__(self) -> None:
        read_tag(self.tag)

    @cached_property
    def public(self) -> dict[str, Any]:
        """The identity of its release."""
        return {
            "query": self.query.describe(),
            "request": self.request.to_json(),
            "tag": self.tag,
        }

    @cached_property
    def family(self) -> str | None:
        """The question without its price, where the price decides nothing but the noise."""
        return canonical(self.public["query"]) if self.query.is_plain else None

    def plan(self, granted: Budget, like: Plan | None = None) -> Plan:
        """Return its plan, for a loss that is granted."""
        return Plan(self.query, granted) if like is None else like.repriced(granted)


class PlanCache:
    """The latest plans: a release that was priced before, on paper, is not planned again."""

    # Of one question the latest price is kept, for all of its tags; another price continues from
    # what no price changes.
    # A table that was opened again is planned again: its columns may be of other kinds.

    def __init__(self) -> None:
        self._plans: dict[str, tuple[Schema | None, Budget, Any]] = {}
        self._lock = Lock()

    def of(self, key: str, question: PricedQuestion[P], granted: Budget) -> P:
        """Return the plan of what is asked, whose key is its identity, for what is granted."""
        name, schema = question.family or key, question.query.source_schema
        of, spent, plan = self._plans.get(name, (None, granted, None))
        if of is not schema or spent != granted or spent.parts != granted.parts:
            plan = question.plan(granted, plan if question.family and of is schema else None)
        with self._lock:
            self._plans.pop(name, None)
            self._plans[name] = schema, granted, plan
            if len(self._plans) > _MAX_PLANS:
                del self._plans[next(iter(self._plans))]
        cached: P = plan
        return cached


def fitted(request: Budget, remaining: Budget) -> Budget:
    """Return what a release may spend of what remains: the request, lowered by rounding at most."""
    # A pure loss that is paid from a rho stays one: its chains are charged as what they are.
    if remaining.kind != "concentrated" or request.kind == remaining.kind:
        return fit(request.cost_in(remaining.kind), remaining)
    return request


@dataclass(frozen=True)
class LedgerState:
    """The entry of a release in a ledger at one moment, and the rest of the budget."""

    # its charge, with the answer once there is one; None where it was not charged
    entry: Entry | None
    head: Head
    accounts: Sequence[Account] = ()  # that its charge names

    @property
    def remaining(self) -> Budget:
        """What is left of the budget."""
        return self.head.remaining

    @property
    def is_charged(self) -> bool:
        """True if the release costs nothing more: it is answered, or still open."""
        return self.entry is not None

    @property
    def is_answered(self) -> bool:
        """True if a recorded answer is there to be replayed."""
        return self.entry is not None and self.entry.answer is not None


class _Form(NamedTuple):
    """An identity of a release, as ledgers before a format had it."""

    format: int  # 0 for that of now
    public: dict[str, Any]
    key: str


@dataclass(frozen=True)
class Charge(Generic[P]):
    """A question at its price."""

    ledger: Ledger
    question: PricedQuestion[P]  # the question, with what it may spend
    plans: PlanCache  # those that were made recently for the same table

    @cached_property
    def _forms(self) -> list[_Form]:
        """The identities that its release may have: that of now, and those of earlier formats."""
        now = self.question.public
        forms = [(_TIMES, without_time_format(now)), (_READINGS, without_reading(now))]
        earlier = [_Form(format, one, key_of(one)) for format, one in forms if one != now]
        return [_Form(0, now, key_of(now)), *earlier]

    @cached_property
    def _form(self) -> _Form:
        """The identity of its release."""
        return self._forms[0] if len(self._forms) == 1 else self._looked()[0]

    def _looked(self) -> tuple[_Form, LedgerState]:
        """Return the identity of its release, and what the ledger holds of it, in one look."""
        # A charge from before readings were part of it continues, and replays, without one.  It may
        # be of another reading, which is warned of: a second charge would be the larger surprise.
        known = vars(self).get("_form")
        forms = self._forms if known is None else [known]
        head, entries, accounts = look_at(self.ledger, *(form.key for form in forms))
        form, entry = forms[0], entries[0]
        for earlier, existing in zip(forms[1:], entries[1:], strict=True):
            if entry is None and existing is not None and existing.format < earlier.format:
                warnings.warn(_UNRECORDED, DataSourceWarning, stacklevel=calls_inside())
                form, entry = earlier, existing
        return form, LedgerState(entry, head, accounts)

    @property
    def public(self) -> dict[str, Any]:
        """The identity of its release."""
        return self._form.public

    @property
    def key(self) -> str:
        """Its key in the ledger."""
        return self._form.key

    def of_key(self, key: str) -> Charge[P] | None:
        """Return this charge as that of a key, which was found before; None if it has another."""
        # No look is needed: which of the identities it is, was decided then.
        for form in self._forms:
            if form.key == key:
                one = replace(self)
                vars(one).update(_forms=self._forms, _form=form)
                return one
        return None

    @property
    def entry(self) -> Entry | None:
        """Its entry in the ledger now: an open charge, or an answer."""
        return self.look().entry

    def look(self) -> LedgerState:
        """Return what the ledger holds of it, and what is left, of one state of the ledger."""
        form, state = self._looked()
        vars(self).setdefault("_form", form)
        return state

    def requested_plan(self) -> P:
        """Return the plan for the whole request, whatever remains of the budget."""
        return self.plans.of(self.key, self.question, self.question.request)

    def plan(self, entry: Entry | None, head: Head | None = None) -> P:
        """The plan, its request lowered by rounding at most, or refuse it before any work."""
        # head: what the ledger came to when there was no entry, where the caller has looked.
        if entry is None:
            head = head or self.ledger.chain.head()
            plan = self.plan_within(head.remaining)
            cost = plan.cost.cost_in(head.total.kind)
            if not head.spending.affords(cost):
                raise BudgetError(
                    f"this release costs {cost!r}, and {head.remaining!r} is left of "
                    f"{head.total!r}; nothing was spent. Ask for less, or start with a larger "
                    "budget"
                )
            return plan
        # Where an open charge stands it is the plan that was charged: fitted to what remained then.
        remaining = self.ledger.remaining_before(entry)
        plan = self.plan_within(remaining)
        if entry.cost.parts and isinstance(plan, Plan):
            # A version of other mechanisms may have charged it: what was paid for is drawn.
            cost = plan.cost.cost_in(remaining.kind)
            for rules in range(plan.rules - 1, 0, -1) if cost.parts != entry.cost.parts else ():
                earlier = replace(plan, rules=rules)
                if earlier.cost.cost_in(remaining.kind).parts == entry.cost.parts:
                    return earlier
        return plan

    def pay(self) -> None:
        """Charge what a release would, without releasing yet; do nothing if it was charged.

        Raises:
            BudgetError: more than remains; nothing was spent.
            UsageError: as :meth:`~tacit.tables.Question.release`.
            LedgerError: the ledger cannot be written; nothing was spent.
        """
        # The time of the charge does not depend on the engine, which runs no query here.  A later
        # release uses this charge.
        state = self.look()
        if state.entry is None:
            self.ledger.charge(self.key, self.plan_within(state.remaining).cost, self.public)

    def payment(self, state: LedgerState) -> Payment:
        """Return what :meth:`pay` charges, where the ledger held ``state`` a moment ago."""
        cost = self.plan_within(state.remaining).cost
        return Payment(self.ledger.payer, self.key, cost, self.public)

    def cost(self) -> Budget:
        """Return what a release takes now: nothing where the ledger holds its charge."""
        return self.cost_of(self.look())

    def cost_of(self, entry: LedgerState) -> Budget:
        """Return what a release takes, where a charge stands or not and so much remains."""
        kind = entry.remaining.kind
        if entry.is_charged:
            return Budget.nothing(kind)
        return self.plan_within(entry.remaining).cost.cost_in(kind)

    def plan_within(self, remaining: Budget) -> P:
        """Return the plan, its request lowered by rounding at most to what remains."""
        return self.plans.of(self.key, self.question, fitted(self.question.request, remaining))


QueryCharge: TypeAlias = Charge[Plan]  # a query of a table at its price


# From a plan's steps to the engine's requests, and back to vectors in grid units.


_MAX_COLLECTED = 8  # how many questions' bounded tables stay in the engine for the next one


class PlanRunner:
    """Runs plans on a source, and keeps what bounding people cost for the next question."""

    # Threads may share one.  The tables of a query are dropped once no one holds the query: neither
    # this cache nor a release that is still at work in another thread.

    def __init__(self, source: Source) -> None:
        self._source = source
        self._queries: dict[str, PartedQuery] = {}
        self._lock = threading.Lock()
        self._unused: deque[list[str]] = deque()

    def query(self, question: Query, keys: Sequence[tuple[Any, ...]] | None) -> PartedQuery:
        """Return the engine's query for a question, the same one for the same rows and groups."""
        name = question.rows + repr(keys)
        with self._lock:
            if name not in self._queries:
                while len(self._queries) >= _MAX_COLLECTED:
                    del self._queries[next(iter(self._queries))]
                made = self._queries[name] = self._make(question, keys)
                # Not dropped in the finaliser itself, which may run in the middle of a request.
                weakref.finalize(made, self._unused.append, made.tables).atexit = False
                self._drop_unused()
            return self._queries[name]

    def forget(self) -> None:
        """Drop what is cached, so that the next question reads the table again."""
        with self._lock:
            self._queries.clear()
            self._drop_unused()

    def _drop_unused(self) -> None:
        while self._unused:
            for table in self._unused.popleft():
                self._source.engine.drop(table)

    def _make(self, question: Query, keys: Sequence[tuple[Any, ...]] | None) -> PartedQuery:
        derived = question.resolved
        by = {name: derived.get(name, col(name)) for name in question.by}
        source = rows_of(self._source, question)
        where = _condition(question, derived)
        return PartedQuery(source, question.unit, where=where, by=by, keys=keys if by else None)

    def collect(self, plan: Plan) -> Exact:
        """Run the plan in the engine, up to where noise is needed."""
        # The first private byte is read here: charge the ledger before.
        return Exact(self, plan)


class Exact:
    """The exact answers of a plan: not private, never shown, gone with the release."""

    def __init__(self, collector: PlanRunner, plan: Plan) -> None:
        self._collector = collector
        self._plan = plan
        self._people: PeopleOfKeys | None = None
        self._answers: ExactAggregates | None = None
        if plan.keys is None:
            self._run(plan.query.keys)
        else:
            self._people = PeopleOfKeys(collector.query(plan.query, None), plan.keys.rounds)

    def _run(self, keys: Sequence[tuple[Any, ...]] | None) -> ExactAggregates:
        query = self._collector.query(self._plan.query, keys)
        self._answers = query.run(requests_of(self._plan))
        return self._answers

    @property
    def people(self) -> PeopleOfKeys:
        """The keys that occur and how many people each has."""
        assert self._people is not None
        return self._people

    def vectors(
        self, chains: Sequence[Sequence[tuple[Step, Step]]], keys: Sequence[tuple[Any, ...]]
    ) -> list[dict[Step, Any]]:
        """Return the exact vector of each step of each part, in whole units of its grid."""
        # Equal steps of two parts need not be of the same rows: groups by other keys have one name.
        if not keys:
            return [{step: [] for step, _ in ends} for ends in chains]
        answers = self._answers if self._answers is not None else self._run(keys)
        ends_of_parts = zip(self._plan.parts, chains, self._plan.requests(len(keys)), strict=True)
        return [
            {
                step: part.vector(step, answers.of(request))
                for (step, _), request in zip(ends, requests, strict=True)
            }
            for part, ends, requests in ends_of_parts
        ]

    def __repr__(self) -> str:
        return "<exact answers of a plan, not shown>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("exact answers cannot be pickled: they are not private")


class PeopleOfKeys:
    """The keys that occur, met round by round, and how many people each has: not private."""

    def __init__(self, query: PartedQuery, rounds: int) -> None:
        self._query = query
        self.keys: list[tuple[Any, ...]] = []
        self.counts: Any = self if rounds > 1 else self.left([])

    def left(self, shown: Sequence[int | None]) -> list[int]:
        """Return the people of each key met so far, counted without the keys that are shown."""
        public = [key for key, n in zip(self.keys, shown, strict=True) if n is not None]
        people = self._query.people_by_key(public)
        known = set(self.keys)
        self.keys += [key for key in people if key not in known]
        return [people.get(key, 0) for key in self.keys]

    def __repr__(self) -> str:
        return "<exact counts of keys, not shown>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("exact counts cannot be pickled: they are not private")


def requests_of(plan: Plan) -> list[Request]:
    """Return what a plan asks of the engine, each once."""
    return list(dict.fromkeys(itertools.chain.from_iterable(plan.requests(plan.size))))


def rows_of(source: Source, query: Query) -> Source:
    """Return the table whose rows a question is about: people, where they are made first."""
    inner = query.inner
    if inner is None:
        return source
    assert isinstance(inner.unit, PersonUnit)
    known = inner.resolved
    where, values = _condition(inner, known), person_values(inner)
    return person_source(rows_of(source, inner), inner.unit, where, known, values, query.schema)


def _condition(query: Query, derived: Mapping[str, Expression]) -> Expression | None:
    """Return all filters as one condition on the table's own columns."""
    where = [condition.substitute(derived) for condition in query.where]
    return reduce(operator.and_, where) if where else None


# What public facts decide fails before the charge: a plan is carried out on no rows first.
#
# A release is charged before the first private byte is read, so whatever can be known beforehand
# must be found out beforehand.  :func:`dry_run` runs the very statements of a plan, in the engine
# that will run them, on ``select * from the table where false``: names, types, rights, a connection
# that is gone and the sizes of the plan are all tried, and no row is asked for.  What fails here is
# a function of the schema, the question and the machine, and nothing was spent.


_LAST = 32
# This many public keys represent all: beyond a smaller number they go another way to the engine.
_KEYS = 256


class ValidatedPlans:
    """Cache of plans that were validated on a table that cannot change."""

    # apart: whether what others asked recently, of this table or of one of its shape, is tried
    #   again: a question that is answered faster because of them tells that they asked it.

    def __init__(self, *, apart: bool = False) -> None:
        self._apart = apart
        self._last: deque[tuple[list[Request], int, str, str, object]] = deque(maxlen=_LAST)

    def check(self, source: Source, plan: Plan) -> None:
        """Carry a plan out up to the noise, on no rows; see :func:`dry_run`."""
        # Where the rows are the engine's own, on none of which another question has asked the very
        # same, that was tried.
        query = plan.query
        _refuse_other_kinds(query.source_schema, source)
        rounds = 0 if plan.keys is None else plan.keys.rounds
        # keys last: where they are many, they are compared of the same requests alone
        known = requests_of(plan), rounds, source.relation, query.rows, query.keys
        if not source.engine.owns_rows or known not in self._last:
            dry_run(source, plan, again=self._apart)
            self._last.append(known)


def _refuse_other_kinds(schema: Schema, source: Source) -> None:
    """Raise if a question was made before the table was opened again with other columns."""
    for name, column in () if schema is source.schema else schema.items():
        kind = source.schema[name].kind if name in source.schema else column.kind
        if kind != column.kind:
            raise UsageError(
                f"{name!r} held {column.kind} when the question was made, and holds {kind} since "
                "the table was opened again; nothing was spent. Make the question again"
            )


def _planner_of(source: Source, plan: Plan, again: bool = False) -> Callable[[str], None] | None:
    return source.engine.planner(again=again) if plan.query.unit.column is None else None


def dry_run(source: Source, plan: Plan, *, again: bool = False) -> None:
    """Carry a plan out up to the noise, on no rows."""
    planner = _planner_of(source, plan, again)
    collector = PlanRunner(without_rows(source) if planner is None else _planned(source, planner))
    keys = plan.query.keys
    requests = requests_of(plan)
    whole = collector.query(plan.query, keys)  # each of the keys is examined, and none asked for
    for request in requests:
        whole.check(request)
    if plan.keys is not None:
        keys = sample_keys([plan.query.columns.column(name).kind for name in plan.query.by])
        whole.people_by_key()
        if plan.keys.rounds > 1:
            whole.people_by_key(keys)
    query = collector.query(plan.query, None if keys is None else keys[:_KEYS])
    try:
        query.run(requests)
    finally:
        query.forget()


def without_rows(source: Source) -> Source:
    """Return the table without its rows, in the same engine."""
    nothing = f"(select * from {source.relation} as tacit_all where 1 = 0)"
    return Source(source.name, source.schema, _DryEngine(source.engine), nothing)


def _planned(source: Source, planner: Callable[[str], None]) -> Source:
    """Return the table in an engine that plans queries of it, and runs none."""
    engine = _PlanningEngine(source.engine, planner)
    return Source(source.name, source.schema, engine, source.relation)


class _DryEngine:
    """An engine that is asked for no row: nothing that would look at how many there are is done."""

    memory: int | None = None
    owns_rows = False
    add_by_place = None

    def __init__(self, engine: Engine) -> None:
        self.dialect = engine.dialect
        self._engine = engine
        self.drop = engine.drop

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query on no rows."""
        with self._engine.dry_run():
            return self._engine.rows(sql)

    def integers(self, sql: str) -> list[NDArray[np.int64]]:
        """Run a query on no rows."""
        with self._engine.dry_run():
            return self._engine.integers(sql)

    def materialise(self, sql: str) -> str:
        """Keep the result of a query on no rows."""
        with self._engine.dry_run():
            return self._engine.materialise(sql)

    def store_text(self, columns: Sequence[Sequence[str | None]]) -> str:
        """Keep public text."""
        with self._engine.dry_run():
            return self._engine.store_text(columns)

    def dry_run(self) -> AbstractContextManager[object]:
        """Return an empty block: this is one."""
        return nullcontext()

    def divided(
        self, sql: str, part: str, parts: int, person: str = "u"
    ) -> AbstractContextManager[None]:
        """Return a block with None: no rows are too many."""
        return nullcontext()

    def in_arrays(self, sql: str) -> AbstractContextManager[None]:
        """Return a block with None: they stay in the engine."""
        return nullcontext()

    def reading(self) -> AbstractContextManager[object]:
        """Return an empty block: no rows, no state of them."""
        return nullcontext()

    def close(self) -> None:
        """Do nothing: the engine continues."""

    def planner(self, *, again: bool = False) -> None:
        """Return None: a dry run runs nothing."""


class _PlanningEngine(_DryEngine):
    """An engine that plans what it is asked; public keys alone are stored in it, as they are."""

    def __init__(self, engine: Engine, planner: Callable[[str], None]) -> None:
        super().__init__(engine)
        self._planner = planner

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Plan a query."""
        self._planner(sql)
        return []

    def integers(self, sql: str) -> list[NDArray[np.int64]]:
        """Plan a query of places and their weights."""
        self._planner(sql)
        return [np.zeros(0, np.int64), np.zeros(0, np.int64)]


# Carrying a plan out: exact integers in, a published answer out.


def release_answer(plan: Plan, exact: Exact) -> dict[str, Any]:
    """Draw the noise of every chain of a plan, and return the answer as plain JSON values."""
    # The only place where exact aggregates meet noise.  What is returned holds released values and
    # what follows from them.
    keys = _released_keys(plan, exact)
    chains = plan.chains(len(keys))
    answers = map(Answers, exact.vectors(chains, keys))
    released = [
        [_released(value) for value in _drawn(measurement, exactly)]
        for chain, exactly in zip(plan.measurements(len(keys)), answers, strict=True)
        for measurement in chain
    ]
    shown = [[plain_key(value) for value in key] for key in keys]
    described = plan.describe(len(keys))
    answer = answer_of(plan, shown, released)
    named = {} if plan.rules == FIRST_RULES else {"intervals": plan.rules}
    return {**answer, **described, **named, "versions": versions()}


def answer_of(
    plan: Plan,
    keys: Sequence[Sequence[Any]],
    released: Sequence[Sequence[Any]],
    level: float = LEVEL,
) -> dict[str, Any]:
    """Return the answer that released numbers make: their post-processing, and no more."""
    # A certificate carries the numbers, so that whoever checks it works the answer out again.
    numbers = iter(released)
    estimates: list[dict[str, Estimate]] = []
    for part, noise, ends in zip(plan.parts, plan.noises, plan.chains(len(keys)), strict=True):
        mine = [next(numbers) for _ in ends]
        usual = level == LEVEL
        estimates.append(
            part.estimates(mine, noise) if usual else part.at_level(mine, noise, level)
        )
    columns = [
        {"label": label, **_column(plan, aggregate, estimates, level)}
        for label, aggregate in plan.query.aggregates
    ]
    listed = [list(each) for each in released]
    return {"keys": [list(key) for key in keys], "columns": columns, "released": listed}


def _released(value: Any) -> Any:
    """Return what one group or coordinate gave, as plain JSON: a number, None, or a pair."""
    if value is None:
        return None
    if isinstance(value, BoundedAnswer):
        return [float(value.value), float(value.bound)]
    return int(value) if isinstance(value, (int, np.integer)) else float(value)


def _released_keys(plan: Plan, exact: Exact) -> list[tuple[Any, ...]]:
    """Return the public keys, or those of the data that pass the noisy threshold."""
    if plan.key_chain is None:
        return list(plan.query.keys or [()])
    step, measurement = plan.key_chain
    people = exact.people
    passed = _drawn(measurement, Answers({step: people.counts}))
    released = [key for key, noisy in zip(people.keys, passed, strict=True) if noisy is not None]
    return in_order(released)


def in_order(keys: Iterable[Sequence[Any]]) -> list[Any]:
    """Return released keys in the order in which they are shown."""
    # The order in which an engine finds keys could depend on the data; this one is of what is
    # shown.

    def order(key: Sequence[Any]) -> list[Any]:
        shown = map(plain_key, key)
        return [(value is None, str(type(value)), value) for value in shown]

    return sorted(keys, key=order)


def _column(
    plan: Plan, aggregate: TableStatistic, estimates: Sequence[dict[str, Estimate]], level: float
) -> dict[str, Any]:
    """Return one answer with its errors."""
    served = plan.parts_of(aggregate)
    parts, noises = [plan.parts[i] for i in served], [plan.noises[i] for i in served]
    estimate = aggregate.estimate(parts, [estimates[i] for i in served], noises, level).coherent()
    whole = aggregate.whole
    column: dict[str, Any] = {
        "kind": aggregate.kind,
        # floor(low) <= floor(v) <= floor(v + 1/2) <= ceil(v) <= ceil(high): rounding keeps order
        "value": _numbers(estimate.value + 0.5 * whole, math.floor if whole else None),
        "standard_error": _numbers(estimate.standard_error),
        "low": _numbers(estimate.lower, math.floor if whole else None),
        "high": _numbers(estimate.upper, math.ceil if whole else None),
    }
    names = aggregate.answer_names()
    if names is not None:
        column["bins"] = names
    method = plan.record(aggregate)
    if method is not None:
        column["method"] = method
        if method["used"] == "ptr":
            column["refused"] = [value is None for value in column["value"]]
    return column


def _numbers(values: Any, rounded: Callable[[float], int] | None = None) -> list[Any]:
    """Return plain numbers; what is not known is None."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim > 1:
        return [_numbers(row, rounded) for row in array]
    known = rounded or float
    return [None if math.isnan(v) else known(v) for v in array.tolist()]


def _drawn(measurement: Measurement, answers: Answers) -> Any:
    return measurement(answers)

"""A connection's statements answered: aggregate SQL as releases, and the catalog."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tacit import __version__ as version
from tacit.accounting.budget import Budget
from tacit.report.text import budget_words
from tacit.service.access import Caller, demand
from tacit.service.hosting.ask import Ask
from tacit.service.hosting.datasets import Datasets, Hosted, LRUCache
from tacit.service.jobs.queue import Job, JobScope
from tacit.service.jobs.release_service import ReleaseService
from tacit.service.problem import Problem
from tacit.service.wire.catalog import VERSION, Catalog
from tacit.service.wire.statements import (
    BOOL,
    DATE,
    FLOAT8,
    INT8,
    TEXT,
    TEXT_ARRAY,
    Field,
    Result,
    Statement,
    Variables,
    unwrapped,
)
from tacit.sql.aggregates import has_aggregate
from tacit.sql.parse import parse
from tacit.tables.question import Question, question_parts
from tacit.tables.release.answer import Answer

# The same path as HTTP: a query is submitted as a question at the declared price, charged and
# recorded there, waited for until its tick, and read from the ledger.  Nothing is charged here.


CERTIFICATE = "certificate"  # the column with the digest of the certificate
_CATALOGS = 16  # data sets whose catalogs are cached in a process
_KINDS = {"integer": INT8, "boolean": BOOL, "date": DATE, "float": FLOAT8, "decimal": FLOAT8}
_TRANSACTION = {
    **dict.fromkeys(("BEGIN", "START"), "BEGIN"),
    **dict.fromkeys(("COMMIT", "END"), "COMMIT"),
    **dict.fromkeys(("ROLLBACK", "ABORT"), "ROLLBACK"),
    **{name: name for name in ("SAVEPOINT", "RELEASE")},
}
_READS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")
FIXED = {
    "server_version": VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "in_hot_standby": "off",
    "default_transaction_read_only": "on",
    "application_name": "",
}
_SHOWN = {
    **{name.lower(): value for name, value in FIXED.items()},
    "transaction_isolation": "read committed",
    "transaction_read_only": "on",
    "search_path": "public",
    "max_identifier_length": "63",
    "server_version_num": "150000",
    "statement_timeout": "0",
    "lc_collate": "C",
}
_T = TypeVar("_T")


class Threads(Protocol):
    """Runs a call in a thread of the wire, and waits for it."""

    def __call__(self, call: Callable[[], _T], /) -> Awaitable[_T]: ...


@dataclass(frozen=True)
class Parts:
    """The parts of the service that connections use."""

    datasets: Datasets
    releases: ReleaseService
    check: Callable[[str, str], Caller]  # of a token and an address
    still: Callable[[Caller], None]  # raises where a token is void by now
    denied: Callable[[Caller, str, Problem], None]  # notes what a caller may not do
    clock: Callable[[], float]


class Catalogs:
    """The catalogs of the data sets that were asked last, one of each for all connections."""

    def __init__(self) -> None:
        self._cache: LRUCache[Catalog] = LRUCache(_CATALOGS)

    def of(self, hosted: Hosted) -> Catalog:
        # A data set that is declared again is another object, and has another catalog.
        purpose = hosted.dataset.purpose
        about = purpose if isinstance(purpose, str) else "a protected table"
        return self._cache.of(hosted, lambda: Catalog(hosted.name, hosted.shapes(), about))

    def close(self) -> None:
        self._cache.clear()


class Connected:
    """A caller connected to a data set: its settings, and the answers to its statements."""

    def __init__(
        self,
        parts: Parts,
        catalogs: Catalogs,
        caller: Caller,
        dataset: str,
        threads: Threads,
        wait: Callable[[float], Awaitable[bool]],
    ) -> None:
        # wait: waits some seconds; True where the query was cancelled meanwhile.
        self.caller, self.dataset = caller, dataset
        self.variables = Variables(_SHOWN)
        self.status = "I"  # idle, in a transaction (T), or in one that failed (E)
        self._parts, self._catalogs, self._threads = parts, catalogs, threads
        self._wait = wait

    def hosted(self) -> Hosted:
        """Return the data set, as it is declared now, if it is for the caller."""
        demand(self.caller, "see_dataset", self.dataset)
        return self._parts.datasets.of(self.dataset)

    async def answer(self, statement: Statement) -> Result:
        """Answer a statement.

        Raises:
            Problem: it is refused; in a transaction, the next must be ROLLBACK.
        """
        await self._threads(lambda: self._parts.still(self.caller))
        made = self._transaction(statement)
        if made is None and self.status == "E":
            raise Problem(
                "conflict",
                "the transaction failed: statements are ignored until it ends",
                "send ROLLBACK",
                {"sqlstate": "25P02"},
            )
        if made is None:
            made = self.variables.command(statement)
        if made is not None:
            return made
        return await self._query(statement)

    def failed(self) -> None:
        """Note that a statement failed."""
        self.status = "E" if self.status != "I" else "I"

    def fields(self, statement: Statement) -> tuple[Field, ...] | None:
        """Return the columns of a statement's result; nothing is spent.  None without rows."""
        self._parts.still(self.caller)
        if statement.word == "SHOW":
            return self.variables.command(statement).fields  # type: ignore[union-attr]
        if statement.word not in _READS:
            return None
        hosted, asked = self._asked(statement)
        if asked is None:
            return self._catalog(hosted, statement).fields
        _, question = asked
        return _columns(question, asked[0].content).fields

    def _transaction(self, statement: Statement) -> Result | None:
        """Carry out BEGIN, COMMIT and ROLLBACK: nothing is written, so they keep settings alone."""
        act = _TRANSACTION.get(statement.word)
        if act is None:
            return None
        if self.status == "E" and act in ("BEGIN", "SAVEPOINT", "RELEASE"):
            return None  # refused, as all others
        words = statement.words(10)
        to = act == "ROLLBACK" and "to" in words[:3]
        if to or act in ("SAVEPOINT", "RELEASE"):
            if self.status == "I":
                state = {"sqlstate": "25P01"}
                raise Problem("conflict", "savepoints are of a transaction", "send BEGIN", state)
            if act == "SAVEPOINT":
                self.variables.save(words[-1])
            else:
                self.variables.release(words[-1], restore=to)
            self.status = "T"
            return Result(act)
        if act == "BEGIN":
            if self.status == "I":
                self.variables.begin()
                self.status = "T"
            return Result("BEGIN")
        commit = act == "COMMIT" and self.status != "E"
        self.variables.end(commit=commit)
        self.status = "I"
        return Result("COMMIT" if commit else "ROLLBACK")

    async def _query(self, statement: Statement) -> Result:
        if statement.word not in _READS:
            raise Problem(
                "unsupported_query",
                f"{statement.word[:40]} is not answered: the data set is only asked for aggregates",
                "such as select site, count(*) as n from visits group by site",
            )
        hosted, asked = await self._threads(lambda: self._asked(statement))
        if asked is None:
            return await self._threads(lambda: self._catalog(hosted, statement))
        ask, question = asked
        columns = _columns(question, ask.content)
        if question_parts(question).arrangement.limit == 0:  # of a tool that wants the columns
            return Result("SELECT 0", columns.fields)
        if not self.variables.price():
            raise _no_price()
        return await self._release(hosted, ask, columns)

    def _asked(self, statement: Statement) -> tuple[Hosted, tuple[Ask, Question] | None]:
        """Return the question of a statement; None where it is about the catalog."""
        hosted = self.hosted()
        inner = unwrapped(statement)
        text = inner.question_text(self.dataset, hosted.shapes())
        if text is None:
            return hosted, None
        demand(self.caller, "ask", self.dataset)
        table = inner.table(list(hosted.dataset.protected))
        ask = Ask.from_json({"sql": text, "table": table, **self.variables.price()})
        try:
            return hosted, (ask, ask.question(hosted, self.caller))
        except Exception as error:
            if inner is statement:
                raise
            raise _without_position(error) from None

    def _catalog(self, hosted: Hosted, statement: Statement) -> Result:
        values = {
            "version": f"PostgreSQL {VERSION} (Tacit {version})",
            "current_database": self.dataset,
            "current_schema": "public",
            "current_user": self.caller.name,
        }
        return self._catalogs.of(hosted).answer(statement, values)

    # --- releases ----------------------------------------------------------------------------

    async def _release(self, hosted: Hosted, ask: Ask, columns: _Columns) -> Result:
        parts = self._parts
        job = await self._threads(lambda: self._submit(hosted, ask))
        while job.shown(parts.clock()) == "running":
            job = await self._tick(job)
        return await self._threads(lambda: self._result(job, columns))

    async def _tick(self, job: Job) -> Job:
        """Wait for the next tick of a release, and return how it is then."""
        parts, now = self._parts, self._parts.clock()
        ready = job.ready_at(now)
        if await self._wait(max(0.001, (now + 1 if ready is None else ready) - now)):
            await self._threads(lambda: self._cancel(job))
            raise Problem(
                "conflict",
                f"the query was cancelled; release {job.id} and its charge stay",
                "the same query at the same price costs no more",
                {"sqlstate": "57014"},
            )
        await self._threads(lambda: parts.still(self.caller))
        return await self._threads(lambda: parts.releases.queue.find(job.id) or job)

    def _submit(self, hosted: Hosted, ask: Ask) -> Job:
        waiting = self._waiting(hosted, ask)
        job = waiting or self._parts.releases.submit(hosted.name, self.caller, ask)
        if job.state == "waiting":
            raise Problem(
                "not_ready",
                f"a reviewer decides on it first: release {job.id}; nothing is charged yet",
                "send the same query again once it is approved",
            )
        return job

    def _waiting(self, hosted: Hosted, ask: Ask) -> Job | None:
        """Return the same question of the caller that waits for a decision, or was approved."""
        if not hosted.settings.approval:
            return None
        queue = self._parts.releases.queue
        team = (self.caller.team,) if hosted.owner.per_team else None
        scope = [JobScope(hosted.name, self.caller.name, team)]
        for state in ("waiting", "running"):
            for job in queue.listed(scope, state=state, limit=1000):
                if job.body == ask.body:
                    return job
        return None

    def _cancel(self, job: Job) -> None:
        with suppress(Problem):  # its outcome is there by now
            self._parts.releases.cancel(job, self.caller)

    def _result(self, job: Job, columns: _Columns) -> Result:
        shown = job.shown(self._parts.clock())
        if shown == "failed":
            error = json.loads(job.error or "{}").get("error", {})
            raise Problem(
                error.get("code", "internal"),
                f"{error.get('message', 'the release failed')}; release {job.id}, whose charge "
                "stays",
                "the same query at the same price costs no more",
            )
        if shown != "done":
            raise Problem("conflict", f"release {job.id} is {shown}", job.reason or "")
        answer = self._parts.releases.answer(job)
        rows = columns.rows(answer)
        cost = Budget.from_json(json.loads(job.cost))
        paid = "nothing was charged"
        if not cost.is_nothing:  # which of those who ask at once paid is not known before all end
            paid = f"charged {budget_words(cost)}, once for all who ask at once"
        return Result(f"SELECT {len(rows)}", columns.fields, rows, f"release {job.id}: {paid}")


@dataclass(frozen=True)
class _Columns:
    """The columns of an answer: those of the select list first, in its order."""

    # of each column its field and where its values are: the number of a key, a label and what of
    # it, or None: the digest of the certificate
    parts: tuple[tuple[Field, int | tuple[str, str] | None], ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field for field, _ in self.parts)

    def rows(self, answer: Answer) -> list[list[Any]]:
        """Return the rows of an answer."""
        body: Any = answer.certificate.body
        digest = body["digest"]
        columns: list[Sequence[Any]] = []
        for _, source in self.parts:
            if source is None:
                columns.append([digest] * len(answer.keys))
            elif isinstance(source, int):
                columns.append([key[source] for key in answer.keys])
            else:
                label, which = source
                columns.append(answer.column(label).get(which) or [None] * len(answer.keys))
        return [list(row) for row in zip(*columns, strict=True)]


def _columns(question: Question, text: str) -> _Columns:
    """Return the columns of a question's answer, from the question alone."""
    parts = question_parts(question)
    query, arrangement = parts.query, parts.arrangement
    aggregates = dict(query.aggregates)
    labels = list(arrangement.labels or aggregates)
    names = arrangement.called(query.by)
    kinds = [_KINDS.get(query.columns[name].kind, TEXT) for name in query.by]
    keys = [(Field(n, k), i) for i, (n, k) in enumerate(zip(names, kinds, strict=True))]
    types = {label: _value_type(aggregates.get(label)) for label in labels}
    values = {label: (Field(label, types[label]), (label, "value")) for label in labels}
    listed = _in_order(text, names, labels)
    chosen: list[Any] = [keys[one] if isinstance(one, int) else values[one] for one in listed]
    chosen += [one for one in (*keys, *values.values()) if one not in chosen]
    for label in labels:
        for end, which in (("lower", "low"), ("upper", "high")):
            chosen.append((Field(f"{label}_{end}", types[label]), (label, which)))
    chosen.append((Field(CERTIFICATE, TEXT), None))
    called = [field.name for field, _ in chosen]
    for name in called:  # clients that read by name would take one for the other
        if called.count(name) > 1:
            raise Problem(
                "unsupported_query",
                f"two columns of the answer would be called {name!r}; nothing was charged",
                "name the one of the select list otherwise, with AS",
            )
    return _Columns(tuple(chosen))


def _in_order(text: str, names: Sequence[str], labels: Sequence[str]) -> list[int | str]:
    """Return the select list: of each item its grouping column or its label."""
    order: list[int | str] = []
    left = list(labels)
    for item in getattr(parse(text), "expressions", []):
        if has_aggregate(item):
            own = [one for one in left if one.lower() == item.alias.lower()] or left[:1]
            order += own[:1]
            left = [one for one in left if one not in own[:1]]
        else:
            name = item.alias_or_name.lower()
            order += [index for index, one in enumerate(names) if one.lower() == name][:1]
    return list(dict.fromkeys(order))


def _value_type(aggregate: Any) -> int:
    """Return the type of an answer: a number, or a list of them, as text."""
    several = aggregate is not None and aggregate.to_json().get("kind") == "percentiles"
    return TEXT_ARRAY if several else FLOAT8


def _without_position(error: Exception) -> Exception:
    """Return an error of a rewritten query without its position, which is of another text."""
    reason = getattr(error, "reason", None)
    return error if reason is None else Problem("unsupported_query", str(reason))


def _no_price() -> Problem:
    return Problem(
        "invalid_request",
        "it is not declared what a query may spend, so it is not answered; nothing was charged",
        "SET tacit.epsilon = '0.1' declares it for this connection; or connect with the startup "
        "option -c tacit.epsilon=0.1",
        {"sqlstate": "22023"},
    )

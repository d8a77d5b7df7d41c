"""Jobs, data sets, questions and plans of a service."""

from __future__ import annotations

import datetime
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self, TypeAlias, Unpack, cast
from urllib.parse import quote

from tacit.accounting.budget import Budget
from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.client.transport import Transport, refusal
from tacit.errors import RefusedError, ServiceError, UsageError, did_you_mean
from tacit.report import Certificate
from tacit.tables.dataset.draft import TableShape
from tacit.tables.joint_plans.merge import Merged
from tacit.tables.joint_plans.planning import Aim, PlannedQuestions
from tacit.tables.joint_plans.session_plans import planned
from tacit.tables.open_source import Source
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import Amount, Price, min_epsilon, priced, read_confidence
from tacit.tables.plan.query import Declared, Query
from tacit.tables.privacy_unit import Person
from tacit.tables.query.joins import MOST_ROWS, Join
from tacit.tables.question import Question, QuestionBase
from tacit.tables.reading import DEFAULT_READING
from tacit.tables.release.answer import AS_IT_IS, Answer, Arrangement
from tacit.tables.release.opened_table import On, OtherTable, beside, joined_columns, requested_join
from tacit.tables.session import described_question

# A release that a service works on.


_WAIT = 30  # the seconds that one request waits for the tick
_OVER = ("done", "failed", "refused", "cancelled")


@public
class RemoteJob:
    """A release: asked, and answered at a tick of the public clock.

    Attributes:
        id: its name at the service; :meth:`Connection.job` finds it again.
    """

    def __init__(self, transport: Transport, fields: Mapping[str, Any]) -> None:
        self._transport, self._fields = transport, dict(fields)
        self.id = str(fields["id"])
        self._path = _release_path(self.id)

    @classmethod
    def named(cls, transport: Transport, name: str) -> Self:
        """Return the release of a name at the service."""
        return cls(transport, transport.get(_release_path(name)))

    @property
    def state(self) -> str:
        """``waiting`` (for a reviewer), ``queued``, ``running``, or how it ended.

        It ends as ``done``, ``failed``, ``cancelled``, or ``refused`` by a reviewer.
        """
        return str(self._now()["state"])

    @property
    def ready_at(self) -> object:
        """When the outcome is shown, by the clock of the service; None while a reviewer decides."""
        return self._fields.get("ready_at")

    @property
    def question(self) -> str:
        """The question, in words."""
        return str(self._all_fields()["question"])

    @property
    def asked_by(self) -> str:
        """Who asked."""
        return str(self._all_fields()["asked_by"])

    @property
    def when(self) -> str:
        """When it was asked: ISO 8601, UTC, by the clock of the service."""
        requested_at = float(self._all_fields()["asked_at"])
        return datetime.datetime.fromtimestamp(requested_at, datetime.UTC).isoformat()

    @property
    def cost(self) -> Budget:
        """Cost of the question, charged once."""
        return Budget.from_json(self._all_fields()["cost"])

    def result(self, timeout: float | None = None) -> Answer:
        """Wait for the tick, and return the answer.

        Args:
            timeout: the most seconds to wait; None for as long as it takes.

        Raises:
            RefusedError: a reviewer refused it, or it was cancelled; see :meth:`Question.release`.
            ServiceError: a reviewer has not decided yet, or the time is over: ask again later.
            UsageError: it is a plan of several questions: see :meth:`results`.
        """
        answers = self.results(timeout)
        if self._fields.get("answers") is not None:
            raise UsageError(
                f"release {self.id} is a plan of {len(answers)} questions: "
                "job.results() has the answer to each"
            )
        return answers[0]

    def results(self, timeout: float | None = None) -> list[Answer]:
        """Wait for the tick, and return the answer to each question of a plan, in their order.

        Returns:
            One answer for a release that is no plan.

        Raises:
            RefusedError, ServiceError: as :meth:`result`.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self._fields["state"] not in _OVER:
            if self._fields["state"] == "waiting" and self._now()["state"] == "waiting":
                raise ServiceError(
                    f"release {self.id} waits for a reviewer, and costs nothing until then: ask "
                    f"again with connection.job({self.id!r}).result()"
                )
            left = _WAIT if end is None else min(_WAIT, round(end - time.monotonic()))
            if left <= 0:
                raise ServiceError(f"release {self.id} is not ready: ask again later")
            self._now(left)
        return self._answers()

    def cancel(self) -> None:
        """Ask the service not to go on; what is charged already stays charged.

        Raises:
            RefusedError: it is over.
        """
        self._fields = self._transport.post(f"{self._path}/cancel", {})

    def _now(self, wait: int | None = None) -> dict[str, Any]:
        over = self._fields["state"] in _OVER
        return self._fields if over and "links" in self._fields else self._fresh(wait)

    def _fresh(self, wait: int | None = None) -> dict[str, Any]:
        self._fields = self._transport.get(self._path, wait=wait)
        return self._fields

    def _all_fields(self) -> dict[str, Any]:
        """Return all fields: the first reply to a question has fewer."""
        return self._fields if "question" in self._fields else self._now()

    def _answers(self) -> list[Answer]:
        fields = self._now()
        if fields["state"] == "done" and _shown(fields) is None:  # a list holds no answers
            fields = self._fresh()
        if fields["state"] == "cancelled":
            raise RefusedError(f"release {self.id} was cancelled")
        error = fields.get("error")
        if error is not None:
            raise refusal(error.get("error", error))
        answers = _shown(fields)
        if answers is None:
            reason = fields.get("reason")
            raise RefusedError(
                f"release {self.id} was {fields['state']}" + (f": {reason}" if reason else "")
            )
        certificate = Certificate(self._transport.get(f"{self._path}/certificate"))
        cost = Budget.from_json(fields["cost"])
        return [
            Answer(
                tuple(answer["by"]),
                {"keys": answer["keys"], "columns": answer["columns"]},
                certificate,
                cost,
                bool(fields.get("replayed")),
                answer.get("described"),
            )
            for answer in answers
        ]

    def __repr__(self) -> str:
        return f"<RemoteJob {self.id}: {self._fields['state']}>"


def _release_path(name: str) -> str:
    return f"/v1/releases/{quote(name, safe='')}"


def _shown(fields: Mapping[str, Any]) -> list[Any] | None:
    """Return the answers that a release shows: one, or one for each question of a plan."""
    answer, answers = fields.get("answer"), fields.get("answers")
    return answers if answer is None else [answer]


class RemoteDataset:
    """A data set of a service: what is public of it is read once, the budget each time."""

    def __init__(self, transport: Transport, name: str) -> None:
        self.transport, self.name = transport, name
        self.path = f"/v1/datasets/{quote(name, safe='')}"
        self.fields: dict[str, Any] = transport.get(self.path)
        try:
            tables = self.fields["tables"].items()
            self.budget = Budget.from_json(self.fields["budget"])
        except (LookupError, TypeError, AttributeError, ValueError):
            raise ServiceError(
                f"{transport.url} describes {name!r} in a form that this version of Tacit cannot "
                "read"
            ) from None
        self.shapes = {name: TableShape.from_json(name, one) for name, one in tables}

    @property
    def people(self) -> list[tuple[str, Person | None]]:
        """The protected tables, each with its person column."""
        return [(n, s.unit.column) for n, s in self.shapes.items() if s.unit is not None]

    def amount(self, which: str) -> Budget:
        """Return what is spent or remaining now: one of ``spent`` and ``remaining``."""
        return Budget.from_json(self.transport.get(self.path)[which])

    def table(self, name: str | None) -> str:
        """Return the name of a protected table: by default the first."""
        known = [table for table, _ in self.people]
        if name is None:
            return str(self.fields.get("table") or known[0])
        if name not in known:
            raise UsageError(f"there is no table {name!r}; {did_you_mean(name, known)}")
        return name

    def others(self, table: str | None) -> dict[str, OtherTable]:
        """Return the tables that one may be joined with."""
        return {
            name: OtherTable(
                name,
                shape.key,
                shape.public,
                _never,
                shape.bounds,
                shape.keys,
                descriptions=shape.descriptions,
            )
            for name, shape in self.shapes.items()
            if name != table
        }

    def question(self, table: str) -> tuple[Query, Declared]:
        """Return a question about all rows of a table, and what is declared of it."""
        shape, people = self.shapes[table], tuple(self.people)
        assert shape.unit is not None
        declared = Declared(
            dataset=str(self.fields["identity"]),
            table=table,
            tables=people,
            bounds=shape.bounds,
            keys=shape.keys,
            descriptions=shape.descriptions,
            size=shape.size,
        )
        query = Query(shape.schema, shape.unit, table=table, tables=people, reading=shape.reading)
        return query, declared


def pages(transport: Transport, path: str, dataset: str | None = None) -> list[Mapping[str, Any]]:
    """Return all items of a list that a service sends in pages."""
    items: list[Mapping[str, Any]] = []
    cursor = None
    while True:
        page = transport.get(path, dataset=dataset, cursor=cursor)
        items += page["items"]
        cursor = page.get("next")
        if not cursor:
            return items


def _never(_beside: Source) -> NoReturn:
    raise UsageError("the tables of a service cannot be opened on this machine")


# A question to a data set of a service: built here from public facts, previewed and paid there.


_JOINED = ("table", "how", "on")  # what a client says of a join; the service knows the rest


@public
class Sent:
    """A question, or a plan of several, that can be sent."""

    _at: RemoteDataset
    _asks: ClassVar = "releases"  # where it is released
    _previews: ClassVar = "preview"  # where it is previewed

    def _payload(self) -> dict[str, Any]:
        raise NotImplementedError

    def cost(self, **price: Unpack[Price]) -> Budget:
        """Return what :meth:`release` would charge now: zero if it is answered or was charged."""
        entry = self._existing_entry(price)
        cost = Budget.from_json(entry["preview"]["cost"])
        return Budget.nothing(cost.kind) if entry["replay"] or entry["open"] else cost

    def is_answered(self, **price: Unpack[Price]) -> bool:
        """Return whether :meth:`release` would replay a recorded answer, at no cost."""
        return bool(self._existing_entry(price)["replay"])

    def _existing_entry(self, price: Price) -> Any:
        return self._previewed({**self._payload(), **exact_price(price)})

    def _previewed(self, body: Mapping[str, Any]) -> Any:
        at = self._at
        return at.transport.post(f"{at.path}/{self._previews}", _given(body))

    def _expected(
        self, price: Price, rows: Iterable[int], confidence: Number | None
    ) -> Mapping[str, Any]:
        level = None if confidence is None else str(as_fraction(confidence))
        body = {**self._payload(), **exact_price(price), "rows": list(rows), "confidence": level}
        reply: Mapping[str, Any] = self._previewed(body)
        return reply

    def _submitted(self, body: Mapping[str, Any]) -> RemoteJob:
        at = self._at
        once = secrets.token_urlsafe(18)
        made = at.transport.post(f"{at.path}/{self._asks}", _given(body), key=once)
        return RemoteJob(at.transport, made)


@public
class _SentQuestion(Sent):
    """A single question that can be sent."""

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

        The service works it out from public facts; see :meth:`tacit.tables.Question.preview`.

        Raises:
            UsageError: the question, or what it may spend, is wrong.
            AccessError: this is not for the holder of the token.
            ServiceError: the service does not answer.
        """
        price = Price(epsilon=epsilon, delta=delta, rho=rho, total=total, tag=tag)
        return Preview.from_json(self._expected(price, rows, confidence)["preview"])

    def release(
        self,
        epsilon: Amount | None = None,
        delta: Number | None = None,
        rho: Amount | None = None,
        *,
        total: Number | None = None,
        tag: str | None = None,
    ) -> Answer:
        """Publish the answers, with noise, and pay for them; waits until the service shows them.

        See :meth:`tacit.tables.Question.release`.  Where the connection breaks, the same request
        is sent again under the same key, which charges nothing twice.

        Raises:
            BudgetError: more than remains; nothing was spent.
            UsageError: the question, or what it may spend, is wrong; nothing was spent.
            AccessError: this is not for the holder of the token.
            RefusedError: a reviewer refused it.
            ServiceError: the service does not answer, or the release waits for a reviewer.
        """
        return self.submit(epsilon, delta, rho, total=total, tag=tag).result()

    def submit(
        self,
        epsilon: Amount | None = None,
        delta: Number | None = None,
        rho: Amount | None = None,
        *,
        total: Number | None = None,
        tag: str | None = None,
    ) -> RemoteJob:
        """Ask for a release, and return at once; arguments and errors as of :meth:`release`."""
        price = Price(epsilon=epsilon, delta=delta, rho=rho, total=total, tag=tag)
        return self._submitted({**self._payload(), **exact_price(price)})

    def free_answer(self, *, tag: str | None = None) -> Answer | None:
        """Return the answer where it follows from releases that one may see; never spends.

        See :meth:`tacit.tables.Question.free_answer`; the service looks at the releases that the
        holder of the token sees, and at no others.

        Args:
            tag: of the releases.

        Returns:
            None where it does not follow.

        Raises:
            UsageError: the question is wrong.
            AccessError: this is not for the holder of the token.
            ServiceError: the service does not answer.
        """
        if self.free_errors(tag=tag) is None:
            return None
        return self._submitted({**self._payload(), "free": True, "tag": tag}).result()

    def free_errors(self, *, tag: str | None = None) -> dict[str, float] | None:
        """Return the standard errors that :meth:`free_answer` would have; None as there.

        Raises:
            UsageError, AccessError, ServiceError: as :meth:`free_answer`.
        """
        errors = self._previewed({**self._payload(), "free": True, "tag": tag})["free"]
        return {label: float(one["standard_error"]) for label, one in errors.items()} or None


@public
class RemoteQuestion(QuestionBase, _SentQuestion):
    """A question to a data set of a service; it spends nothing until it is released."""

    def __init__(
        self,
        at: RemoteDataset,
        query: Query,
        declared: Declared,
        arrangement: Arrangement = AS_IT_IS,
    ) -> None:
        self._at, self._query, self._declared = at, query, declared
        self._arrangement = arrangement

    def _of(self, query: Query, declared: Declared, arrangement: Arrangement) -> Self:
        return type(self)(self._at, query, declared, arrangement)

    def join(self, table: str, *, on: On = None, how: str | None = None) -> Self:
        """Put the columns of another table next to the rows; see :meth:`Question.join`.

        Raises:
            UsageError: no such table, or one that cannot be joined so.
        """
        query = self._query
        other, which, pairs = requested_join(self._at.others(query.table), query, table, on, how)
        shape = self._at.shapes[table]
        for here, there in pairs:
            query.columns.column(here), shape.schema.column(there)
        added = {
            name: column.kind
            for name, column in shape.schema.items()
            if name not in other.key and column.kind not in ("other", "missing")
        }
        columns = joined_columns(query.columns, table, added)
        public, maximum = ("", None) if other.public else (None, MOST_ROWS)
        reading = DEFAULT_READING if other.public else shape.reading
        join = Join(table, which, pairs, columns, public, maximum, reading)
        return self._of(*beside(query, self._declared, join, other), AS_IT_IS)

    def epsilon_for(
        self,
        targets: Mapping[str, Number],
        confidence: Number = "0.95",
        *,
        rows: int = 1000,
        delta: Number | None = None,
        weights: Mapping[str, Number] | None = None,
    ) -> Any:
        """Return the smallest epsilon with which answers are expected to be within their targets.

        Worked out here, from public facts; see :meth:`tacit.tables.Question.epsilon_for`.

        Raises:
            UsageError: a label that is not asked, or a target that no epsilon reaches.
        """
        price: Price = {"epsilon": 1} if weights is None else {"epsilon": weights, "total": 1}
        query, _ = priced(self._query, self._at.budget.kind, {**price, "delta": delta})
        return min_epsilon(query, targets, read_confidence(confidence), rows, delta)

    def _payload(self) -> dict[str, Any]:
        return {"described": _fields(self.described())}


@public
class RemoteSql(_SentQuestion):
    """A question in SQL; the service translates it, and refuses what it cannot."""

    notes: tuple[str, ...] = ()

    def __init__(self, at: RemoteDataset, text: str) -> None:
        self._at, self.text = at, text

    def _payload(self) -> dict[str, Any]:
        return {"sql": self.text}

    def __repr__(self) -> str:
        return f"<RemoteSql {self.text!r}>"


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _fields(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description without what only the service knows of joins."""
    fields = dict(described)
    if "inner" in fields:
        fields["inner"] = _fields(fields["inner"])
    if "joins" in fields:
        fields["joins"] = [{part: join[part] for part in _JOINED} for join in fields["joins"]]
    return fields


def is_of(question: Sent, at: RemoteDataset) -> bool:
    """Return whether a question is to this data set, over this connection."""
    return question._at is at


def release_body(question: object, at: RemoteDataset, price: Price) -> dict[str, Any] | None:
    """Return the request of a release; None of what cannot be asked there."""
    if not isinstance(question, Sent) or not is_of(question, at):
        return None
    return _given({**question._payload(), **exact_price(price)})


def exact_price(price: Price) -> dict[str, Any]:
    """Return a price as plain JSON: each number exact and as text."""
    plain: dict[str, Any] = {}
    for name, value in price.items():
        if isinstance(value, Mapping):
            plain[name] = {label: str(as_fraction(one)) for label, one in value.items()}
        elif value is not None:
            plain[name] = value if name == "tag" else str(as_fraction(cast("Number", value), name))
    return plain


Asked: TypeAlias = RemoteQuestion | RemoteSql


@public
class RemotePlan(Sent, PlannedQuestions):
    """Several questions to a data set of a service, answered together under one charge.

    It is used as :class:`tacit.tables.joint_plans.planning.QuestionPlan`.  Its strategy, its
    errors next to those of asking one by one, its page and :meth:`cheapest` are computed on this
    machine, from public facts; the service previews, charges and answers it.
    """

    _asks: ClassVar = "plans"
    _previews: ClassVar = "plans/preview"

    def __init__(
        self,
        at: RemoteDataset,
        questions: Sequence[Asked],
        options: Mapping[str, Any],
        merged: tuple[Merged, tuple[str, ...]] | None = None,
        aim: Aim | None = None,
    ) -> None:
        self._at, self._questions, self._options = at, tuple(questions), dict(options)
        self._aim, self._loss_kind = aim, at.budget.kind
        if merged is None and not any(isinstance(one, RemoteSql) for one in questions):
            merged = self._merge([one for one in questions if isinstance(one, RemoteQuestion)])
        if merged is not None:
            self._merged = merged

    @cached_property
    def _merged(self) -> tuple[Merged, tuple[str, ...]]:
        # Where a question is in SQL the service translates it: at any price, for the strategy
        # depends on none.
        amount = "rho" if self._loss_kind == "concentrated" else "epsilon"
        reply = self._previewed({**self._payload(), amount: "1", "rows": [100]})

        def rows_of(name: str) -> Question:
            table = self._at.table(name or None)
            return cast("Question", RemoteQuestion(self._at, *self._at.question(table)))

        return self._merge(
            [
                cast("RemoteQuestion", described_question(one["described"], rows_of))
                for one in reply["plan"]["questions"]
            ]
        )

    def _merge(self, questions: Sequence[RemoteQuestion]) -> tuple[Merged, tuple[str, ...]]:
        queries = [one._query for one in questions]
        return planned(queries, questions[0]._declared, self._loss_kind, **self._options)

    @property
    def _plan(self) -> Merged:  # type: ignore[override]
        return self._merged[0]

    @property
    def _notes(self) -> tuple[str, ...]:  # type: ignore[override]
        return self._merged[1]

    def preview(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        *,
        tag: str | None = None,
        rows: Iterable[int] = (100, 1_000, 10_000),
        confidence: Number | None = None,
    ) -> Preview:
        """Return the expected error of every answer, before anything is spent.

        See :meth:`tacit.tables.joint_plans.planning.QuestionPlan.preview`; ``free`` has the labels
        of the questions that follow from releases that the holder of the token may see.

        Raises:
            UsageError: a question, or what the plan may spend, is wrong.
            AccessError: this is not for the holder of the token.
            ServiceError: the service does not answer.
        """
        price = Price(epsilon=epsilon, delta=delta, rho=rho, tag=tag)
        return Preview.from_json(self._expected(price, rows, confidence)["preview"])

    def release(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        *,
        tag: str | None = None,
    ) -> list[Answer]:
        """Publish the answers to all questions, and pay for them once; waits for the service.

        See :meth:`tacit.tables.joint_plans.planning.QuestionPlan.release`.  Where the connection
        breaks, the same request is sent again under the same key, which charges nothing twice.

        Returns:
            One answer per question, in their order.

        Raises:
            BudgetError: more than remains; nothing was spent.
            UsageError, AccessError, ServiceError: as :meth:`preview`.
            RefusedError: a reviewer refused it.
        """
        return self.submit(epsilon, delta, rho, tag=tag).results()

    def submit(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        *,
        tag: str | None = None,
    ) -> RemoteJob:
        """Ask for a release, and return at once; :meth:`RemoteJob.results` has the answers."""
        price = Price(epsilon=epsilon, delta=delta, rho=rho, tag=tag)
        return self._submitted({**self._payload(), **exact_price(price)})

    def free_answers(self, *, tag: str | None = None) -> list[Answer | None]:
        """Return the answers that follow from releases that one may see; never spends.

        Args:
            tag: of the releases.

        Returns:
            For each question, in their order, its answer, or None where it does not follow.

        Raises:
            UsageError, AccessError, ServiceError: as :meth:`preview`.
        """
        return [one.free_answer(tag=tag) for one in self._questions]

    def free_errors(self, *, tag: str | None = None) -> list[dict[str, float] | None]:
        """Return the standard errors that :meth:`free_answers` would have.

        Raises:
            UsageError, AccessError, ServiceError: as :meth:`preview`.
        """
        return [one.free_errors(tag=tag) for one in self._questions]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the plan: what its questions state differently of a column."""
        return self._notes

    def _weighted(self, plan: Merged, aim: Aim) -> Self:
        merged = plan, self._notes
        return type(self)(self._at, self._questions, self._options, merged, aim)

    def _payload(self) -> dict[str, Any]:
        weights = self._options["weights"]
        defaults = {"least": "total", "unlisted": "count", "nonnegative": False}
        fields = {name: v for name, v in self._options.items() if v != defaults.get(name)}
        if weights is not None:
            fields["weights"] = {
                label: as_integer(one, f"the weight of {label!r}") for label, one in weights.items()
            }
        if self._aim is not None:
            fields["cheapest"] = {
                "targets": {label: str(one) for label, one in self._aim.targets.items()},
                "confidence": str(as_fraction(self._aim.confidence)),
                "rows": self._aim.rows,
            }
        questions = [one._payload() for one in self._questions]
        table = next(iter(tables_of(self._questions)), None)
        return {"questions": questions, "table": table, **fields}


def tables_of(questions: Iterable[object]) -> set[str | None]:
    """Return the tables of questions; one in SQL names its table in its text."""
    return {one._query.table for one in questions if isinstance(one, RemoteQuestion)}

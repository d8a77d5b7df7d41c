"""A question to a data set of a service: built here from public facts, previewed and paid there."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Self, Unpack

from tacit.accounting.budgets.budget import Budget
from tacit.arithmetic.exact import Number, as_fraction
from tacit.client.job import Job
from tacit.client.remote_dataset import RemoteDataset
from tacit.tables.asking import Asking
from tacit.tables.plan.declared import Declared
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import Amount, Price, priced
from tacit.tables.plan.query import Query
from tacit.tables.plan.target import least_epsilon, read_confidence
from tacit.tables.reading import DEFAULT_READING
from tacit.tables.release.answer import Answer
from tacit.tables.release.arrangement import AS_IT_IS, Arrangement
from tacit.tables.release.asked_join import On, asked_join, beside, columns_beside
from tacit.tables.spec.join import MOST_ROWS, Join

__all__ = ["RemoteQuestion", "RemoteSql"]

_JOINED = ("table", "how", "on")
"""What a client says of a join; the service knows the rest."""


class _Sent:
    """A question that can be sent."""

    _at: RemoteDataset

    def _asked(self) -> dict[str, Any]:
        raise NotImplementedError

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

        The service works it out from public facts; see :meth:`tacit.tables.Question.preview`.

        Raises:
            UsageError: the question, or what it may spend, is wrong.
            AccessError: this is not for the holder of the token.
            ServiceError: the service does not answer.
        """
        level = None if confidence is None else str(as_fraction(confidence))
        price = _price(epsilon, delta, rho, total)
        body = {**self._asked(), **price, "rows": list(rows), "confidence": level}
        return Preview.from_json(self._previewed(body)["preview"])

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
    ) -> Job:
        """Ask for a release, and return at once; arguments and errors as of :meth:`release`."""
        body = {**self._asked(), **_price(epsilon, delta, rho, total)}
        if tag is not None:
            body["tag"] = tag
        at = self._at
        made = at.transport.post(f"{at.path}/releases", body, key=secrets.token_urlsafe(18))
        return Job(at.transport, made)

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
        at, body = self._at, _given({**self._asked(), "free": True, "tag": tag})
        made = at.transport.post(f"{at.path}/releases", body, key=secrets.token_urlsafe(18))
        return Job(at.transport, made).result()

    def free_errors(self, *, tag: str | None = None) -> dict[str, float] | None:
        """Return the standard errors that :meth:`free_answer` would have; None as there.

        Args:
            tag: as in :meth:`free_answer`.

        Raises:
            UsageError, AccessError, ServiceError: as :meth:`free_answer`.
        """
        found = self._previewed({**self._asked(), "free": True, "tag": tag})["free"]
        return {label: float(one["standard_error"]) for label, one in found.items()} or None

    def cost(self, *, tag: str | None = None, **price: Unpack[Price]) -> Budget:
        """Return what :meth:`release` would charge now: zero if it is answered or was charged."""
        found = self._standing(tag, price)
        cost = Budget.from_json(found["preview"]["cost"])
        return Budget.nothing(cost.kind) if found["replay"] or found["open"] else cost

    def is_answered(self, *, tag: str | None = None, **price: Unpack[Price]) -> bool:
        """Return whether :meth:`release` would replay a recorded answer, at no cost."""
        return bool(self._standing(tag, price)["replay"])

    def is_charged(self, *, tag: str | None = None, **price: Unpack[Price]) -> bool:
        """Return whether :meth:`release` would cost nothing more."""
        found = self._standing(tag, price)
        return bool(found["replay"] or found["open"])

    def _standing(self, tag: str | None, price: Price) -> Any:
        body = {**self._asked(), **_price(**price)}
        return self._previewed(body if tag is None else {**body, "tag": tag})

    def _previewed(self, body: Mapping[str, Any]) -> Any:
        at = self._at
        return at.transport.post(f"{at.path}/preview", _given(body))


class RemoteQuestion(Asking, _Sent):
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
        """Put the columns of another table beside the rows; see :meth:`Question.join`.

        Raises:
            UsageError: no such table, or one that cannot be joined so.
        """
        query = self._query
        other, which, pairs = asked_join(self._at.others(query.table), query, table, on, how)
        shape = self._at.shapes[table]
        for here, there in pairs:
            query.columns.column(here), shape.schema.column(there)
        added = {
            name: column.kind
            for name, column in shape.schema.items()
            if name not in other.key and column.kind not in ("other", "missing")
        }
        columns = columns_beside(query.columns, table, added)
        public, most = ("", None) if other.public else (None, MOST_ROWS)
        reading = DEFAULT_READING if other.public else shape.reading
        join = Join(table, which, pairs, columns, public, most, reading)
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
        """Return the least epsilon with which answers are expected to be within their targets.

        Worked out here, from public facts; see :meth:`tacit.tables.Question.epsilon_for`.

        Raises:
            UsageError: a label that is not asked, or a target that no epsilon reaches.
        """
        price, total = (1, None) if weights is None else (weights, 1)
        query, _ = priced(self._query, self._at.budget.kind, price, delta, None, total)
        return least_epsilon(query, targets, read_confidence(confidence), rows, delta)

    def _asked(self) -> dict[str, Any]:
        return {"described": _said(self.described())}


class RemoteSql(_Sent):
    """A question in SQL; the service translates it, and refuses what it cannot."""

    notes: tuple[str, ...] = ()

    def __init__(self, at: RemoteDataset, text: str) -> None:
        self._at, self.text = at, text

    def _asked(self) -> dict[str, Any]:
        return {"sql": self.text}

    def __repr__(self) -> str:
        return f"<RemoteSql {self.text!r}>"


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _said(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description without what only the service knows of joins."""
    found = dict(described)
    if "inner" in found:
        found["inner"] = _said(found["inner"])
    if "joins" in found:
        found["joins"] = [{part: join[part] for part in _JOINED} for join in found["joins"]]
    return found


def _price(
    epsilon: Amount | None = None,
    delta: Number | None = None,
    rho: Amount | None = None,
    total: Number | None = None,
) -> dict[str, Any]:
    """Return what a release may spend, each number exact and as text."""
    given = {"epsilon": epsilon, "delta": delta, "rho": rho, "total": total}
    return {
        name: {label: str(as_fraction(one)) for label, one in value.items()}
        if isinstance(value, Mapping)
        else str(as_fraction(value, name))
        for name, value in given.items()
        if value is not None
    }

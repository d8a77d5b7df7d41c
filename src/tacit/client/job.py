"""A release that a service works on."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tacit.accounting.budgets.budget import Budget
from tacit.client.refusal import refusal
from tacit.client.transport import Transport
from tacit.errors import RefusedError, ServiceError
from tacit.report import Certificate
from tacit.tables.release.answer import Answer

__all__ = ["Job"]

_WAIT = 30
"""The seconds that one request waits for the tick."""
_OVER = ("done", "failed", "refused", "cancelled")


class Job:
    """A release: asked, and answered at a tick of the public clock.

    Attributes:
        id: its name at the service; :meth:`Connection.job` finds it again.
    """

    def __init__(self, transport: Transport, told: Mapping[str, Any]) -> None:
        self._transport, self._told = transport, dict(told)
        self.id = str(told["id"])
        self._path = f"/v1/releases/{quote(self.id, safe='')}"

    @property
    def state(self) -> str:
        """``waiting`` (for a reviewer), ``queued``, ``running``, or how it ended.

        It ends as ``done``, ``failed``, ``cancelled``, or ``refused`` by a reviewer.
        """
        return str(self._now()["state"])

    @property
    def ready_at(self) -> object:
        """When the outcome is shown, by the clock of the service; None while a reviewer decides."""
        return self._told.get("ready_at")

    @property
    def question(self) -> str:
        """What is asked, in words."""
        return str(self._whole()["question"])

    @property
    def asked_by(self) -> str:
        """Who asked."""
        return str(self._whole()["asked_by"])

    @property
    def when(self) -> str:
        """When it was asked: ISO 8601, UTC, by the clock of the service."""
        asked = float(self._whole()["asked_at"])
        return datetime.datetime.fromtimestamp(asked, datetime.UTC).isoformat()

    @property
    def cost(self) -> Budget:
        """What it takes from the budget, once."""
        return Budget.from_json(self._whole()["cost"])

    def result(self, timeout: float | None = None) -> Answer:
        """Wait for the tick, and return the answer.

        Args:
            timeout: the most seconds to wait; None for as long as it takes.

        Raises:
            RefusedError: a reviewer refused it, or it was cancelled; see :meth:`Question.release`.
            ServiceError: a reviewer has not decided yet, or the time is over: ask again later.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self._told["state"] not in _OVER:
            if self._told["state"] == "waiting" and self._now()["state"] == "waiting":
                raise ServiceError(
                    f"release {self.id} waits for a reviewer, and costs nothing until then: ask "
                    f"again with connection.job({self.id!r}).result()"
                )
            left = _WAIT if end is None else min(_WAIT, round(end - time.monotonic()))
            if left <= 0:
                raise ServiceError(f"release {self.id} is not ready: ask again later")
            self._now(left)
        return self._answer()

    def cancel(self) -> None:
        """Ask the service not to go on; what is charged already stays charged.

        Raises:
            RefusedError: it is over.
        """
        self._told = self._transport.post(f"{self._path}/cancel", {})

    def _now(self, wait: int | None = None) -> dict[str, Any]:
        over = self._told["state"] in _OVER
        return self._told if over and "links" in self._told else self._fresh(wait)

    def _fresh(self, wait: int | None = None) -> dict[str, Any]:
        self._told = self._transport.get(self._path, wait=wait)
        return self._told

    def _whole(self) -> dict[str, Any]:
        """Return all that is told of it: the first reply to a question holds less."""
        return self._told if "question" in self._told else self._now()

    def _answer(self) -> Answer:
        told = self._now()
        if told["state"] == "done" and told.get("answer") is None:  # a list holds no answers
            told = self._fresh()
        if told["state"] == "cancelled":
            raise RefusedError(f"release {self.id} was cancelled")
        error = told.get("error")
        if error is not None:
            raise refusal(error.get("error", error))
        found = told.get("answer")
        if found is None:
            reason = told.get("reason")
            raise RefusedError(
                f"release {self.id} was {told['state']}" + (f": {reason}" if reason else "")
            )
        certificate = self._transport.get(f"{self._path}/certificate")
        return Answer(
            tuple(found["by"]),
            {"keys": found["keys"], "columns": found["columns"]},
            Certificate(certificate),
            Budget.from_json(told["cost"]),
            bool(told.get("replayed")),
        )

    def __repr__(self) -> str:
        return f"<Job {self.id}: {self._told['state']}>"

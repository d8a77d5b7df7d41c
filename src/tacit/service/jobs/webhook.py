"""The webhook: messages to a program of the operator on what waits and what was decided."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from tacit.service.access import UserRequest
from tacit.service.database import Database, metadata
from tacit.service.problem import Problem
from tacit.service.settings import WebhookSettings
from tacit.service.telemetry import log

if TYPE_CHECKING:
    import httpx

# An outbox in the database of the service, and the thread that sends what is in it.
#
# - **Neither lost nor early.**  A message is written in the transaction of what it reports, so it
#   is sent if and only if that happened.  Of an outcome this is the transaction at its tick: a
#   message reveals nothing of how long the engine worked.
# - **Without values.**  A message names the release, schedule or dashboard, its data set, its state
#   and people; neither the question, which may quote what an analyst knows, nor the answer.
# - **At least once.**  A message is claimed for some time by one process, and deleted after a reply
#   of 2xx.  A process that dies in between lets another send it again: receivers ignore an ``id``
#   that they know.
# - **Signed.**  ``Tacit-Signature: t=SECONDS,v1=HEX`` is the HMAC-SHA256 of ``SECONDS.BODY`` under
#   the secret of the settings.  The time is in it, so that an old message cannot be sent again.
# - No redirect is followed, and of a reply only its status is read.


SIGNATURE = "Tacit-Signature"
# What is sent of an act; a question that no one decides on is reported at its tick.
EVENTS = {
    "release_asked": "waiting",
    "release_approved": "approved",
    "release_refused": "refused",
    "release_cancelled": "cancelled",
}
MAX_ATTEMPTS = 14  # with the waits between them about ten hours
_FIRST_WAIT, _LONGEST_WAIT = 10.0, 3600.0  # seconds
_CLAIM = 60.0  # seconds for which a process has a message alone
_TIMEOUT = 10.0  # of one request
_PAUSE = 1.0  # seconds between two looks

_LOCK = "webhook"
_outbox = sa.Table(
    "webhook_message",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("due", sa.Float, nullable=False, index=True),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
)


def wait_after(attempts: int) -> float:
    """Return the seconds until the next attempt.

    >>> wait_after(1), wait_after(2), wait_after(30)
    (10.0, 20.0, 3600.0)
    """
    return min(_FIRST_WAIT * 2.0 ** min(attempts - 1, 20), _LONGEST_WAIT)


def signature(secret: bytes, seconds: int, body: bytes) -> str:
    """Return the signature of a message.

    >>> signature(b"secret", 1700000000, b"{}")[:20]
    't=1700000000,v1=b856'
    """
    mac = hmac.new(secret, f"{seconds}.".encode() + body, hashlib.sha256)
    return f"t={seconds},v1={mac.hexdigest()}"


class Webhook:
    """Writes messages, and sends them where the settings name an address."""

    # url: where people reach the service; links in messages begin with it.

    def __init__(
        self,
        database: Database,
        settings: WebhookSettings | None,
        url: str | None = None,
        clock: Callable[[], float] = time.time,
        client: httpx.Client | None = None,
    ) -> None:
        self._database, self._settings, self._clock = database, settings, clock
        self._url = url or ""
        if client is None and settings is not None:  # it reads the certificates of all authorities
            import httpx

            client = httpx.Client(timeout=_TIMEOUT, follow_redirects=False)
        self._client = client
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._settings is not None:
            self._thread = threading.Thread(target=self._run, name="tacit webhook", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_TIMEOUT + _PAUSE)
        if self._client is not None:
            self._client.close()

    def note(
        self,
        run: sa.Connection,
        event: str,
        request: UserRequest,
        decided_by: str | None = None,
        kind: str = "release",
    ) -> None:
        """Write a message about a request, in the transaction of what it reports."""
        if self._settings is None:
            return
        now, name = self._clock(), secrets.token_hex(16)
        moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
        message = {
            "id": name,
            "event": event,
            "at": moment.isoformat(timespec="seconds"),
            kind: request.id,
            "dataset": request.dataset,
            "asked_by": request.asked_by,
            "team": request.team,
            "decided_by": decided_by,
            "href": f"{self._url}/{kind}s/{request.id}",
        }
        run.execute(_outbox.insert().values(id=name, body=json.dumps(message), due=now))

    def send_due(self) -> int:
        """Send the messages that are due, each once; return how many were tried."""
        tried = 0
        while not self._stopping.is_set() and (message := self._claim()) is not None:
            name, body, attempts = message
            tried += 1
            self._settle(name, attempts, sent=self._sent(body.encode()))
        return tried

    def _run(self) -> None:
        while not self._stopping.wait(_PAUSE):
            try:
                self.send_due()
            except Problem:
                log("webhook", outcome="no database")
            except Exception:  # a thread that ends would send nothing any more
                log("unexpected", error=True)

    def _claim(self) -> tuple[str, str, int] | None:
        now = self._clock()
        query = sa.select(_outbox).where(_outbox.c.due <= now).order_by(_outbox.c.due).limit(1)
        if self._database.scalar(query) is None:
            return None
        with self._database.begin(lock=_LOCK) as run:
            row = run.execute(query).mappings().first()
            if row is None:
                return None
            attempts = int(row["attempts"]) + 1
            mine = _outbox.c.id == row["id"]
            values: dict[str, Any] = {"attempts": attempts, "due": now + _CLAIM}
            run.execute(_outbox.update().where(mine).values(**values))
            return str(row["id"]), str(row["body"]), attempts

    def _settle(self, name: str, attempts: int, *, sent: bool) -> None:
        mine = _outbox.c.id == name
        over = sent or attempts >= MAX_ATTEMPTS
        with self._database.begin(lock=_LOCK) as run:
            if over:
                run.execute(_outbox.delete().where(mine))
            else:
                due = self._clock() + wait_after(attempts)
                run.execute(_outbox.update().where(mine).values(due=due))
        if not sent:
            log("webhook", outcome="dropped" if over else "failed", attempts=attempts)

    def _sent(self, body: bytes) -> bool:
        """Send one message; True if the receiver has it."""
        assert self._settings is not None
        assert self._client is not None
        import httpx

        try:
            secret = self._settings.secret()
            headers = {
                "Content-Type": "application/json",
                "User-Agent": "Tacit",
                SIGNATURE: signature(secret, int(self._clock()), body),
            }
            with self._client.stream(
                "POST", self._settings.url, content=body, headers=headers
            ) as reply:
                return reply.is_success
        except (httpx.HTTPError, httpx.InvalidURL, OSError):
            return False

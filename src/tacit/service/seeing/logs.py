"""Structured logs: one JSON object a line, with nothing in it but what is listed here.

A line says when, at which level, which event, and the fields that :data:`EVENTS` lists for it.
Nothing else can be written: an event or a field that is not on the list is an error of the program,
which the tests find.  Fields are public: a request's route (its pattern, not the address that was
sent), status and number, a data set's name, a release's number.  The text of a question is not
logged: the audit log and the ledger have it, for those who may read them.  How long an engine
worked is not logged either, and an event about a release is written when its outcome becomes
visible to whoever asked, so that the time of a line says no more than the service does.

What other libraries log passes :class:`JsonLines` as well, and keeps its logger, its level and its
place in the program.  Its text is left out, but for the server's own notices, because an engine's
message may quote a value; of an exception the kinds and the places are written, not the text.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from tacit.errors import UsageError

__all__ = ["EVENTS", "JsonLines", "configure", "log"]

EVENTS: Mapping[str, frozenset[str]] = {
    event: frozenset(fields.split())
    for event, fields in {
        "started": "version processes datasets",
        "stopped": "",
        "request": "request method route status who",
        "unexpected": "request route",
        "audit": "action outcome after hash",
        "release": "release dataset state",
        "refresh": "dataset number way outcome code",
        "dashboard": "dashboard dataset outcome code",
        "worker": "state",
        "metrics": "outcome code",
    }.items()
}
"""What is logged, and the fields that each event has."""

LOGGER = "tacit.service"
_FIELDS = "tacit_fields"
_SPEAK_FOR_THEMSELVES = ("uvicorn.error",)
"""Loggers whose messages are about the server's own start and stop."""


def log(event: str, *, level: int = logging.INFO, error: bool = False, **fields: Any) -> None:
    """Write one line.

    Args:
        event: one of :data:`EVENTS`.
        level: as in :mod:`logging`.
        error: add the kinds and places of the exception that is being handled, without its text.
        **fields: those of the event.

    Raises:
        UsageError: an event or a field that is not listed.

    >>> import io
    >>> out = io.StringIO()
    >>> _ = configure(out)
    >>> log("request", method="GET", route="/v1/me", status=200)
    >>> line = json.loads(out.getvalue())
    >>> line["event"], line["route"], line["status"]
    ('request', '/v1/me', 200)
    """
    if event not in EVENTS or not EVENTS[event].issuperset(fields):
        raise UsageError(f"the log has no event {event!r} with the fields {sorted(fields)}")
    current = sys.exc_info()[1] if error else None
    if current is not None:
        # Not as exc_info: a handler of somebody else would write the text as well.
        fields["error"] = places(current)
    logging.getLogger(LOGGER).log(level, event, extra={_FIELDS: fields})


class JsonLines(logging.Formatter):
    """Turns a record of :mod:`logging` into one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"when": when, "level": record.levelname.lower()}
        fields = getattr(record, _FIELDS, None)
        if isinstance(fields, dict):
            line |= {"event": record.msg, **fields}
        else:
            line |= {"event": "library", "logger": record.name}
            line["place"] = f"{record.module}:{record.lineno}"
            if record.name in _SPEAK_FOR_THEMSELVES and not record.exc_info:
                line["message"] = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = places(record.exc_info[1])
        return json.dumps(line, separators=(",", ":"), default=lambda value: type(value).__name__)


def places(error: BaseException) -> list[str]:
    """Return the kinds of an exception and of its causes, each with where it arose; no text.

    >>> try:
    ...     int("a secret")
    ... except ValueError as error:
    ...     places(error)[0].startswith("ValueError at ")
    True
    """
    found: list[str] = []
    current: BaseException | None = error
    while current is not None and len(found) < 10:
        frames = traceback.extract_tb(current.__traceback__)
        where = " < ".join(
            f"{frame.filename.replace(chr(92), '/').rsplit('/', 1)[-1]}:{frame.lineno}"
            for frame in reversed(frames[-8:])
        )
        found.append(f"{type(current).__name__} at {where or 'an unknown place'}")
        current = current.__cause__ or current.__context__
    return found


def configure(stream: TextIO | None = None, level: int = logging.INFO) -> logging.Handler:
    """Send all that is logged, by Tacit and by the libraries, to one stream as lines of JSON.

    Args:
        stream: where to; by default the error stream of the process.
        level: the least level.

    Returns:
        The handler; a second call takes the place of the first.
    """
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    for former in [h for h in root.handlers if isinstance(h.formatter, JsonLines)]:
        root.removeHandler(former)
    root.addHandler(handler)
    logging.getLogger(LOGGER).setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        library = logging.getLogger(name)
        library.handlers, library.propagate = [], name != "uvicorn.access"
    # An access line has the whole address, and a token may stand in one.
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("uvicorn").setLevel(level)
    return handler

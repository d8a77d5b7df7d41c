"""The wire: connections of the PostgreSQL protocol, bounded in bytes, in number and in time."""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, TypeVar

from tacit.errors import TacitError, UsageError, need
from tacit.outside import is_loopback
from tacit.service.access import Caller
from tacit.service.problem import Problem, in_fields, problem_of
from tacit.service.settings import Limits, WireSettings
from tacit.service.telemetry import log
from tacit.service.wire.queries import FIXED, Catalogs, Connected, Parts
from tacit.service.wire.statements import (
    BOOL,
    DATE,
    FLOAT8,
    TEXT,
    Field,
    Result,
    Statement,
    encoded,
    literal,
    placeholder,
    spaced,
    split,
    startup_options,
)
from tacit.sql.parse import MAX_LENGTH

# A connection is a task of the event loop.  What it sends is read message by message: the length
# comes first, and one that is over its limit ends the connection before its bytes are kept.  No
# thread is held while a query waits for its tick, and the threads that work for connections are
# the wire's own, so that many connections take nothing from HTTP.
#
# The messages are those of pygwire; the protocol is in chapter 55 of the manual of PostgreSQL 15.


_STARTUP_BYTES = 10_000  # of what is sent before the token was checked
_MESSAGE_BYTES = 300_000  # of a statement with its parameters
_PREPARED, _PORTALS = 100, 8  # of a connection; a portal has the rows that are not fetched yet
_ROWS = 500  # that a thread writes at once
_IDLE_SECONDS = 1800.0
_SEND_SECONDS = 60.0  # until a reader took what was sent
_THREADS, _PER_CALLER_THREADS = 8, 2  # that work at once, of all callers and of one
_PER_CALLER = 4  # one caller has at most this part of the connections: a quarter
_FLUSH_BYTES = 65_536
_GUESSES = (TEXT, FLOAT8, DATE, BOOL)  # of a parameter without a type, in this order
_MAX_GUESSED = 4
_GUESS_SECONDS = 2.0  # after which no other type is tried
_SSL, _GSS, _CANCEL, _MAJOR = 80877103, 80877104, 80877102, 3
_T = TypeVar("_T")

# The class of an error in SQL, for each code of the service.
_STATES = {
    "invalid_request": "42601",
    "unsupported_query": "0A000",
    "unauthenticated": "28P01",
    "budget_exceeded": "53400",
    "forbidden": "42501",
    "not_found": "42704",
    "conflict": "55000",
    "gone": "55000",
    "too_large": "54000",
    "not_ready": "55000",
    "too_many": "53300",
    "internal": "XX000",
    "unavailable": "57P03",
}


class _End(Exception):  # noqa: N818  the connection ends, and no error is sent
    """The connection ends."""


@dataclass
class _Portal:
    """A statement with its values, and the rows that were not fetched yet."""

    statement: Statement | None
    formats: list[int]
    result: Result | None = None
    sent: int = 0


@dataclass
class _Prepared:
    """A prepared statement: None for an empty one, and the types of its parameters."""

    statement: Statement | None
    types: list[int]


class WireServer:
    """Listens for clients of PostgreSQL, while the service runs."""

    def __init__(
        self,
        parts: Parts,
        settings: WireSettings,
        limits: Limits,
        certificate: str | None = None,
        key: str | None = None,
    ) -> None:
        need("pygwire", "wire")
        if not is_loopback(settings.host) and certificate is None:
            raise UsageError(
                f"at {settings.host} tokens and answers of the wire would cross the network in "
                "plain text: give --tls-certificate and --tls-key, or leave host of wire at "
                "127.0.0.1; a proxy of HTTP does not cover it"
            )
        self.parts, self.settings, self.limits = parts, settings, limits
        self.catalogs = Catalogs()
        self.connections: dict[int, _Connection] = {}
        self.callers: Counter[str] = Counter()
        self.slots: dict[str, asyncio.Semaphore] = {}  # of each caller that is connected
        self.tls: ssl.SSLContext | None = None
        if certificate is not None:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificate, key)
        self._pool = ThreadPoolExecutor(_THREADS, "tacit wire")
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.strangers: dict[asyncio.Task[Any], None] = {}  # without a token yet, oldest first

    async def start(self, *, shared: bool = False) -> None:
        """Listen.  With ``shared`` several processes listen at one port."""
        self._server = await asyncio.start_server(
            self._connected,
            self.settings.host,
            self.settings.port,
            limit=_FLUSH_BYTES,
            reuse_port=True if shared else None,
        )

    @property
    def port(self) -> int:
        """The port that it listens at."""
        assert self._server is not None
        number: int = self._server.sockets[0].getsockname()[1]
        return number

    async def stop(self) -> None:
        """Stop listening, and end all connections; what was asked is answered all the same."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.catalogs.close()

    async def thread(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def cancel(self, number: int, secret: bytes) -> None:
        """Cancel what a connection waits for, if the secret is its own."""
        one = self.connections.get(number)
        if one is not None and hmac.compare_digest(one.secret, secret):
            one.cancelled.set()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.strangers[task] = None
        one = _Connection(self, reader, writer)
        try:
            # Those that sent no token make room for others, so that silence keeps nobody out.
            while len(self._tasks) > self.settings.connections and len(self.strangers) > 1:
                del self.strangers[oldest := next(iter(self.strangers))]
                self._tasks.discard(oldest)
                oldest.cancel()
            if len(self._tasks) > self.settings.connections:
                one.send(_error(_BUSY, fatal=True))
                await one.flush()
            else:
                await one.run()
        except (_End, OSError, asyncio.IncompleteReadError, TimeoutError, asyncio.CancelledError):
            pass  # cancelled: the service stops, or the place is another's
        except Exception:  # its text could quote what was sent
            log("unexpected", error=True)
        finally:
            self._tasks.discard(task)
            self.strangers.pop(task, None)
            one.close()


_BUSY = Problem("too_many", "the service has its maximum number of connections", "try again later")


@dataclass(eq=False)
class _Connection:
    """One connection: its startup, and its messages."""

    server: WireServer
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(4))
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    number: int = 0
    caller: Caller | None = None
    encrypted: bool = False

    def __post_init__(self) -> None:
        self._m = need("pygwire.messages", "wire")
        self._statements: dict[str, _Prepared] = {}
        self._portals: dict[str, _Portal] = {}
        self._out = bytearray()
        self._skip = False  # after an error, until Sync
        peer = self.writer.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""

    def close(self) -> None:
        self.server.connections.pop(self.number, None)
        if self.caller is not None:
            self.server.callers[self.caller.name] -= 1
            if not self.server.callers[self.caller.name]:
                del self.server.callers[self.caller.name]
                self.server.slots.pop(self.caller.name, None)
        self.writer.transport.abort() if self._out else self.writer.close()

    async def run(self) -> None:
        """Serve the connection until it ends."""
        try:
            async with asyncio.timeout(self.server.limits.header_seconds):
                parameters = await self._startup()
                await self._connect(parameters)
        except TacitError as error:
            self.send(_error(problem_of(error), fatal=True))
            await self.flush()
            return
        while True:
            try:
                async with asyncio.timeout(_IDLE_SECONDS):
                    head = await self.reader.readexactly(5)
            except TimeoutError:
                idle = Problem("gone", "the connection was idle for half an hour", "connect again")
                self.send(_error(idle, fatal=True))
                await self.flush()
                return
            length = int.from_bytes(head[1:]) - 4
            if not 0 <= length <= _MESSAGE_BYTES:
                self.send(_error(_LONG, fatal=True))
                await self.flush()
                return
            async with asyncio.timeout(self.server.limits.body_seconds):
                body = await self.reader.readexactly(length)
            await self._message(head[:1], body)

    # --- startup -------------------------------------------------------------------------------

    async def _startup(self) -> dict[str, str]:
        """Return the parameters of the startup packet, after TLS where the service has it."""
        for _ in range(3):  # TLS, GSS, and the packet itself
            length = int.from_bytes(await self.reader.readexactly(4))
            if not 8 <= length <= _STARTUP_BYTES:
                raise _End
            packet = await self.reader.readexactly(length - 4)
            code = int.from_bytes(packet[:4])
            if code == _CANCEL:
                self.server.cancel(int.from_bytes(packet[4:8]), packet[8:])
                raise _End
            if code == _GSS:
                await self._raw(b"N")
            elif code == _SSL:
                await self._start_tls()
            elif code >> 16 != _MAJOR:
                raise Problem("invalid_request", "the service speaks version 3 of the protocol")
            elif self.server.tls is not None and not self.encrypted:
                raise Problem(
                    "forbidden", "the service is reached through TLS alone", "sslmode=require"
                )
            else:
                return self._parameters(packet, code)
        raise _End

    async def _start_tls(self) -> None:
        if self.server.tls is None or self.encrypted:
            await self._raw(b"N")
            return
        # What was sent before the handshake would be read as if it had come through TLS.
        early = self.reader.read(1)
        try:
            early.send(None)
        except StopIteration:
            raise _End from None
        early.close()
        await self._raw(b"S")
        await self.writer.start_tls(self.server.tls)
        self.encrypted = True

    def _parameters(self, packet: bytes, code: int) -> dict[str, str]:
        try:
            words = packet[4:].decode().removesuffix("\0").split("\0")[:-1]
        except UnicodeDecodeError:
            raise Problem("invalid_request", "the startup packet is not text in UTF-8") from None
        if len(words) % 2:
            raise Problem("invalid_request", "the startup packet cannot be read")
        given = dict(zip(words[::2], words[1::2], strict=True))
        strange = [name for name in given if name.startswith("_pq_.")]
        if code & 0xFFFF or strange:
            self.send(self._m.NegotiateProtocolVersion(newest_minor=0, unrecognized=strange))
        return {name: value for name, value in given.items() if name not in strange}

    async def _connect(self, parameters: dict[str, str]) -> None:
        """Check the token, and open the data set."""
        self.send(self._m.AuthenticationCleartextPassword())
        await self.flush()
        head = await self.reader.readexactly(5)
        length = int.from_bytes(head[1:]) - 4
        if head[:1] != b"p" or not 0 <= length <= _STARTUP_BYTES:
            raise _End
        token = (await self.reader.readexactly(length)).rstrip(b"\0").decode("latin-1")
        server = self.server
        caller = await server.thread(lambda: server.parts.check(token, self._address))
        dataset = parameters.get("database") or parameters.get("user", "")
        most = max(1, server.settings.connections // _PER_CALLER)
        if server.callers[caller.name] >= most:
            raise Problem("too_many", f"you have {most} connections already", "close some")
        server.callers[caller.name] += 1
        self.caller = caller
        server.strangers.pop(asyncio.current_task(), None)  # type: ignore[arg-type]
        free = asyncio.Semaphore(_PER_CALLER_THREADS)
        self._slots = server.slots.setdefault(caller.name, free)
        self._session = Connected(
            server.parts, server.catalogs, caller, dataset, self._thread, self._wait
        )
        try:
            await server.thread(self._session.hosted)
        except Problem as problem:
            await self._denied("see_dataset", problem)
            raise
        self._set_all(parameters)
        while not self.number or self.number in server.connections:
            self.number = secrets.randbelow(2**31 - 1) + 1
        server.connections[self.number] = self
        self.send(self._m.AuthenticationOk())
        for name, value in {**FIXED, "session_authorization": caller.name}.items():
            self.send(self._m.ParameterStatus(name=name, value=value))
        self.send(self._m.BackendKeyData(process_id=self.number, secret_key=self.secret))
        self._ready()
        await self.flush()

    def _set_all(self, parameters: dict[str, str]) -> None:
        own = ("user", "database", "options", "replication")
        if parameters.get("replication", "false") not in ("false", "off", "no", "0"):
            raise Problem("unsupported_query", "there is no replication")
        for name, value in parameters.items():
            if name not in own:
                self._session.variables.set(name, value)
        for name, value in startup_options(parameters.get("options", "")):
            self._session.variables.set(name, value)
        self._session.variables.started()

    # --- messages ------------------------------------------------------------------------------

    async def _message(self, kind: bytes, body: bytes) -> None:
        if kind == b"X":
            raise _End
        if kind == b"S":
            self._skip = False
            if self._session.status != "T":
                self._portals.clear()
            self._ready()
            await self.flush()
            return
        if kind == b"H":
            await self.flush()
            return
        act = self._ACTS.get(kind)
        if act is None:
            self.send(_error(_UNKNOWN, fatal=True))
            await self.flush()
            raise _End
        if self._skip:
            return
        name, handle = act
        self.cancelled.clear()
        try:
            try:
                message = getattr(self._m, name).decode(memoryview(body))
            except Exception:  # of whatever kind the codec raises: what was sent is no message
                raise Problem("invalid_request", "a message cannot be read") from None
            await handle(self, message)
            if len(self._out) >= _FLUSH_BYTES:
                await self.flush()
        except (_End, OSError, asyncio.IncompleteReadError, TimeoutError):
            raise
        except Exception as error:
            problem = problem_of(error)
            if problem.code == "internal":
                log("unexpected", error=True)
            if problem.code == "forbidden":
                await self._denied("ask", problem)
            self._session.failed()
            self.send(_error(problem))
            if kind == b"Q":
                self._ready()
                await self.flush()
            else:
                self._skip = True

    async def _denied(self, action: str, problem: Problem) -> None:
        caller = self.caller
        if caller is not None and problem.code == "forbidden":
            with suppress(Problem):
                denied = self.server.parts.denied
                await self._thread(lambda: denied(caller, f"wire: {action}", problem))

    async def _simple(self, message: Any) -> None:
        """Answer a text of one or more statements."""
        text = str(message.query_string)
        statements = await self._split(text)
        if not statements:
            self.send(self._m.EmptyQueryResponse())
        for statement in statements:
            result = await self._answer(statement, text)
            if result.fields is not None:
                self._describe(result.fields, [])
                await self._rows(result, [], 0, len(result.rows))
            self.send(self._m.CommandComplete(tag=result.tag))
        self._ready()
        await self.flush()

    async def _answer(self, statement: Statement, text: str = "") -> Result:
        try:
            result = await self._session.answer(statement)
        except TacitError as error:
            raise _Placed(problem_of(error), text or statement.text, statement.start) from None
        if result.notice:
            fields = {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": result.notice}
            self.send(self._m.NoticeResponse(fields=fields))
        return result

    async def _thread(self, call: Callable[[], _T]) -> _T:
        """Run a call in a thread; of all connections of a caller some at once."""
        async with self._slots:
            return await self.server.thread(call)

    async def _split(self, text: str, before: Callable[[str], str] = str) -> list[Statement]:
        """Return the statements of a text; a thread splits it, as a long one takes a while."""
        if len(text) > MAX_LENGTH:
            raise Problem("too_large", f"a text has at most {MAX_LENGTH} characters")
        return await self._thread(lambda: split(before(text)))

    async def _parse(self, message: Any) -> None:
        statements = await self._split(str(message.query), spaced)
        if len(statements) > 1:
            raise Problem("invalid_request", "a prepared statement is one statement")
        if message.statement and message.statement in self._statements:
            raise Problem("conflict", "there is a prepared statement of that name")
        _refuse_full(self._statements, message.statement, _PREPARED)
        statement = statements[0] if statements else None
        others = [p.statement for name, p in self._statements.items() if name != message.statement]
        _refuse_long([statement, *others])
        types = list(message.param_types)
        number = 0 if statement is None else statement.parameters
        if max(number, len(types)) > 1000:
            raise Problem("too_large", "a statement has at most 1000 parameters")
        types += [0] * (number - len(types))
        if statement is not None and not all(types):
            stated = statement.casts
            types = [type_ or stated.get(n, 0) for n, type_ in enumerate(types, 1)]
        self._statements[message.statement] = _Prepared(statement, types)
        self.send(self._m.ParseComplete())

    async def _bind(self, message: Any) -> None:
        prepared = self._prepared(message.statement)
        values, formats = message.param_values, message.param_formats
        if len(values) != len(prepared.types) or len(formats) not in (0, 1, len(values)):
            raise Problem("invalid_request", "the values are not as many as the parameters")
        binary = _each(formats, len(values))
        literals = [
            literal(None if one is None else bytes(one), type_, form)
            for one, type_, form in zip(values, prepared.types, binary, strict=True)
        ]
        statement = prepared.statement
        if statement is not None and literals:
            statement = await self._thread(partial(statement.with_values, literals))
        _refuse_full(self._portals, message.portal, _PORTALS)
        portals = [p.statement for name, p in self._portals.items() if name != message.portal]
        _refuse_long([statement, *portals])
        self._portals[message.portal] = _Portal(statement, list(message.result_formats))
        self.send(self._m.BindComplete())

    async def _describe_message(self, message: Any) -> None:
        if message.kind == "S":
            prepared = self._prepared(message.name)
            fields = await self._thread(lambda: self._fields(prepared))
            formats: list[int] = []
            types = [type_ or TEXT for type_ in prepared.types]
            self.send(self._m.ParameterDescription(type_oids=types))
        else:
            portal, fields = self._portal(message.name), None
            formats, statement = portal.formats, portal.statement
            if statement is not None and self._session.status != "E":
                one = statement
                fields = await self._thread(lambda: self._session.fields(one))
        if fields is None:
            self.send(self._m.NoData())
        else:
            self._describe(fields, formats)

    def _fields(self, prepared: _Prepared) -> tuple[Field, ...] | None:
        """Return the columns of a prepared statement, and choose types that were left open."""
        if prepared.statement is None or self._session.status == "E":
            return None
        unknown = [index for index, type_ in enumerate(prepared.types) if not type_]
        if not prepared.types:
            return self._session.fields(prepared.statement)
        if len(unknown) > _MAX_GUESSED:
            raise Problem(
                "unsupported_query",
                f"a statement has at most {_MAX_GUESSED} parameters without a type",
                "state the types, or write the values into the query",
            )
        first, end = None, time.monotonic() + _GUESS_SECONDS
        for guess in product(_GUESSES, repeat=len(unknown)):
            types = list(prepared.types)
            for index, type_ in zip(unknown, guess, strict=True):
                types[index] = type_
            try:
                one = prepared.statement.with_values([placeholder(type_) for type_ in types])
                fields = self._session.fields(one)
            except TacitError as error:
                first = first or error
                if time.monotonic() > end:
                    break
                continue
            prepared.types[:] = types
            return fields
        assert first is not None
        raise first

    async def _execute(self, message: Any) -> None:
        portal = self._portal(message.portal)
        if portal.statement is None:
            self.send(self._m.EmptyQueryResponse())
            return
        if portal.result is None:
            portal.result = await self._answer(portal.statement)
        result, limit = portal.result, message.max_rows
        end = len(result.rows) if limit <= 0 else min(len(result.rows), portal.sent + limit)
        if result.fields is not None:
            await self._rows(result, portal.formats, portal.sent, end)
        portal.sent = end
        if end < len(result.rows):
            self.send(self._m.PortalSuspended())
        else:
            self.send(self._m.CommandComplete(tag=result.tag))

    async def _close(self, message: Any) -> None:
        (self._statements if message.kind == "S" else self._portals).pop(message.name, None)
        self.send(self._m.CloseComplete())

    _ACTS = {  # noqa: RUF012
        b"Q": ("Query", _simple),
        b"P": ("Parse", _parse),
        b"B": ("Bind", _bind),
        b"D": ("Describe", _describe_message),
        b"E": ("Execute", _execute),
        b"C": ("Close", _close),
    }

    def _prepared(self, name: str) -> _Prepared:
        if name not in self._statements:
            raise Problem("not_found", "there is no prepared statement of that name")
        return self._statements[name]

    def _portal(self, name: str) -> _Portal:
        if name not in self._portals:
            raise Problem("not_found", "there is no portal of that name")
        return self._portals[name]

    # --- replies -------------------------------------------------------------------------------

    def send(self, message: Any) -> None:
        self._out += message.to_wire()

    async def flush(self) -> None:
        """Send what is ready, and wait until the client took it."""
        data, self._out = bytes(self._out), bytearray()
        await self._raw(data)

    async def _raw(self, data: bytes) -> None:
        self.writer.write(data)
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                await self.writer.drain()
        except TimeoutError:
            self.writer.transport.abort()
            raise

    def _ready(self) -> None:
        constants = need("pygwire.constants", "wire")
        status = constants.TransactionStatus(self._session.status)
        self.send(self._m.ReadyForQuery(status=status))

    def _describe(self, fields: Iterable[Field], formats: list[int]) -> None:
        fields = tuple(fields)
        binary = _each(formats, len(fields))
        parts = [
            self._m.FieldDescription(
                name=one.name,
                type_oid=one.type,
                type_size=one.size,
                type_modifier=-1,
                format_code=int(form),
            )
            for one, form in zip(fields, binary, strict=True)
        ]
        self.send(self._m.RowDescription(fields=parts))

    async def _rows(self, result: Result, formats: list[int], start: int, end: int) -> None:
        fields = result.fields or ()
        binary = _each(formats, len(fields))
        types = [(one.type, form) for one, form in zip(fields, binary, strict=True)]
        row_of = self._m.DataRow

        def written(first: int) -> bytes:
            parts = []
            for row in result.rows[first : min(first + _ROWS, end)]:
                cells = [encoded(v, type_, f) for v, (type_, f) in zip(row, types, strict=True)]
                parts.append(row_of(columns=cells).to_wire())
            return b"".join(parts)

        for first in range(start, end, _ROWS):
            self._out += await self._thread(partial(written, first))
            if len(self._out) >= _FLUSH_BYTES:
                await self.flush()

    async def _wait(self, seconds: float) -> bool:
        """Wait, in steps of a second; True where the query is cancelled.  Ends with the client."""
        end = asyncio.get_running_loop().time() + seconds
        while (left := end - asyncio.get_running_loop().time()) > 0:
            if self.reader.at_eof() or self.writer.transport.is_closing():
                raise _End
            with suppress(TimeoutError):
                await asyncio.wait_for(self.cancelled.wait(), min(left, 1.0))
            if self.cancelled.is_set():
                return True
        return self.cancelled.is_set()


_LONG = Problem("too_large", f"a message has at most {_MESSAGE_BYTES} bytes", "send less at once")
_UNKNOWN = Problem("invalid_request", "a message is of a kind that is not known, or not answered")


class _Placed(Problem):
    """A problem of a statement, with the text that was sent and where the statement is in it."""

    def __init__(self, problem: Problem, text: str, start: int) -> None:
        super().__init__(problem.code, problem.message, problem.remedy, problem.details)
        self.text, self.start = text, start


def _in_settings(message: str) -> str:
    """Return a message for someone who writes SQL, where a price is settings, a token a password.

    >>> _in_settings("declare a delta too: release(epsilon=..., delta='1e-7')")
    'declare a delta too: tacit.epsilon = ..., tacit.delta = "1e-7"'
    >>> _in_settings("send one that it made: Authorization: Bearer tacit_...")
    'send one that it made, as the password: tacit_...'
    """
    fields = in_fields(message).replace("\0", "")
    fields = fields.replace(": Authorization: Bearer", ", as the password:")
    return re.sub(r'"(epsilon|rho|delta|tag)":', r"tacit.\1 =", fields)


def _error(problem: Problem, *, fatal: bool = False) -> Any:
    """Return a problem as an error of SQL: our message, and the remedy as its hint."""
    severity = "FATAL" if fatal else "ERROR"
    state = str(problem.details.get("sqlstate", _STATES[problem.code]))
    fields = {"S": severity, "V": severity, "C": state, "M": _in_settings(problem.message)}
    if problem.remedy:
        fields["H"] = _in_settings(problem.remedy)
    position = problem.details.get("position")
    if position and isinstance(problem, _Placed):
        lines = problem.text[problem.start :].split("\n")[: position["line"] - 1]
        offset = problem.start + sum(len(line) + 1 for line in lines) + position["column"]
        fields["P"] = str(min(offset, len(problem.text)))
    return need("pygwire.messages", "wire").ErrorResponse(fields=fields)


def _refuse_full(known: dict[str, Any], name: str, most: int) -> None:
    if len(known) >= most and name not in known:
        raise Problem("too_many", f"a connection has at most {most} of them", "close some")


def _refuse_long(statements: Iterable[Statement | None]) -> None:
    """Refuse statements that are long in sum: their words take many times their text."""
    if sum(len(one.text) for one in statements if one is not None) > 2 * MAX_LENGTH:
        most = f"kept statements have at most {2 * MAX_LENGTH} characters"
        raise Problem("too_large", most, "close some")


def _each(formats: list[int], number: int) -> list[bool]:
    """Return of each column or parameter whether it is binary."""
    if len(formats) == 1:
        return [formats[0] == 1] * number
    if formats and len(formats) != number:
        raise Problem("invalid_request", "the formats are not as many as the columns")
    return [form == 1 for form in formats] or [False] * number

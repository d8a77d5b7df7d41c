"""The wire: what is answered, what is refused, and what it costs."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from anyio.from_thread import start_blocking_portal

import tacit as tc
from support.servers.postgres_tls import Authority
from support.service.client import Client, running
from support.service.hosting import hosted_clinic
from support.service.jobs import unfinished
from support.service.server import free_port
from support.service.wire_client import (
    CANCEL,
    SSL_REQUEST,
    START,
    Reply,
    WireClient,
    message,
    packet,
    text,
)
from tacit.errors import UsageError
from tacit.service.access import Grant
from tacit.service.jobs.release_service import ReleaseService
from tacit.service.settings import Limits, Settings, WireSettings
from tacit.service.web.server import create_app
from tacit.service.web.state import ServiceState
from tacit.service.wire.queries import CERTIFICATE, Connected
from tacit.service.wire.server import WireServer

BY_SITE = "select site, count(*) as n from visits group by site"
EPSILON = {"options": "-c tacit.epsilon=1/4"}


class Wire(NamedTuple):
    client: Client
    port: int
    ada: str

    def __call__(self, token: str = "", **more: str) -> WireClient:
        return WireClient(self.port, token or self.ada, **more)

    def spent(self) -> float:
        budget = self.client.get("/v1/datasets/visits/budget", token=self.ada).json()
        return 1000 - float(budget["budget"]["remaining"]["epsilon"])

    def asked(self) -> list[Any]:
        return [
            event
            for event in self.client.state.audit.read(limit=1000)
            if event.action == "release_asked"
        ]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    port = free_port()
    settings = f"[wire]\nport = {port}\nconnections = 12\n"
    with running(hosted_clinic(tmp_path_factory.mktemp("clinic"), settings)) as client:
        yield Wire(client, port, client.token("analyst", "visits", "ada"))


@pytest.fixture(scope="module")
def ledger(wire: Wire) -> Callable[[], Any]:
    hosted = wire.client.state.datasets.of("visits")
    return lambda: hosted.ledger(None).spent.amount


def rows(reply: Reply) -> list[tuple[str | None, ...]]:
    assert not reply.error, reply.error
    return reply.rows


def test_an_answer_has_intervals_and_its_certificate(wire: Wire, ledger: Callable[[], Any]) -> None:
    before, asked = ledger(), len(wire.asked())
    with wire(**EPSILON) as one:
        reply = one.query(f"{BY_SITE} order by site desc")
        assert reply.columns == ["site", "n", "n_lower", "n_upper", "certificate"]
        assert reply.types == [20, 701, 701, 701, 25]
        assert reply.tags == ["SELECT 3"]
        assert [row[0] for row in rows(reply)] == ["3", "2", "1"]
        assert all(float(low) <= float(n) <= float(high) for _, n, low, high, _ in reply.rows)  # type: ignore[arg-type]
        name = reply.notices[0].split()[1].rstrip(":")
        again = one.query(f"{BY_SITE} limit 2")  # another arrangement of the same release
        assert again.notices[0].endswith("nothing was charged")
        assert {row[1] for row in again.rows} <= {row[1] for row in reply.rows}
    assert ledger() - before == tc.epsilon("1/4").amount
    assert len(wire.asked()) - asked == 2  # each request is in the audit log
    curator = wire.client.token("curator", "visits", "cora")
    proof = wire.client.get(f"/v1/releases/{name}/certificate", token=curator).json()
    assert {row[4] for row in reply.rows} == {proof["digest"]}


def test_of_two_who_ask_at_once_one_is_charged(
    wire: Wire, ledger: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, both, added = ledger(), threading.Barrier(2, timeout=20), ReleaseService._added

    def held(*args: Any, **more: Any) -> Any:
        both.wait()  # both have seen that it is not paid yet
        return added(*args, **more)

    monkeypatch.setattr(ReleaseService, "_added", held)
    options = {"options": "-c tacit.epsilon=1/4 -c tacit.tag=both"}
    with wire(**options) as one, wire(**options) as two:
        for client in (one, two):
            client.send(message("Q", text(BY_SITE)))
        notices = [client.reply().notices[0] for client in (one, two)]
    assert all(notice.endswith("once for all who ask at once") for notice in notices)
    assert ledger() - before == tc.epsilon("1/4").amount


def test_nothing_is_charged_without_a_declared_loss(wire: Wire, ledger: Callable[[], Any]) -> None:
    before = ledger()
    with wire() as one:
        reply = one.query(BY_SITE)
        assert (reply.error["C"], reply.status) == ("22023", "I")
        assert "tacit.epsilon" in reply.error["H"]
        assert one.query("set tacit.epsilon = '1/8'").tags == ["SET"]
        assert rows(one.query("show tacit.epsilon")) == [("1/8",)]
        assert one.query("set tacit.epsilom = 1").error["C"] == "42704"
        assert one.query("set tacit.epsilon = 'x'; " + BY_SITE).error["C"] == "42601"
        assert one.query("set tacit.epsilon = 5000; " + BY_SITE).error["C"] == "53400"
        one.query("reset tacit.epsilon")
        assert one.query(BY_SITE).error["C"] == "22023"
    assert ledger() == before


def test_a_transaction_keeps_and_restores_settings(wire: Wire) -> None:
    with wire(**EPSILON) as one:
        assert one.query("begin").status == "T"
        assert one.query("set tacit.epsilon = 2").status == "T"
        failed = one.query("select * from visits")
        assert (failed.error["C"], failed.status) == ("0A000", "E")
        assert failed.error["P"] == "8"
        assert one.query(BY_SITE).error["C"] == "25P02"
        assert one.query("rollback").status == "I"
        assert rows(one.query("show tacit.epsilon")) == [("1/4",)]
        one.query("begin; set local tacit.epsilon = 3; commit")
        assert rows(one.query("show tacit.epsilon")) == [("1/4",)]


def test_the_last_startup_parameter_may_be_empty(wire: Wire) -> None:
    with wire(application_name="") as one:
        assert not one.first.error
        assert rows(one.query("show application_name")) == [("",)]


def test_savepoints_and_local_settings_end(wire: Wire) -> None:
    with wire(**EPSILON) as one:
        price = "show tacit.epsilon"
        one.query("set local tacit.epsilon = 7")  # outside a transaction
        assert rows(one.query(price)) == [("1/4",)]
        assert one.query("savepoint a").error["C"] == "25P01"
        one.query("begin; set local tacit.epsilon = 2; savepoint a; set tacit.epsilon = 5")
        assert one.query("rollback to savepoint b").error["C"] == "3B001"
        for refused in ("begin", "savepoint c", "release a"):
            assert one.query(refused).error["C"] == "25P02"
        assert one.query("rollback to a").status == "T"
        assert rows(one.query(price)) == [("2",)]
        one.query("release savepoint a")
        assert one.query("rollback to a").error["C"] == "3B001"
        assert one.query("commit").tags == ["ROLLBACK"]
        assert rows(one.query(price)) == [("1/4",)]
        one.query("begin; set local tacit.epsilon = 2; savepoint a; rollback to a; commit")
        assert rows(one.query(price)) == [("1/4",)]
        one.query("begin; set local tacit.epsilon = 2; set tacit.epsilon = 3; commit")
        assert rows(one.query(price)) == [("3",)]


def test_a_reset_restores_what_the_connection_began_with(wire: Wire) -> None:
    with wire(**EPSILON) as one:
        for reset in ("reset all", "discard all", "reset tacit.epsilon"):
            one.query("set tacit.epsilon = 3")
            assert one.query(reset).tags
            assert rows(one.query("show tacit.epsilon")) == [("1/4",)]


def test_parameters_may_touch(wire: Wire) -> None:
    with wire(**EPSILON) as one:
        query = "select count(*) as n from visits where site in ($1,$2) and cost in ($1,$2)"
        touching = one.prepared(query, "1", "2", types=(20, 20))
        plain = one.query(query.replace("$1", "1").replace("$2", "2"))
        assert (rows(touching), touching.error) == (rows(plain), {})


def test_what_tools_ask_of_columns_costs_nothing(wire: Wire, ledger: Callable[[], Any]) -> None:
    before = ledger()
    with wire() as one:
        for query in (
            f"{BY_SITE} limit 0",
            f"select * from ({BY_SITE}) as q where false limit 0",
            f"select * from (\n{BY_SITE} limit 9) q where 1 = 0",
        ):
            reply = one.query(query)
            assert rows(reply) == []
            assert reply.columns[:2] == ["site", "n"]
    assert ledger() == before


def test_the_select_list_decides_the_order(wire: Wire) -> None:
    with wire(**EPSILON) as one:
        reply = one.query("select count(*) as n, site as place from public.visits group by site")
        assert reply.columns == ["n", "place", "n_lower", "n_upper", "certificate"]
        one.query("set tacit.epsilon = 1")
        reply = one.query('select "visits"."public"."visits"."site" from visits')
        assert reply.error["C"] == "0A000"
        reply = one.query('select avg("public"."visits"."cost") as m from "public"."visits"')
        assert reply.columns == ["m", "m_lower", "m_upper", CERTIFICATE]
        assert len(rows(reply)) == 1


def test_parameters_are_values(wire: Wire) -> None:
    with wire(**EPSILON) as one:
        query = "select count(*) as n from visits where cost > $1 and site = $2"
        reply = one.prepared(query, "20", "2", types=(701, 20))
        assert reply.kinds.startswith("1tT2")
        plain = one.query("select count(*) as n from visits where cost > 20 and site = 2")
        assert rows(plain) == rows(reply)  # the same question, answered once
        assert rows(one.prepared(query, "20", "2")) == rows(reply)  # types left open
        for bad in ("20; select 1", "nan", "1e999", "' or 1=1"):
            assert one.prepared(query, bad, "2", types=(701, 20)).error["C"] in ("42601", "0A000")
        assert one.prepared(query, "1", types=(701, 20)).error
        below = one.prepared("select count(*) as n from visits where cost > $1", "-1", types=(701,))
        assert len(rows(below)) == 1
        assert rows(one.query("select 1 as one")) == [("1",)]


def test_a_cast_states_the_type_of_a_parameter(wire: Wire) -> None:
    """A driver sends a number of that type then, and the query is that without a parameter."""
    query = "select count(*) as n from visits where site = $1{} and cost > $2{}"
    with wire(options="-c tacit.epsilon=1/8 -c tacit.tag=casts") as one:
        first = one.query(query.format("", "").replace("$1", "2").replace("$2", "5.5"))
        for casts, types in ((("::int", "::float"), [20, 701]), (("::BIGINT", ""), [20, 701])):
            reply = one.prepared(query.format(*casts), "2", "5.5")
            assert reply.parameters == types
            assert rows(reply) == rows(first)


def test_guesses_of_types_end_in_time(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "select count(*) as n from visits where site = $1 and cost > $2 and no_such = $3"
    monkeypatch.setattr("tacit.service.wire.server._GUESS_SECONDS", 0.0)
    tried: list[Any] = []
    fields = Connected.fields

    def noted(*args: Any) -> Any:
        tried.append(args)
        return fields(*args)

    monkeypatch.setattr(Connected, "fields", noted)
    with wire() as one:
        assert one.prepared(query, "1", "1", "1").error
    assert len(tried) == 1


def test_replies_are_sent_before_they_are_many(wire: Wire) -> None:
    with wire() as one:
        types = struct.pack("!h", 1000) + struct.pack("!i", 23) * 1000
        one.send(message("P", text("s", "set a to 1") + types))
        one.send(message("D", b"S" + text("s")) * 20)  # and no Sync
        one.socket.settimeout(5)
        assert len(one.socket.recv(4096)) > 0


def test_names_and_types_are_those_of_the_declaration(wire: Wire) -> None:
    with wire() as one:
        found = one.query(
            "select column_name, data_type from information_schema.columns "
            "where table_name = 'visits' order by ordinal_position"
        )
        assert rows(found) == [
            ("person", "bigint"),
            ("site", "bigint"),
            ("cost", "double precision"),
            ("day", "date"),
        ]
        psql = one.query(
            "SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN "
            "pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relname "
            "OPERATOR(pg_catalog.~) '^(visits)$' COLLATE pg_catalog.default AND "
            "pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3"
        )
        assert [row[1:] for row in rows(psql)] == [("public", "visits")]
        assert rows(one.query("select current_database(), current_user")) == [("visits", "ada")]
        assert "PostgreSQL" in str(rows(one.query("select version()")))


def test_no_two_columns_have_one_name(wire: Wire, ledger: Callable[[], Any]) -> None:
    before = ledger()
    with wire(options="-c tacit.epsilon=1/8 -c tacit.tag=names") as one:
        for query in (
            "select count(*) as certificate from visits",
            "select count(*) as n, site as n_lower from visits group by site",
            "select count(*) as n, site as certificate from visits group by site",
            "select count(*) as n_upper, sum(cost) as n from visits",
        ):
            assert one.query(query).error["C"] == "0A000"
            assert one.query(f"{query} limit 0").error["C"] == "0A000"
        assert ledger() == before
        assert len(rows(one.query("select count(*) as key from visits"))) == 1


def test_unnamed_columns_have_the_names_of_postgresql(wire: Wire) -> None:
    named = {
        "version()": "version",
        "pg_catalog.version()": "version",
        "current_database()": "current_database",
        "session_user": "session_user",
        "current_user::text": "current_user",
        "coalesce(null, 1)": "coalesce",
        "case when true then 1 end": "case",
        "1 + 1": "?column?",
        "'a'": "?column?",
        "true and false": "?column?",
        "oid": "oid",
        "oid::text": "oid",
        "'a'::text": "text",
        "1::int": "int4",
        "(1 + 1)::bigint": "int8",
        "exists(select 1)": "exists",
        "(select 1 as b)": "b",
        "(select 1)": "?column?",
        "trim('a')": "btrim",
        "oid as number": "number",
    }
    with wire() as one:
        reply = one.query(f"select {', '.join(named)} from pg_catalog.pg_class")
        assert not reply.error, reply.error
        assert reply.columns == [*named.values()]


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from duckdb_settings()",
        "select getenv('HOME')",
        "with recursive a as (select 1 as i union all select i + 1 from a) select count(*) from a",
        "select repeat('x', 4000000000)",
        "insert into visits values (1)",
        "create table t (a int)",
        "copy visits to '/tmp/x'",
        "drop table visits",
        "select 'a",
        "select " + "(" * 5000,
    ],
)
def test_other_statements_are_refused(wire: Wire, query: str) -> None:
    with wire(**EPSILON) as one:
        assert one.query(query).error["C"] in ("0A000", "42601", "42704", "54000")
        assert rows(one.query("select 1 as one")) == [("1",)]


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        ("select day, count(*) as n from visits group by day", EPSILON),
        ("select site, count(*) as n from visits group by site", {"tacit.rho": "1"}),
        ("select avg(person) as m from visits", EPSILON),
        ("select corr(cost, person) as r from visits", EPSILON),
    ],
)
def test_errors_show_no_call_of_python(wire: Wire, query: str, settings: dict[str, str]) -> None:
    with wire(**settings) as one:
        error = one.query(query).error
        assert not re.search(r"\btc\.|\w\(\w+=|\w+=\.\.\.", error["M"] + error.get("H", "")), error


def test_who_may_connect_and_ask(wire: Wire) -> None:
    client = wire.client
    for token, database, state in (
        ("tacit_guess", "visits", "28P01"),
        ("", "visits", "28P01"),
        (wire.ada[:-1], "visits", "28P01"),
        (wire.ada, "births", "42501"),
        (client.token("device", "visits"), "visits", "42501"),
        (client.token("analyst", "births", "eve"), "visits", "42501"),
    ):
        with WireClient(wire.port, token, database) as one:
            assert one.first.error["C"] == state, (database, one.first)
    reviewer = client.token("reviewer", "visits", "rita")
    with wire(reviewer, **EPSILON) as one:
        assert one.query(BY_SITE).error["C"] == "42501"
        assert rows(one.query("select current_user")) == [("rita",)]
    denied = [one for one in client.state.audit.read(limit=1000) if one.action == "denied"]
    assert {"wire: ask", "wire: see_dataset"} <= {one.details["action"] for one in denied}


def test_a_revoked_token_asks_no_more(wire: Wire) -> None:
    token = wire.client.token("analyst", "visits", "bob")
    with wire(token, **EPSILON) as one:
        wire.client.state.tokens.revoke(wire.client.state.tokens.check(token).token_id)
        assert one.query(BY_SITE).error["C"] == "28P01"
        one.send(message("P", text("s", BY_SITE) + b"\0\0") + message("D", b"S" + text("s")))
        one.send(message("S"))
        assert one.reply().error["C"] == "28P01"


def test_a_cancelled_query_keeps_its_recorded_charge(
    tmp_path: Path,
) -> None:
    port = free_port()
    folder = hosted_clinic(tmp_path, f"[wire]\nport = {port}\n")
    settings = (folder / "service.toml").read_text().replace('"1/20"', "5")
    (folder / "service.toml").write_text(settings)
    with running(folder) as client:
        token = client.token("analyst", "visits", "ada")
        with WireClient(port, token, **EPSILON) as one:
            one.send(message("Q", text(BY_SITE)))
            queue = client.state.release_service.queue
            while not unfinished(queue, "ada"):
                time.sleep(0.01)
            with socket.create_connection(("127.0.0.1", port)) as other:
                other.sendall(packet(CANCEL, one.key[:4] + b"no!!"))  # not its secret
            with socket.create_connection(("127.0.0.1", port)) as other:
                other.sendall(packet(CANCEL, one.key))
            reply = one.reply()
            assert (reply.error["C"], reply.status) == ("57014", "I")
            events = [event.action for event in client.state.audit.read(limit=100)]
            assert events.count("release_cancelled") == events.count("release_asked") == 1
            spent = client.state.datasets.of("visits").ledger(None).spent
            assert spent == tc.epsilon("1/4")


def ends(port: int, data: bytes, seconds: float = 30.0) -> bytes:
    """What comes back until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as one:
        try:
            one.sendall(data)
            received = b""
            while part := one.recv(4096):
                received += part
        except ConnectionError:
            return b""
        return received


GARBAGE = {
    "nothing of a packet": b"\0\0\0\4",
    "a huge startup packet": struct.pack("!ii", 2**31 - 1, START),
    "a startup packet over the limit": struct.pack("!ii", 20_000, START) + b"x" * 19_992,
    "HTTP": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "another version": packet(2 << 16),
    "an odd number of words": packet(START, b"user\0\0"),
    "no UTF-8": packet(START, b"user\0\xff\xfe\0\0"),
    "TLS three times": packet(SSL_REQUEST) * 4,
    "a huge password": packet(START, text("user", "ada") + b"\0") + b"p\x7f\xff\xff\xff",
    "a query before the password": packet(START, text("user", "ada") + b"\0")
    + message("Q", text("select 1")),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_ends_its_own_connection(wire: Wire, name: str) -> None:
    begun = time.monotonic()
    ends(wire.port, GARBAGE[name])
    assert time.monotonic() - begun < 20
    with wire() as one:
        assert rows(one.query("select 1 as one")) == [("1",)]


@pytest.mark.full
def test_half_open_connections_end(tmp_path: Path) -> None:
    port = free_port()
    settings = f"[wire]\nport = {port}\n[limits]\nheader_seconds = 1\n"
    with running(hosted_clinic(tmp_path, settings)):
        begun = time.monotonic()
        assert ends(port, b"\0") == b""
        assert ends(port, packet(START, text("user", "ada") + b"\0"))[:1] == b"R"
        assert time.monotonic() - begun < 25


@pytest.mark.full
def test_a_slow_reader_is_left(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.service.wire.server._SEND_SECONDS", 0.5)
    with wire() as slow, wire() as other:
        many = message("Q", text("select a.oid, b.typname from pg_type a, pg_type b, pg_type c"))
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.send(many * 60)  # more answers than the system buffers; none is read
        begun, ended = time.monotonic(), False
        while not ended and time.monotonic() - begun < 30:
            assert rows(other.query("select 1 as one")) == [("1",)]
            time.sleep(0.2)
            try:
                slow.send(message("H"))
            except ConnectionError:
                ended = True
        assert ended


def test_garbage_after_the_token(wire: Wire, ledger: Callable[[], Any]) -> None:
    before, drawn = ledger(), random.Random(5)
    for data in (
        b"Q\x7f\xff\xff\xff",
        b"Q\0\0\0\0",
        message("Q", b"select 1"),  # no end
        message("Q", b"\xff\0"),
        message("P", b"a"),
        message("B", struct.pack("!h", 9)),
        message("E", text("none") + b"\0\0\0\0"),
        message("D", b"X\0"),
        message("F", b"\0" * 20),
        message("d", b"copy"),
        *(drawn.randbytes(200) for _ in range(5)),
    ):
        with wire() as one:
            one.send(data + message("S"))
            one.send(message("X"))
            one.reply(until="")
    with wire() as one:
        assert rows(one.query("select 1 as one")) == [("1",)]
    assert ledger() == before


def test_connections_are_bounded_in_number(wire: Wire) -> None:
    mine = [wire() for _ in range(4)]
    try:
        assert mine[2].first.status == "I"
        assert mine[3].first.error["C"] == "53300"  # a quarter for one caller
        idle = [socket.create_connection(("127.0.0.1", wire.port)) for _ in range(14)]
        time.sleep(0.1)
        for name in ("bea", "bob", "ben"):  # silence keeps nobody out
            token = wire.client.token("analyst", "visits", name)
            mine += [wire(token) for _ in range(3)]
        assert [one.first.status for one in mine[4:]] == ["I"] * 9
        with wire(wire.client.token("analyst", "visits", "bess")) as late:
            assert late.first.error["C"] == "53300"
        for one in idle:
            one.close()
        assert rows(mine[0].query("select 1 as one")) == [("1",)]
    finally:
        for one in mine:
            one.socket.close()
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with wire() as one:
            if one.first.status == "I":
                return
        time.sleep(0.1)
    raise AssertionError("the connections were not given back")


def test_prepared_statements_are_bounded(wire: Wire) -> None:
    with wire() as one:
        for number in range(101):
            one.send(message("P", text(f"s{number}", "select 1") + b"\0\0"))
        one.send(message("S"))
        reply = one.reply()
        assert reply.error["C"] == "53300"
        assert reply.kinds.count("1") == 100


def test_statements_that_are_kept_are_bounded_in_sum(wire: Wire) -> None:
    with wire() as one:
        long = "select 1 as " + "a" * 40_000
        for number in range(4):
            one.send(message("P", text(f"s{number}", long) + b"\0\0"))
        one.send(message("S"))
        reply = one.reply()
        assert (reply.kinds.count("1"), reply.error["C"]) == (3, "54000")
        for number in range(4):
            bind = text(f"p{number}", "s0") + struct.pack("!hhh", 0, 0, 0)
            one.send(message("B", bind))
        one.send(message("S"))
        reply = one.reply()
        assert (reply.kinds.count("2"), reply.error["C"]) == (3, "54000")


def test_a_stop_with_an_open_connection_is_quiet(wire: Wire) -> None:
    class Writer:
        transport = SimpleNamespace(abort=lambda: None)

        def get_extra_info(self, _: str) -> None:
            return None

        def close(self) -> None:
            pass

    async def run() -> None:
        server = WireServer(None, WireSettings("127.0.0.1", 1, 1), Limits())  # type: ignore[arg-type]
        connected: Any = server._connected(asyncio.StreamReader(), Writer())  # type: ignore[arg-type]
        task = asyncio.create_task(connected)
        await asyncio.sleep(0)
        task.cancel()
        await task  # raises nothing
        assert not server._tasks

    asyncio.run(run())


def test_a_reviewer_decides_first(tmp_path: Path) -> None:
    port = free_port()
    with running(hosted_clinic(tmp_path, f"approval = true\n[wire]\nport = {port}\n")) as client:
        token = client.token("analyst", "visits", "ada")
        with WireClient(port, token, **EPSILON) as one:
            first, second = one.query(BY_SITE), one.query(BY_SITE)
            assert "a reviewer decides" in first.error["M"]
            assert first.error["M"] == second.error["M"]  # no second request is made
            (waiting,) = client.get("/v1/releases", token=token).json()["items"]
            rita = client.token("reviewer", "visits", "rita")
            client.post(f"/v1/releases/{waiting['id']}/approve", token=rita)
            assert len(rows(one.query(BY_SITE))) == 3
            assert one.query(BY_SITE).notices[0].endswith("nothing was charged")


def test_settings_and_addresses(tmp_path: Path) -> None:
    assert Settings(tmp_path).wire is None  # off unless configured
    assert WireSettings.from_fields({}) == WireSettings("127.0.0.1", 5433, 100)
    for bad in ({"port": 70_000}, {"port": 0}, {"host": 3}, {"tls": 1}):
        with pytest.raises(UsageError):
            WireSettings.from_fields(bad)
    folder = hosted_clinic(tmp_path, '[wire]\nhost = "0.0.0.0"\n')
    with pytest.raises(UsageError, match="plain text"):
        create_app(Settings.load(folder))


@pytest.mark.full
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_nothing_is_read_from_before_tls(tmp_path: Path) -> None:
    port = free_port()
    certificate, key = Authority(tmp_path, "the office").sign("localhost")
    folder = hosted_clinic(tmp_path, f"[wire]\nport = {port}\n")
    state = ServiceState(Settings.load(folder))
    app = create_app(state, (str(certificate), str(key)))
    token = state.tokens.create("ada", [Grant("analyst", "visits")], 3600)[0]
    context = ssl.create_default_context(cafile=certificate.parent / "root.pem")
    context.check_hostname = False  # it is for localhost, and the address is asked
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(app.router.lifespan_context(app)),
    ):
        plain = packet(START, text("user", "ada", "database", "visits") + b"\0")
        assert b"TLS alone" in ends(port, plain)
        assert ends(port, packet(SSL_REQUEST) + plain) == b""
        with WireClient(port, token, context=context) as one:
            assert rows(one.query("select 1 as one")) == [("1",)]

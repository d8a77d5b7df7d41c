"""What a caller is told of an error: never what an engine, the database or Python says."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from support.service.client import Client
from support.service.clinic import write_clinic
from support.service.clock import Clock
from support.service.server import Served, served
from tacit.errors import (
    BudgetError,
    DataSourceError,
    LedgerError,
    MissingExtraError,
    RefusedError,
    TacitError,
    UnsupportedQueryError,
    UsageError,
)
from tacit.service.problem import STATUS, Problem, problem_of
from tacit.service.web.problems import FailedTokens, rendered

SECRET = "ada has 17"


@pytest.mark.parametrize(
    ("error", "code", "passed_on"),
    [
        (Problem("gone", SECRET), "gone", True),
        (UsageError(SECRET), "invalid_request", True),
        (BudgetError(SECRET), "budget_exceeded", True),
        (RefusedError(SECRET), "conflict", True),
        (UnsupportedQueryError(SECRET, (2, 3)), "unsupported_query", True),
        (LedgerError(SECRET), "unavailable", False),
        (DataSourceError(SECRET), "unavailable", False),
        (MissingExtraError(SECRET), "unavailable", False),
        (TacitError(SECRET), "internal", False),
        (ValueError(SECRET), "internal", False),
        (ExceptionGroup(SECRET, [ValueError(SECRET)]), "internal", False),
        (KeyboardInterrupt(SECRET), "internal", False),
    ],
)
def test_each_error(error: BaseException, code: str, passed_on: bool) -> None:
    result = problem_of(error)
    assert result.code == code
    assert (SECRET in str(result.to_json())) == passed_on
    reply = rendered(result)
    assert reply.status_code == STATUS[code]
    assert ("www-authenticate" in reply.headers) == (code == "unauthenticated")


def test_the_place_in_a_query_is_for_programs_too() -> None:
    result = problem_of(UnsupportedQueryError("no union", (2, 3)))
    assert result.details == {"position": {"line": 2, "column": 3}}


def test_who_may_try_again_learns_when() -> None:
    assert (
        rendered(Problem("too_many", "slowly", "", {"retry_after": 30})).headers["retry-after"]
        == "30"
    )
    assert rendered(problem_of(LedgerError("x"))).headers["retry-after"] == "5"


@pytest.mark.parametrize(
    ("method", "place", "said", "field", "near"),
    [
        ("POST", "preview", {"sql": "select 1", "epsilom": 1}, "body.epsilom", "'epsilon'"),
        ("POST", "releases", {"sqll": "select 1"}, "body.sqll", "'sql'"),
        (
            "PUT",
            "caps",
            {"caps": {"team:a": {"epsilo": 1}}, "reason": "x"},
            "body.caps.team:a.epsilo",
            "'epsilon'",
        ),
        ("PUT", "budget", {"epsilon": 5, "raison": "x"}, "body.raison", "'reason'"),
    ],
)
def test_a_misspelt_field_is_named_with_the_one_that_was_meant(
    client: Client, method: str, place: str, said: object, field: str, near: str
) -> None:
    token = client.token("curator")
    reply = client.request(method, f"/v1/datasets/visits/{place}", json=said, token=token)
    assert reply.status_code == 400
    error = reply.json()["error"]
    wrong = {one["field"]: one["wrong"] for one in error["details"]["fields"]}
    assert wrong[field] == f"there is no field of this name; did you mean {near}?"
    assert "Extra inputs" not in reply.text


@pytest.mark.parametrize(
    ("asked", "in_json", "in_python"),
    [
        ({}, 'may spend: "epsilon": "1/2"', "release(epsilon='1/2')"),
        (
            {"epsilon": {"n": 1}},
            'as in "epsilon": {"n": 1, "cost": 3}, "total": "1/2"',
            "release(epsilon={'n': 1, 'cost': 3}, total='1/2')",
        ),
        ({"rho": 1}, "the release costs rho 1: give the price in the terms", "Open it as rho(...)"),
        (
            {"epsilon": 1, "sql": "select day, count(*) as n from visits group by day"},
            '"keys" of a question, in SQL where day in (...)',
            "keys=[...]",
        ),
    ],
)
def test_a_remedy_is_in_the_words_of_who_reads_it(
    client: Client, asked: dict[str, object], in_json: str, in_python: str
) -> None:
    body, token = {"sql": "select count(*) as n from visits", **asked}, client.token("curator")
    for reader, words in (("curl/8.0", in_json), ("tacit/0.1.0", in_python)):
        reply = client.request(
            "POST",
            "/v1/datasets/visits/preview",
            json=body,
            token=token,
            headers={"User-Agent": reader},
        )
        assert words in reply.json()["error"]["message"]


ASK = {"sql": "select count(*) from visits", "epsilon": 1}


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        (
            {"request": {**ASK, "epsilom": 1}},
            {"body.request.epsilom": "there is no field of this name; did you mean 'epsilon'?"},
        ),
        (
            {"request": {"question": {"by": 1}, "tga": "x"}},
            {"body.request.tga": "there is no field of this name; did you mean 'tag'?"},
        ),
        (
            {"request": {"questions": [{"sqll": "x"}, 5], "epsilon": {"n": 1}}},
            {
                "body.request.questions.0.sqll": "there is no field of this name; did you mean "
                "'sql'?",
                "body.request.questions.1": ('write a JSON object, as in {"sql": "select ..."}'),
                "body.request.epsilon": "write text or a whole number or a number",
            },
        ),
        (
            {"request": [1], "times": "2"},
            {
                "body.request": 'write a JSON object, as in {"name": ...}',
                "body.times": "write a whole number",
            },
        ),
        ({"start": None, "every": None}, {"body.start": "write text", "body.every": "write text"}),
    ],
)
def test_a_field_is_named_as_it_was_sent(
    client: Client, changes: dict[str, Any], wrong: dict[str, str]
) -> None:
    body = {"request": ASK, "start": "2126-01-01", "every": "1d", "times": 2, **changes}
    reply = client.request(
        "POST", "/v1/datasets/visits/schedules", json=body, token=client.token("curator")
    )
    fields = reply.json()["error"]["details"]["fields"]
    assert {one["field"]: one["wrong"] for one in fields} == wrong


@pytest.mark.parametrize("body", [[], 5, "select 1"], ids=["list", "number", "text"])
def test_a_body_that_is_no_object_is_told_what_to_write(client: Client, body: object) -> None:
    reply = client.request(
        "POST", "/v1/datasets/visits/preview", json=body, token=client.token("curator")
    )
    assert reply.status_code == 400
    assert "body: write a JSON object" in reply.json()["error"]["message"]


def test_a_body_of_another_type_is_told_the_header(client: Client) -> None:
    text = b'{"sql": "select count(*) as n from visits", "epsilon": 1}'
    reply = client.request(
        "POST",
        "/v1/datasets/visits/preview",
        content=text,
        token=client.token("curator"),
        headers={"Content-Type": "application/x-www-form-urlencoded"},  # as curl -d has it
    )
    assert reply.status_code == 400
    assert reply.json()["error"]["remedy"] == "send the header Content-Type: application/json"


def test_another_method_is_told_those_of_the_address(client: Client) -> None:
    error = client.delete("/v1/datasets", token=client.token("curator")).json()["error"]
    assert error["message"] == "this address does not take DELETE"
    assert error["remedy"] == "it takes GET"


# An address that sends tokens which are none is told to wait; the memory of it is bounded.


def test_an_address_is_stopped_at_its_limit_and_others_are_not() -> None:
    clock = Clock(100.0)
    failures = FailedTokens(3, clock)
    for _ in range(3):
        failures.note("10.0.0.1")
    with pytest.raises(Problem) as caught:
        failures.note("10.0.0.1")
    assert caught.value.code == "too_many"
    assert caught.value.details == {"retry_after": 60}
    failures.note("10.0.0.2")
    clock.now += 60
    failures.note("10.0.0.1")


def test_a_million_addresses_fill_no_memory() -> None:
    clock = Clock(100.0)
    failures = FailedTokens(1, clock)
    for number in range(30_000):
        failures.note(f"10.{number}")
    assert len(failures._seen) <= 10_000
    clock.now += 61
    failures.note("10.0.0.1")
    assert len(failures._seen) == 1


# The description of the API says what is open, and what a reply leads to.


def test_open_routes_ask_for_no_token_and_links_lead_to_routes_that_are_there(
    client: Client,
) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert client.get("/openapi.json").json()["paths"] == paths
    for path in ("/healthz", "/readyz", "/v1/why"):
        assert "security" not in paths[path]["get"], path
    for path in ("/v1/me", "/v1/audit", "/metrics"):
        assert paths[path]["get"]["security"] == [{"HTTPBearer": []}], path
    known = {said["operationId"] for methods in paths.values() for said in methods.values()}
    links = [
        link["operationId"]
        for methods in paths.values()
        for said in methods.values()
        for reply in said["responses"].values()
        for link in reply.get("links", {}).values()
    ]
    assert set(links) <= known


def test_an_address_names_all_its_methods(client: Client) -> None:
    reply = client.request("PATCH", "/v1/datasets/visits/refresh")
    assert reply.status_code == 405
    assert reply.headers["allow"] == "POST"
    reply = client.request("PATCH", "/v1/tokens")
    assert reply.headers["allow"] == "GET, POST"


# Bytes that no client of people sends: two lengths, two tokens, requests in one packet.


ME = "GET /v1/me HTTP/1.1\r\nHost: x\r\n"
PREVIEW = "POST /v1/datasets/visits/preview HTTP/1.1\r\nHost: x\r\n"
CLOSE = "Connection: close\r\n\r\n"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(write_clinic(tmp_path_factory.mktemp("clinic"))) as one:
        yield one


@pytest.fixture(scope="module")
def bearer(here: Served) -> str:
    return f"Authorization: Bearer {here.token('analyst', name='ada')}\r\n"


def replies(here: Served, sent: str) -> list[tuple[int, dict[str, str], bytes]]:
    """What comes back until the server closes: status, head and body of each reply."""
    with socket.create_connection(("127.0.0.1", here.port), timeout=60) as line:
        line.sendall(sent.encode("latin-1"))
        data = b"".join(iter(lambda: line.recv(65536), b""))
    result = []
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): said for name, _, said in (one.partition(": ") for one in lines)}
        size = 0 if first.startswith("HTTP/1.1 100") else int(headers["content-length"])
        result.append((int(first.split()[1]), headers, data[:size]))
        data = data[size:]
    return result


def refused(here: Served, sent: str) -> str:
    """The message of the one reply, which refuses."""
    ((status, headers, body),) = replies(here, sent)
    assert status == 400
    assert headers["connection"] == "close"
    error = json.loads(body)["error"]
    assert set(error) == {"code", "message", "remedy", "details"}
    return str(error["message"])


@pytest.mark.full
def test_a_request_within_the_body_of_another_is_never_answered(here: Served, bearer: str) -> None:
    """Two lengths: where a proxy believes the one and the service the other, requests are mixed."""
    hidden = f"{ME}{bearer}{CLOSE}"
    both = f"Content-Length: {5 + len(hidden)}\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert "two ways" in refused(here, f"{PREVIEW}{bearer}{both}0\r\n\r\n{hidden}")
    both = "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"
    assert "two ways" in refused(here, f"{PREVIEW}{bearer}{both}0\r\n\r\n{hidden}")
    refused(here, f"{PREVIEW}{bearer}Content-Length: 4\r\nContent-Length: 5\r\n\r\n{hidden}")
    refused(here, f"{PREVIEW}{bearer}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}")


@pytest.mark.full
@pytest.mark.parametrize(
    "header", ["Authorization: Bearer x", "Host: y", "Content-Type: a", "Origin: a"]
)
def test_a_header_that_decides_comes_once(here: Served, bearer: str, header: str) -> None:
    more = "Content-Type: application/json\r\nOrigin: http://x\r\n"
    ((status, _, body),) = replies(here, f"{ME}{bearer}{more}{header}\r\n{CLOSE}")
    assert (status, json.loads(body)["error"]["code"]) == (400, "invalid_request")


@pytest.mark.full
def test_requests_in_one_packet_are_each_their_own(here: Served, bearer: str) -> None:
    result = replies(here, f"{ME}{bearer}\r\n{ME}\r\n{ME}{bearer}\r\n{ME}{CLOSE}")
    assert [status for status, _, _ in result] == [200, 401, 200, 401]


@pytest.mark.full
@pytest.mark.parametrize(
    "sent", ["\x16\x03\x01\x02\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"]
)
def test_what_is_no_http_is_refused_in_the_shape_of_all_errors(here: Served, sent: str) -> None:
    assert "HTTP/1.1" in refused(here, sent)


@pytest.mark.full
@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get", "X"])
def test_other_methods_do_nothing_and_say_which_do(here: Served, bearer: str, method: str) -> None:
    sent = f"{method} /v1/me HTTP/1.1\r\nHost: x\r\n{bearer}{CLOSE}"
    with socket.create_connection(("127.0.0.1", here.port), timeout=60) as line:
        line.sendall(sent.encode())
        data = b"".join(iter(lambda: line.recv(65536), b""))
    head, _, body = data.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 405")
    assert b"allow: get" in head.lower()
    assert (body == b"") == (method == "HEAD")
    assert b"ada" not in data  # no echo of what was sent


@pytest.mark.full
def test_a_part_or_a_condition_changes_no_reply(here: Served, bearer: str) -> None:
    """A reply has no validator, and is never cut: its size is that of the whole."""
    where = "GET /v1/datasets HTTP/1.1\r\nHost: x\r\n"
    ((_, _, whole),) = replies(here, f"{where}{bearer}{CLOSE}")
    for more in (
        "Range: bytes=0-3",
        "If-None-Match: *",
        "If-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT",
    ):
        ((status, headers, body),) = replies(here, f"{where}{bearer}{more}\r\n{CLOSE}")
        assert (status, body) == (200, whole)
        assert not {"etag", "last-modified", "accept-ranges"} & set(headers)


@pytest.mark.full
@pytest.mark.parametrize(
    "path", ["//evil.example", "//evil.example/..", "/datasets/", "/\\evil.example"]
)
def test_no_address_leads_elsewhere(here: Served, path: str) -> None:
    sent = f"GET {path} HTTP/1.1\r\nHost: evil.example\r\nAccept: text/html\r\n{CLOSE}"
    ((status, headers, _),) = replies(here, sent)
    assert status == 404
    assert "location" not in headers


@pytest.mark.full
def test_a_sign_in_leads_home_whatever_the_address_asks(here: Served, bearer: str) -> None:
    form = f"token={bearer.split()[-1]}"
    kind = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n"
    sent = f"POST /sign-in?next=https://evil.example HTTP/1.1\r\nHost: x\r\n{kind}{CLOSE}{form}"
    ((status, headers, _),) = replies(here, sent)
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "domain" not in cookie

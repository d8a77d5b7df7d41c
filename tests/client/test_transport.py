"""Requests to a service: what is tried again, what is not, and what never shows."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tacit.client import transport as module
from tacit.client.transport import Transport, read_address, read_token, refusal
from tacit.errors import (
    AccessError,
    BudgetError,
    RefusedError,
    ServiceError,
    UnsupportedQueryError,
    UsageError,
)
from tacit.service.problem import STATUS, Problem, problem_of

TOKEN = "tacit_secret"


class Script:
    """A server that replies as it is told, one reply a request, the last one again and again."""

    def __init__(self) -> None:
        self.replies: list[tuple[int, Any]] = []
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                script.seen.append((self.command, self.path, dict(self.headers), body))
                left = script.replies
                status, said = left.pop(0) if len(left) > 1 else left[0]
                if status == 0:
                    self.connection.close()
                    return
                data = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                if status in (301, 307):
                    self.send_header("Location", "https://elsewhere.example/")
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_GET  # noqa: N815  (its name is the library's)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def script(monkeypatch) -> Iterator[Script]:
    monkeypatch.setattr(module, "_FIRST_PAUSE", 0.001)
    made = Script()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def asked(script) -> Iterator[Transport]:
    result = Transport(script.url, TOKEN)
    yield result
    result.close()


LATER = {"error": {"code": "unavailable", "message": "not now", "details": {"retry_after": 0.01}}}
SPENT = {"error": {"code": "budget_exceeded", "message": "no"}}


def test_a_token_goes_with_each_request_and_is_shown_nowhere(script, asked):
    script.replies = [(200, {"a": 1})]
    assert asked.get("/v1/me", cursor=None, wait=3) == {"a": 1}
    method, path, headers, _ = script.seen[0]
    assert (method, path) == ("GET", "/v1/me?wait=3")
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in repr(asked)


def test_the_same_request_is_sent_again_under_the_same_key(script, asked):
    script.replies = [(0, None), (503, LATER), (502, b"<html>"), (202, {"id": "a"})]
    assert asked.post("/v1/x", {"epsilon": "1"}, key="k") == {"id": "a"}
    assert [seen[2]["Idempotency-Key"] for seen in script.seen] == ["k"] * 4
    assert len({seen[3] for seen in script.seen}) == 1


@pytest.mark.parametrize("reply", [(0, None), (503, LATER), (504, b"late")])
def test_it_gives_up_at_last_with_words_of_its_own(script, asked, reply):
    script.replies = [reply]
    with pytest.raises(ServiceError) as failed:
        asked.get("/v1/me")
    assert len(script.seen) == 4
    assert TOKEN not in str(failed.value)
    assert failed.value.__cause__ is None


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ((402, SPENT), BudgetError),
        ((500, {"error": {"code": "internal"}}), ServiceError),
        ((301, b""), ServiceError),
        ((307, b""), ServiceError),
        ((200, b"<html>"), ServiceError),
        ((404, b"<html>"), ServiceError),
        ((400, {"error": "text"}), ServiceError),
        ((400, [1]), ServiceError),
    ],
)
def test_what_is_final_is_asked_once(script, asked, reply, kind):
    script.replies = [reply]
    with pytest.raises(kind):
        asked.post("/v1/x", {}, key="k")
    assert len(script.seen) == 1


def test_a_reply_without_end_is_refused(script, asked, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    script.replies = [(200, b"[" + b"1," * 5000 + b"1]")]
    with pytest.raises(UsageError, match="more than 1000 bytes"):
        asked.get("/v1/me")


def test_nobody_there_is_said_plainly(monkeypatch):
    monkeypatch.setattr(module, "_FIRST_PAUSE", 0.001)
    with pytest.raises(ServiceError, match="does not answer"):
        Transport("http://127.0.0.1:9", TOKEN).get("/v1/me")


def test_certificates_that_are_none_are_refused(tmp_path):
    (tmp_path / "ca.pem").write_text("no certificate")
    for name in ("ca.pem", "nothing.pem"):
        with pytest.raises(UsageError, match="cannot be trusted"):
            Transport("https://statistics.example", TOKEN, ca_file=tmp_path / name)


# Where a service may be, and where its token comes from.


@pytest.mark.parametrize(
    "url",
    [
        "https://statistics.example",
        "https://statistics.example:8443/tacit",
        "http://127.0.0.1:8000",
        "http://[::1]:8000",
        "http://localhost",
    ],
)
def test_what_is_safe_is_taken(url):
    assert read_address(url + "/") == url


@pytest.mark.parametrize(
    "url",
    [
        "http://statistics.example",
        "http://127.0.0.1.example",
        "http://localhost.example",
        "http://10.0.0.1",
        "http://0.0.0.0",
        "ftp://127.0.0.1",
        "statistics.example",
        "https://",
        "https://ada:secret@statistics.example",
        "https://statistics.example/?a=1",
        "https://statistics.example/#a",
        "https://statistics.example:port",
        "",
        7,
    ],
)
def test_what_is_unsafe_is_refused_and_never_quotes_a_password(url):
    with pytest.raises(UsageError) as refused:
        read_address(url)
    assert "secret" not in str(refused.value)


def test_a_token_comes_from_one_place(tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_TOKEN", "tacit_env")
    file = tmp_path / "token"
    file.write_text("tacit_file\n")
    file.chmod(0o600)
    assert read_token(None, None) == "tacit_env"
    assert read_token("tacit_said", None) == "tacit_said"
    assert read_token(None, file) == "tacit_file"
    with pytest.raises(UsageError, match="not both"):
        read_token("tacit_said", file)
    monkeypatch.delenv("TACIT_TOKEN")
    with pytest.raises(UsageError, match="TACIT_TOKEN"):
        read_token(None, None)


@pytest.mark.parametrize("token", ["", "  ", "a\nb", "é", "x" * 5000])
def test_what_is_no_token_is_refused_without_being_shown(token):
    with pytest.raises(UsageError) as refused:
        read_token(token, None)
    assert not token.strip() or token not in str(refused.value)


@pytest.mark.skipif(os.name != "posix", reason="a file's mode says who reads it on POSIX only")
def test_a_file_that_others_read_is_refused(tmp_path):
    file = tmp_path / "token"
    file.write_text("tacit_file")
    file.chmod(0o644)
    with pytest.raises(UsageError, match=r"mode 644\): run chmod 600 "):
        read_token(None, file)


def test_a_file_that_holds_no_token_is_refused(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("nothing", "bytes"):
        with pytest.raises(UsageError):
            read_token(None, tmp_path / name)


# What a service refuses is raised as a session raises it.


KINDS = {
    "invalid_request": UsageError,
    "unsupported_query": UnsupportedQueryError,
    "unauthenticated": AccessError,
    "budget_exceeded": BudgetError,
    "forbidden": AccessError,
    "not_found": UsageError,
    "conflict": RefusedError,
    "gone": UsageError,
    "too_large": UsageError,
    "not_ready": ServiceError,
    "too_many": ServiceError,
    "internal": ServiceError,
    "unavailable": ServiceError,
}


def test_every_code_of_a_service_has_an_exception():
    assert set(KINDS) == set(STATUS)


@pytest.mark.parametrize("code", KINDS)
def test_the_sentence_and_the_remedy_arrive(code):
    sent = Problem(code, "it is wrong", "do this").to_json()["error"]
    result = refusal(sent)
    assert type(result) is KINDS[code]
    assert str(result) == "it is wrong; do this"


def test_the_place_in_a_query_arrives():
    here = UnsupportedQueryError("no window functions", (2, 7))
    result = refusal(problem_of(here).to_json()["error"])
    assert isinstance(result, UnsupportedQueryError)
    assert (str(result), result.reason, result.position) == (str(here), here.reason, (2, 7))


@pytest.mark.parametrize("sent", [{}, {"code": 7}, {"code": "odd", "details": []}])
def test_what_no_service_sends_is_a_refusal_all_the_same(sent):
    assert isinstance(refusal(sent), RefusedError)


def test_when_to_ask_again_arrives():
    result = refusal({"code": "too_many", "message": "slow", "details": {"retry_after": 7}})
    assert isinstance(result, ServiceError)
    assert result.retry_after == 7
    assert refusal({"code": "too_many", "details": {"retry_after": "x"}}).retry_after is None

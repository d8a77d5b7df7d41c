"""Where a service may be, and where its token comes from."""

from __future__ import annotations

import os

import pytest

from tacit.client.transport import is_loopback, read_address, read_token
from tacit.errors import UsageError


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


def test_this_machine_by_its_name_or_number():
    assert is_loopback("127.8.9.1")
    assert not is_loopback("::ffff:10.0.0.1")


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

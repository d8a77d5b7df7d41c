"""The demo of the service: whole at once, and its link opens the pages once."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.service.client import running
from tacit.errors import UsageError
from tacit.service.demo import demo_link, write_demo


def test_the_link_signs_in_for_everything(tmp_path: Path) -> None:
    write_demo(tmp_path)
    with running(tmp_path) as client:
        link = demo_link(client.state, "http://127.0.0.1:8000")
        reply = client.get(link)
        assert reply.status_code == 303
        cookie = reply.headers["set-cookie"].partition(";")[0]
        me = client.get("/v1/me", headers={"Cookie": cookie}).json()
        assert {"declare", "ask", "approve", "audit"} <= set(me["rights"])
        assert client.get(link).status_code == 401
        assert list(client.state.declared) == ["visits"]


def test_what_is_there_stays(tmp_path: Path) -> None:
    write_demo(tmp_path)
    (tmp_path / "visits.toml").write_text("mine")
    write_demo(tmp_path)
    assert (tmp_path / "visits.toml").read_text() == "mine"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_demo(tmp_path / "file")

"""Forms of a browser: read within limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.service.client import Client, running
from support.service.pages import browser


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("clinic")) as client:
        yield client


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"token=x", "text/plain"),
        (b"token=x", "multipart/form-data; boundary=a"),
        (b'{"token": "x"}', "application/json"),
        (b"token=%ff", "application/x-www-form-urlencoded"),
        ("token=ä".encode(), "application/x-www-form-urlencoded"),
        (b"&".join(b"a%d=1" % i for i in range(300)), "application/x-www-form-urlencoded"),
    ],
)
def test_forms_that_are_none(client: Client, body: bytes, kind: str) -> None:
    reply = client.post("/sign-in", content=body, headers={"Content-Type": kind})
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "invalid_request"


def test_a_form_without_the_field(client: Client) -> None:
    assert client.post("/sign-in", data={"other": "x"}).status_code == 401


def test_only_the_form_of_a_declaration_has_many_fields(client: Client) -> None:
    page = browser(client, "curator")
    for many, status in ((1000, 200), (1300, 400)):
        fields = {f"a{n}": "1" for n in range(many)}
        assert page.post("/declare", name="x", file="data/x.csv", **fields).status_code == status
        assert page.post("/verify", **fields).status_code == 400

"""Who the caller is, and why they may do something or not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.service.client import Client, running


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("clinic")) as client:
        yield client


def why(client: Client, token: str | None, action: str = "ask", dataset: str = "visits") -> object:
    return client.get("/why", params={"action": action, "dataset": dataset}, token=token).json()


def test_a_token_that_does_not_hold_is_explained_as_its_refusal_is(client: Client) -> None:
    revoked = client.token("analyst", name="ada")
    assert client.state.tokens.check(revoked).name == "ada"
    client.state.tokens.revoke(client.state.tokens.check(revoked).token_id)
    for token in (revoked, "tacit_" + "A" * 96, "x"):
        error = client.get("/v1/me", token=token).json()["error"]
        said = {"allowed": False, "because": error["message"], "remedy": error["remedy"]}
        assert why(client, token) == said
    assert "nobody is signed in" in str(why(client, None))


def test_what_is_granted_is_explained_too(client: Client) -> None:
    ada = client.token("analyst", "visits", name="ada")
    assert why(client, ada) == {
        "allowed": True,
        "because": "'ada' is analyst on 'visits', who may ask",
        "remedy": "",
    }
    assert "no role on 'births'" in str(why(client, ada, dataset="births"))
    for unknown in ("aks", ""):
        assert "there is no action" in str(why(client, ada, unknown))

"""Who the caller is, and why they may do something or not."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from support.service.client import Client, running
from tacit.service.access import Grant


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
    assert "no one is signed in" in str(why(client, None))


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


# Tokens over the API: who may create, see and revoke which.


@pytest.fixture
def token_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("clinic")) as client:
        yield client


def new(role: str = "analyst", dataset: str = "visits", **more: object) -> dict[str, object]:
    return {"name": "ada", "grants": [{"role": role, "dataset": dataset}], **more}


def test_a_curator_makes_tokens_for_their_own_data_sets(token_client: Client) -> None:
    mia = token_client.token("curator", "visits", name="mia")
    reply = token_client.post("/v1/tokens", token=mia, json=new(team="oncology", days=1))
    assert reply.status_code == 201
    me = token_client.get("/v1/me", token=reply.json()["token"]).json()
    assert (me["name"], me["team"], me["issued_by"]) == ("ada", "oncology", "mia")
    assert me["grants"] == [{"role": "analyst", "dataset": "visits"}]
    assert me["token"] == reply.json()["id"]
    for other in ("births", "*"):
        refused = token_client.post("/v1/tokens", token=mia, json=new(dataset=other))
        assert refused.json()["error"]["code"] == "forbidden"


@pytest.mark.parametrize(
    "body",
    [
        {},
        new(role="root"),
        new(days=0),
        new(days=367),
        new(days="1"),
        new(name=""),
        new(name="a\nb"),
        new(more=1),
        new(name="a" * 101),
        {"name": "ada", "grants": []},
        new(dataset=""),
    ],
)
def test_tokens_that_are_none(token_client: Client, body: dict[str, object]) -> None:
    reply = token_client.post("/v1/tokens", token=token_client.token("curator"), json=body)
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "invalid_request"


def test_narrowing(token_client: Client) -> None:
    ada = token_client.token("analyst", name="ada", team="oncology")
    reply = token_client.post(
        "/v1/tokens/narrow", token=ada, json={"grants": [{"role": "analyst", "dataset": "visits"}]}
    )
    narrow = reply.json()["token"]
    me = token_client.get("/v1/me", token=narrow).json()
    assert (me["name"], me["team"]) == ("ada", "oncology")
    wider = {"grants": [{"role": "analyst", "dataset": "births"}]}
    assert token_client.post("/v1/tokens/narrow", token=narrow, json=wider).status_code == 403
    assert token_client.delete(f"/v1/tokens/{reply.json()['id']}", token=ada).json() == {
        "revoked": 1
    }
    assert token_client.get("/v1/me", token=narrow).status_code == 401
    assert token_client.get("/v1/me", token=ada).status_code == 200


def test_revoking(token_client: Client) -> None:
    made = token_client.post("/v1/tokens", token=token_client.token("curator"), json=new()).json()
    for stranger in (token_client.token("analyst"), token_client.token("curator", "births"),
                     token_client.token("auditor")):  # fmt: skip
        reply = token_client.delete(f"/v1/tokens/{made['id']}", token=stranger)
        assert reply.status_code == 404  # the same as for one that does not exist
    assert token_client.get("/v1/me", token=made["token"]).status_code == 200
    mia = token_client.token("curator", "visits")
    assert token_client.delete(f"/v1/tokens/{made['id']}", token=mia).json() == {"revoked": 1}
    assert token_client.get("/v1/me", token=made["token"]).status_code == 401
    assert token_client.delete(f"/v1/tokens/{'0' * 32}", token=mia).status_code == 404
    assert token_client.delete("/v1/tokens/..%2f", token=mia).status_code in (400, 404)


def test_a_list_has_the_curators_own_tokens_and_none_of_the_texts(token_client: Client) -> None:
    root = token_client.token("curator")
    texts = [
        token_client.post("/v1/tokens", token=root, json=new(dataset=d, name=f"n{i}")).json()[
            "token"
        ]
        for i in range(4)
        for d in ("visits", "births")
    ]
    mia = token_client.token("curator", "visits", name="mia")
    seen, cursor = [], ""
    while True:
        reply = token_client.get(f"/v1/tokens?limit=2&cursor={cursor}", token=mia)
        assert not any(text in reply.text for text in texts)
        seen += reply.json()["items"]
        cursor = reply.json()["next"]
        if not cursor:
            break
    assert sorted(one["name"] for one in seen) == ["mia", "n0", "n1", "n2", "n3"]
    assert {g["dataset"] for one in seen for g in one["grants"]} == {"visits"}


def test_no_token_stands_in_a_log(token_client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        root = token_client.token("curator")
        made = token_client.post("/v1/tokens", token=root, json=new()).json()["token"]
        token_client.get("/v1/me", token=made)
        token_client.get("/v1/me", token=made + "x")
        token_client.get(f"/sign-in/once?code={made}")
        token_client.post("/v1/tokens", token=root, content=b"{" + made.encode())
    told = [r.getMessage() for r in caplog.records if not r.name.startswith("httpx")]  # the client
    assert not any(text in one for one in told for text in (made, root))


def test_guessing_is_slowed_down_and_good_tokens_are_not(token_client: Client) -> None:
    good = token_client.token("analyst")
    statuses = [token_client.get("/v1/me", token="tacit_x").status_code for _ in range(25)]
    assert statuses == [401] * 20 + [429] * 5
    reply = token_client.get("/v1/me", token="tacit_x")
    assert 0 < int(reply.headers["retry-after"]) <= 60
    assert token_client.get("/v1/me", token=good).status_code == 200


def test_a_void_token_is_no_guess(token_client: Client) -> None:
    text, made = token_client.state.tokens.create("ada", [Grant("analyst", "*")], 60)
    token_client.state.tokens.revoke(made.token_id)
    assert {token_client.get("/v1/me", token=text).status_code for _ in range(25)} == {401}
    guesses = [token_client.get("/v1/me", headers={"Cookie": f"tacit=x{i}"}) for i in range(25)]
    assert [one.status_code for one in guesses] == [401] * 20 + [429] * 5


def test_grants_survive_the_store(token_client: Client) -> None:
    grants = [Grant("analyst", "a b"), Grant("reviewer", "ü"), Grant("device", "*")]
    text, _ = token_client.state.tokens.create("ada", grants, 60)
    result = token_client.get("/v1/me", token=text).json()["grants"]
    assert [Grant.from_fields(one) for one in result] == sorted(grants)

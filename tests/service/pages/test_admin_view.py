"""Tokens and events, as pages show them."""

from tacit.service.access import Caller, Grant
from tacit.service.pages.views import event, roles, token

ONE = {
    "id": "ab",
    "kind": "bearer",
    "name": "ada",
    "team": None,
    "grants": [{"role": "analyst", "dataset": "*"}, {"role": "reviewer", "dataset": "visits"}],
    "expires": 100.0,
    "ended": None,
}


def test_a_token_says_what_it_allows_and_until_when():
    shown = token(ONE, 50.0)
    assert shown["may"] == "analyst on all data sets, reviewer on visits"
    assert (shown["until"], shown["state"], shown["revoke"]) == (
        "1970-01-01 00:01 UTC",
        "valid",
        True,
    )


def test_a_token_that_is_void_cannot_be_revoked():
    assert token(ONE, 100.0)["state"] == "expired"
    assert not token({**ONE, "ended": "revoked"}, 0)["revoke"]
    assert token({**ONE, "kind": "session"}, 0)["state"] == "a sign-in"


def test_roles_are_offered_to_those_who_may_grant_them():
    assert "device" in roles(Caller("cleo", None, (Grant("curator", "visits"),), "t", 0))
    assert roles(Caller("ada", None, (Grant("analyst", "*"),), "t", 0)) == []


def test_an_event_says_who_did_what():
    shown = event(
        {
            "sequence": 3,
            "when": "2026-01-02T03:04:05.6Z",
            "who": "ada",
            "team": "oncology",
            "action": "release_asked",
            "details": {"cost": {"kind": "pure"}, "code": "conflict", "replayed": True},
            "dataset": None,
            "outcome": "done",
        }
    )
    assert shown["who"] == "ada (oncology)"
    assert shown["action"] == "release asked"
    assert (shown["when"], shown["more"]) == ("2026-01-02 03:04:05", "code conflict")

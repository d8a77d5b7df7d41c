"""Tokens: guessed, forged, expired, narrowed, revoked, used twice."""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa

from support.servers.left_out import needs
from support.service.clinic import write_clinic
from support.service.clock import Clock
from support.service.server import served
from support.threads import at_once
from tacit.errors import UsageError
from tacit.service.access import (
    ACTIONS,
    RIGHTS,
    WITHOUT_DATASET,
    Caller,
    Decisions,
    Grant,
    decide,
    demand,
    request_columns,
    request_values,
    requester_of,
    visible,
)
from tacit.service.database import Database
from tacit.service.problem import Problem
from tacit.service.tokens import LOGIN_NAMES, MAX_SECONDS, ONCE, SESSION, Tokens, behind

VISITS = Grant("analyst", "visits")
BOTH = (VISITS, Grant("reviewer", "*"))
KEY = bytes(range(32))


@pytest.fixture
def clock() -> Clock:
    return Clock(1_800_000_000.0)


@pytest.fixture
def database(any_database: Database) -> Database:
    return any_database


@pytest.fixture
def tokens(database: Database, clock: Clock) -> Tokens:
    return Tokens(database, KEY, clock)


def refused(tokens: Tokens, text: str, kind: str = "bearer") -> str:
    with pytest.raises(Problem) as caught:
        tokens.check(text, kind)
    assert caught.value.code == "unauthenticated"
    assert len(text) < 10 or text not in str(caught.value.to_json())
    return caught.value.message


def test_a_token_says_whose_it_is(tokens: Tokens) -> None:
    text, made = tokens.create("ada", BOTH, 60, team="oncology", issued_by="mia")
    result = tokens.check(text)
    assert result == made
    assert (result.name, result.team, result.issued_by) == ("ada", "oncology", "mia")
    assert result.grants == tuple(sorted(BOTH))


def test_the_database_holds_no_token(tokens: Tokens, database: Database, tmp_path: Path) -> None:
    text, _ = tokens.create("ada", BOTH, 60)
    database.close()
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert text.encode() not in written
    whole = base64.urlsafe_b64decode(text.removeprefix("tacit_"))
    for part in (whole[16:40], whole[40:]):  # the secret and the signature, in any form
        for form in (part, part.hex().encode(), base64.urlsafe_b64encode(part)):
            assert form not in written


def test_the_file_of_the_database_is_the_operators_alone(tmp_path: Path) -> None:
    Database(f"sqlite:///{tmp_path}/service.db").close()
    assert (tmp_path / "service.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    ["", "tacit_", "tacit_AAAA", "ada", "tacit_" + "A" * 96, "tacit_" + "ä" * 96, "tacit_" * 50],
)
def test_guesses(tokens: Tokens, text: str) -> None:
    assert refused(tokens, text) == "the token is not one of this service"


def test_every_changed_byte_is_noticed(tokens: Tokens) -> None:
    text, _ = tokens.create("ada", BOTH, 60)
    whole = bytearray(base64.urlsafe_b64decode(text.removeprefix("tacit_")))
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1
        refused(tokens, "tacit_" + base64.urlsafe_b64encode(changed).decode())
    assert refused(tokens, text + "=") == "the token is not one of this service"
    assert tokens.check(text).name == "ada"


def test_a_token_signed_with_another_key_is_refused(database: Database, clock: Clock) -> None:
    text, _ = Tokens(database, KEY, clock).create("ada", BOTH, 60)
    refused(Tokens(database, bytes(32), clock), text)


def test_who_writes_to_the_database_cannot_make_a_token(
    tokens: Tokens, database: Database, clock: Clock
) -> None:
    """A row copied from the writer's own service, hash and all, lacks the signature."""
    text, made = Tokens(database, bytes(32), clock).create("eve", [Grant("curator", "*")], 60)
    assert tokens.get(made.token_id) is not None
    refused(tokens, text)


def test_who_reads_the_key_cannot_make_a_token(tokens: Tokens, database: Database) -> None:
    """With the key alone a signature can be made, and the database knows no such token."""
    text, _ = tokens.create("ada", BOTH, 60)
    with database.begin() as run:
        run.execute(sa.text("delete from token"))
    assert refused(tokens, text) == "the token is not one of this service"


def test_expiry(tokens: Tokens, clock: Clock) -> None:
    text, _ = tokens.create("ada", BOTH, 60)
    clock.now += 59.9
    assert tokens.check(text).name == "ada"
    clock.now += 0.1
    assert refused(tokens, text) == "the token is void: expired"


def test_an_expired_token_stays_expired_when_the_clock_is_set_back(
    tokens: Tokens, database: Database, clock: Clock
) -> None:
    used, _ = tokens.create("ada", BOTH, 60)
    silent, made = tokens.create("bob", BOTH, 60)
    other, _ = tokens.create("eve", BOTH, 3600)
    clock.now += 61
    refused(tokens, used)
    tokens.check(other)  # any request notes what has expired, not only that of the token itself
    clock.now -= 3600
    assert refused(tokens, used) == "the token is void: expired"
    assert refused(Tokens(database, KEY, clock), silent) == "the token is void: expired"
    result = tokens.get(made.token_id)
    assert result is not None
    assert result.why == "expired"


def test_narrowing(tokens: Tokens, clock: Clock) -> None:
    _, parent = tokens.create("ada", BOTH, 60, team="oncology")
    text, _ = tokens.narrow(parent, [Grant("reviewer", "births")], 600)
    result = tokens.check(text)
    assert result.grants == (Grant("reviewer", "births"),)
    assert (result.name, result.team) == ("ada", "oncology")  # charged to the same accounts
    assert result.expires == parent.expires


@pytest.mark.parametrize(
    "grants",
    [
        [Grant("analyst", "births")],
        [Grant("analyst", "*")],
        [Grant("curator", "visits")],
        [VISITS, Grant("device", "visits")],
        [],
    ],
)
def test_narrowing_never_widens(tokens: Tokens, grants: list[Grant]) -> None:
    _, parent = tokens.create("ada", BOTH, 60)
    with pytest.raises(Problem) as caught:
        tokens.narrow(parent, grants, 60)
    assert caught.value.code == "forbidden"


def test_revoking_a_parent_revokes_its_family(tokens: Tokens) -> None:
    text, parent = tokens.create("ada", BOTH, 60)
    child_text, child = tokens.narrow(parent, [VISITS], 60)
    grandchild, _ = tokens.narrow(child, None, 60)
    other, _ = tokens.create("bob", BOTH, 60)
    assert tokens.revoke(parent.token_id) == 3
    for one in (text, child_text, grandchild):
        assert refused(tokens, one) == "the token is void: revoked"
    assert tokens.check(other).name == "bob"
    with pytest.raises(Problem):
        tokens.narrow(child, None, 60)
    assert tokens.revoke(parent.token_id) == 0


@pytest.mark.full
def test_no_child_escapes_while_its_family_is_revoked(database: Database, clock: Clock) -> None:
    """Whoever narrows while an ancestor is revoked is refused, or made void with it."""
    tokens = Tokens(database, KEY, clock)
    made: list[Caller] = []
    _, parent = tokens.create("ada", BOTH, 600)
    _, child = tokens.narrow(parent, None, 600)

    def narrow() -> None:
        own = Tokens(database, KEY, clock)
        with suppress(Problem):
            while True:
                made.append(own.narrow(child, None, 600)[1])

    threads = [threading.Thread(target=narrow) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(made) < 10:
        time.sleep(0.001)
    tokens.revoke(parent.token_id)
    for thread in threads:
        thread.join()
    result = [tokens.get(one.token_id) for one in made]
    assert all(one is not None and one.ended is not None for one in result)


def test_a_child_is_revoked_alone(tokens: Tokens) -> None:
    text, parent = tokens.create("ada", BOTH, 60)
    child_text, child = tokens.narrow(parent, [VISITS], 60)
    assert tokens.revoke(child.token_id) == 1
    refused(tokens, child_text)
    assert tokens.check(text).name == "ada"


def test_a_link_opens_once(tokens: Tokens) -> None:
    text, link = tokens.create("ada", BOTH, 60, kind=ONCE)
    assert refused(tokens, text) == "the token is not one of this service"
    cookie, made = tokens.use_once(text, 3600)
    assert tokens.check(cookie, SESSION).name == "ada"
    with pytest.raises(Problem):
        tokens.use_once(text, 3600)
    assert made.expires > link.expires
    assert tokens.revoke(link.token_id) == 1  # the sign-in that came of it
    refused(tokens, cookie, SESSION)


def test_of_many_who_open_a_link_at_once_one_comes_in(tokens: Tokens) -> None:
    text, _ = tokens.create("ada", BOTH, 60, kind=ONCE)
    seen: list[str] = []

    def use() -> None:
        with suppress(Problem):
            seen.append(tokens.use_once(text, 60)[0])

    at_once(use, times=8)
    assert len(seen) == 1


def test_a_cookie_is_no_bearer_token_and_a_bearer_token_no_cookie(tokens: Tokens) -> None:
    text, parent = tokens.create("ada", BOTH, 60)
    cookie, _ = tokens.narrow(parent, None, 60, SESSION)
    assert tokens.check(cookie, SESSION).name == "ada"
    refused(tokens, cookie)
    refused(tokens, text, SESSION)


@pytest.mark.parametrize("seconds", [0, -1, MAX_SECONDS + 1, float("inf"), float("nan")])
def test_lives_that_are_none(tokens: Tokens, seconds: float) -> None:
    with pytest.raises(Problem):
        tokens.create("ada", BOTH, seconds)


@pytest.mark.parametrize("name", ["", " ada", "a\nb", "a" * 101, "\0"])
def test_names_that_are_none(tokens: Tokens, name: str) -> None:
    with pytest.raises(UsageError):
        tokens.create(name, BOTH, 60)
    with pytest.raises(UsageError):
        tokens.create("ada", BOTH, 60, team=name)


def test_a_token_without_a_grant_is_not_made(tokens: Tokens) -> None:
    with pytest.raises(Problem):
        tokens.create("ada", [], 60)


def test_listing_goes_on_after_the_last(tokens: Tokens) -> None:
    made = {tokens.create(f"n{i}", BOTH, 60)[1].token_id for i in range(5)}
    first = tokens.listed(limit=3)
    rest = tokens.listed(after=first[-1].caller.token_id)
    assert {one.caller.token_id for one in (*first, *rest)} == made
    assert len(first) == 3
    assert len(rest) == 2


def test_no_token_takes_the_name_of_an_account_of_the_login(tokens: Tokens) -> None:
    with pytest.raises(Problem, match="own login"):
        tokens.create("login:ada", BOTH, 60, issued_by="mia")
    made = tokens.create("login:ada", BOTH, 60, issued_by=LOGIN_NAMES, kind=SESSION)[1]
    assert tokens.narrow(made, [VISITS], 60)[1].name == "login:ada"


# Who can be behind a token.


ALL = [Grant("curator", "*")]


def test_whoever_made_a_token_or_the_token_of_its_maker_is_behind_it(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/service.db")
    database.create()
    tokens = Tokens(database, b"k" * 32)

    def made(name: str, by: str | None = None) -> str:
        more = {} if by is None else {"issued_by": by}
        return tokens.create(name, ALL, 3600, **more)[1].token_id

    def who(token: str, name: str) -> frozenset[str]:
        return behind(database, token, name)

    cleo = made("cleo")
    made("ada", by="cleo")
    second = made("x", by="ada")
    rita = made("rita")
    assert who(cleo, "cleo") == {"cleo"}
    assert who(second, "x") == {"x", "ada", "cleo"}
    assert who(rita, "rita").isdisjoint(who(second, "x"))
    parent = tokens.check(tokens.create("y", ALL, 3600, issued_by="x")[0])
    _, sign_in = tokens.narrow(parent, None, 60, SESSION)
    assert who(sign_in.token_id, "y") == {"y", "x", "ada", "cleo"}
    name = f"{LOGIN_NAMES}7"
    _, came = tokens.create(name, ALL, 60, issued_by=LOGIN_NAMES, kind=SESSION)
    assert who(came.token_id, name) == {name}
    assert who(made("z", by=name), "z") == {"z", name}
    for taken in ("operator", "service"):
        with pytest.raises(Problem, match="audit log"):
            tokens.create(taken, ALL, 60)
    database.close()


# Everything is denied that is not granted, and a refusal explains itself.


def caller(*grants: Grant) -> Caller:
    return Caller("ada", None, grants, "t", 0)


@pytest.mark.parametrize("role", RIGHTS)
@pytest.mark.parametrize("action", ACTIONS)
def test_the_table(role: str, action: str) -> None:
    here, everywhere = caller(Grant(role, "visits")), caller(Grant(role, "*"))
    right = action in RIGHTS[role]
    alone = right and action not in WITHOUT_DATASET
    assert decide(here, action, "visits").allowed is alone
    assert decide(here, action).allowed is alone
    assert decide(here, action, "births").allowed is False
    assert decide(everywhere, action, "births").allowed is right


def test_every_right_is_an_action_and_every_action_is_somebodys() -> None:
    assert set().union(*RIGHTS.values()) == set(ACTIONS)


def test_who_reads_all_changes_nothing() -> None:
    changing = {"ask", "approve", "declare", "set_budget", "refresh", "tokens", "report", "preview"}
    assert not RIGHTS["auditor"] & changing
    assert RIGHTS["device"] == {"report"}
    assert not RIGHTS["reviewer"] & {"ask", "declare", "set_budget", "tokens"}


def test_nobody_may_do_nothing() -> None:
    assert not any(decide(None, action, "visits").allowed for action in ACTIONS)
    assert not any(decide(caller(), action, "visits").allowed for action in ACTIONS)


def test_a_refusal_says_why_and_what_to_do() -> None:
    result = decide(caller(Grant("analyst", "visits")), "approve", "visits")
    assert result.because == (
        f"'ada' is analyst on 'visits'; to {ACTIONS['approve']} is for curator or reviewer"
    )
    assert "ask a curator" in result.remedy
    assert "tacit token create" in decide(None, "ask").remedy


def test_a_refusal_is_the_same_whether_there_is_such_a_data_set_or_not() -> None:
    told = []
    for name in ("births", "nothere"):
        with pytest.raises(Problem) as caught:
            demand(caller(Grant("analyst", "visits")), "ask", name)
        told.append(str(caught.value.to_json()).replace(name, "X"))
    assert told[0] == told[1]


def test_an_action_that_does_not_exist() -> None:
    with pytest.raises(Problem) as caught:
        decide(None, "aks")
    assert (caught.value.code, caught.value.remedy) == ("invalid_request", "did you mean 'ask'?")


def test_visible() -> None:
    assert visible(caller(Grant("device", "visits")), "visits")
    assert not visible(caller(Grant("device", "visits")), "births")


# Who may decide on what somebody asked for.


MAKERS = {"t-ada": {"ada"}, "t-eve": {"eve", "ada"}, "t-rita": {"rita"}, "t-kim": {"kim", "eve"}}
DECISIONS = Decisions(lambda token, name: frozenset({name, *MAKERS[token]}))


@dataclass
class Question:
    asked_by: str
    team: str | None
    token: str


def decisions_caller(name: str) -> Caller:
    return Caller(name, "oncology", (), f"t-{name}", 9.0)


@pytest.mark.parametrize(
    ("asks", "decides", "own"),
    [
        ("ada", "ada", True),
        ("eve", "ada", True),  # ada made the token that asked
        ("ada", "eve", True),  # ada made the token that would decide
        ("kim", "eve", True),
        ("ada", "rita", False),
        ("kim", "ada", False),
    ],
)
def test_nobody_decides_who_can_be_behind_the_question(asks: str, decides: str, own: bool) -> None:
    asked = Question(asks, None, f"t-{asks}")
    assert DECISIONS.is_own(asked, decisions_caller(decides)) is own
    if not own:
        DECISIONS.refuse_own(asked, decisions_caller(decides), "a question")
        return
    with pytest.raises(Problem, match=r"who asked for a dashboard, .* does not decide on it") as no:
        DECISIONS.refuse_own(asked, decisions_caller(decides), "for a dashboard")
    assert no.value.code == "forbidden"


@pytest.mark.parametrize("name", ["asked_by", "who"])
def test_a_row_says_who_asked_whatever_its_column_is_called(name: str) -> None:
    table = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer), *request_columns(name))
    engine = sa.create_engine("sqlite://")
    with engine.begin() as run:
        table.create(run)
        run.execute(table.insert().values(id=1, **request_values(decisions_caller("ada"), 7.0)))
        result = run.execute(sa.select(table)).one()
        stored = run.execute(sa.text(f"select {name}, team, token, asked from t")).one()
    engine.dispose()
    assert tuple(stored) == ("ada", "oncology", "t-ada", 7.0)
    assert result.asked_by == "ada"
    who = requester_of(Question(result.asked_by, result.team, result.token))
    assert (who.name, who.team, who.token_id) == ("ada", "oncology", "t-ada")
    assert who.grants == ()


# The API against its own description, by schemathesis: every route, with right and wrong requests,
# and sequences that follow the links between them.
#
# Of its checks one is left out: that whatever fits the description is accepted.  SQL, budgets and
# names of data sets are text to a description, and most text is none of these.


SETTINGS = """
latency = 0.1
[limits]
waiting_jobs = 100000
failed_tokens = 1000000
[collections.colour]
mechanism = "DirectEncoding"
items = ["red", "green"]
epsilon = 1
"""
KNOWN = """
[parameters]
"path.name" = "visits"

[[operations]]
include-path-regex = "/v1/collections/.*"
parameters = { "path.name" = "colour" }
"""
"""Which names there are, so that requests come further than to what is not there."""


@pytest.mark.full
@needs("schemathesis", "make setup-engines")
def test_no_request_finds_the_service_other_than_described(tmp_path: Path) -> None:
    folder = write_clinic(tmp_path / "clinic", SETTINGS)
    (tmp_path / "schemathesis.toml").write_text(KNOWN)
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    assert program is not None
    with served(folder) as service:
        token = service.token(*RIGHTS)
        words = [
            *(program, "run", f"{service.address}/openapi.json"),
            *("--header", f"Authorization: Bearer {token}"),
            *("--exclude-checks", "positive_data_acceptance"),
            *("--max-examples", "20", "--seed", "1", "--generation-database", "none"),
            *("--no-color", "--max-response-time", "20"),
        ]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=900)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "unexpected" not in service.log.read_text(), service.log.read_text()[-4000:]

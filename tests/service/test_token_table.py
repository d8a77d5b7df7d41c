"""Who can be behind a token."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.service.access import Grant
from tacit.service.database import Database
from tacit.service.problem import Problem
from tacit.service.tokens import LOGIN_NAMES, SESSION, Tokens, behind

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

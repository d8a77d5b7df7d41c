"""Who may decide on what somebody asked for."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import sqlalchemy as sa

from tacit.service.access import Caller, Decisions, asked_by, asked_columns, asker_of
from tacit.service.problem import Problem

MAKERS = {"t-ada": {"ada"}, "t-eve": {"eve", "ada"}, "t-rita": {"rita"}, "t-kim": {"kim", "eve"}}
DECISIONS = Decisions(lambda token, name: frozenset({name, *MAKERS[token]}))


@dataclass
class Question:
    asked_by: str
    team: str | None
    token: str


def caller(name: str) -> Caller:
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
    assert DECISIONS.is_own(asked, caller(decides)) is own
    if not own:
        DECISIONS.refuse_own(asked, caller(decides), "a question")
        return
    with pytest.raises(Problem, match=r"who asked for a dashboard, .* does not decide on it") as no:
        DECISIONS.refuse_own(asked, caller(decides), "for a dashboard")
    assert no.value.code == "forbidden"


@pytest.mark.parametrize("name", ["asked_by", "who"])
def test_a_row_says_who_asked_whatever_its_column_is_called(name: str) -> None:
    table = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer), *asked_columns(name))
    engine = sa.create_engine("sqlite://")
    with engine.begin() as run:
        table.create(run)
        run.execute(table.insert().values(id=1, **asked_by(caller("ada"), 7.0)))
        found = run.execute(sa.select(table)).one()
        stored = run.execute(sa.text(f"select {name}, team, token, asked from t")).one()
    engine.dispose()
    assert tuple(stored) == ("ada", "oncology", "t-ada", 7.0)
    assert found.asked_by == "ada"
    who = asker_of(Question(found.asked_by, found.team, found.token))
    assert (who.name, who.team, who.token_id) == ("ada", "oncology", "t-ada")
    assert who.grants == ()

"""The parts of a question: what each of them refuses, and what all of them make together."""

from __future__ import annotations

import pytest

import tacit as tc
from support.clinic import make_clinic
from tacit.errors import UsageError


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with tc.open(make_clinic(tmp_path_factory.mktemp("clinic")), ledger=tc.in_memory) as opened:
        yield opened


def test_a_question_is_built_part_by_part_and_each_part_leaves_the_one_before(session):
    dear = session.filter(tc.col("cost") > 20)
    by_site = dear.agg(n=tc.count()).group_by("site")
    told = by_site.described()
    assert [told["by"], told["keys"], len(told["where"])] == [["site"], [[1], [2], [3]], 1]
    assert dear.described()["by"] == []
    assert session.agg(n=tc.count()).described()["where"] == []


def test_a_table_asks_as_a_question_does(session):
    computed = session.with_column("dear", tc.col("cost") > 20)
    assert computed.schema["dear"].kind == "boolean"
    people = session.per_person(n=tc.count())
    assert list(people.schema) == ["person", "n"]
    assert session.join("sites").described()["joins"][0]["table"] == "sites"
    assert session.group_by("site").unit == session.unit


REFUSED = {
    "a filter that is no expression": lambda s: s.filter(True),
    "a filter that is a number": lambda s: s.filter(tc.col("cost") + 1),
    "too many filters": lambda s: s.filter(*[tc.col("cost") > i for i in range(51)]),
    "a column that is no expression": lambda s: s.with_column("a", 1),
    "a column that is there": lambda s: s.with_column("cost", tc.col("cost") + 1),
    "no groups": lambda s: s.group_by(),
    "grouped twice": lambda s: s.group_by("site").group_by("day"),
    "a column grouped twice": lambda s: s.group_by("site", "site"),
    "groups of nothing known": lambda s: s.group_by("sit"),
    "no aggregate": lambda s: s.agg(n=3),
    "a label of a group": lambda s: s.group_by("site").agg(site=tc.count()),
    "people of groups": lambda s: s.group_by("site").per_person(n=tc.count()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_asked_is_refused_when_it_is_said(session, name):
    with pytest.raises(UsageError):
        REFUSED[name](session)


def test_every_statistic_has_a_hint_where_it_is_typed_at_a_table() -> None:
    from tacit.tables.answers.base import kinds
    from tacit.tables.plan.query import INSTEAD

    assert {kind.name for kind in kinds()} <= set(INSTEAD)

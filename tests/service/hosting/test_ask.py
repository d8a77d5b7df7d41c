"""What a request asks: read as a user's own question, and previewed without a look at the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tacit as tc
from support.service.client import running
from support.service.hosting import hosted_clinic
from tacit.accounting import epsilon
from tacit.errors import UnsupportedQueryError, UsageError
from tacit.service.access import Caller
from tacit.service.hosting.ask import Ask, preview_of, words_of
from tacit.service.hosting.datasets import Hosted
from tacit.tables.plan.preview import Preview

ADA = Caller("ada", "oncology", (), "t", 0)
FIELDS = {
    "where": "cost > 10",
    "by": "site",
    "answers": {"n": {"statistic": "count"}, "cost": {"statistic": "mean", "column": "cost"}},
}
SQL = "select site, count(*) as n, avg(cost) as cost from visits where cost > 10 group by site"


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with running(hosted_clinic(tmp_path_factory.mktemp("clinic"))) as client:
        yield client.state.datasets.of("visits")


def test_three_ways_of_one_question(hosted: Hosted) -> None:
    spoken = hosted.session(ADA).filter(tc.col("cost") > 10).group_by("site")
    described = spoken.agg(n=tc.count(), cost=tc.mean("cost")).described()
    asks = [{"sql": SQL}, {"question": FIELDS}, {"described": described}]
    keys = {
        Ask.from_json({**ask, "epsilon": 1}).question(hosted, ADA).release_key(epsilon=1)
        for ask in asks
    }
    assert len(keys) == 1


def test_another_table_can_be_asked(hosted: Hosted) -> None:
    ask = Ask.from_json(
        {"question": {"answers": {"n": {"statistic": "count"}}}, "table": "patients"}
    )
    assert "age" in ask.question(hosted, ADA).schema


def test_numbers_are_read_as_they_are_written() -> None:
    ask = Ask.from_json({"sql": "s", "epsilon": {"n": 0.1, "cost": 3}, "total": 0.3})
    assert ask.price == {"epsilon": {"n": "0.1", "cost": 3}, "total": "0.3"}
    assert Ask.from_json(ask.to_json()) == ask
    assert (
        ask.text == Ask.from_json({"total": 0.3, "epsilon": {"cost": 3, "n": 0.1}, "sql": "s"}).text
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, "ask in one way"),
        ({"sql": "a", "described": {}}, "ask in one way"),
        ({"sqll": "a"}, "sqll"),
        ({"sql": 3}, "must be text"),
        ({"question": []}, "question"),
        ({"sql": "a", "tag": "a\nb"}, "tag of the request is a line"),
        ({"sql": "a", "tag": "?"}, "tag of the request is a line"),
        ({"sql": "a", "table": 3}, "must be text"),
    ],
)
def test_what_is_no_request(said: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Ask.from_json(said)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"question": {**FIELDS, "keys_file": "/etc/passwd"}}, "keys_file"),
        ({"question": {**FIELDS, "keys": "/etc/passwd"}}, "keys is a list"),
        ({"question": {**FIELDS, "plot": "x.png"}}, "plot"),
        ({"question": {**FIELDS, "epsilon": 1}}, "epsilon"),
        ({"question": {**FIELDS, "sql": SQL}}, "sql"),
        ({"question": FIELDS, "table": "nothere"}, "no table 'nothere'"),
        ({"described": {"by": []}}, "does not describe a question"),
    ],
)
def test_what_cannot_be_asked(hosted: Hosted, said: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Ask.from_json(said).question(hosted, ADA)


def test_a_description_of_other_people_is_refused(hosted: Hosted) -> None:
    said = hosted.session(ADA).agg(n=tc.count()).described()
    said["unit"] = {**said["unit"], "rows": 1}
    with pytest.raises(UsageError, match="other people"):
        Ask.from_json({"described": said}).question(hosted, ADA)


def test_sql_that_has_no_translation_says_where(hosted: Hosted) -> None:
    with pytest.raises(UnsupportedQueryError) as caught:
        Ask.from_json({"sql": "select cost from visits"}).question(hosted, ADA)
    assert caught.value.position == (1, 8)


def test_a_preview_says_cost_and_errors_and_spends_nothing(hosted: Hosted) -> None:
    ask = Ask.from_json({"sql": SQL, "epsilon": "1/2"})
    found = preview_of(ask, hosted, ADA, notes=("a note",))
    assert found["cost"] == {"kind": "pure", "epsilon": "1/2"}
    assert (found["replay"], found["open"], found["affordable"]) == (False, False, True)
    assert [column["label"] for column in found["columns"]] == ["n", "cost"]
    assert all(len(column["interval"]) == 3 for column in found["columns"])
    assert found["text"] == words_of(ask.question(hosted, ADA))
    assert "a note" in found["notes"]
    assert Preview.from_json(found["preview"]).cost == epsilon("1/2")
    assert hosted.ledger(None).spent.is_nothing


def test_a_preview_knows_what_is_charged_and_what_is_answered(hosted: Hosted) -> None:
    ask = Ask.from_json({"sql": "select count(*) as n from visits", "epsilon": 2})
    question = ask.question(hosted, ADA)
    view = hosted.session(ADA).ledger
    key = question.release_key(epsilon=2)
    public = {"query": question.described(), "request": epsilon(2).to_json(), "tag": None}
    view.charge(key, epsilon(2), public)
    found = preview_of(ask, hosted, ADA)
    assert (found["replay"], found["open"]) == (False, True)
    assert found["cost"]["epsilon"] == "0"
    question.release(epsilon=2)
    found = preview_of(ask, hosted, ADA)
    assert (found["replay"], found["open"]) == (True, False)


def test_what_the_budget_does_not_cover_is_previewed_all_the_same(hosted: Hosted) -> None:
    found = preview_of(Ask.from_json({"sql": SQL, "epsilon": 2000}), hosted, ADA)
    assert found["affordable"] is False
    assert "2000" in found["weak"]


def test_comments_of_sql_are_no_part_of_a_request() -> None:
    told = Ask.from_json(
        {"sql": "-- secret\nselect count(*) /* secret */ from visits", "epsilon": 1}
    )
    assert "secret" not in told.text
    assert "select count(*)" in told.said

"""Keys that nobody listed: found in one round, or in two."""

import copy

import pyarrow as pa
import pytest

import tacit as tc
from support.certificates.certificate_changes import sealed
from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.tables.privacy_unit import PersonUnit
from tacit.tables.query.integer_query import PartedQuery

PRICE = {"epsilon": 2, "delta": "1e-6"}


def session(words, people=600, groups=1):
    rows = [(person, word) for person in range(people) for word in words(person)]
    person, word = zip(*rows, strict=True)
    return tc.Session(
        pa.table({"person": person, "word": word}),
        unit=tc.unit("person", rows=groups),
        budget=tc.epsilon_delta(100, "1e-3"),
        ledger=tc.in_memory,
        name="words",
    )


@pytest.mark.full
def test_a_second_round_finds_what_frequent_groups_hid():
    """All have twenty words, and one of sixty: by one draw some 5 people count in each of these."""
    table = session(lambda person: [*range(20), 20 + person % 60], people=6000)
    one, two = (
        table.group_by("word", rounds=rounds).agg(n=tc.count_people()).release(**PRICE)
        for rounds in (1, 2)
    )
    assert len(one.keys) < 40
    assert two.keys == [(word,) for word in range(80)]


def test_a_release_in_rounds_is_verified_and_a_forgery_is_not():
    table = session(lambda person: range(4), groups=3)
    question = table.group_by("word", rounds=2).agg(n=tc.count(), m=tc.count_people())
    told = question.preview(**PRICE)
    assert any("in 2 rounds" in note for note in told.notes)
    answer = question.release(**PRICE)
    assert answer.keys == [(word,) for word in range(4)]
    certificate = answer.certificate
    assert certificate.verify(table.ledger)
    assert certificate.body["question"]["query"]["rounds"] == 2
    assert "anew in each of 2 rounds" in certificate.to_html()
    for change in ({"thresholds": [200, 30]}, {"scales": ["40", "9"]}, {"step": "gaussian_keys"}):
        body = copy.deepcopy(certificate.body)
        body["chains"][0]["steps"][-1].update(change)
        assert not sealed(body).verify()


def test_rounds_are_refused_where_they_find_nothing():
    table = session(lambda person: [1])
    with pytest.raises(UsageError, match="nobody listed"):
        table.group_by("word", keys=[1], rounds=2)
    for rounds in (0, 3, "2", True, None):
        with pytest.raises(UsageError, match="1 or 2"):
            table.group_by("word", rounds=rounds)
    rows = tc.Session(
        pa.table({"word": [1]}), unit=tc.one_row_each, budget=tc.epsilon_delta(1, "1e-6")
    )
    with pytest.raises(UsageError, match="one row each"):
        rows.group_by("word", rounds=2)
    question = table.group_by("word", rounds=2).agg(n=tc.count())
    with pytest.raises(UsageError, match="one round"):
        question.preview(epsilon=1000, delta="1e-6")


@pytest.mark.parametrize("engine", ENGINES)
def test_shown_keys_are_left_out_in_every_engine(engine, request, monkeypatch):
    names = ["a", "b", None, "it's", "x" * 70_000]
    rows = [{"p": person, "g": name, "h": len(name or "")} for person in range(3) for name in names]
    rows += [{"p": None, "g": "b", "h": 1}]
    by = {"g": col("g"), "h": col("h")}
    key = {name: (None if name and len(name) > 65_536 else name, len(name or "")) for name in names}
    unit = PersonUnit("p", rows=1, most_groups=4)
    with ENGINES[engine](request)(rows, {"p": "bigint", "g": "varchar", "h": "bigint"}) as source:
        for listed in (200, 0):
            monkeypatch.setattr("tacit.tables.query.keys._LISTED", listed)
            query = PartedQuery(source, unit, by=by)
            left = query.people_by_key([key["a"], key[None]])
            assert left == {key[name]: 3 for name in ("b", "it's", "x" * 70_000)}
            assert query.people_by_key(list(key.values())) == {}
            assert query.tables == []
        assert sum(query.people_by_key().values()) == 3 * 4

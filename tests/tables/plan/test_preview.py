"""A preview as plain JSON values, and read back: nothing of it is lost on the way."""

from __future__ import annotations

import copy
import json
import math
import warnings
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pyarrow as pa
import pytest

import tacit as tc
from support.certificates.certificate_changes import sealed
from support.clinic import make_clinic
from support.tables.engine_tables import ENGINES
from tacit.errors import DataSourceWarning, UsageError
from tacit.expressions.expression import col
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import read_weights
from tacit.tables.privacy_unit import PersonUnit
from tacit.tables.query.integer_query import PartedQuery


def test_a_preview_is_read_back_whole(tmp_path):
    with tc.open(make_clinic(tmp_path), ledger=tc.in_memory) as session:
        computed = session.with_columns(twice=tc.col("cost") * 2)
        asked = computed.agg(n=tc.count(), m=tc.median("cost", method="smooth"))
        for question in (asked, computed.agg(t=tc.mean("twice"))):
            found = question.preview(epsilon=11, rows=[10, 200], confidence="0.95")
            again = Preview.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False)))
            assert again == found
            assert str(again) == str(found)


def test_an_error_without_end_is_told(tmp_path):
    with tc.open(make_clinic(tmp_path), ledger=tc.in_memory) as session:
        found = replace(session.agg(n=tc.count()).preview(epsilon=1), errors={"n": (math.inf,)})
    said = json.dumps(found.to_json(), allow_nan=False)
    assert Preview.from_json(json.loads(said)).errors == {"n": (math.inf,)}


@pytest.mark.parametrize("said", [{}, {"cost": 1}])
def test_what_is_no_preview_is_refused(said):
    with pytest.raises(UsageError, match="not a preview"):
        Preview.from_json(said)


# What a preview notes: groups that cost, and how undeclared columns are read.


TABLE = pa.table({"who": [1, 1, 2], "site": ["a", "b", "a"], "x": [1, 2, 3]})
UNNAMED = "the unit names no groups"


def notes(unit, keys=("a", "b"), budget=None, asked=None, **price):
    session = tc.Session(TABLE, unit, budget or tc.epsilon(9), tc.in_memory, name="t")
    question = session.group_by("site", keys=None if keys is None else list(keys))
    found = question.agg(n=asked or tc.count_people()).preview(**(price or {"epsilon": 1}))
    return [note for note in found.notes if UNNAMED in note], found


def test_groups_that_nobody_named_are_noted_where_they_cost():
    (note,), dear = notes(tc.unit("who", rows=8))
    assert "tc.unit('who', rows=8, groups=1)" in note
    assert note in str(dear)
    none, cheap = notes(tc.unit("who", rows=8, groups=1))
    assert not none
    assert dear.errors["n"][0] >= 8 * cheap.errors["n"][0]
    assert not notes(tc.unit("who", rows=8, groups=8))[0]


def test_where_they_cost_nothing_nothing_is_noted():
    assert not notes(tc.unit("who", rows=1))[0]
    assert not notes(tc.one_row_each)[0]
    assert not notes(tc.unit("who", rows=8), keys=["a"])[0]
    assert not notes(tc.unit("who", rows=8), asked=tc.mean("x", 0, 9))[0]


def test_keys_that_are_found_cost_as_well():
    found, _ = notes(
        tc.unit("who", rows=8),
        keys=None,
        budget=tc.epsilon_delta(9, "1e-5"),
        asked=tc.count(),
        epsilon=1,
        delta="1e-6",
    )
    assert len(found) == 1


TEXT = "x,flag,day,site\n12,true,2024-01-01 00:30+01:00,a\nmany,no,2024-01-02 05:00+01:00,b\n"


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT, encoding="utf-8")
    return tc.Session(path, tc.one_row_each, tc.epsilon(10**5), tc.in_memory)


def test_the_preview_says_how_a_cell_is_read(session):
    question = session.filter(tc.col("day") >= "2024-01-01", tc.col("site") == "a")
    question = question.with_columns(twice=tc.col("x") * 2)
    question = question.group_by("flag", keys=[True, False])
    told = str(question.agg(tc.mean("twice", 0, 9), tc.count()).preview(epsilon=1))
    assert "x is not declared: a cell is read as a number, or true or false as 1 or 0" in told
    assert "day is not declared: a cell is read as a date such as 2024-12-31" in told
    assert "flag is not declared: a cell is read as true or false, and any other cell" in told
    assert "site" not in told
    people = session.agg(tc.mean("x", 0, 9), tc.mean("flag", 0, 1)).preview(epsilon=1)
    assert any(note.startswith("x and flag are not declared") for note in people.notes)
    assert not any("declared" in n for n in session.agg(tc.count()).preview(epsilon=1).notes)


def test_numbers_of_an_undeclared_column_are_warned_of_before_the_charge(session):
    question = session.agg(tc.mean("x", 0, 100), tc.sum("flag", 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataSourceWarning)
        with pytest.raises(DataSourceWarning, match=r"^x and flag were never declared to hold num"):
            question.release(epsilon=1)
    assert session.remaining == tc.epsilon(10**5)
    with pytest.warns(DataSourceWarning, match=r"types=\{'x': 'float'\}") as told:
        answer = question.release(epsilon=10**4)
    assert told[0].filename == __file__
    assert [round(answer.value(name)) for name in ("mean_x", "sum_flag")] == [12, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataSourceWarning)
        question.release(epsilon=10**4)  # a recorded answer is no news
        meant = session.with_columns(y=tc.col("x").cast(float))
        meant.agg(tc.mean("y", 0, 100), tc.count()).release(epsilon=1)
        sites = session.agg(tc.count_distinct("site"))
        sites.filter(tc.col("x").cast(float) > 3, tc.col("day") > "2024-01-01").release(epsilon=1)


def test_a_filter_by_a_number_is_warned_of_as_a_statistic_is(session):
    x = tc.col("x")
    computed = session.with_columns(big=tc.when(x > 3).then("yes").otherwise("no"))
    asked = {
        "filter": session.filter(x > 3).agg(tc.count()),
        "equal": session.filter((tc.col("site") == "a") | (x == 12)).agg(tc.count()),
        "group": computed.group_by("big", keys=["yes"]).agg(tc.count()),
        "plan": session.plan([session.filter(x > 3).agg(tc.count())]),
        "one of": session.filter(x.is_in([3, 12])).agg(tc.count_people()),
    }
    for name, question in asked.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataSourceWarning)
            with pytest.raises(DataSourceWarning, match=r"^x was never declared to hold numbers"):
                question.release(epsilon=1)
        assert session.remaining == tc.epsilon(10**5), name
    keys = session.group_by("x", keys=[12]).agg(n=tc.count())
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataSourceWarning)
        assert round(keys.release(epsilon=10**4).column("n")["value"][0]) == 1  # named by its key


def test_a_declared_column_is_refused_by_its_type_or_read_without_a_warning(tmp_path):
    frame = pd.DataFrame({"word": pd.array(["a", "b"], dtype="string"), "n": [1, 2]})
    session = tc.Session(frame, tc.one_row_each, tc.epsilon(100), tc.in_memory)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataSourceWarning)
        session.agg(tc.mean("n", 0, 9)).release(epsilon=1)
        with pytest.raises(UsageError, match="needs numbers, and 'word' holds text"):
            session.agg(tc.mean("word", 0, 9)).release(epsilon=1)


def test_what_is_made_of_a_person_is_noted_too(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("who,cost\n1,2\n1,3\n2,yes\n", encoding="utf-8")
    unit = tc.unit("who", rows=3)
    session = tc.Session(path, unit, tc.epsilon(10**5), tc.in_memory)
    question = session.per_person(cost=tc.sum("cost", 0, 9)).agg(tc.sum("cost", 0, 9))
    assert "cost is not declared: a cell is read as a number" in str(question.preview(epsilon=1))
    with pytest.warns(DataSourceWarning, match="cost was never declared"):
        assert round(question.release(epsilon=10**4).value("sum_cost")) == 6


def test_times_with_an_offset_are_counted_and_undeclared_ones_are_warned_of(session):
    counter = session.count_over_time(
        "day", start="2023-12-31 22:00", every="1h", periods=32, epsilon=10**4
    )
    said = "day is not declared: a cell is read as a time such as 2024-12-31 18:30"
    assert said in str(counter.preview())
    filtered = session.filter(tc.col("x") > 3)
    over_time = filtered.count_over_time(
        "day", start="2024-01-01", every="1d", periods=2, epsilon=1
    )
    with pytest.warns(DataSourceWarning, match="x was never declared to hold numbers"):
        over_time.update(now="2024-01-03")
    with pytest.warns(DataSourceWarning, match="day was never declared to hold times"):
        answer = counter.update(now="2024-01-03")
    counts = answer.to_pandas().iloc[:, 1].tolist()
    # 00:30 at +01:00 is an hour before midnight in UTC
    assert [place for place, count in enumerate(counts) if round(count) == 1] == [1, 30]


# What a release may spend: amounts, and weights that split a total.


def test_weights_are_whole_numbers_in_lowest_terms_in_the_order_of_the_labels():
    assert read_weights({"b": "3/2", "a": 0.5}, ["a", "b"]) == (("a", 1), ("b", 3))
    assert read_weights({"a": 4, "b": 6}, ["a", "b"]) == (("a", 2), ("b", 3))
    assert read_weights({"a": Fraction(1, 7), "b": Fraction(1, 7)}, ["a", "b"]) == ()
    assert read_weights({"a": 9}, ["a"]) == ()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": 1, "bb": 1}, "no answer 'bb'.*did you mean 'b'"),
        ({"a": 1}, "'b' has none"),
        ({}, "'a', 'b' has none"),
        ({"a": 0, "b": 1}, "weight of 'a' must be above zero"),
        ({"a": 1, "b": -1}, "weight of 'b' must be above zero"),
        ({"a": 1, "b": True}, "weight of 'b' must be a number"),
        ({"a": 1, "b": float("inf")}, "weight of 'b'"),
        ({"a": 1, "b": f"1/{10**60}"}, "too many digits"),
        ({"a": 1, 3: 1}, "no answer 3"),
    ],
)
def test_weights_that_are_none(weights, message):
    with pytest.raises(UsageError, match=message):
        read_weights(weights, ["a", "b"])


@pytest.mark.parametrize(
    ("price", "message"),
    [
        ({"epsilon": {"n": 1}}, "give the total too"),
        ({"rho": {"n": 1}}, r"release\(rho="),
        ({"epsilon": 1, "total": 1}, "a total is split by weights"),
        ({"epsilon": {"n": 1}, "rho": 1, "total": 1}, "not both"),
        ({"epsilon": 1, "rho": {"n": 1}, "total": 1}, "not both"),
        ({"rho": {"n": 1}, "delta": "1e-6", "total": 1}, "not both"),
        ({"epsilon": {"n": 1}, "total": 0}, "epsilon must be above zero"),
        ({"total": 1}, "a total is split by weights"),
        ({}, "say what this release may spend"),
        ({"epsilon": "1e-39"}, "epsilon is below 1e-38"),
        ({"epsilon": f"1/{'9' * 350}"}, "epsilon is below 1e-38"),
        ({"rho": f"1/{'9' * 350}"}, "rho is below 1e-38"),
        ({"epsilon": {"n": 1}, "total": "1e-200"}, "epsilon is below 1e-38"),
    ],
)
def test_prices_that_are_none(price, message):
    budget = tc.rho(1) if "rho" in price else tc.epsilon(1)
    with tc.Session(
        pd.DataFrame({"x": [1]}), unit=tc.one_row_each, budget=budget, name="x"
    ) as session:
        question = session.agg(n=tc.count())
        for ask in (question.preview, question.release, question.is_answered):
            with pytest.raises(UsageError, match=message):
                ask(**price)
        assert session.remaining == session.budget


@pytest.mark.parametrize("price", [{"epsilon": "1e-38"}, {"epsilon": {"n": 1, "s": 1 << 128}}])
def test_the_least_price_is_previewed_and_charged(price):
    least = {"total": "1e-38"} if isinstance(price["epsilon"], dict) else {}
    frame = pd.DataFrame({"x": [1]})
    with tc.Session(frame, unit=tc.one_row_each, budget=tc.epsilon(1), name="x") as session:
        question = session.agg(n=tc.count(), s=tc.sum("x", -(2**31), 2**31))
        assert all(error > 1e30 for error in question.preview(**price, **least).errors["n"])
        assert question.release(**price, **least).cost == tc.epsilon("1e-38")


# Keys that nobody listed: found in one round, or in two.


PRICE = {"epsilon": 2, "delta": "1e-6"}


def unlisted_keys_session(words, people=600, groups=1):
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
    table = unlisted_keys_session(lambda person: [*range(20), 20 + person % 60], people=6000)
    one, two = (
        table.group_by("word", rounds=rounds).agg(n=tc.count_people()).release(**PRICE)
        for rounds in (1, 2)
    )
    assert len(one.keys) < 40
    assert two.keys == [(word,) for word in range(80)]


def test_a_release_in_rounds_is_verified_and_a_forgery_is_not():
    table = unlisted_keys_session(lambda person: range(4), groups=3)
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
    table = unlisted_keys_session(lambda person: [1])
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


def test_a_filter_by_what_is_no_declared_category_is_noted(tmp_path):
    with tc.open(make_clinic(tmp_path), ledger=tc.in_memory) as session:
        noted = [
            session.filter(kept).agg(n=tc.count()).preview(epsilon=1).notes
            for kept in (tc.col("site") == 1, (tc.col("site") != 8) & tc.col("site").is_in([1, 9]))
        ]
    assert noted[0] == ()
    words = "the filter asks for 8, 9, not among the declared categories of 'site'; "
    assert noted[1] == (f"{words}known: '1', '2', '3'",)

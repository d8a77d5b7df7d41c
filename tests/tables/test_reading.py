"""How a file is read is part of a question's identity: another reading never gets its answer."""

from __future__ import annotations

import hashlib
import html
import json
from dataclasses import replace

import pytest

import tacit as tc
from tacit.accounting.ledger_chain import canonical
from tacit.errors import DataSourceWarning
from tacit.expressions.timeline import Timeline
from tacit.tables.open_source import open_source
from tacit.tables.plan.query import Query
from tacit.tables.question import charge_of
from tacit.tables.reading import Reading
from tacit.tables.streaming.periods import CountsOverTime, counts_of_periods

ROWS = "age,site,day\n" + "".join(f"{20 + i % 9},{i % 3},0{1 + i % 9}.02.2024\n" for i in range(30))


@pytest.fixture(name="folder")
def _folder(tmp_path):
    (tmp_path / "visits.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "visits.csv").write_text(ROWS, encoding="utf-8")
    return tmp_path


def opened(folder, path="visits.csv", **options):
    ledger = folder / "visits.ledger"
    return tc.Session(folder / path, tc.one_row_each, tc.epsilon(9), ledger, **options)


def mean(session):
    return session.agg(age=tc.mean("age", 0, 99))


READINGS = {
    "null": {"null": "99"},
    "nulls": {"null": ["99", "98"]},
    "encoding": {"encoding": "latin-1"},
    "quote": {"quote": "'"},
    "multiline": {"multiline": 3},
    "header": {"header": ["age", "site", "day"]},
    "types": {"types": {"age": "integer"}},
    "other types": {"types": {"age": "float"}},
    "path": {"path": "old/visits.csv"},
}


@pytest.mark.parametrize("options", READINGS.values(), ids=READINGS)
def test_another_reading_is_another_question(folder, options):
    with opened(folder) as session:
        mean(session).release(epsilon=1)
    with opened(folder, **options) as session:
        assert not mean(session).release(epsilon=1).replayed
        assert session.spent == tc.epsilon(2)
        again = mean(session).release(epsilon=1)
        assert again.replayed
        assert session.spent == tc.epsilon(2)
        assert again.certificate.verify()
    with opened(folder) as session:
        assert mean(session).release(epsilon=1).replayed


def test_every_two_readings_are_two_questions(folder):
    keys = set()
    for options in [{}, *READINGS.values()]:
        with opened(folder, **options) as session:
            keys.add(charge_of(mean(session), epsilon=1).key)
    assert len(keys) == 1 + len(READINGS)


@pytest.mark.parametrize(
    "formats",
    [
        ("date_format", "date", "%d.%m.%Y", "%m.%d.%Y"),
        ("time_format", "timestamp", "%d.%m.%Y", "%m.%d.%Y"),
    ],
)
def test_the_format_of_a_column_counts_where_the_question_reads_it(folder, formats):
    option, kind, right, wrong = formats
    with opened(folder, types={"day": kind}, **{option: wrong}) as session:
        of_day = session.filter(tc.col("day").dt.day() > 3).agg(n=tc.count())
        first, other = charge_of(of_day, epsilon=1).key, charge_of(mean(session), epsilon=1).key
    with opened(folder, types={"day": kind}, **{option: right}) as session:
        of_day = session.filter(tc.col("day").dt.day() > 3).agg(n=tc.count())
        assert charge_of(of_day, epsilon=1).key != first
        assert charge_of(mean(session), epsilon=1).key == other


def test_the_default_reading_has_the_key_that_it_had(folder):
    for options in ({}, {"delimiter": ","}, {"encoding": "UTF8"}, {"null": ""}, {"header": True}):
        with opened(folder, **options) as session:
            question = mean(session)
            described = question.described()
            assert "reading" not in described
            asked = {"query": described, "request": tc.epsilon(1).to_json(), "tag": None}
            digest = hashlib.sha256(canonical(asked).encode()).hexdigest()
            assert charge_of(question, epsilon=1).key == digest
            assert digest == "2bb1c600ae201b98077af9b143473667cbc4580417105a2bf78519504e572084"


def test_the_certificate_states_the_reading_in_fields_and_in_words(folder):
    with opened(folder, null=["99"], types={"age": "integer", "site": "text"}) as session:
        certificate = mean(session).release(epsilon=1).certificate
    query = json.loads(certificate.to_json())["question"]["query"]
    assert query["reading"] == {"null": ["99"], "columns": {"age": "integer"}}
    assert "'99' is missing" in html.unescape(certificate.to_html())
    assert certificate.verify()


def test_a_certificate_whose_reading_was_changed_does_not_verify(folder):
    with opened(folder, null=["99"]) as session:
        certificate = mean(session).release(epsilon=1).certificate
    for wrong in ({}, {"null": "99"}, {"null": ["98"]}, {"columns": {"nobody": "text"}}, 7):
        body = json.loads(certificate.to_json())
        body["question"]["query"]["reading"] = wrong
        assert not tc.Certificate(body).verify()


def test_free_answers_follow_only_from_the_same_reading(folder):
    edges = [0, 22, 25, 99]
    with opened(folder) as session:
        session.agg(h=tc.histogram("age", edges)).release(epsilon=1)
        asked = session.agg(h=tc.histogram("age", [0, 25, 99]))
        assert asked.free_answer() is not None
    for options in ({"null": "99"}, {"types": {"age": "integer"}}):
        with opened(folder, **options) as session:
            assert session.agg(h=tc.histogram("age", [0, 25, 99])).free_answer() is None
    # the kind of a column that neither reads says nothing
    with opened(folder, types={"site": "text"}) as session:
        assert session.agg(h=tc.histogram("age", [0, 25, 99])).free_answer() is not None


def test_counts_over_time_and_plans_have_the_reading_too(folder):
    def keys(session):
        counter = session.count_over_time("age", start=20, every=1, periods=4, epsilon=1)
        yield counter._charge.key
        people = session.agg(n=tc.count(), age=tc.mean("age", 0, 99))
        yield charge_of(people, epsilon=1).key

    with opened(folder) as session:
        before = list(keys(session))
        session.plan([session.agg(n=tc.count()), mean(session)]).release(epsilon=1)
    with opened(folder, null="99") as session:
        assert not set(before) & set(keys(session))
        spent = session.spent
        session.plan([session.agg(n=tc.count()), mean(session)]).release(epsilon=1)
        assert session.spent != spent


DECLARED = """
name = "clinic"
unit = {{ person = "person", rows = 2 }}
budget = {{ epsilon = 9 }}
[tables.visits]
path = "{visits}"
{more}
[tables.visits.columns]
{columns}
[tables.patients]
path = "patients.csv"
person = "id"
{other}
"""


def declared(folder, visits="visits.csv", more="", columns="", other=""):
    text = DECLARED.format(visits=visits, more=more, columns=columns, other=other)
    (folder / "clinic.toml").write_text(text, encoding="utf-8")
    return tc.open(folder / "clinic.toml")


@pytest.fixture(name="clinic")
def _clinic(tmp_path):
    rows = "person,cost\n" + "".join(f"{i // 2},{i}\n" for i in range(30))
    (tmp_path / "moved").mkdir()
    for path in ("visits.csv", "more.csv", "moved/visits.csv"):
        (tmp_path / path).write_text(rows, encoding="utf-8")
    people = "id,age\n" + "".join(f"{i},{20 + i}\n" for i in range(15))
    (tmp_path / "patients.csv").write_text(people, encoding="utf-8")
    return tmp_path


def of_visits(session):
    return charge_of(session.agg(cost=tc.mean("cost", 0, 99)), epsilon=1).key


def of_both(session):
    return charge_of(session.join("patients").agg(cost=tc.mean("age", 0, 99)), epsilon=1).key


def of_people(session):
    people = session.per_person(cost=tc.sum("cost", 0, 99))
    return charge_of(people.agg(cost=tc.mean("cost", 0, 99)), epsilon=1).key


def test_a_declared_data_set_has_its_readings_and_paths(clinic):
    variants = [
        {},
        {"more": 'null = ["99"]'},
        {"columns": 'cost = { kind = "integer" }'},
        {"visits": "more.csv"},
        {"visits": "moved/visits.csv"},
    ]
    for key in (of_visits, of_people):
        found = set()
        for variant in variants:
            with declared(clinic, **variant) as session:
                found.add(key(session))
        assert len(found) == len(variants)


def test_a_join_has_the_reading_of_the_table_that_is_joined(clinic):
    found, alone = set(), set()
    for other in ("", 'null = ["99"]', '[tables.patients.columns]\nage = { kind = "integer" }'):
        with declared(clinic, other=other) as session:
            found.add(of_both(session))
            alone.add(of_visits(session))
    assert len(found) == 3
    assert len(alone) == 1


def test_a_join_with_a_reading_releases_and_verifies(clinic):
    with declared(clinic, other='null = ["99"]', more='encoding = "latin-1"') as session:
        answer = session.join("patients").agg(age=tc.mean("age", 0, 99)).release(epsilon=1)
        assert answer.certificate.verify()
        people = session.per_person(cost=tc.sum("cost", 0, 99))
        assert people.agg(cost=tc.mean("cost", 0, 99)).release(epsilon=1).certificate.verify()


def test_a_question_described_by_a_program_takes_the_reading_of_the_data_set(folder):
    with opened(folder, null="99") as session:
        said = mean(session).described()
        without = {name: value for name, value in said.items() if name != "reading"}
        for one in (said, without):
            assert (
                charge_of(session.described(one), epsilon=1).key
                == charge_of(mean(session), epsilon=1).key
            )


def test_a_data_set_that_moves_with_its_ledger_is_the_same(folder):
    with opened(folder) as session:
        here = charge_of(mean(session), epsilon=1).key
    there = folder / "elsewhere"
    there.mkdir()
    (there / "visits.csv").write_text(ROWS, encoding="utf-8")
    with opened(there) as session:
        assert charge_of(mean(session), epsilon=1).key == here


def test_a_file_beyond_the_folder_of_the_ledger_is_not_named_by_its_path(folder):
    secret = folder / "secret-project"
    secret.mkdir()
    (secret / "visits.csv").write_text(ROWS, encoding="utf-8")
    place = folder / "ledgers" / "visits.ledger"
    place.parent.mkdir()
    with tc.Session(secret / "visits.csv", tc.one_row_each, tc.epsilon(9), place) as session:
        reading = mean(session).described()["reading"]
    assert set(reading) == {"path"}
    assert "secret" not in reading["path"]
    assert reading["path"].startswith("visits.csv")


def test_a_reading_reads_back():
    reading = Reading({"null": ["99"]}, {"age": "integer"})
    assert Reading.read(reading.describe({"age", "site"})) == reading
    assert reading.describe(set()) == {"null": ["99"]}


def as_of_format_three(monkeypatch):
    """Have ledgers and questions written as before readings were part of a question."""
    monkeypatch.setattr("tacit.accounting.ledger_chain.FORMAT", 3)
    monkeypatch.setattr("tacit.tables.reading.Reading.describe", lambda self, used: {})


def test_an_answer_whose_reading_was_not_recorded_is_replayed_with_a_warning(folder, monkeypatch):
    """Before, the answer of another null text came back without a word."""
    with monkeypatch.context() as then, opened(folder) as session:
        as_of_format_three(then)
        first = mean(session).release(epsilon=1)
    with opened(folder, null="22") as session:
        with pytest.warns(DataSourceWarning, match="did not record how the table is read"):
            again = mean(session).release(epsilon=1)
        assert again.replayed
        assert again.to_dict() == first.to_dict()
        with pytest.warns(DataSourceWarning, match="ask with a tag"):
            assert mean(session).cost(epsilon=1).is_nothing
        assert session.spent == tc.epsilon(1)
        mended = mean(session).release(epsilon=1, tag="22 is missing")
        assert not mended.replayed
        assert session.spent == tc.epsilon(2)
        assert not mean(session).release(epsilon=2).replayed  # another price, never charged before
    with opened(folder) as session:
        assert mean(session).release(epsilon=1).replayed  # the default reading, as then


def test_a_count_over_time_whose_reading_was_not_recorded_warns(folder, monkeypatch):
    (folder / "hours.csv").write_text("hour\n" + "".join(f"{i % 5}\n" for i in range(30)))

    def counted(session):
        return session.count_over_time("hour", start=0, every=1, periods=5, epsilon=1)

    types = {"types": {"hour": "integer"}}
    with monkeypatch.context() as then, opened(folder, "hours.csv", **types) as session:
        as_of_format_three(then)
        counted(session).update(now=2)
    with opened(folder, "hours.csv", null="3", **types) as session:
        with pytest.warns(DataSourceWarning, match="did not record how the table is read"):
            assert len(counted(session).update(now=4)) == 4
        assert session.spent == tc.epsilon(1)


FORMATS = [("date", "date_format"), ("timestamp", "time_format")]


def over_days(session, filtered=False):
    rows = session.filter(tc.col("day").dt.day() > 0) if filtered else session
    return rows.count_over_time("day", start="2024-02-01", every="1d", periods=9, epsilon=1)


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize(("kind", "option"), FORMATS)
def test_a_count_over_time_notices_that_the_format_of_its_times_was_corrected(
    folder, kind, option, filtered
):
    """Before, rows that moved to another period were counted once more by the old count."""
    right, wrong = ({option: text, "types": {"day": kind}} for text in ("%d.%m.%Y", "%m.%d.%Y"))
    keys = set()
    for options in ({}, {"types": {"day": kind}}, wrong, right):
        with opened(folder, **options) as session:
            counter = over_days(session, filtered)
            keys.add(counter._charge.key)
            if options is wrong:
                counter.update("2024-02-05")
            elif options is right:
                assert not counter.begun
                answer = counter.update("2024-02-11")
                assert session.spent == tc.epsilon(2)
                assert answer.certificate.verify(session.ledger)
                assert "%d.%m.%Y" in answer.certificate.to_html()
                assert over_days(session, filtered).update("2024-02-11").replayed
                body = json.loads(answer.certificate.to_json())
                body["question"]["query"]["reading"]["columns"]["day"] = "text"
                assert not tc.Certificate(body).verify()
    # without a format, dates are read as those that no one declared; a filter described the kind
    alike = kind == "date" and not filtered
    assert len(keys) == 4 - alike
    with opened(folder) as session:  # as these counts had it before
        assert over_days(session)._charge.key == NO_FORMAT


NO_FORMAT = "1ede9a0a214ff4f369e818fdeae1948679d96ff22ff58a3f763069a1833152e9"
ODD = (
    *("2024-02-01", " 2024-02-02 ", "2024-02-02T01:00:00+05:30", "2024-02-03 23:30:00-01:00"),
    *("2024-02-03 08:30", "2024-02-04Z", "03.02.2024", "2024-02-30", "20240201", "x", ""),
    *("2024-02-03 24:00", "2024-02-05 00:00:00.25", "0", "1e0", "12.0", "2024-02-06 UTC"),
)
KINDS = {
    "date": ("2024-02-01", "1d"),
    "timestamp": ("2024-02-01 00:00", "1h"),
    "integer": (0, 1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_declared_kind_without_a_format_reads_times_as_no_kind_does(tmp_path, kind):
    """So that a count over time keeps its key: where it is read otherwise, its periods say so."""
    (tmp_path / "odd.csv").write_text("t\n" + "".join(f'"{cell}"\n' for cell in ODD))
    start, every = KINDS[kind]
    found = []
    for types in ({}, {"t": kind}):
        with open_source(tmp_path / "odd.csv", types=types) as source:
            line = Timeline.of(source.schema, "t", start, every, 150)
            if line.reads == "days" and kind == "timestamp":
                line = replace(line, reads="seconds", start=86400 * line.start)
            step = CountsOverTime(**line.to_json(), branching=2, rows=1, norm="L1")
            query = Query(source.schema, tc.one_row_each)
            found.append(list(counts_of_periods(source, query, step, 0, 150)))
    assert found[0] == found[1]
    assert sum(found[0]) >= 2


def test_a_count_over_time_from_before_goes_on_with_a_warning(folder, monkeypatch):
    options = {"types": {"day": "date"}, "date_format": "%d.%m.%Y"}
    with monkeypatch.context() as then, opened(folder, **options) as session:
        then.setattr("tacit.accounting.ledger_chain.FORMAT", 4)
        then.setattr("tacit.tables.reading.Reading.has_format", lambda self, column: False)
        first = over_days(session).update("2024-02-03")
        assert "reading" not in first.certificate.body["question"]["query"]
    with opened(folder, **options) as session:
        with pytest.warns(DataSourceWarning, match="did not record how the table is read"):
            counter = over_days(session)
        assert counter.begun
        again = counter.update("2024-02-06")
        assert session.spent == tc.epsilon(1)
        assert again.column("count")["value"][:2] == first.column("count")["value"]
        assert again.certificate.verify(session.ledger)
        assert first.certificate.verify()


def test_a_table_that_was_opened_before_has_the_same_keys(folder):
    """As the command line opens it, which shares its releases with Python."""
    for path in ("visits.csv", "old/visits.csv"):
        with opened(folder, path, null="99") as session:
            key = charge_of(mean(session), epsilon=1).key
        with (
            open_source(folder / path, null="99") as source,
            tc.Session(source, tc.one_row_each, tc.epsilon(9), folder / "visits.ledger") as session,
        ):
            assert charge_of(mean(session), epsilon=1).key == key


def test_columns_named_in_another_order_are_another_question_of_a_declared_data_set(tmp_path):
    (tmp_path / "v.csv").write_text("1,50\n2,60\n", encoding="utf-8")
    for header, truth in ((["x", "y"], 3), (["y", "x"], 110)):
        (tmp_path / "v.toml").write_text(
            f'name = "v"\nunit = "row"\nbudget = {{ epsilon = 5000 }}\n[tables.v]\npath = "v.csv"\n'
            f'header = {header}\n[tables.v.columns]\nx = {{ kind = "float", bounds = [0, 100] }}\n'
        )
        with tc.open(tmp_path / "v.toml") as session, pytest.warns(tc.errors.WeakGuaranteeWarning):
            answer = session.agg(x=tc.sum("x")).release(epsilon=900)
        assert abs(answer.value("x") - truth) < 9
        assert not answer.replayed
        assert answer.certificate.verify()


@pytest.mark.parametrize("null", ["99", " 99"])
def test_a_null_text_is_found_with_spaces_around_it(tmp_path, null):
    # R's write_csv2 pads numbers; a quoted cell keeps its spaces
    (tmp_path / "padded.csv").write_text('x,y\n 99,1\n99 ,1\n"  99",1\n99,1\n199,1\n9 9,1\n')
    with tc.Session(
        tmp_path / "padded.csv", tc.one_row_each, tc.epsilon(10**9), ledger=tc.in_memory, null=null
    ) as session:
        missing = session.filter(tc.col("x").is_null()).agg(n=tc.count())
        assert missing.release(epsilon=10**6).value("n") == 4

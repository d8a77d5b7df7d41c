"""A declaration holds public facts, each read with care; what is open is refused."""

import datetime
from fractions import Fraction
from pathlib import Path

import pytest

import tacit as tc
from tacit.errors import BudgetError, DataSourceError, LedgerError, UsageError
from tacit.report.issued import digest
from tacit.tables.dataset.table import OPEN

VISITS = {"path": "visits.csv", "columns": {"cost": {"kind": "float", "bounds": [0, "99.5"]}}}
UNIT = {"person": "person", "rows": 5, "groups": 2}


def declared(**changed):
    return tc.Dataset(
        **{"name": "visits", "unit": UNIT, "budget": {"epsilon": 1}, "tables": {"visits": VISITS}}
        | changed
    )


def test_a_question_mark_may_stand_for_a_missing_value():
    columns = {"null": {"kind": "?"}}
    said = {"path": "v.csv", "null": "?", "quote": "?", "columns": columns}
    assert declared(tables={"visits": said}).open_fields() == ["tables.visits.columns.null.kind"]


def test_numbers_are_exact_and_the_first_protected_table_is_the_default():
    sites = {"path": "sites.csv", "public": True, "key": "site"}
    found = declared(tables={"sites": sites, "visits": VISITS})
    assert found.table() == "visits"
    assert found.protected == ["visits"]
    assert found.tables["visits"].columns["cost"].bounds == (0, Fraction(199, 2))
    assert found.unit_of("visits").describe() == {"column": "person", "rows": 5, "groups": 2}


def test_a_table_may_name_its_person_by_another_column():
    patients = {"path": "patients.csv", "person": "id"}
    found = declared(tables={"visits": VISITS, "patients": patients})
    assert found.unit_of("patients").describe() == {"column": "id", "rows": 5, "groups": 2}


def test_a_file_says_what_it_said(tmp_path):
    found = declared(purpose='to "plan" beds\n', owner="Ann", ledger="here/visits.ledger")
    path = tmp_path / "visits.toml"
    found.save(path)
    again = tc.Dataset.load(path)
    assert again.to_fields() == found.to_fields(Path.cwd()) or again.purpose == found.purpose
    assert again.tables["visits"].columns == found.tables["visits"].columns
    assert again.unit == found.unit
    assert again.budget == {"epsilon": 1}


def test_a_saved_declaration_names_the_same_files(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "visits.csv").write_text("person,cost\n1,2\n")
    found = declared(folder=tmp_path / "in")
    found.save(tmp_path / "visits.toml")
    tc.Dataset.load(tmp_path / "visits.toml").check()


def test_nothing_is_overwritten(tmp_path):
    path = tmp_path / "visits.toml"
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists"):
        declared().save(path)
    assert path.read_text() == "mine"


def test_open_questions_are_kept_and_refused():
    found = declared(
        unit={"person": "?", "rows": "?"},
        budget={"epsilon": "?"},
        owner="?",
        tables={"visits": {"path": "v.csv", "columns": {"cost": {"kind": "?", "bounds": "?"}}}},
    )
    assert found.owner is OPEN
    assert found.open_fields() == [
        "unit.person",
        "unit.rows",
        "budget.epsilon",
        "owner",
        "tables.visits.columns.cost.kind",
        "tables.visits.columns.cost.bounds",
    ]
    for refuse in (found.check, lambda: tc.open(found)):
        with pytest.raises(UsageError, match=r"decide unit\.person, unit\.rows"):
            refuse()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"name": ""}, "name"),
        ({"name": "../visits"}, "letters"),
        ({"unit": "person"}, "'row'"),
        ({"unit": {"person": "p"}}, "rows"),
        ({"unit": {"person": "p", "rows": 0}}, "at least 1"),
        ({"unit": {"person": "p", "rows": 2, "row": 2}}, "did you mean 'rows'"),
        ({"unit": None}, "'row'"),
        ({"budget": {"epsilon": 1, "rho": 1}}, "budget is"),
        ({"budget": {"delta": "1e-6"}}, "budget is"),
        ({"budget": {"epsilon": "much"}}, "much"),
        ({"budget": 1}, "fields"),
        ({"ledger": 1}, "text"),
        ({"tables": {}}, "not public"),
        ({"tables": {"visits": {"columns": {}}}}, "where it is"),
        ({"tables": {"visits": {"path": "a", "url": "b"}}}, "one of the three"),
        ({"tables": {"visits": {"url": "postgresql://h/d"}}}, "table = 'visits'"),
        ({"tables": {"visits": {"path": "a", "colums": {}}}}, "did you mean 'columns'"),
        ({"tables": {"visits": {"path": "a", "delimiter": ",,"}}}, "delimiter"),
        ({"tables": {"visits": {"path": "a", "public": "yes"}}}, "true or false"),
        ({"tables": {"v": VISITS, "s": {"path": "a", "public": True, "person": "p"}}}, "person"),
        ({"tables": {"visits": {"path": "a", "key": "site"}}}, "public = true"),
        ({"tables": {"visits": {"path": "a", "public": True, "key": 5}}}, "name of a column"),
        ({"unit": "row", "tables": {"v": {"path": "a", "person": "p"}}}, "unit is a row"),
        ({"tables": {"visits": {"path": "a", "size": 0}}}, "at least 1"),
        ({"ledger": "a\0b"}, "NUL"),
        ({"tables": {"": VISITS}}, "letters"),
        ({"tables": {"a\nb": VISITS}}, "letters"),
        (
            {"tables": {"v": {"path": "a"}, "s": {"path": "a", "public": True}}},
            "are the same table",
        ),
        ({"tables": {"v": VISITS, "s": {"path": "a", "public": True, "size": 9}}}, "has a size"),
        ({"tables": {"visits": VISITS, "more": "more.csv"}}, "table of fields"),
    ],
)
def test_what_contradicts_itself_is_refused(changed, says):
    with pytest.raises(UsageError, match=says):
        declared(**changed)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({"kind": "number"}, "kind"),
        ({"bounds": [0]}, "two numbers"),
        ({"bounds": [1, 1]}, "below"),
        ({"bounds": [True, 2]}, "two numbers"),
        ({"bounds": ["low", 2]}, "bounds"),
        ({"kind": "text", "bounds": [0, 1]}, "only numbers"),
        ({"keys": []}, "categories"),
        ({"keys": [1.5]}, "whole numbers"),
        ({"keys": ["a", "a"]}, "each once"),
        ({"bound": [0, 1]}, "did you mean 'bounds'"),
        ({"kind": "integer", "keys": ["1"]}, "holds whole numbers, and the key"),
        ({"kind": "integer", "keys": [True]}, "holds whole numbers, and the key"),
        ({"kind": "text", "keys": ["a", 1]}, "holds text, and the key"),
        ({"kind": "boolean", "keys": [1]}, "holds true or false, and the key"),
        ({"kind": "date", "keys": ["2024-02-30"]}, "not a date"),
        ({"kind": "float", "keys": ["a"]}, "is not a whole number up to"),
        ({"bounds": [0, 9], "keys": [1, 10]}, "the key 10 and the bounds"),
        ({"keys": [datetime.datetime(2024, 1, 1)]}, "days"),
        ({"meaning": "a\nb"}, "one line"),
        ({"unit": "\x1b[2J"}, "one line"),
        ({"meaning": "m" * 301}, "at most 300"),
        ("integer", "table of fields"),
    ],
)
def test_a_column_that_fits_nothing_is_refused(column, says):
    with pytest.raises(UsageError, match=says):
        declared(tables={"visits": {"path": "a", "columns": {"cost": column}}})


def test_days_as_keys_are_what_a_question_would_give():
    column = {"kind": "date", "keys": [datetime.date(2024, 2, 28), "2024-02-29"]}
    found = declared(tables={"visits": {"path": "a", "columns": {"day": column}}})
    assert found.tables["visits"].columns["day"].keys == ("2024-02-28", "2024-02-29")


def test_a_table_that_is_not_protected_is_not_asked():
    found = declared(tables={"visits": VISITS, "sites": {"path": "s.csv", "public": True}})
    with pytest.raises(UsageError, match="public table"):
        found.table("sites")
    with pytest.raises(UsageError, match="did you mean 'visits'"):
        found.table("visit")


# Questions to a declared data set: what they leave out is declared, and one ledger pays.


DECLARED = """
name = "visits"
unit = { person = "person", rows = 5, groups = 1 }
budget = { epsilon = 1 }
[tables.visits]
path = "visits.csv"
[tables.visits.columns]
person = { kind = "integer" }
site = { kind = "integer", keys = [1, 2, 3] }
cost = { kind = "float", bounds = [0, 1000], unit = "euro" }
[tables.patients]
path = "patients.csv"
person = "id"
columns.age = { kind = "integer", bounds = [0, 120] }
[tables.sites]
path = "sites.csv"
public = true
key = "site"
"""


@pytest.fixture
def clinic(tmp_path):
    (tmp_path / "visits.csv").write_text("person,site,cost\n1,1,20\n2,2,35\n2,3,7\n")
    (tmp_path / "patients.csv").write_text("id,age\n1,20\n2,35\n")
    (tmp_path / "sites.csv").write_text("site,region\n1,north\n2,south\n")
    (tmp_path / "visits.toml").write_text(DECLARED)
    return tmp_path


def test_bounds_and_keys_are_those_declared(clinic):
    with tc.open(clinic / "visits.toml") as session:
        said = session.group_by("site").agg(n=tc.count(), cost=tc.mean("cost"))
        written = session.group_by("site", keys=[1, 2, 3]).agg(
            n=tc.count(), cost=tc.mean("cost", 0, 1000)
        )
        first, again = said.release(epsilon="1/2"), written.release(epsilon="1/2")
        assert again.replayed
        assert first.to_dict() == again.to_dict()
        assert first.keys == [(1,), (2,), (3,)]
        assert session.remaining == tc.epsilon("1/2")


def test_what_a_question_says_goes_before(clinic):
    with tc.open(clinic / "visits.toml") as session:
        answer = session.agg(cost=tc.mean("cost", 0, 50)).release(epsilon="1/4")
        assert 0 <= answer.value("cost") <= 50
        asked = answer.certificate.body["question"]["query"]["aggregates"]
        assert asked == [["cost", {"kind": "mean", "column": "cost", "lower": "0", "upper": "50"}]]


def test_no_bounds_anywhere_names_both_remedies(clinic):
    with tc.open(clinic / "visits.toml") as session:
        with pytest.raises(UsageError, match=r"tc\.mean\('site', 0, 100\).*declare them"):
            session.agg(x=tc.mean("site"))
        with pytest.raises(UsageError, match=r"tc\.median\('person', 0, 100\)"):
            session.agg(x=tc.median("person"))
        assert session.history() == []


def test_one_ledger_pays_for_all_tables_and_tells_them_apart(clinic):
    with tc.open(clinic / "visits.toml") as session:
        patients = session.table("patients")
        one = session.agg(n=tc.count()).release(epsilon="1/4")
        other = patients.agg(n=tc.count()).release(epsilon="1/4")
        assert not other.replayed
        assert session.remaining == patients.remaining == tc.epsilon("1/2")
        with pytest.raises(BudgetError):
            patients.agg(age=tc.mean("age")).release(epsilon="3/4")
        for answer in (one, other):
            report = answer.certificate.verify(session.ledger)
            assert report, report.failures
        assert other.certificate.body["question"]["query"]["unit"]["column"] == "id"
    assert (clinic / "visits.ledger").exists()
    with tc.open(clinic / "visits.toml", table="patients") as patients:
        assert patients.agg(n=tc.count()).release(epsilon="1/4").replayed


def test_a_certificate_that_is_moved_to_another_table_is_refused(clinic):
    with tc.open(clinic / "visits.toml") as session:
        body = session.agg(n=tc.count()).release(epsilon="1/4").certificate.body
    for table, person in (("patients", "id"), ("patients", "person"), ("elsewhere", "person")):
        changed = {**body, "question": {**body["question"]}}
        query = {**body["question"]["query"], "table": table}
        query["unit"] = {**query["unit"], "column": person}
        changed["question"]["query"] = query
        assert not tc.Certificate(changed).verify()


def test_the_page_of_a_certificate_names_the_table_and_all_people(clinic):
    pytest.importorskip("jinja2", reason="pip install 'tacit-dp[page]'")
    with tc.open(clinic / "visits.toml", table="patients", ledger=tc.in_memory) as session:
        page = session.agg(age=tc.mean("age")).release(epsilon=1).certificate.to_html()
    assert "of the table patients" in page
    assert "visits by person and patients by id" in page


def test_in_memory_leaves_no_file(clinic):
    with tc.open(clinic / "visits.toml", ledger=tc.in_memory) as session:
        session.agg(n=tc.count()).release(epsilon=1)
    assert not (clinic / "visits.ledger").exists()


def test_other_limits_than_the_ledger_counts_in_are_refused(clinic):
    tc.open(clinic / "visits.toml").close()
    for old, new in (("rows = 5", "rows = 6"), ("epsilon = 1", "epsilon = 2")):
        (clinic / "other.toml").write_text(DECLARED.replace(old, new))
        with pytest.raises(LedgerError):
            tc.open(clinic / "other.toml")


def test_a_table_more_is_another_data_set(clinic):
    tc.open(clinic / "visits.toml").close()
    alone = DECLARED[: DECLARED.index("[tables.patients]")]
    (clinic / "other.toml").write_text(alone)
    with pytest.raises(LedgerError, match="belongs to the data set"):
        tc.open(clinic / "other.toml")


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("old", "new", "error", "says"),
    [
        ("cost = {", "costs = {", UsageError, "did you mean 'cost'"),
        ('person = "person"', 'person = "persons"', UsageError, "did you mean 'person'"),
        ('person = "id"', 'person = "ids"', UsageError, "did you mean 'id'"),
        ('key = "site"', 'key = "sites"', UsageError, "did you mean 'site'"),
        ('path = "visits.csv"', 'path = "gone.csv"', DataSourceError, "gone"),
        ("[0, 1000]", '"?"', UsageError, "not finished"),
        ("budget = { epsilon = 1 }", "", UsageError, "budget"),
    ],
)
def test_a_declaration_that_does_not_fit_opens_nothing(clinic, old, new, error, says):
    (clinic / "visits.toml").write_text(DECLARED.replace(old, new))
    with pytest.raises(error, match=says):
        _checked_and_opened(clinic / "visits.toml")
    assert not (clinic / "visits.ledger").exists()


def _checked_and_opened(path):
    tc.Dataset.load(path).check()
    tc.open(path)


def test_declared_kinds_are_those_of_the_file(clinic):
    pyarrow = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install pyarrow")
    table = pyarrow.table({"person": [1, 2], "site": [1, 2], "cost": ["a", "b"]})
    parquet.write_table(table, clinic / "visits.parquet")
    (clinic / "visits.toml").write_text(DECLARED.replace("visits.csv", "visits.parquet"))
    with pytest.raises(UsageError, match="'cost' of 'visits' is declared float, and holds text"):
        tc.open(clinic / "visits.toml")
    assert not (clinic / "visits.ledger").exists()


def test_a_table_that_is_not_there(clinic):
    with tc.open(clinic / "visits.toml") as session:
        with pytest.raises(UsageError, match="did you mean 'patients'"):
            session.table("patient")
        with pytest.raises(UsageError):
            session.table("sites")


def test_a_derived_column_has_the_bounds_that_follow(clinic):
    with tc.open(clinic / "visits.toml") as session:
        derived = session.with_columns(double=tc.col("cost") * 2)
        derived = derived.with_columns(half=(tc.col("double") - 100) / 4)
        said = derived.agg(double=tc.mean("double"), half=tc.sum("half"))
        written = derived.agg(double=tc.mean("double", 0, 2000), half=tc.sum("half", -25, 475))
        shown = said.preview(epsilon="1/2")
        assert shown.bounds == {"double": (0, 2000), "half": (-25, 475)}
        assert "double: clamped to [0, 2000]" in str(shown)
        first, again = said.release(epsilon="1/2"), written.release(epsilon="1/2")
        assert again.replayed
        assert first.to_dict() == again.to_dict()
        report = first.certificate.verify(session.ledger)
        assert report, report.failures
        assert session.agg(cost=tc.mean("cost")).preview(epsilon="1/2").bounds == {}


def test_a_constant_column_has_bounds_that_rise(clinic):
    with tc.open(clinic / "visits.toml") as session:
        for value, ends in ((3, (0, 3)), (-3, (-3, 0)), (0, (0, 1))):
            asked = session.with_columns(c=tc.col("cost").clip(value, value))
            assert asked.agg(c=tc.mean("c")).preview(epsilon=1).bounds == {"c": ends}


def test_a_derived_column_without_bounds_names_the_remedies(clinic):
    with tc.open(clinic / "visits.toml") as session:
        asked = session.with_columns(x=tc.col("cost") + tc.col("site"))
        remedies = r"none follow for \(cost \+ site\).*clip\(0, 100\).*declare bounds of 'site'"
        with pytest.raises(UsageError, match=remedies):
            asked.agg(x=tc.mean("x"))
        asked = session.with_columns(x=1 / tc.col("cost"))
        with pytest.raises(UsageError, match=r"clip\(0, 100\)\. They"):
            asked.agg(x=tc.mean("x"))
        assert session.history() == []


def test_a_zone_belongs_to_the_question(clinic):
    said = (clinic / "visits.toml").read_text()
    zone = 'day = { kind = "timestamp", zone = "Europe/Berlin" }\n'
    (clinic / "zones.toml").write_text(said.replace("cost = {", f"{zone}cost = {{"))
    with pytest.raises(
        UsageError, match=r"'day'.*a zone: times are read in UTC.*convert_time_zone"
    ):
        tc.open(clinic / "zones.toml")


# What a data set declares is told: meaning and unit, and where a question goes beyond it.


TOLD_DECLARED = """
name = "visits"
unit = { person = "person", rows = 5 }
budget = { epsilon = 100, delta = "0.1" }
[tables.visits]
path = "visits.csv"
size = 5000
[tables.visits.columns]
site = { kind = "integer", keys = [1, 2, 3], meaning = "where it was" }
cost = { kind = "float", bounds = [0, 1000], unit = "euro", meaning = "of a visit" }
days = { kind = "integer", bounds = [0, 9] }
"""
COST = {"meaning": "of a visit", "unit": "euro"}


@pytest.fixture
def session(tmp_path):
    (tmp_path / "visits.csv").write_text("person,site,cost,days\n1,1,20,1\n2,2,35,2\n")
    (tmp_path / "visits.toml").write_text(TOLD_DECLARED)
    with tc.open(tmp_path / "visits.toml") as opened:
        yield opened


def test_meaning_and_unit_are_shown(session):
    question = session.group_by("site").agg(cost=tc.mean("cost"), n=tc.count())
    shown = str(question.preview(epsilon=1))
    assert "cost: of a visit, in euro" in shown
    assert "site: where it was" in shown
    assert "beyond the declared" not in shown
    answer = question.release(epsilon=1)
    assert answer.about == {"cost": "cost: of a visit, in euro"}
    told = {"cost": COST, "site": {"meaning": "where it was"}}
    assert answer.certificate.body["declared"] == told
    assert "declared: cost: of a visit, in euro; site: where it was" in str(answer.certificate)


def test_the_figure_and_the_page_show_them(session):
    pytest.importorskip("matplotlib", reason="pip install 'tacit-dp[plot]'")
    pytest.importorskip("jinja2", reason="pip install 'tacit-dp[page]'")
    answer = session.agg(cost=tc.mean("cost"), n=tc.count()).release(epsilon=1)
    labels = [place.get_xlabel() for place in answer.plot().axes]
    assert labels == ["cost: of a visit, in euro", ""]
    page = answer.certificate.to_html()
    assert "cost: of a visit, in euro" in page
    first = page.index("protects: each person (column person), at most 5 rows")
    assert first < page.index("What was released")


def test_each_column_of_an_answer_about_several_is_described(session):
    wide = {"days": (0, 9), "cost": (0, 2000)}
    question = session.agg(r=tc.correlation("days", "cost", bounds=wide))
    beyond = "cost is clamped to [0, 2000], beyond the declared [0, 1000]"
    assert beyond in str(question.preview(epsilon=1))
    answer = question.release(epsilon=1)
    assert answer.about == {"r": "cost: of a visit, in euro"}
    assert answer.columns_of == {"r": ["days", "cost"]}
    assert beyond in str(answer.certificate)


def test_what_goes_beyond_is_told_and_what_is_narrower_is_not(session):
    wide = session.group_by("site", keys=[1, 9]).agg(cost=tc.mean("cost", 0, 2000))
    shown = str(wide.preview(epsilon=1))
    assert "cost is clamped to [0, 2000], beyond the declared [0, 1000]" in shown
    assert "site: 9 is not among the declared categories" in shown
    certificate = wide.release(epsilon=1).certificate
    assert certificate.body["declared"]["cost"] == {**COST, "bounds": ["0", "1000"]}
    assert certificate.body["declared"]["site"]["keys_beyond"] == [9]
    assert "beyond the declared [0, 1000]" in str(certificate)
    report = certificate.verify(session.ledger)
    assert report, report.failures
    narrow = session.group_by("site", keys=[2]).agg(cost=tc.mean("cost", 5, 1000))
    assert "beyond the declared" not in str(narrow.preview(epsilon=1))
    assert narrow.release(epsilon=1).certificate.body["declared"]["cost"] == COST


def test_a_question_about_columns_of_which_nothing_is_told_says_no_more(session):
    answer = session.agg(n=tc.count(), days=tc.mean("days")).release(epsilon=1)
    assert "declared" not in answer.certificate.body
    assert answer.about == {}
    assert answer.certificate.verify(session.ledger)


def test_what_is_declared_in_a_changed_certificate_is_found(session):
    certificate = session.agg(cost=tc.mean("cost", 0, 2000)).release(epsilon=1).certificate
    assert any("declares of the columns" in text for text in certificate.verify().unchecked)
    for declared in ({"cost": COST}, {"cost": {**COST, "unit": "dollar"}}, {}):
        changed = {**certificate.body, "declared": declared}
        resealed = tc.Certificate({**changed, "digest": digest(changed)})
        assert not resealed.verify(session.ledger)
    for declared in ({}, {"cost": {}}, {"cost": {"unit": 5}}, {"cost": {"secret": "x"}}, []):
        changed = {**certificate.body, "declared": declared}
        assert not tc.Certificate({**changed, "digest": digest(changed)}).verify()


def test_a_certificate_that_is_not_whole_has_a_text_all_the_same(session):
    body = session.agg(n=tc.count()).release(epsilon=1).certificate.body
    assert str(tc.Certificate(body)).startswith("protects: each person (column person)")
    for part in body:
        str(tc.Certificate({name: body[name] for name in body if name != part}))
    assert str(tc.Certificate({})) == "<Certificate of a release of 'nothing'>"


def test_keys_are_held_against_the_kind_of_the_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install pyarrow")
    columns = {"person": [1], "site": ["a"], "cost": [1.5], "days": [1]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "visits.parquet")
    text = TOLD_DECLARED.replace("visits.csv", "visits.parquet").replace('kind = "integer", ', "")
    (tmp_path / "visits.toml").write_text(text)
    for refuse in (tc.open, lambda path: tc.Dataset.load(path).check()):
        with pytest.raises(UsageError, match="holds text, and the key"):
            refuse(tmp_path / "visits.toml")
    assert not (tmp_path / "visits.ledger").exists()


def test_limits_that_no_longer_fit_the_ledger_name_the_declaration(session, tmp_path):
    session.agg(n=tc.count()).release(epsilon=1)
    (tmp_path / "visits.toml").write_text(TOLD_DECLARED.replace("rows = 5", "rows = 6"))
    with pytest.raises(LedgerError, match=r"rows 5.*rows 6.*declare these as they were"):
        tc.open(tmp_path / "visits.toml")
    (tmp_path / "visits.toml").write_text(TOLD_DECLARED)
    with tc.open(tmp_path / "visits.toml") as again:
        assert again.remaining.amount == 99

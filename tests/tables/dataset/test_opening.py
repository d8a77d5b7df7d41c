"""Questions to a declared data set: what they leave out is declared, and one ledger pays."""

import pytest

import tacit as tc
from tacit.errors import BudgetError, DataSourceError, LedgerError, UsageError

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
        derived = session.with_column("double", tc.col("cost") * 2)
        derived = derived.with_column("half", (tc.col("double") - 100) / 4)
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
            asked = session.with_column("c", tc.col("cost").clamp(value, value))
            assert asked.agg(c=tc.mean("c")).preview(epsilon=1).bounds == {"c": ends}


def test_a_derived_column_without_bounds_names_the_remedies(clinic):
    with tc.open(clinic / "visits.toml") as session:
        asked = session.with_column("x", tc.col("cost") + tc.col("site"))
        remedies = r"none follow for \(cost \+ site\).*clamp\(0, 100\).*declare bounds of 'site'"
        with pytest.raises(UsageError, match=remedies):
            asked.agg(x=tc.mean("x"))
        asked = session.with_column("x", 1 / tc.col("cost"))
        with pytest.raises(UsageError, match=r"clamp\(0, 100\)\. They"):
            asked.agg(x=tc.mean("x"))
        assert session.history() == []


def test_a_zone_belongs_to_the_question(clinic):
    said = (clinic / "visits.toml").read_text()
    zone = 'day = { kind = "timestamp", zone = "Europe/Berlin" }\n'
    (clinic / "zones.toml").write_text(said.replace("cost = {", f"{zone}cost = {{"))
    with pytest.raises(UsageError, match=r"'day'.*a zone: times are read in UTC.*in_zone"):
        tc.open(clinic / "zones.toml")

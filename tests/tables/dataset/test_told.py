"""What a data set declares is told: meaning and unit, and where a question goes beyond it."""

import pytest

import tacit as tc
from tacit.errors import LedgerError, UsageError
from tacit.report.issued import digest

DECLARED = """
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
    (tmp_path / "visits.toml").write_text(DECLARED)
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
    text = DECLARED.replace("visits.csv", "visits.parquet").replace('kind = "integer", ', "")
    (tmp_path / "visits.toml").write_text(text)
    for refuse in (tc.open, lambda path: tc.Dataset.load(path).check()):
        with pytest.raises(UsageError, match="holds text, and the key"):
            refuse(tmp_path / "visits.toml")
    assert not (tmp_path / "visits.ledger").exists()


def test_limits_that_no_longer_fit_the_ledger_name_the_declaration(session, tmp_path):
    session.agg(n=tc.count()).release(epsilon=1)
    (tmp_path / "visits.toml").write_text(DECLARED.replace("rows = 5", "rows = 6"))
    with pytest.raises(LedgerError, match=r"rows 5.*rows 6.*declare these as they were"):
        tc.open(tmp_path / "visits.toml")
    (tmp_path / "visits.toml").write_text(DECLARED)
    with tc.open(tmp_path / "visits.toml") as again:
        assert again.remaining.amount == 99

"""A file has its ledger beside it; what has no place says that its budget is in memory."""

import os
import re

import pytest

import tacit as tc
from tacit.cli import run
from tacit.data import health_insurance
from tacit.errors import BudgetError, LedgerError, UsageError
from tacit.tables.session import ledger_beside

FORGETS = "in memory: nothing stops another session from spending it again"


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("person,cost\n1,20\n2,35\n")
    return path


def opened(source, **given):
    return tc.Session(source, **{"unit": tc.one_row_each, "budget": tc.epsilon(1)} | given)


def test_a_file_keeps_its_budget_beside_it(visits):
    with opened(visits) as session:
        first = session.agg(n=tc.count()).release(epsilon="3/4")
        assert f"left, in the ledger '{visits.with_suffix('.ledger')}'" in repr(session)
    with opened(visits, budget=None) as session:
        again = session.agg(n=tc.count()).release(epsilon="3/4")
        assert again.replayed
        assert again.to_dict() == first.to_dict()
        with pytest.raises(BudgetError):
            session.agg(cost=tc.sum("cost", 0, 99)).release(epsilon="1/2")


def test_the_place_is_that_of_the_command_line(visits, monkeypatch):
    monkeypatch.chdir(visits.parent)
    words = "release visits.csv --one-row-each --count --epsilon 0.75 --budget-epsilon 1"
    assert run(words.split()) == 0
    with opened("visits.csv") as session:
        assert session.remaining == tc.epsilon("1/4")
        assert session.agg(count=tc.count()).release(epsilon="3/4").replayed


def test_in_memory_asks_for_no_file(visits):
    with opened(visits, ledger=tc.in_memory) as session:
        session.agg(n=tc.count()).release(epsilon=1)
        assert FORGETS in repr(session)
        assert FORGETS in str(session.agg(n=tc.count()).preview(epsilon=1))
    assert [f.name for f in visits.parent.iterdir()] == ["visits.csv"]


def test_another_unit_or_budget_than_the_ledger_counts_in_is_refused(visits):
    opened(visits).close()
    for other in ({"budget": tc.epsilon(2)}, {"unit": tc.unit("person", rows=1)}):
        with pytest.raises(LedgerError, match=r"default ledger of visits\.csv.*tc\.in_memory"):
            opened(visits, **other)


def test_a_place_that_cannot_be_written_names_the_remedies(visits):
    visits.with_suffix(".ledger").mkdir()
    with pytest.raises(LedgerError, match=r"ledger='\.\.\.', or .* ledger=tc\.in_memory"):
        opened(visits)
    opened(visits, ledger=tc.in_memory).close()


@pytest.mark.skipif(os.geteuid() == 0, reason="this user may write everywhere")
def test_a_folder_without_the_right_to_write_names_the_remedies(visits):
    visits.parent.chmod(0o500)
    try:
        with pytest.raises(LedgerError, match=r"tc\.in_memory"):
            opened(visits)
    finally:
        visits.parent.chmod(0o700)


def test_what_has_no_place_is_in_memory_and_says_so(visits, monkeypatch):
    monkeypatch.chdir(visits.parent)
    pyarrow = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    for source in (pyarrow.table({"cost": [1]}), "vis*.csv", health_insurance()):
        with opened(source) as session:
            assert FORGETS in repr(session)
        with pytest.raises(UsageError, match="how much may be spent"):
            opened(source, budget=None)
    assert [f.name for f in visits.parent.iterdir()] == ["visits.csv"]
    assert not health_insurance().with_suffix(".ledger").exists()


def test_places(visits, tmp_path):
    assert ledger_beside(str(tmp_path)) == tmp_path.with_name(f"{tmp_path.name}.ledger")
    assert ledger_beside(visits, "main.t") == visits.with_name("visits.main.t.ledger")
    for source in ("", "s3://b/visits.csv", "postgresql://h/d", visits.with_name("gone.csv"), 5):
        assert ledger_beside(source) is None


def test_a_pattern_of_files_does_not_see_their_ledger(visits):
    opened(visits).close()
    with opened(visits.parent / "visits*") as session:
        assert list(session.columns) == ["person", "cost"]


def test_the_first_snippet_of_the_readme_runs_twice(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    page = (request.config.rootpath / "README.md").read_text(encoding="utf-8")
    snippet = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    runs = [{}, {}]
    for names in runs:
        exec(snippet, names)
    first, again = (names["answer"] for names in runs)
    assert (first.replayed, again.replayed) == (False, True)
    assert first.to_dict() == again.to_dict()
    assert (tmp_path / "visits.ledger").exists()
    assert again.certificate.body["ledger"]["sequence"] == 2
    for names in runs:
        names["session"].close()

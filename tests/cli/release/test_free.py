"""Answers from earlier releases on the command line: what says so, what is refused."""

from pathlib import Path

import pytest

from tacit.tables.earlier.derive import Earlier

FINE = "release rows.csv --one-row-each --types age=integer --histogram age:0,20,40,60,80"
COARSE = "rows.csv --one-row-each --types age=integer --histogram age:0,40,80"
QUERY = "select count(*) as young from rows where age >= 0 and age < 40"


@pytest.fixture
def rows(folder: Path) -> Path:
    (folder / "rows.csv").write_text("age\n" + "\n".join(str(i % 80) for i in range(160)) + "\n")
    return folder


@pytest.mark.full
def test_a_coarser_histogram_costs_nothing_and_the_ledger_says_of_which_it_follows(tacit, rows):
    assert tacit(f"release {COARSE} --free").code == 2  # nothing stands in a ledger yet
    assert not list(rows.glob("*.ledger"))
    assert tacit(f"{FINE} --epsilon 1 --budget-epsilon 3").code == 0
    told = tacit(f"preview {COARSE} --epsilon 1").out
    assert "follows from earlier releases at no cost" in told
    assert "--free" in told
    told = tacit(f"release {COARSE} --free --certificate free.json --json").json
    assert told["remaining"]["epsilon"] == 2
    assert told["releases"][0]["cost"]["epsilon"] == 0
    (ledger,) = rows.glob("*.ledger")
    assert tacit(f"verify free.json --ledger {ledger.name}").code == 0
    shown = tacit(f"ledger show {ledger.name}").out
    assert "Answers that follow from these releases" in shown
    assert "2 bins" in shown
    (free,) = tacit(f"ledger show {ledger.name} --json").json["free"]
    assert free["from"] == [1]
    done = tacit(f"release {COARSE} --epsilon 1")  # paid anew, as asked
    assert done.code == 0
    assert "note: it follows from earlier releases at no cost" in done.err
    # once it is charged there is nothing to say
    assert "follows from" not in tacit(f"release {COARSE} --epsilon 1").err


@pytest.mark.full
def test_sql_previews_and_plan_files_are_answered_from_earlier_releases_too(tacit, rows):
    pytest.importorskip("sqlglot")
    table = ["rows.csv", "--one-row-each", "--types", "age=integer"]
    assert tacit(f"{FINE} --epsilon 1 --budget-epsilon 3").code == 0
    found = tacit("sql", *table, QUERY, "--free")
    assert "follows from earlier releases, free" in found.err
    assert "standard error" in tacit("sql", *table, QUERY, "--free", "--preview").out
    plan = 'unit = "row"\n[source]\npath = "rows.csv"\ntypes = { age = "integer" }\n'
    one = '[[question]]\nfree = true\n[question.answers]\nh = { statistic = "histogram", '
    (rows / "p.toml").write_text(plan + one + 'column = "age", edges = [0, 20, 80] }\n')
    assert tacit("preview --plan p.toml --json").json["previews"][0]["free"] is True
    assert tacit("release --plan p.toml").code == 0
    (rows / "p.toml").write_text(plan + one + 'column = "age", edges = [0, 30, 80] }\n')
    refused = tacit("release --plan p.toml")
    assert refused.code == 2
    assert "does not follow from earlier releases" in refused.err
    both = plan + "[together]\nepsilon = 1\n" + one + 'column = "age", edges = [0, 20, 80] }\n'
    (rows / "p.toml").write_text(both)
    assert "[together] pays for all" in tacit("release --plan p.toml").err
    (rows / "p.toml").write_text(both.replace("free = true\n", 'name = "ages"\n'))
    told = tacit("preview --plan p.toml").out
    assert "ages follows from earlier releases at no cost" in told
    assert tacit(f"ledger show {next(rows.glob('*.ledger')).name} --json").json["free"]


@pytest.mark.full
def test_a_preview_of_one_question_reads_the_earlier_releases_once(tacit, rows, monkeypatch):
    assert tacit(f"{FINE} --epsilon 1 --budget-epsilon 3").code == 0
    read, begin = [], Earlier.__init__
    monkeypatch.setattr(Earlier, "__init__", lambda *args: (read.append(1), begin(*args))[1])
    told = tacit(f"preview {COARSE} --epsilon 1").out
    assert "follows from earlier releases at no cost" in told
    assert len(read) == 1


def test_free_takes_no_price(tacit, rows):
    done = tacit(f"release {COARSE} --free --epsilon 1")
    assert done.code == 2
    assert "--free takes no price" in done.err

"""Counting over time in a terminal: paid once, continued for nothing, refused before it costs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tacit as tc
from support.clinic import make_clinic
from support.service.server import served
from tacit.accounting import open_ledger
from tacit.cli.release.job import refuse_alone
from tacit.cli.shared.options import RemoteOptions
from tacit.errors import UsageError
from tacit.tables.derived.derive import Earlier
from tacit.tables.plan.plan import Plan

ASKED = (
    "count-over-time people.csv --one-row-each --time day --start 2024-01-01 --every 1d --periods 4"
)
PAID = f"{ASKED} --epsilon 100000 --yes --ledger l --budget-epsilon 200000"


def spent(tacit):
    return float(tacit("ledger show l --json").json["spent"]["epsilon"])


def test_it_pays_once_and_goes_on_for_nothing(tacit):
    first = tacit(*f"{PAID} --json --now 2024-01-02".split())
    assert (first.code, first.json["periods"]["count"]) == (0, [0])
    assert "1 of 4 periods are published" in first.err
    later = tacit(*f"{ASKED} --epsilon 100000 --yes --ledger l --json --now 2024-01-04".split())
    assert later.json["periods"]["count"] == [0, 600, 0]
    assert later.json["periods"]["total"] == [0, 600, 600]
    assert later.json["remaining"] == first.json["remaining"]
    assert tacit("ledger verify l").code == 0


@pytest.mark.full
def test_a_published_count_has_a_dimension_of_time(tacit):
    data = tacit(*f"{PAID} --format json-stat --now 2024-01-04".split()).json
    assert (data["id"][0], data["role"]["time"]) == ("period", ["period"])
    assert data["value"][::8] == [0, 600, 0]
    rows = tacit(
        *f"{PAID} --format sdmx-csv --dataflow ME:S(1.0) --ids period=TIME_PERIOD "
        "--labels count".split()
    ).out.splitlines()
    assert rows[0].startswith("STRUCTURE,STRUCTURE_ID,ACTION,TIME_PERIOD,STATISTIC,OBS_VALUE")
    assert len(rows) == 5
    none = tacit(*f"{PAID} --tag b --format px --now 2024-01-01".split())
    assert "has no group, and so no cell to publish" in none.err


@pytest.mark.full
def test_a_table_a_csv_a_plot_and_a_certificate(tacit, folder):
    done = tacit(*f"{PAID} --certificate c.json --plot p.png --where sex='f'".split())
    assert (done.code, (folder / "p.png").exists()) == (0, True)
    assert "300" in done.out
    assert "2024-01-02" in done.out
    assert tacit("verify c.json --ledger l").code == 0
    table = tacit(*f"{PAID} --csv --where sex='f'".split()).out.splitlines()
    assert table[0].startswith("period,count,")
    assert len(table) == 5


def test_people_rho_whole_numbers_and_grace(tacit):
    words = (
        "count-over-time people.csv --person person --rows 2 --time age --start 18 --every 20 "
        "--periods 3 --grace 5 --rho 1e9 --yes --ledger l --now 63 --json --tag a --branching 2"
    )
    done = tacit(words)
    assert done.json["periods"]["count"] == [200, 200]
    assert "0" in done.json["remaining"]["exact"]["rho"]


def test_a_preview_begins_no_ledger(tacit, folder):
    done = tacit(f"{ASKED} --epsilon 1 --preview")
    assert (done.code, "once for all periods" in done.out) == (0, True)
    result = tacit(f"{ASKED} --epsilon 1 --preview --json").json
    assert (result["periods"], result["affordable"]) == (4, True)
    assert sorted(path.name for path in folder.iterdir()) == ["people.csv"]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (ASKED, 2, "loss|spend"),
        (
            ASKED.replace("day", "site") + " --types site=text --epsilon 1",
            2,
            "holds text values, not times",
        ),
        (ASKED.replace("1d", "often") + " --epsilon 1", 2, "every"),
        (f"{ASKED} --epsilon 1 --json --csv", 2, "not both"),
        (f"{ASKED} --epsilon 2 --ledger l --budget-epsilon 1", 1, "remains|left"),
    ],
)
def test_what_is_wrong_begins_no_count(tacit, words, code, told):
    done = tacit(words)
    assert done.code == code
    assert any(word in done.err for word in told.split("|")), done.err


# A job opens one session on one ledger, which knows its unit.


RELEASE = "release people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5"


def test_without_a_budget_the_first_release_is_the_whole_budget(tacit, folder: Path) -> None:
    done = tacit(RELEASE)
    assert done.code == 0
    assert "the price of this release as its total budget" in done.err
    with open_ledger(folder / "people.ledger") as ledger:
        assert (str(ledger.total), str(ledger.remaining)) == ("epsilon 0.5", "epsilon 0")
    assert tacit("release people.csv --one-row-each --count --epsilon 0.1").code == 1


def test_the_ledger_is_the_same_from_every_folder(tacit, folder: Path, monkeypatch) -> None:
    assert tacit(RELEASE).code == 0
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder / "deep")
    done = tacit("release ../people.csv --one-row-each --count --epsilon 0.1")
    assert done.code == 1
    assert sorted(p.name for p in folder.glob("**/*.ledger")) == ["people.ledger"]


def test_a_ledger_knows_its_unit(tacit) -> None:
    first = "release people.csv --person person --rows 2 --count --epsilon 0.5 --budget-epsilon 1"
    assert tacit(first).code == 0
    assert tacit("release people.csv --mean age:0:100 --epsilon 0.5").code == 0
    other = tacit("release people.csv --one-row-each --mean age:0:100 --epsilon 0.5")
    assert other.code == 2
    assert "has other terms" in other.err
    assert "not (column none, rows 1, groups 1)" in other.err


def test_the_unit_must_be_said(tacit, folder: Path) -> None:
    for command in ("release", "preview"):
        done = tacit(f"{command} people.csv --count --epsilon 0.5")
        assert done.code == 2
        assert "--person COL --rows 5" in done.err
        assert "--one-row-each" in done.err
    both = tacit("release people.csv --one-row-each --person person --rows 2 --count --epsilon 1")
    assert both.code == 2
    assert "every row is another person" in both.err
    assert tacit("ledger create people.csv --budget-epsilon 1").code == 2
    assert list(folder.glob("*.ledger")) == []


@pytest.mark.full
@pytest.mark.parametrize(
    "command",
    [
        RELEASE,
        "count-over-time people.csv --one-row-each --time age --start 18 --every 20 "
        "--periods 3 --now 80 "
        "--epsilon 1",
    ],
)
def test_the_first_release_opens_one_session(tacit, folder: Path, monkeypatch, command) -> None:
    from tacit.tables import Session

    opened = []
    begin = Session.__init__
    monkeypatch.setattr(
        Session, "__init__", lambda session, *a, **k: (opened.append(a), begin(session, *a, **k))[1]
    )
    assert tacit(command).code == 0
    assert len(opened) == 1
    assert (folder / "people.ledger").is_file()


def test_a_release_is_planned_once(tacit, monkeypatch) -> None:
    made, check = [], Plan.__post_init__

    def counted(plan: Plan) -> None:
        made.append(plan)
        check(plan)

    monkeypatch.setattr(Plan, "__post_init__", counted)
    assert tacit(f"{RELEASE} --budget-epsilon 1").code == 0  # a dry run, then the release
    assert len(made) == 1
    assert tacit(f"{RELEASE} --budget-epsilon 1".replace("release", "preview", 1)).code == 0
    assert len(made) == 2


# Commands that ask a service: what they refuse before anything is sent, and what they print.


REMOTE_ASKED = ["sql", "visits", "select count(*) as n from visits", "--epsilon", "1"]


def test_a_token_without_a_service_is_refused(tacit):
    with pytest.raises(UsageError, match="--server"):
        refuse_alone(RemoteOptions(token_file="token"))
    refuse_alone(RemoteOptions())
    done = tacit("ledger", "show", "visits", "--token-file", "token")
    assert (done.code, "--server" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--server", "http://statistics.example"], "unencrypted"),
        (["--server", "https://statistics.example"], "TACIT_TOKEN"),
        (["--server", "https://statistics.example", "--ledger", "a.ledger"], "declares the ledger"),
        (["--server", "https://statistics.example", "--person", "id", "--rows", "2"], "the unit"),
        (["--server", "https://statistics.example", "--token-file", "none"], "cannot be read"),
    ],
)
def test_what_a_service_says_itself_or_what_is_unsafe_is_refused(tacit, monkeypatch, more, told):
    monkeypatch.delenv("TACIT_TOKEN", raising=False)
    done = tacit(*REMOTE_ASKED, *more)
    assert (done.code, told in done.err) == (2, True), done.err


SQL = "select site, count(*) as n from visits group by site order by n desc limit 2"


@pytest.fixture
def here(tmp_path):
    folder = tmp_path / "clinic"
    folder.mkdir()
    make_clinic(folder)
    (folder / "service.toml").write_text(
        "latency = 0.5\ncaps = { each_analyst = { epsilon = 40 } }\n"
        "[datasets.visits]\npeople = 'patients'\n"
    )
    with served(folder) as running:
        yield running


@pytest.mark.full
def test_a_service_is_asked_as_a_table_of_ones_own(here, tacit, tmp_path, monkeypatch):
    token = tmp_path / "token"
    token.write_text(here.token("analyst", dataset="visits", name="ada"))
    token.chmod(0o600)
    server = ["--server", here.address, "--token-file", str(token)]
    price = ["--epsilon", "1/16"]
    shown = tacit("sql", "visits", SQL, *price, "--preview", *server)
    assert shown.code == 0, shown.err
    assert "costs epsilon 0.0625" in shown.out
    asked = tacit("sql", "visits", SQL, *price, *server, "--json")
    assert asked.code == 0, asked.err
    said = json.loads(asked.out)
    assert len(said["releases"][0]["answers"]) == 2
    flags = ["release", "visits", "--count", "--mean", "cost", "--by", "site", *price, *server]
    done = tacit(*flags, "--certificate", str(tmp_path / "a.json"))
    assert done.code == 0, done.err
    assert f"(at {here.address})" in done.err
    assert tacit("verify", str(tmp_path / "a.json")).code == 0
    assert "the same answer again, free" in tacit(*flags).err
    monkeypatch.setenv("TACIT_TOKEN", token.read_text())
    told = tacit("ledger", "show", "visits", "--server", here.address)
    assert told.code == 0, told.err
    assert re.search(r"Budget +epsilon 1,?000", told.out)
    assert "done" in told.out
    assert "schedule" not in told.out
    with tc.connect(here.address, token.read_text().strip(), dataset="visits") as service:
        question = service.agg(n=tc.count())
        first = {"start": "2126-01-31", "every": "1mo", "times": 2, "title": "Beds"}
        service.schedule(question, **first, epsilon="1/16", tag="beds")
    told = tacit("ledger", "show", "visits", "--server", here.address)
    assert re.search("2126-01-31 00:00 +0 of 2 +epsilon 0.0625 +running +Beds", told.out)
    told = tacit("ledger", "show", "visits", "--server", here.address, "--json")
    (schedule,) = json.loads(told.out)["schedules"]
    assert schedule["next"] == "2126-01-31T00:00:00+00:00"
    (ledger,) = (tmp_path / "clinic").glob("people*.ledger")
    told = tacit("ledger", "show", str(ledger))
    assert len(re.findall("scheduled 2126-0[12]", told.out)) == 2
    assert "ask the same again" not in told.out
    told = tacit("ledger", "show", str(ledger), "--json")
    assert json.loads(told.out)["releases"][-1]["due"] == "2126-02-28T00:00:00+00:00"
    assert json.loads(tacit("ledger", "show", "visits", "--server", here.address, "--json").out)
    assert tacit("release", "visits", "--count", "--free", *server).code == 2
    free = tacit("release", "visits", "--count", "--by", "site", "--free", *server)
    assert (free.code, "follows from earlier releases, free" in free.err) == (0, True)
    far = tacit("sql", "visits", SQL, "--epsilon", "41", "--yes", *server)
    assert far.code == 1
    assert tacit("sql", "nothing", SQL, *price, *server).code == 1


# Answers from earlier releases on the command line: what says so, what is refused.


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
    text = tacit(f"preview {COARSE} --epsilon 1").out
    assert "follows from earlier releases at no cost" in text
    assert "--free" in text
    text = tacit(f"release {COARSE} --free --certificate free.json --json").json
    assert text["remaining"]["epsilon"] == 2
    assert text["releases"][0]["cost"]["epsilon"] == 0
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
    result = tacit("sql", *table, QUERY, "--free")
    assert "follows from earlier releases, free" in result.err
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
    text = tacit("preview --plan p.toml").out
    assert "ages follows from earlier releases at no cost" in text
    assert tacit(f"ledger show {next(rows.glob('*.ledger')).name} --json").json["free"]


@pytest.mark.full
def test_a_preview_of_one_question_reads_the_earlier_releases_once(tacit, rows, monkeypatch):
    assert tacit(f"{FINE} --epsilon 1 --budget-epsilon 3").code == 0
    read, begin = [], Earlier.__init__
    monkeypatch.setattr(
        Earlier, "__init__", lambda *args, **how: (read.append(1), begin(*args, **how))[1]
    )
    text = tacit(f"preview {COARSE} --epsilon 1").out
    assert "follows from earlier releases at no cost" in text
    assert len(read) == 1


def test_free_takes_no_price(tacit, rows):
    done = tacit(f"release {COARSE} --free --epsilon 1")
    assert done.code == 2
    assert "--free takes no price" in done.err

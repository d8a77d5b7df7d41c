"""Data sets that a file declares, on the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.accounting import open_ledger
from tacit.accounting.ledger_sqlite import SqliteStore
from tacit.tables.dataset.declaration import Dataset
from tacit.tables.engines.duckdb.instances import IdleInstances

FINISHED = """
name = "clinic"
unit = { person = "person", rows = 5, groups = 1 }
budget = { epsilon = 1 }
[tables.clinic]
path = "clinic.csv"
[tables.clinic.columns]
person = { kind = "integer" }
site = { kind = "integer", keys = [1, 2] }
cost = { kind = "float", bounds = [0, 50] }
day = { kind = "date" }
"""


@pytest.fixture
def clinic(folder: Path) -> Path:
    Path("clinic.csv").write_text("person,site,cost,day\n1,1,9,2026-01-01\n2,2,30,2026-01-02\n")
    Path("clinic.toml").write_text(FINISHED)
    return folder


def test_a_draft_is_written_once_and_refused_until_it_is_finished(tacit, folder: Path) -> None:
    Path("clinic.csv").write_text("person,site\n1,1\n")
    done = tacit("init clinic.csv")
    assert done.code == 0, done.err
    assert "tacit check clinic.toml" in done.err
    again = tacit("init clinic.csv")
    assert again.code == 2
    assert "exists" in again.err
    for command in ("check clinic.toml", "release clinic.toml --count --epsilon 1"):
        refused = tacit(command)
        assert refused.code == 2
        assert "decide unit.rows, unit.groups, budget.epsilon" in refused.err
    assert not Path("clinic.ledger").exists()


def test_a_check_reports_the_columns_that_are_named(tacit, clinic: Path) -> None:
    done = tacit("check", "clinic.csv", "--columns", "day, site", "--json")
    assert done.code == 0, done.err
    assert list(done.json["columns"]) == ["day", "site"]
    assert list(tacit("check clinic.csv --columns day --columns site --json").json["columns"]) == [
        "day",
        "site",
    ]
    unknown = tacit("check clinic.csv --columns days")
    assert unknown.code == 2
    assert "did you mean 'day'" in unknown.err
    declared = tacit("check clinic.toml --columns day")
    assert declared.code == 2
    assert "leave --columns out" in declared.err


def test_codes_of_columns_are_given_asked_for_and_drafted(tacit, clinic: Path) -> None:
    Path("codes.csv").write_text("age,said\n" + "31,yes\n45,no\n-9,refused\n" * 9)
    asked = tacit("check", "codes.csv", "--json").json
    assert asked["missing"] == {"age": [-9]}
    assert asked["columns"]["age"]["codes"] == {"-9": 9}
    flags = ["--missing", "age=-9..-1", "--missing", "said=refused"]
    checked = tacit("check", "codes.csv", *flags, "--json").json
    assert checked["missing"] == {}
    assert [one["filled"] for one in checked["columns"].values()] == [18, 18]
    one = "--one-row-each --mean age:0:99 --epsilon 1 --budget-epsilon 9 --types age=integer"
    previewed = tacit("preview", "codes.csv", *one.split(), *flags)
    assert "age: -9 to -1 read as missing" in " ".join((previewed.out + previewed.err).split())
    wrong = tacit("preview", "codes.csv", *one.split(), "--missing", "agee=9")
    assert wrong.code == 2
    assert "--missing has codes for 'agee'" in wrong.err
    assert "did you mean 'age'" in wrong.err
    assert tacit("init", "codes.csv", *flags).code == 0
    assert 'missing = { age = [[-9, -1]], said = ["refused"] }' in Path("codes.toml").read_text()
    assert tacit("init", "clinic.csv", "--out", "c.toml").code == 0
    drafted = Path("c.toml").read_text()
    assert "\n# missing = { age = [98, 99]" in drafted
    Path("c.toml").write_text(drafted.replace("# missing = {", "missing = {"))
    codes = Dataset.load("c.toml").tables["clinic"].missing
    assert codes == {"age": [98, 99], "answer": ["refused"], "income": [[-9, -1]]}
    Path("plan.toml").write_text(
        'unit = "row"\n[source]\npath = "codes.csv"\nmissing = { age = [-9] }\n'
        "[budget]\nepsilon = 9\n[[question]]\nepsilon = 8\n"
        'sql = "select count(*) as n from codes where age is null"\n'
    )
    done = tacit("release --plan plan.toml --json --yes")
    assert done.code == 0, done.err
    (released,) = done.json["releases"]
    assert released["answers"][0]["n"]["value"] in range(5, 14)


def test_a_release_needs_neither_bounds_nor_keys(tacit, clinic: Path) -> None:
    assert tacit("check clinic.toml").code == 0
    asked = "clinic.toml --mean cost --median cost --percentile cost:90 --by site --epsilon 0.5"
    expected = tacit(f"preview {asked} --json")
    assert expected.code == 0, expected.err
    assert not Path("clinic.ledger").exists()
    first = tacit(f"release {asked} --json")
    assert first.code == 0, first.err
    result = first.json["releases"][0]["answers"]
    assert [record["key"] for record in result] == [{"site": 1}, {"site": 2}]
    assert all(0 <= record["mean_cost"]["value"] <= 50 for record in result)
    again = tacit(
        "release clinic.toml --mean cost:0:50 --median cost:0:50 --percentile "
        "cost:90:0:50 --by site --keys 1,2 --epsilon 0.5 --json"
    )
    assert again.json["releases"][0]["replayed"]
    assert again.json["remaining"]["exact"]["epsilon"] == "1/2"


def test_a_plan_and_a_count_over_time_take_a_declaration(tacit, clinic: Path) -> None:
    Path("plan.toml").write_text(
        '[source]\npath = "clinic.toml"\n[[question]]\nepsilon = "1/4"\n'
        'answers = { cost = { statistic = "mean", column = "cost" } }\n'
    )
    done = tacit("release --plan plan.toml --json")
    assert done.code == 0, done.err
    counted = tacit(
        "count-over-time clinic.toml --time day --start 2026-01-01 --every 1d "
        "--periods 2 --epsilon 0.25 --now 2026-02-01 --json"
    )
    assert counted.code == 0, counted.err
    assert counted.json["remaining"]["exact"]["epsilon"] == "1/2"


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("--count --person person --rows 3 --epsilon 1", "declares the unit"),
        ("--count --budget-epsilon 3 --epsilon 1", "declares the budget"),
        ("--count --ledger other.ledger --epsilon 1", "declares the ledger"),
        ("--count --name other --epsilon 1", "declares its name"),
        ("--count --types cost=float --epsilon 1", "how its files are read"),
        ("--mean person --epsilon 1", "declare them for the column"),
        ("--mean cost:0 --epsilon 1", "is incomplete"),
        ("--count --table sites --epsilon 1", "no table 'sites'"),
        ("--count --by day --epsilon 1", "--keys"),
    ],
)
def test_what_is_said_twice_or_not_at_all_is_refused(
    tacit, clinic: Path, asked: str, says: str
) -> None:
    done = tacit(f"release clinic.toml {asked}")
    assert done.code == 2
    assert says in done.err
    assert not Path("clinic.ledger").exists()


def test_a_declaration_that_is_none(tacit, folder: Path) -> None:
    for content, says in (
        ("name = ", "not TOML"),
        ("nme = 1", "did you mean 'name'"),
        ("", "name"),
    ):
        Path("x.toml").write_text(content)
        done = tacit("release x.toml --count --epsilon 1")
        assert done.code == 2
        assert says in done.err
    assert tacit("release y.toml --count --epsilon 1").code == 2


@pytest.mark.full
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("epsilon = 1", "epsilon = 2", "has the budget epsilon 1,"),
        ("rows = 5", "rows = 6", "rows 6"),
        ("[tables.clinic", "[tables.other", "belongs to the data set"),
        ("budget = { epsilon = 1 }", "", None),
        ("keys = [1, 2]", 'keys = ["a"]', "holds whole numbers, and the key"),
    ],
)
def test_a_check_holds_it_against_the_ledger(tacit, clinic: Path, old, new, says) -> None:
    assert tacit("release clinic.toml --count --epsilon 0.5").code == 0
    Path("clinic.toml").write_text(FINISHED.replace(old, new))
    done = tacit("check clinic.toml")
    assert done.code == (0 if says is None else 2)
    assert (says or "is complete") in done.err + done.out
    Path("clinic.ledger").unlink()
    assert tacit("check clinic.toml").code == (0 if new.startswith(("eps", "rows", "[")) else 2)
    assert not Path("clinic.ledger").exists()


def test_a_delimiter_that_was_not_given_is_noticed_in_the_names(tacit, folder: Path) -> None:
    header = "Patient ID; Ward / Station;Cost, euro"
    (folder / "ward.csv").write_text(f"{header}\n1;West;2\n2;West;3\n", "utf-8")
    done = tacit("init ward.csv")
    assert done.code == 0, done.err
    assert "say so, as in --delimiter ';'" in done.err
    (folder / "ward.toml").unlink()
    done = tacit("init ward.csv --delimiter ;")
    assert (done.code, "--delimiter" in done.err) == (0, False)
    place = ["release", "ward.csv", "--delimiter", ";", "--person", "Patient ID", "--rows", "1"]
    ward = ["--by", " Ward / Station", "--types", " Ward / Station=text", "--count"]
    price = ["--epsilon", "1", "--budget-epsilon", "5"]
    done = tacit(*place, *ward, "--keys", "West", *price)
    assert done.code == 0, done.err
    assert "West" in done.out
    refused = tacit(*place, *ward, "--keys", "1..3", *price)
    assert "is a range of whole numbers" in refused.err


# A release that is killed between its charge and its answer is spent once, and goes on.


KILLED = """
import os, signal
import tacit.tables.question as question
from tacit.cli import run
question.release_answer = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
run("release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1".split())
"""


@pytest.mark.full
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_killed_release_is_spent_once_and_goes_on(tacit, folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=folder, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with open_ledger(folder / "people.ledger") as ledger:
        assert str(ledger.spent) == "epsilon 0.5"
        assert [entry.state for entry in ledger.history()] == ["open"]
    shown = tacit("ledger show people.ledger")
    assert shown.code == 0
    assert " open " in shown.out
    assert "ask the same again, free" in shown.out
    previewed = tacit("preview people.csv --one-row-each --count --epsilon 0.5")
    assert "is open: it is answered at no further cost" in previewed.out
    again = tacit("release people.csv --one-row-each --count --epsilon 0.5 --json")
    assert again.json["remaining"]["exact"]["epsilon"] == "1/2"
    assert " open " not in tacit("ledger show people.ledger").out
    assert tacit("ledger verify people.ledger").code == 0


SLOW = """
import os, pathlib, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore them
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
import tacit.tables.engines.duckdb.engine as duck
from tacit.cli import run
from tacit.tables.release.release import PlanRunner
real = PlanRunner.collect
def collect(self, plan):
    ask = self._source.engine.rows
    spilled = pathlib.Path(ask("select current_setting('temp_directory')")[0][0])
    (spilled / "rows").write_text("Zaphod")
    print("reading", flush=True)
    ask("select sum(range % 7) from range(100000000000000)")
    raise AssertionError("nobody ended it")
PlanRunner.collect = collect
sys.exit(run("release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1".split()))
"""


def spilled(folder: Path) -> list[Path]:
    return list((folder / "spill").iterdir())


@pytest.mark.full
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="these signals are of Unix")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_query_that_is_ended_says_what_was_charged_and_leaves_no_row(
    tacit, folder: Path, name: str
) -> None:
    (folder / "spill").mkdir()
    number = getattr(signal, name)
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW],
        cwd=folder, env={**os.environ, "TMPDIR": str(folder / "spill")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "reading\n"
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    if name == "SIGKILL":
        assert len(spilled(folder)) == 1
        # the next start removes what nobody holds any more
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("tempfile.tempdir", str(folder / "spill"))
            patched.setattr("tacit.tables.engines.duckdb.engine.idle", IdleInstances(0))
            tacit("release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1")
    else:
        assert process.returncode == 128 + number, err
        assert "Epsilon 0.5 was charged for this release, and it stays open" in err
    assert spilled(folder) == []
    again = tacit(
        "release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1 --json"
    )
    assert again.json["remaining"]["exact"]["epsilon"] == "1/2"


@pytest.mark.full
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is of Linux")
def test_an_output_that_cannot_be_written_is_told_and_paid_once(tacit, folder: Path) -> None:
    command = "release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tacit", *command.split()],
            cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left on device while the output was written" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert tacit(f"{command} --json").json["releases"][0]["replayed"]


@pytest.mark.full
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is of Linux")
def test_an_output_that_nothing_was_paid_for_names_no_ledger(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tacit", "sensitivity", "mean", "--records", "1,2,3"],
            cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 2
    assert "while the output was written" in done.stderr
    assert "ledger" not in done.stderr


@pytest.mark.parametrize("headless", [False, True])
def test_a_ledger_whose_beginning_was_cut_short_begins_anew(
    tacit, folder: Path, headless: bool
) -> None:
    place = folder / "people.ledger"
    if headless:
        SqliteStore(place, create=True).close()
    else:
        place.touch()
    shown = tacit("ledger show people.ledger")
    assert (shown.code, "is empty" in shown.err) == (2, True)
    unsaid = tacit("release people.csv --one-row-each --count --epsilon 0.5")
    assert unsaid.code == 0
    assert "as its total budget" in unsaid.err
    assert tacit("ledger verify people.ledger").code == 0


@pytest.mark.full
@pytest.mark.parametrize("start", [["-m", "tacit"], None])
def test_the_command_is_installed(folder: Path, start: list[str] | None) -> None:
    command = (
        [str(Path(sys.executable).with_name("tacit"))]
        if start is None
        else [sys.executable, *start]
    )
    env = {**os.environ, "COLUMNS": "100"}
    good = subprocess.run([*command, "--version"], capture_output=True, text=True, env=env)
    assert (good.returncode, good.stdout[:6]) == (0, "tacit ")
    bad = subprocess.run(
        [*command, "release", "nowhere.csv", "--one-row-each", "--count", "--epsilon", "1"],
        capture_output=True, text=True, env=env, cwd=folder,
    )  # fmt: skip
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("Error: nowhere.csv")

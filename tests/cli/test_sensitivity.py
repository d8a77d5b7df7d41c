"""``tacit sensitivity`` and ``tacit choose-epsilon``."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
import typer

import tacit.statistics as ts
from tacit.accounting import open_ledger
from tacit.cli import run
from tacit.cli.app import app
from tacit.cli.sensitivity import PopulationOptions, domain_of
from tacit.errors import BudgetError, UsageError
from tacit.statistics import Interval, Records, Values

RECORDS = [1, 2, 2, 2, 5, 5, 7, 8, 9, 9]
ASK = "sensitivity median --records 1,2,2,2,5,5,7,8,9,9 --size 6"


def test_values_are_those_of_the_library(tacit) -> None:
    done = tacit(f"{ASK} --distance 1..3 --relation both --json").json["sensitivities"]
    over = ts.Records(RECORDS, size=6)
    assert [row["relation"] for row in done] == 3 * ["unbounded"] + 3 * ["bounded"]
    for row in done:
        truth = ts.sensitivity("median", over, distance=row["distance"], relation=row["relation"])
        assert Fraction(row["exact_value"]) == truth.value
        assert row["guarantee"]


def test_one_answer_comes_with_its_neighbours(tacit) -> None:
    done = tacit(ASK)
    assert done.code == 0
    assert "{2, 2, 2, 8, 9, 9}" in done.out
    assert "{1, 2, 2, 2, 8, 9, 9}" in done.out


def test_local_and_exactly_are_no_guarantee(tacit) -> None:
    row = tacit(f"{ASK} --at 1,2,2,2,5,5 --json").json["sensitivities"]
    assert [(r["scope"], r["guarantee"]) for r in row] == [("global", True), ("local", False)]
    done = tacit(f"{ASK} --distance 2 --exactly")
    assert done.code == 0
    assert "exactly" in done.err


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        ("--values 0,1,2,3 --size 5 --relation bounded", "3/5"),
        ("--interval 0:100 --size 50 --relation bounded", "2"),
    ],
)
def test_other_domains(tacit, domain: str, value: str) -> None:
    (row,) = tacit(f"sensitivity mean {domain} --json").json["sensitivities"]
    assert row["exact_value"] == value


def test_columns_of_a_file(tacit, folder: Path) -> None:
    (folder / "small.csv").write_text("x,y,name\n1,5,a\n2,6.5,b\n10,7,c\n11,9,d\n")
    rows = tacit("sensitivity median mean --csv small.csv --size 3 --json").json["sensitivities"]
    assert {(r["column"], r["statistic"]) for r in rows} == {
        (c, s) for c in ("x", "y") for s in ("median", "mean")
    }
    (row,) = tacit("sensitivity median --csv small.csv --column y --size 3 --json").json[
        "sensitivities"
    ]
    truth = ts.sensitivity("median", ts.Records([5, 6.5, 7, 9], size=3))
    assert Fraction(row["exact_value"]) == truth.value


def test_a_distance_that_cannot_be_made_leaves_a_gap(tacit) -> None:
    asked = "sensitivity mean --records 1,2,3 --size 2 --distance 1,9 --relation remove"
    done = tacit(f"{asked} --exactly")
    assert done.code == 0
    assert "cannot be made" in done.out
    assert "cannot be made" not in tacit(asked).out  # within 9 there are those within 1


def test_the_table_of_every_release(tacit) -> None:
    ask = "sensitivity table median --records 1,2,3,10,11 --size 3"
    done = tacit(ask)
    assert done.code == 0
    assert "global sensitivity: 4.5" in done.out
    shown = tacit(f"{ask} --json").json
    assert (len(shown["releases"]), shown["global"]) == (10, "9/2")
    assert max(Fraction(r["local"]) for r in shown["releases"]) == Fraction(9, 2)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "ask", [ASK, f"{ASK} --distance 1..3", "sensitivity table median --records 1,2,3,9 --size 3"]
)
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_pictures(tacit, folder: Path, ask: str, ending: str) -> None:
    assert tacit(f"{ask} --plot picture.{ending}").code == 0
    assert (folder / f"picture.{ending}").stat().st_size > 2000


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sensitivity medain --records 1,2,3 --size 2", "did you mean 'median'"),
        ("sensitivity median", "in one way"),
        ("sensitivity median --records 1,2 --values 1,2", "in one way"),
        ("sensitivity median --records 1,x --size 1", "must be a number"),
        ("sensitivity median --records 1,nan --size 1", "must be a number"),
        ("sensitivity median --records 1,2 --size 3", "larger than the population"),
        ("sensitivity median --records 1,2,3 --size 2 --distance 0", "at least 1"),
        ("sensitivity median --records 1,2,3 --size 2 --distance x", "whole numbers"),
        ("sensitivity median --records 1,2,3 --size 2 --distance 3..1", "reversed"),
        ("sensitivity median --records 1,2,3 --size 2 --distance 7 --exactly", "distance is 1"),
        ("sensitivity median --records 1,2,3 --size 2 --relation bonded", "did you mean 'bounded'"),
        ("sensitivity median --records 1,2,3 --size 2 --at 1,7", "7"),
        ("sensitivity percentile:101 --records 1,2,3 --size 2", "100"),
        ("sensitivity mean --interval 3 --size 2", "LOW:HIGH"),
        ("sensitivity mean --interval 3:1 --size 2", "must not be above"),
        ("sensitivity mean --csv people.csv --column agee --size 2", "did you mean 'age'"),
        ("sensitivity mean --csv people.csv --column site --size 2", "not numbers"),
        ("sensitivity mean --csv nowhere.csv --size 2", "nowhere.csv"),
        ("sensitivity mean --csv gaps.csv --size 1", "missing values"),
        ("sensitivity table mean median --records 1,2,3 --size 2", "one statistic"),
        ("sensitivity median --records 1,2,3 --size 2 --plot x.gif", ".png"),
        ("choose-epsilon median --values 1,2 --size 1 --risk 0.4", "known population"),
        ("choose-epsilon median --records 1,2,3 --size 2 --risk 2", "below 1"),
        ("choose-epsilon median --records 1,2,3 --size 2 --risk 0.1", "1/3"),
        (
            "choose-epsilon median --records 1,2,3 --size 2 --risk 0.5 --relation both",
            "one relation",
        ),
    ],
)
def test_mistakes(tacit, folder: Path, command: str, said: str) -> None:
    (folder / "gaps.csv").write_text("x,y\n1,2\n,3\n")
    done = tacit(command)
    assert (done.code, done.out) == (2, ""), done
    assert said in done.err


# What is typed wrongly: a clear message, the right exit code, and nothing spent.


BAD_INPUT_ASK = "--count --epsilon 0.5"


@pytest.mark.few(9)
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"release peple.csv {BAD_INPUT_ASK}", "did you mean 'people.csv'"),
        (f"release {BAD_INPUT_ASK}", "name the table"),
        (f"release empty.csv {BAD_INPUT_ASK}", "is empty"),
        (f"release broken.csv {BAD_INPUT_ASK}", "holds no names"),
        (f"release broken.parquet {BAD_INPUT_ASK}", "cannot be read"),
        (f"release people.txtx {BAD_INPUT_ASK}", "people"),
        (f"release nothing {BAD_INPUT_ASK}", "no .csv or .parquet"),
        ("release people.csv --one-row-each --mean agee:0:100 --epsilon 1", "did you mean 'age'"),
        (
            "release people.csv --one-row-each --types site=text --mean site:0:100 --epsilon 1",
            "'site' holds text",
        ),
        ("release people.csv --one-row-each --mean age --epsilon 1", "--mean age:0:100"),
        ("release people.csv --one-row-each --mean age:0: --epsilon 1", "is incomplete"),
        ("release people.csv --one-row-each --mean age:100:0 --epsilon 1", "must be in order"),
        ("release people.csv --one-row-each --mean age:0:x --epsilon 1", "must be a number"),
        ("release people.csv --one-row-each --mean age:0:nan --epsilon 1", "must be a number"),
        ("release people.csv --one-row-each --histogram age:5,1 --epsilon 1", "increasing edges"),
        ("release people.csv --one-row-each --percentile age:101:0:9 --epsilon 1", "from 0 to 100"),
        ("release people.csv --one-row-each --count --epsilon 0", "above zero"),
        ("release people.csv --one-row-each --count --epsilon -1", "above zero"),
        ("release people.csv --one-row-each --count --epsilon nan", "must be a number"),
        ("release people.csv --one-row-each --count --epsilon inf", "must be a number"),
        ("release people.csv --one-row-each --count --epsilon 1 --delta 1", "delta"),
        ("release people.csv --one-row-each --count --epsilon 1 --rho 1", "not both"),
        ("release people.csv --one-row-each --count --delta 1e-6", "goes with --epsilon"),
        ("release people.csv --one-row-each --count", "--epsilon 0.5"),
        ("release people.csv --one-row-each --epsilon 1", "nothing is asked"),
        ("release people.csv --one-row-each --count --rho 0.1 --budget-epsilon 1", "cannot pay"),
        (
            "release people.csv --one-row-each --count --by site --keys a --epsilon 1 --delta 1e-9 "
            "--budget-epsilon 1",
            "cannot pay",
        ),
        (f"release people.csv --one-row-each --budget-epsilon 0 {BAD_INPUT_ASK}", "above zero"),
        (
            f"release people.csv --one-row-each --by stie --keys a {BAD_INPUT_ASK}",
            "did you mean 'site'",
        ),
        (f"release people.csv --one-row-each --keys a {BAD_INPUT_ASK}", "--by"),
        (
            f"release people.csv --one-row-each --types pay=float --by pay {BAD_INPUT_ASK}",
            "--cut pay:0,10,20",
        ),
        (
            f"release people.csv --one-row-each --cut age --by age_group {BAD_INPUT_ASK}",
            "--cut age:0,18,65",
        ),
        (
            f"release people.csv --one-row-each --cut age:9,1 --by age_group {BAD_INPUT_ASK}",
            "above the one before",
        ),
        (
            f"release people.csv --one-row-each --types site=text --cut site:1,9 --by "
            f"site_group {BAD_INPUT_ASK}",
            "site",
        ),
        (
            f"release people.csv --one-row-each --types age=integer --by age --keys a "
            f"{BAD_INPUT_ASK}",
            "whole numbers",
        ),
        (
            f"release people.csv --one-row-each --types day=date --by day --keys a {BAD_INPUT_ASK}",
            "dates",
        ),
        (
            f"release people.csv --one-row-each --by site,sex --keys a {BAD_INPUT_ASK}",
            "once for each",
        ),
        (
            f"release people.csv --one-row-each --by site,sex --keys site=a {BAD_INPUT_ASK}",
            "no values for sex",
        ),
        (f"release people.csv --one-row-each --by site --keys a,a {BAD_INPUT_ASK}", "given twice"),
        (
            f"release people.csv --one-row-each --by site --keys-file people.csv {BAD_INPUT_ASK}",
            "private table itself",
        ),
        (
            f"release people.csv --one-row-each --by site --keys-file nowhere.csv {BAD_INPUT_ASK}",
            "cannot be read",
        ),
        (f"release people.csv --person person {BAD_INPUT_ASK}", "--rows 5"),
        (f"release people.csv --rows 5 {BAD_INPUT_ASK}", "--person"),
        (f"release people.csv --person persn --rows 2 {BAD_INPUT_ASK}", "did you mean 'person'"),
        (f"release people.csv --person person --rows 0 {BAD_INPUT_ASK}", "at least 1"),
        (f"release people.csv --one-row-each --types age {BAD_INPUT_ASK}", "column=kind"),
        (f"release people.csv --one-row-each --types age=number {BAD_INPUT_ASK}", "is not a kind"),
        (f"release people.csv --one-row-each --plot p.gif {BAD_INPUT_ASK}", ".png"),
        (f"release people.csv --one-row-each --certificate c.xml {BAD_INPUT_ASK}", ".json"),
        (
            f"release people.csv --one-row-each --certificate nowhere/c.json {BAD_INPUT_ASK}",
            "no folder",
        ),
        (f"release people.csv --one-row-each --json --csv {BAD_INPUT_ASK}", "not both"),
        (f"release people.csv --one-row-each --memory-limit much {BAD_INPUT_ASK}", "memory"),
        (f"release people.csv --one-row-each --ledger nowhere/x.ledger {BAD_INPUT_ASK}", "nowhere"),
        (
            f"release people.csv --one-row-each --ledger postgresql://127.0.0.1:1/y "
            f"{BAD_INPUT_ASK}",
            "cannot be reached",
        ),
        (
            f"release people.csv --one-row-each --mean age:0:9 --mean age:0:99 {BAD_INPUT_ASK}",
            "called 'mean_age'",
        ),
        ("release people.csv --one-row-each --cuont --epsilon 1", "No such option"),
        ("relaese people.csv --count --epsilon 1", "Did you mean 'release'? See tacit --help"),
        ("release people.csv --count --epsilon", "argument. See tacit release --help"),
        (
            "release people.csv --one-row-each --count --by sex --keys --epsilon 1",
            "--keys takes a value, and --epsilon follows it",
        ),
        (
            "ledger extend people.ledger --reason --budget-epsilon=2",
            "--reason takes a value, and --budget-epsilon=2 follows it",
        ),
        ("release people.csv --person id --rows five --count", "'--rows': write a whole number"),
        ("release book.xlsx --one-row-each --count --epsilon 1", "damaged, cut short"),
        ("release book.xlsb --one-row-each --count --epsilon 1", "save it as .xlsx"),
        ("preview people.csv --one-row-each --count --epsilon 1 --sizes 0", "above zero"),
        ("verify nowhere.json", "cannot be read"),
        ("verify people.csv", "not JSON"),
        ("verify other.json", "not a certificate"),
        ("ledger show nowhere.ledger", "there is no ledger"),
        ("ledger show people.csv", "not a ledger"),
        ("ledger create people.csv --one-row-each", "--budget-epsilon 1"),
    ],
)
def test_a_mistake_is_told_and_spends_nothing(tacit, folder: Path, command: str, said: str) -> None:
    (folder / "empty.csv").touch()
    (folder / "broken.csv").write_text('a,"b\n1,2\n')
    (folder / "broken.parquet").write_bytes(b"PAR1 and nothing of the kind")
    (folder / "book.xlsx").write_bytes(b"PK and so on")
    (folder / "book.xlsb").write_bytes(b"PK\x03\x04 and so on")
    (folder / "nothing").mkdir()
    (folder / "other.json").write_text("{}")
    before = sorted(p.name for p in folder.iterdir())
    done = tacit(command)
    assert done.code == 2, done.err
    assert said in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert sorted(p.name for p in folder.iterdir()) == before


def test_more_than_is_left_is_refused(tacit, folder: Path) -> None:
    assert (
        tacit("release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1").code
        == 0
    )
    done = tacit("release people.csv --one-row-each --mean age:0:100 --epsilon 0.6")
    assert done.code == 1
    assert "nothing was spent" in done.err
    with open_ledger(folder / "people.ledger") as ledger:
        assert str(ledger.spent) == "epsilon 0.5"


def test_a_first_release_above_its_budget_begins_no_ledger(tacit, folder: Path) -> None:
    done = tacit("release people.csv --one-row-each --count --epsilon 2 --budget-epsilon 1")
    assert done.code == 1
    assert not (folder / "people.ledger").exists()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("other.csv --ledger people.ledger", "belongs to the data set"),
        ("people.csv --budget-epsilon 3", "has the budget"),
        ("people.csv --person person --rows 2", "other terms"),
        ("people.csv --ledger copy.ledger", "copied or moved"),
    ],
)
def test_a_ledger_of_something_else_is_refused(tacit, folder: Path, flags: str, said: str) -> None:
    assert (
        tacit("release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1").code
        == 0
    )
    (folder / "other.csv").write_text((folder / "people.csv").read_text())
    (folder / "copy.ledger").write_bytes((folder / "people.ledger").read_bytes())
    done = tacit(f"release {flags} --mean age:0:100 --epsilon 0.5")
    assert done.code == 2
    assert said in done.err
    with open_ledger(folder / "people.ledger") as ledger:
        assert str(ledger.spent) == "epsilon 0.5"


def test_a_pattern_needs_a_ledger_of_its_own(tacit, folder: Path) -> None:
    done = tacit("release", "peop*.csv", "--one-row-each", "--count", "--epsilon", "1")
    assert done.code == 2
    assert "--ledger" in done.err
    assert (
        tacit(
            "release",
            "peop*.csv",
            "--one-row-each",
            "--count",
            "--epsilon",
            "1",
            "--ledger",
            "p.ledger",
        ).code
        == 0
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into every folder")
def test_a_folder_that_cannot_be_written(tacit, folder: Path) -> None:
    folder.chmod(0o500)
    done = tacit("release people.csv --one-row-each --count --epsilon 1")
    folder.chmod(0o700)
    assert done.code == 2
    assert "people.ledger" in done.err


def test_a_ledger_that_cannot_be_made(tacit, folder: Path) -> None:
    done = tacit(
        "release people.csv --one-row-each --count --epsilon 1 --ledger people.csv/x.ledger"
    )
    assert done.code == 2
    assert done.out == ""


def test_a_missing_extra_is_told_before_anything_is_spent(
    tacit, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = tacit("release people.csv --one-row-each --count --epsilon 1 --plot p.png")
    assert done.code == 2
    assert "pip install 'tacit-dp[plot]'" in done.err
    assert not (folder / "people.ledger").exists()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            "--top-k age:1:old,young",
            "'age' holds integer, and the category 'old' is of another kind",
        ),
        ("--covariance age:0:9,pay:0:9,person:0:9", "covariance takes two columns, not 3"),
        ("--correlation age:0:9,pay:0:9,person:0:9", "correlation takes two columns, not 3"),
        ("--mean age:0:9 --types agee=integer", "did you mean 'age'?"),
    ],
)
@pytest.mark.parametrize("command", ["preview", "release"])
def test_what_does_not_fit_the_table_begins_no_ledger(tacit, folder, command, asked, message):
    (folder / "few.csv").write_text("person,age,pay\n1,2,3\n")
    types = "" if "--types" in asked else "--types age=integer"
    done = tacit(f"{command} few.csv {types} --one-row-each {asked} --epsilon 1")
    assert done.code == 2
    assert message in done.err
    assert "types=" not in done.err
    assert not list(folder.glob("*.ledger"))


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["preview", "--size", "x"], "No such option: --size (Possible options: --sizes)"),
        (["local", "choose", "--epsilon"], "--epsilon"),
        (["--nothing"], "No such option: --nothing"),
        (["ledger", "shw"], "shw"),
    ],
)
def test_a_wrong_flag_is_one_plain_line(typed, told, capsys) -> None:
    assert run(typed) == 2
    said = capsys.readouterr().err
    assert said.startswith("Error: ")
    assert told in said
    assert said.endswith("--help\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--count", "--where", "site = other"), "A text is written in quotes: 'other'"),
        (("--count", "--where", "site in ('a', zzz)"), "A text is written in quotes: 'zzz'"),
        (("--count", "--where", "agee > 3"), "did you mean 'age'?"),
        (("--count", "--by", "site", "--keys", "other", "black"), "--keys other,black"),
        (("--mean", "age", "0", "100"), "--mean age:0:100"),
        (("--sum", "age:5:5"), "are equal, both 5"),
    ],
)
def test_first_typings_of_a_newcomer(tacit, folder: Path, words, said: str) -> None:
    done = tacit("release", "people.csv", "--one-row-each", *words, "--epsilon", "1")
    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert not (folder / "people.ledger").exists()


# A command from outside: its exit code, and that no error shows the data.


def test_an_error_nobody_foresaw_tells_no_data(
    tacit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import tacit.tables.question as question

    def fails(*_: object) -> None:
        raise KeyError("the salary of p17 is 900")

    monkeypatch.setattr(question, "release_answer", fails)
    done = tacit("release people.csv --one-row-each --count --epsilon 1")
    assert done.code == 70
    assert "p17" not in done.err
    assert "KeyError" in done.err
    monkeypatch.setenv("TACIT_DEBUG", "1")
    with pytest.raises(KeyError):
        run(
            [
                "release",
                "people.csv",
                "--one-row-each",
                "--count",
                "--epsilon",
                "1",
                "--ledger",
                "b.ledger",
            ]
        )


def test_an_interrupt_is_told(tacit, monkeypatch: pytest.MonkeyPatch) -> None:
    import tacit.tables.question as question

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(question, "release_answer", stopped)
    done = tacit("release people.csv --one-row-each --count --epsilon 1")
    assert done.code not in (0, 1, 2)
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("a\0b", "argument 2 contains the character NUL"),
        ("caf\udce9.csv", r"shown here as \udc..: caf\udce9"),
    ],
)
def test_what_is_no_text_is_refused_by_its_place(
    capsys: pytest.CaptureFixture[str], argument: str, said: str
) -> None:
    assert run(["release", argument]) == 2
    assert said in capsys.readouterr().err


def test_each_way_to_end_has_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ends_with(error: BaseException) -> tuple[int, str]:
        def app(**_: object) -> None:
            raise error

        monkeypatch.setattr("tacit.cli.app.commands", lambda: app)
        code = run(["release"])
        return code, capsys.readouterr().err

    assert ends_with(BudgetError("no more")) == (1, "Error: no more\n")
    assert ends_with(UsageError("not so")) == (2, "Error: not so\n")
    assert ends_with(SystemExit(3)) == (3, "")
    assert ends_with(SystemExit("a secret")) == (70, "")
    code, told = ends_with(KeyboardInterrupt())
    assert code == 130
    assert "stays charged" in told
    interrupt = KeyboardInterrupt()
    interrupt.add_note("nothing was charged")
    assert ends_with(interrupt) == (130, "Interrupted. Nothing was charged.\n")
    code, told = ends_with(ValueError("the pay of p17"))
    assert code == 70
    assert "p17" not in told


def test_an_interrupt_that_became_an_exit_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def app(**_: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemExit(130) from error

    monkeypatch.setattr("tacit.cli.app.commands", lambda: app)
    assert run(["release"]) == 130
    assert "Interrupted." in capsys.readouterr().err


def test_a_file_that_cannot_be_written_says_that_the_answer_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def app(**_: object) -> None:
        raise PermissionError(13, "Permission denied", "out.csv")

    monkeypatch.setattr("tacit.cli.app.commands", lambda: app)
    assert run(["release"]) == 2
    assert "Permission denied (out.csv). What was released is in" in capsys.readouterr().err
    assert run(["ledger", "show"]) == 2
    assert "What was released" not in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(("typed", "found"), [("re", "release"), ("release --hist", "--histogram")])
def test_a_shell_completes_commands_and_flags(shell: str, typed: str, found: str) -> None:
    given = {
        "_TACIT_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": f"tacit {typed}",
        "COMP_CWORD": str(len(typed.split())),
        "_TYPER_COMPLETE_ARGS": f"tacit {typed}",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": typed.split()[-1],
    }
    done = subprocess.run(
        [str(Path(sys.executable).with_name("tacit"))],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found in done.stdout
    assert done.stderr == ""


def test_the_version_names_the_engines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    first, engines = capsys.readouterr().out.splitlines()
    assert first.startswith("tacit ")
    for name in ("python 3", "duckdb ", "numpy ", "pyarrow "):
        assert name in engines


@pytest.mark.filterwarnings("default")
def test_a_warning_is_a_sentence_without_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age\n31\n45\n")
    asked = ["--one-row-each", "--epsilon", "1", "--types", "age=float"]
    # of several percentiles shares are a warning, of one they are refused
    for flag, code in (("--percentile", 2), ("--percentiles", 0)):
        assert run(["preview", "people.csv", *asked, flag, "age:0.9:0:100"]) == code
        noted = capsys.readouterr().err
        assert "a percentile is from 0 to 100" in noted
        assert "Warning" not in noted
        assert ".py" not in noted


# The domain that flags describe.


def test_each_way_is_the_domain_that_python_makes():
    assert domain_of(PopulationOptions(records="1,2,5", size=2)) == Records([1, 2, 5], size=2)
    assert domain_of(PopulationOptions(values="0,1/3", size=4)) == Values(
        [0, Fraction(1, 3)], size=4
    )
    assert domain_of(PopulationOptions(interval="-1:0.5", size=3)) == Interval(-1, "1/2", size=3)


def test_columns_of_numbers_are_found_in_a_file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,name,pay\n31,Ada,10\n45,Bo,20\n")
    one = domain_of(PopulationOptions(csv=str(path), column=["age"], size=1))
    assert one == Records([31, 45], size=1)
    both = domain_of(PopulationOptions(csv=str(path), size=1))
    assert both == Records({"age": [31, 45], "pay": [10, 20]}, size=1)
    for column, why in (("name", "holds text"), ("agee", "did you mean")):
        with pytest.raises(UsageError, match=why):
            domain_of(PopulationOptions(csv=str(path), column=[column], size=1))
    path.write_text("name\nAda\n")
    with pytest.raises(UsageError, match="no column of numbers"):
        domain_of(PopulationOptions(csv=str(path), size=1))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (PopulationOptions(), "in one way"),
        (PopulationOptions(records="1", values="2"), "in one way"),
        (PopulationOptions(values="1,2", column=["age"]), "--csv"),
        (PopulationOptions(interval="0-1", size=1), "LOW:HIGH"),
        (PopulationOptions(records="1,two", size=1), "two"),
    ],
)
def test_what_is_no_domain_is_refused(given, why):
    with pytest.raises(UsageError, match=why):
        domain_of(given)


def flags_of(command, path=()):
    """Each command with the names of its flags."""
    for name, below in getattr(command, "commands", {}).items():
        yield from flags_of(below, (*path, name))
    if path and not getattr(command, "commands", None):
        named = [name for p in command.params for name in getattr(p, "opts", ())]
        yield path, [name for name in named if name.startswith("--")]


def test_each_word_of_a_flag_suggests_it(capsys) -> None:
    tried = 0
    for path, flags in flags_of(typer.main.get_command(app)):
        for flag in flags:
            for word in flag.strip("-").split("-"):
                if f"--{word}" in flags or len(word) < 3:
                    continue
                assert run([*path, f"--{word}", "1"]) == 2
                said = capsys.readouterr().err
                options = said.partition("Possible options: ")[2].partition(")")[0].split(", ")
                assert flag in options, (path, word, said)
                tried += 1
    assert tried > 50


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--budget", "--budget-delta, --budget-epsilon, --budget-rho"),
        ("--unit", "--one-row-each, --person"),
        ("--eps", "--epsilon"),
        ("--group-by", "--by"),
        ("--filter", "--where"),
        ("--average", "--mean"),
    ],
)
def test_a_flag_of_another_program_suggests_ours(typed, meant, capsys) -> None:
    assert run(["release", "people.csv", "--count", typed, "10"]) == 2
    assert f"{typed} (Possible options: {meant})" in capsys.readouterr().err

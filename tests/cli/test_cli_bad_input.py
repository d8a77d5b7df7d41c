"""What is typed wrongly: a clear message, the right exit code, and nothing spent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacit.accounting import open_ledger
from tacit.cli import run

ASK = "--count --epsilon 0.5"


@pytest.mark.few(9)
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"release peple.csv {ASK}", "did you mean 'people.csv'"),
        (f"release {ASK}", "name the table"),
        (f"release empty.csv {ASK}", "is empty"),
        (f"release broken.csv {ASK}", "holds no names"),
        (f"release broken.parquet {ASK}", "cannot be read"),
        (f"release people.txtx {ASK}", "people"),
        (f"release nothing {ASK}", "no .csv or .parquet"),
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
        (f"release people.csv --one-row-each --budget-epsilon 0 {ASK}", "above zero"),
        (f"release people.csv --one-row-each --by stie --keys a {ASK}", "did you mean 'site'"),
        (f"release people.csv --one-row-each --keys a {ASK}", "--by"),
        (
            f"release people.csv --one-row-each --types pay=float --by pay {ASK}",
            "--cut pay:0,10,20",
        ),
        (f"release people.csv --one-row-each --cut age --by age_group {ASK}", "--cut age:0,18,65"),
        (
            f"release people.csv --one-row-each --cut age:9,1 --by age_group {ASK}",
            "above the one before",
        ),
        (
            f"release people.csv --one-row-each --types site=text --cut site:1,9 --by "
            f"site_group {ASK}",
            "site",
        ),
        (
            f"release people.csv --one-row-each --types age=integer --by age --keys a {ASK}",
            "whole numbers",
        ),
        (f"release people.csv --one-row-each --types day=date --by day --keys a {ASK}", "dates"),
        (f"release people.csv --one-row-each --by site,sex --keys a {ASK}", "once for each"),
        (
            f"release people.csv --one-row-each --by site,sex --keys site=a {ASK}",
            "no values for sex",
        ),
        (f"release people.csv --one-row-each --by site --keys a,a {ASK}", "given twice"),
        (
            f"release people.csv --one-row-each --by site --keys-file people.csv {ASK}",
            "private table itself",
        ),
        (
            f"release people.csv --one-row-each --by site --keys-file nowhere.csv {ASK}",
            "cannot be read",
        ),
        (f"release people.csv --person person {ASK}", "--rows 5"),
        (f"release people.csv --rows 5 {ASK}", "--person"),
        (f"release people.csv --person persn --rows 2 {ASK}", "did you mean 'person'"),
        (f"release people.csv --person person --rows 0 {ASK}", "at least 1"),
        (f"release people.csv --one-row-each --types age {ASK}", "column=kind"),
        (f"release people.csv --one-row-each --types age=number {ASK}", "is not a kind"),
        (f"release people.csv --one-row-each --plot p.gif {ASK}", ".png"),
        (f"release people.csv --one-row-each --certificate c.xml {ASK}", ".json"),
        (f"release people.csv --one-row-each --certificate nowhere/c.json {ASK}", "no folder"),
        (f"release people.csv --one-row-each --json --csv {ASK}", "not both"),
        (f"release people.csv --one-row-each --memory-limit much {ASK}", "memory"),
        (f"release people.csv --one-row-each --ledger nowhere/x.ledger {ASK}", "nowhere"),
        (
            f"release people.csv --one-row-each --ledger postgresql://127.0.0.1:1/y {ASK}",
            "cannot be reached",
        ),
        (
            f"release people.csv --one-row-each --mean age:0:9 --mean age:0:99 {ASK}",
            "called 'mean_age'",
        ),
        ("release people.csv --one-row-each --cuont --epsilon 1", "No such option"),
        ("relaese people.csv --count --epsilon 1", "Did you mean 'release'? See tacit --help"),
        ("release book.xlsx --one-row-each --count --epsilon 1", "save it as CSV"),
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

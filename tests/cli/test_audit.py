"""``tacit serve audit``: what it shows, and what it finds."""

from __future__ import annotations

import random
import re
import shlex
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer

from support.odd_values import COMMANDS, TEXTS, VALUES, commands, line, places, plans
from tacit.cli.app import app
from tacit.service.audit_log import AuditLog
from tacit.service.database import Database


@pytest.fixture
def _used(folder: Path) -> None:
    """A service that was used a little."""
    database = Database(f"sqlite:///{folder}/service.db")
    database.create()
    log = AuditLog(database)
    log.write("token_made", "operator", subject="t1", details={"for": "ada"})
    log.write("release_asked", "ada", dataset="visits", outcome="refused", details={"code": "x"})
    database.close()


@pytest.mark.usefixtures("_used")
def test_events_are_shown(tacit) -> None:
    out = tacit("serve audit .").out
    for word in ("token_made", "operator", "for ada", "release_asked (refused)", "visits"):
        assert word in out
    assert [e["action"] for e in tacit("serve audit . --json --last 1").json] == ["release_asked"]


@pytest.mark.usefixtures("_used")
def test_the_chain_is_verified(tacit, folder: Path) -> None:
    told = tacit("serve audit . --verify --json").json
    assert told["events"] == 2
    assert told["head"].startswith("2:")
    assert "2 events" in tacit(f"serve audit . --verify --noted {told['head']}").err
    elsewhere = "2:" + "0" * 64
    assert tacit(f"serve audit . --noted {elsewhere}").code == 1
    with sqlite3.connect(folder / "service.db") as database:
        database.execute("drop trigger audit_no_update")
        database.execute("update audit_event set event = replace(event, 'ada', 'eve')")
    database.close()
    done = tacit("serve audit . --verify")
    assert done.code == 1
    assert "event 1" in done.err


@pytest.mark.usefixtures("_used")
@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("serve audit nothere", "there is no folder"),
        ("serve audit . --noted 5", "number and the hash"),
        ("serve audit . --last 0", "--last"),
        ("serve audit", "there is no folder 'audit'"),
    ],
)
def test_what_is_refused(words: str, told: str, tacit) -> None:
    done = tacit(words)
    assert done.code == 2
    assert told in done.err


@pytest.mark.usefixtures("_used")
def test_a_service_that_was_never_started(folder: Path, tacit) -> None:
    (folder / "service.db").unlink()
    done = tacit("serve audit .")
    assert done.code == 2
    assert "not started" in done.err
    assert not (folder / "service.db").exists()


# Odd values in every flag and in every field of a plan: a clear answer, and never a traceback.


CHOSEN = random.Random(13)


def sample(cases: list, fast: int, full: int) -> list:
    """All cases, of which so many are fast, so many full, and the others slow."""
    order = CHOSEN.sample(range(len(cases)), len(cases))
    marks = dict.fromkeys(order[fast:], pytest.mark.full)
    marks |= dict.fromkeys(order[fast + full :], pytest.mark.slow)
    return [pytest.param(*case, marks=marks.get(place, ())) for place, case in enumerate(cases)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Of the odd values, make the slow cases only for a run that has them: they are 14,000."""
    if metafunc.definition.name not in ODD:
        return
    names, cases = ODD[metafunc.definition.name]
    if "not slow" in metafunc.config.option.markexpr:
        cases = [case for case in cases if pytest.mark.slow not in case.marks]
    metafunc.parametrize(names, cases)


FIELDS = [(name, odd) for name in plans() for odd in VALUES]
# A page that is sent is a server that waits, and the demo takes seconds.
FLAGS = [
    (words, place, odd)
    for words, command in commands().items()
    for place in places(command)
    for odd in TEXTS
    if words != "demo" and place != "--send-to"
]
ODD = {
    "test_a_field_of_a_plan": (("name", "odd"), sample(FIELDS, 6, 54)),
    "test_a_flag": (("words", "place", "odd"), sample(FLAGS, 2, 90)),
}


def answered(done) -> None:
    assert done.code in (0, 1, 2), done.err
    assert "Traceback" not in done.err + done.out
    assert done.code == 0 or done.err


@pytest.mark.few(1)
def test_a_field_of_a_plan(tacit, folder: Path, name: str, odd: str) -> None:
    text = plans()[name].replace("@", VALUES[odd])
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    answered(tacit("preview --plan plan.toml"))


@pytest.mark.few(1)
def test_a_flag(tacit, folder: Path, words: str, place: str, odd: str) -> None:
    for before in (
        f"release {COMMANDS['release']} --certificate kept.json",
        "local perturb people.csv --column site --items a,b,c --epsilon 1 --out kept.reports",
    ):
        assert tacit(before).code == 0
    answered(tacit(*line(words, place, TEXTS[odd])))


def test_every_command_has_a_line() -> None:
    assert set(COMMANDS) == set(commands())


def test_edges_that_are_no_list_are_told(tacit, folder: Path) -> None:
    for name in ("answer edges", "cut edges", "answer edge", "cut edge"):
        (folder / "plan.toml").write_text(plans()[name].replace("@", "inf"))
        done = tacit("release --plan plan.toml")
        assert (done.code, done.out) == (2, "")
        assert "edge" in done.err
    assert not (folder / "people.ledger").exists()


GIANTS = ["1e-999999999", "1e5000000", "7" * 10**6]


@pytest.mark.few(4)
@pytest.mark.parametrize("giant", GIANTS, ids=["dwarf", "giant", "long"])
@pytest.mark.parametrize(
    "command",
    [
        "release people.csv --one-row-each --count --epsilon @",
        "release people.csv --one-row-each --count --epsilon 1 --budget-epsilon @",
        "release people.csv --one-row-each --count --rho @",
        "release people.csv --one-row-each --mean age:0:@ --epsilon 1",
        "release people.csv --one-row-each --percentile age:@:0:9 --epsilon 1",
        "release people.csv --one-row-each --histogram age:0,@ --epsilon 1",
        "release people.csv --one-row-each --cut age:0,@ --count --by age_group --epsilon 1",
        "ledger create people.csv --one-row-each --budget-epsilon @",
        "sensitivity mean --records 1,@",
        "sensitivity mean --interval 0:@",
        "sensitivity mean --records 1,2 --distance @",
        "choose-epsilon mean --records 1,2 --risk @",
        "local choose -n 9 --items a,b --epsilon @",
        "local choose -n 9 --items a,b -p @",
        "local choose -n 9 --mechanism piecewise --bounds 0:@ --epsilon 1",
        "count-over-time people.csv --one-row-each --types day=date --time day --start @ "
        "--every 1d "
        "--periods 2 --epsilon 1",
    ],
)
def test_a_giant_behind_a_flag_is_refused_at_once(
    tacit, folder: Path, command: str, giant: str
) -> None:
    began = time.process_time()
    done = tacit(*(word.replace("@", giant) for word in command.split()))
    assert done.code == 2, done.err[-300:]
    assert time.process_time() - began < 1
    assert not list(folder.glob("*.ledger"))


# On a terminal every command that may take longer than a second says what it is doing.


SHOWN = {
    "tacit init people.csv": {"reading the names and kinds of the columns"},
    "tacit check people.csv": {"looking through the table"},
    "tacit preview people.csv --one-row-each --count --epsilon 1": {
        "opening the table",
        "planning",
        "computing the errors to expect",
    },
    "tacit ledger create people.csv --one-row-each --budget-epsilon 9": {"opening the table"},
    "tacit release people.csv --one-row-each --count --epsilon 1 --certificate c.json": {
        "opening the table",
        "planning",
        "asking the table",
        "writing the certificate",
    },
    "tacit sql people.csv 'select count(*) as n from people' --one-row-each --epsilon 1": {
        "planning",
        "asking the table",
    },
    "tacit verify c.json --html c.html": {"deriving the loss again", "writing the page"},
    "tacit registry c.json --json": {"deriving the loss again"},
    "tacit ledger show people.ledger": {"reading the ledger"},
    "tacit ledger verify people.ledger": {"replaying the ledger"},
    "tacit ledger restore people.ledger": {"replaying the ledger"},
    "tacit count-over-time people.csv --one-row-each --time day --start 2024-01-01 --every 1d "
    "--periods 2 --epsilon 1": {"computing the errors to expect", "counting"},
    "tacit sensitivity median --records 1,2,3 --size 2": {"computing"},
    "tacit choose-epsilon median --records 1,2,3,10 --size 3 --risk 1/3": {
        "going through the possible worlds"
    },
    "tacit local perturb people.csv --column site --items a,b,c --epsilon 1 --out r.reports": {
        "randomising"
    },
    "tacit local collect r.reports --out r.state": {"adding up"},
    "tacit local estimate r.state": {"adding up", "estimating"},
}
"""What is typed, one after another in one folder, and what a terminal shows meanwhile."""


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was under way, as a terminal would be told."""
    from rich.progress import Progress

    told: list[str] = []
    plain = Progress.add_task

    def add_task(self, description, *given, **more):
        told.append(description)
        return plain(self, description, *given, **more)

    monkeypatch.setattr(Progress, "add_task", add_task)
    return told


def terminal(monkeypatch: pytest.MonkeyPatch, there: bool = True) -> None:
    """Let what is printed on stderr go to a terminal, or to a pipe."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: there, raising=False)


@pytest.mark.full
def test_a_terminal_is_told_what_is_under_way(tacit, shown: list[str], monkeypatch) -> None:
    terminal(monkeypatch)
    for command, wanted in SHOWN.items():
        shown.clear()
        done = tacit(*shlex.split(command)[1:])
        assert done.code == (1 if "registry" in command else 0), done.err
        assert wanted <= set(shown), command
        assert not any(text in done.out for text in wanted), "progress is for stderr"


def test_a_preview_says_so_and_a_pipe_stays_clean(tacit, shown, monkeypatch) -> None:
    terminal(monkeypatch)
    words = "preview people.csv --one-row-each --count --epsilon 1 --json"
    on_a_terminal = tacit(words)
    assert "computing the errors to expect" in shown
    terminal(monkeypatch, there=False)
    shown.clear()
    piped = tacit(words)
    assert shown == []
    assert piped.err == ""
    assert piped.json == on_a_terminal.json


# Every command and every flag stands on the page of the command line, and explains itself.


PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")


def documented_commands(group: Any, before: str) -> dict[str, Any]:
    """Every command by its full name, but the earlier names of some, which are not shown."""
    result: dict[str, Any] = {}
    for name, command in group.commands.items():
        if command.hidden:
            continue
        full = f"{before} {name}"
        if name in getattr(group, "asking", ()):
            command = group.full_command(name)  # with the flags of the kinds of answers
        result |= (
            documented_commands(command, full) if hasattr(command, "commands") else {full: command}
        )
    return result


DOCUMENTED_COMMANDS = documented_commands(typer.main.get_command(app), "tacit")


def test_the_commands_are_known() -> None:
    assert {"tacit demo", "tacit release", "tacit ledger show"} <= set(DOCUMENTED_COMMANDS)


@pytest.mark.parametrize("name", DOCUMENTED_COMMANDS)
def test_command_is_documented(name: str) -> None:
    assert f"`{name}`" in PAGE or f"## `{name}`" in PAGE
    assert f"$ {name}" in PAGE, "no example that runs"


@pytest.mark.few(9)
@pytest.mark.parametrize("name", DOCUMENTED_COMMANDS)
def test_command_explains_itself(name: str, tacit) -> None:
    done = tacit(*name.split()[1:], "--help")
    assert done.code == 0
    text = DOCUMENTED_COMMANDS[name].help or ""
    assert f"[bold]{name} " in text or name == "tacit demo", "its help has no example"
    assert all(getattr(p, "help", "x") for p in DOCUMENTED_COMMANDS[name].params)


def test_flags_are_documented() -> None:
    flags = {
        flag
        for command in DOCUMENTED_COMMANDS.values()
        for parameter in command.params
        for flag in parameter.opts
        if flag.startswith("--")
    } - {"--help"}
    assert {flag for flag in flags if not re.search(rf"{flag}\b", PAGE)} == set()


def test_what_is_documented_exists() -> None:
    named = set(re.findall(r"^## `(tacit [\w-]+)`$", PAGE, flags=re.MULTILINE))
    groups = {" ".join(name.split()[:2]) for name in DOCUMENTED_COMMANDS}
    assert named == groups

"""On a terminal every command that may take longer than a second says what it is doing."""

from __future__ import annotations

import shlex
import sys

import pytest

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

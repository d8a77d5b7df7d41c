"""Odd values in every flag and in every field of a plan: a clear answer, and never a traceback."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from support.odd_values import COMMANDS, TEXTS, VALUES, commands, line, places, plans

CHOSEN = random.Random(13)


def sample(cases: list, fast: int, full: int) -> list:
    """All cases, of which so many are fast, so many full, and the others slow."""
    order = CHOSEN.sample(range(len(cases)), len(cases))
    marks = dict.fromkeys(order[fast:], pytest.mark.full)
    marks |= dict.fromkeys(order[fast + full :], pytest.mark.slow)
    return [pytest.param(*case, marks=marks.get(place, ())) for place, case in enumerate(cases)]


FIELDS = [(name, odd) for name in plans() for odd in VALUES]
# A page that is sent is a server that waits, and the demo takes seconds.
FLAGS = [
    (words, place, odd)
    for words, command in commands().items()
    for place in places(command)
    for odd in TEXTS
    if words != "demo" and place != "--send-to"
]


def answered(done) -> None:
    assert done.code in (0, 1, 2), done.err
    assert "Traceback" not in done.err + done.out
    assert done.code == 0 or done.err


@pytest.mark.few(4)
@pytest.mark.parametrize(("name", "odd"), sample(FIELDS, 20, 40))
def test_a_field_of_a_plan(tacit, folder: Path, name: str, odd: str) -> None:
    text = plans()[name].replace("@", VALUES[odd])
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    answered(tacit("preview --plan plan.toml"))


@pytest.mark.few(12)
@pytest.mark.parametrize(("words", "place", "odd"), sample(FLAGS, 12, 80))
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

"""How a CSV file is written, said in flags and in a plan with the same words as in Python."""

from __future__ import annotations

import shlex

import pytest

from support.odd_file import PLAN

FLAGS = shlex.split(
    "release odd.csv --delimiter ';' --header age,day --null - --types day=date --date-format "
    "%d.%m.%Y --encoding latin-1 --one-row-each --count --epsilon 100000 --yes --json --where"
)
WHERE = "day >= '2024-01-01'"


@pytest.fixture
def odd(folder):
    text = "31;01.02.2024\n-;01.02.2024\nforty;03.02.2024\n50;31.12.2023\n\xe9;x\n"
    (folder / "odd.csv").write_bytes(text.encode("latin-1"))
    (folder / "plan.toml").write_text(PLAN)
    return folder


@pytest.mark.parametrize(
    "words", [[*FLAGS, WHERE], ["release", "--plan", "plan.toml", "--yes", "--json"]]
)
def test_flags_and_a_plan_say_the_same(tacit, odd, words):
    done = tacit(*words)
    assert done.code == 0, done.err
    (answer,) = done.json["releases"][0]["answers"]
    assert round(answer["n" if "--plan" in words else "count"]["value"]) == 3


def test_a_record_in_the_place_of_the_names_is_said(tacit, odd):
    done = tacit("preview odd.csv --count --epsilon 1")
    assert "--delimiter ';'" in done.err or "may be a record" in done.err

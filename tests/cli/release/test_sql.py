"""``tacit sql`` and the same text in plans: one identity with flags and with Python."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

QUERY = "select count(*) as count, avg(clamp(age, 0, 100)) as mean_age from people"


def asked(tacit, line: str):
    return tacit(*shlex.split(line))


def test_a_query_is_answered_and_paid_once(tacit, folder: Path) -> None:
    line = f'sql people.csv "{QUERY}" --one-row-each --epsilon 0.5'
    first = asked(tacit, f"{line} --budget-epsilon 2 --json").json
    assert first["remaining"]["exact"]["epsilon"] == "3/2"
    flags = "release people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5 --json"
    again = tacit(flags).json
    assert again["releases"][0]["replayed"]
    assert again["releases"][0]["answers"] == first["releases"][0]["answers"]
    assert asked(tacit, f"{line} --csv").out.startswith("count,count_error")


def test_computing_with_aggregates_pays_for_them_alone(tacit, folder: Path) -> None:
    """Also with comments in the text, which are white space."""
    text = "/* BI */ select sum(clamp(age, 0, 100)) / count(*) as m -- mean\n from people"
    rest = "--one-row-each --epsilon 0.5 --budget-epsilon 2"
    done = asked(tacit, f'sql people.csv "{text}" {rest} --certificate m.json')
    assert done.code == 0
    assert "m: sum_age / count, computed from the released answers" in done.out + done.err
    assert asked(tacit, "verify m.json --ledger people.ledger").code == 0
    plain = "select sum(clamp(age, 0, 100)), count(*) from people"
    both = asked(tacit, f'sql people.csv "{plain}" {rest} --json').json["releases"][0]
    again = asked(tacit, f'sql people.csv "{text}" {rest} --json').json["releases"][0]
    assert both["replayed"]
    assert again["replayed"]
    found, (released,) = again["answers"][0]["m"], both["answers"]
    assert found["value"] == released["sum_age"]["value"] / released["count"]["value"]
    assert again["computed"]["m"].startswith("m: sum_age / count")
    assert asked(tacit, f'sql people.csv "{text}" {rest} --csv').out.startswith("m,m_error,m_low")
    shown = asked(tacit, f'sql people.csv "{text}" {rest} --preview')
    assert "sum_age" in shown.out


def test_a_preview_spends_nothing(tacit, folder: Path) -> None:
    done = asked(
        tacit,
        'sql people.csv "select max(clamp(age, 0, 9)) as m from people" --one-row-each '
        "--epsilon 0.5 --preview",
    )
    assert done.code == 0
    assert "m is a value that a handful of rows may be beyond" in done.out
    assert not (folder / "people.ledger").exists()


def test_the_same_text_stands_in_a_plan(tacit, folder: Path) -> None:
    plan = folder / "plan.toml"
    question = f"[[question]]\nsql = '''{QUERY}'''\nepsilon = 0.5\n"
    plan.write_text(
        f'unit = "row"\n[source]\npath = "people.csv"\n[budget]\nepsilon = 1\n{question}'
    )
    first = json.loads(tacit("release --plan plan.toml --json").out)
    again = asked(tacit, f'sql people.csv "{QUERY}" --one-row-each --epsilon 0.5 --json').json
    assert again["releases"][0]["replayed"]
    assert again["releases"][0]["answers"] == first["releases"][0]["answers"]
    plan.write_text(plan.read_text() + 'by = ["sex"]\n')
    done = tacit("release --plan plan.toml")
    assert done.code == 2
    assert "leave by out" in done.err


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("drop table people", "line 1, column 1: DROP changes something"),
        ("select age from people", "line 1, column 8: rows of a private table are never shown"),
        ("select count(*) from nowhere", "line 1, column 22: there is no table 'nowhere'"),
    ],
)
def test_what_has_no_translation_ends_with_two(tacit, folder, query: str, told: str) -> None:
    done = asked(tacit, f'sql people.csv "{query}" --one-row-each --epsilon 0.5 --budget-epsilon 1')
    assert done.code == 2
    assert told in done.err
    assert not (folder / "people.ledger").exists()


def test_a_query_must_be_there(tacit) -> None:
    done = tacit("sql people.csv --one-row-each --epsilon 0.5")
    assert done.code == 2
    assert "write the query" in done.err

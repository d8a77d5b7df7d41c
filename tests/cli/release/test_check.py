"""``tacit check`` says that it is not private."""

from __future__ import annotations

import pytest

from support.odd_file import PLAN


@pytest.fixture
def odd(folder):
    text = "31;01.02.2024\n-;01.02.2024\nforty;03.02.2024\n50;31.12.2023\n\xe9;x\n"
    (folder / "odd.csv").write_bytes(text.encode("latin-1"))
    (folder / "plan.toml").write_text(PLAN)
    return folder


def test_check_says_that_it_is_not_private(tacit, odd):
    done = tacit("check people.csv")
    assert done.code == 0
    assert "NOT PRIVATE" in done.out
    assert "age=integer" in done.out
    assert "pay=integer" in done.out


def test_check_prints_json_that_says_that_it_is_not_private(tacit, odd):
    done = tacit("check odd.csv --delimiter ; --header age,day --encoding latin-1 --json")
    assert done.code == 0, done.err
    assert "NOT PRIVATE" in done.err
    found = done.json
    assert (found["private"], found["rows"], found["types"]["day"]) == (False, 5, "text")
    assert found["columns"]["age"]["missing_as"]["integer"] == 3
    done = tacit("check people.csv --memory-limit much --json")
    assert (done.code, done.out) == (2, "")


def test_a_wrong_delimiter_is_noted_in_the_flags_of_the_command(tacit, folder):
    (folder / "semicolons.csv").write_text("age;pay\n31;5\n")
    for more in ("", " --json"):
        done = tacit(f"check semicolons.csv{more}")
        assert done.code == 0
        assert "--delimiter ';'" in done.err
        assert "Warning" not in done.err
        assert ".py" not in done.err
        assert str(folder) not in done.err


def test_a_declared_kind_that_fits_no_cell_is_said_in_text_as_in_json(tacit, folder):
    (folder / "commas.csv").write_text("n\n" + '"12,5"\n' * 100)
    done = tacit("check commas.csv --types n=float")
    assert "100 cells filled, and NONE of them is read as float" in done.out


def test_a_wrong_delimiter_of_a_declaration_is_noted_once(tacit, folder):
    (folder / "semicolons.csv").write_text("age;pay\n31;5\n")
    (folder / "declared.toml").write_text(
        'name = "declared"\nunit = "row"\nbudget = { epsilon = 1 }\n'
        '[tables.declared]\npath = "semicolons.csv"\n'
    )
    for command in ("check declared.toml", "preview declared.toml --count --epsilon 1"):
        done = tacit(command)
        assert done.code == 0, done.err
        assert done.err.count("delimiter=';'") == 1
        assert "Warning" not in done.err

"""The table of attacks on the command line."""

from __future__ import annotations

import json

import pytest


def test_the_cases_are_listed(tacit):
    done = tacit("audit", "attacks", "--only", "NaN")
    assert done.code == 0
    assert "NaN/sum" in done.out


@pytest.mark.parametrize(
    "flags",
    [("--systems", "nobody"), ("--only", "nothing"), ("--python", "x"), ("--html", "page.txt")],
)
def test_wrong_flags_are_refused(tacit, flags):
    assert tacit("audit", "attacks", *flags).code == 2


@pytest.mark.full
def test_a_system_is_attacked_and_told_as_json_and_as_a_page(tacit, tmp_path):
    page = tmp_path / "table.html"
    only = ("--only", "sums in a tree")
    done = tacit(
        *("audit", "attacks", "--systems", "tacit-framework", "--json", "--html", str(page)), *only
    )
    assert done.code == 0
    (result,) = json.loads(done.out)["results"]
    assert {verdict for verdict, _ in result["outcomes"].values()} == {"holds"}
    assert "holds 3/3" in page.read_text(encoding="utf-8")

"""The table of attacks on the command line."""

from __future__ import annotations

import json

import pytest

from tacit.audit.attack_suite import run
from tacit.audit.attack_suite.run import AttackTable, Result, load_cases
from tacit.audit.attack_suite.system import FALLS, Outcome


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


def test_json_stands_alone_where_a_system_falls(tacit, monkeypatch, tmp_path):
    case = next(case for case in load_cases() if case.attack == "NaN")
    fallen = Result("pydp", "1", {case.id: Outcome(FALLS, "no number")})
    monkeypatch.setattr(run, "attacks", lambda *_, **__: AttackTable([case], [fallen]))
    page = tmp_path / "table.html"
    flags = ("audit", "attacks", "--systems", "pydp", "--html", str(page))
    done = tacit(*flags, "--json")
    assert done.code == 1
    assert json.loads(done.out + done.err)["results"][0]["system"] == "pydp"
    assert "no number" in page.read_text(encoding="utf-8")
    told = tacit(*flags)
    assert told.code == 1
    assert "no number" in told.err


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

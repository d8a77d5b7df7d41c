"""The table: what was withstood, what does not apply and what was not run."""

from __future__ import annotations

import json

from tacit.audit.attack_suite.run import AttackTable, Result, load_cases
from tacit.audit.attack_suite.system import FALLS, HOLDS, NOT_APPLICABLE, UNDECIDED, Outcome


def test_a_table_names_what_does_not_apply_and_what_was_not_run():
    cases = [case for case in load_cases() if case.attack in ("NaN", "joins")]
    nan = [case.id for case in cases if case.attack == "NaN"]
    outcomes = dict.fromkeys((case.id for case in cases), Outcome(NOT_APPLICABLE, ""))
    outcomes[nan[0]], outcomes[nan[1]] = Outcome(HOLDS, "yes"), Outcome(UNDECIDED, "")
    table = AttackTable(cases, [Result("toy", "1", outcomes)])
    assert table.rows() == [["NaN", "holds 1/1, 1 undecided"]]
    assert "none of these systems offers: joins." in str(table)
    assert "none of these systems offers: joins." in table.to_html()
    broken = AttackTable(cases, [Result("toy", "", {}, "it could not be run: ImportError")])
    assert broken.rows()[0] == ["NaN", "not run"]
    assert "toy: it could not be run: ImportError." in broken.to_html()


def test_a_table_counts_what_was_withstood():
    cases = [case for case in load_cases() if case.attack in ("NaN", "joins")]
    nan = [case.id for case in cases if case.attack == "NaN"]
    outcomes = {name: Outcome(HOLDS, "yes") for name in nan}
    outcomes[nan[0]] = Outcome(FALLS, "<b>no</b>")
    outcomes[nan[1]] = Outcome(NOT_APPLICABLE, "")
    outcomes["joins/a key twice in the public table"] = Outcome(UNDECIDED, "")
    table = AttackTable(cases, [Result("toy", "1", outcomes), Result("gone", "", {}, "no")])
    assert table.rows()[0][0] == "NaN"
    assert table.cell("NaN", table.results[0]) == f"FALLS {len(nan) - 2}/{len(nan) - 1}"
    assert table.cell("joins", table.results[0]) == "undecided"
    assert table.fallen("toy") == [nan[0]]
    page = table.to_html()
    assert "<b>no</b>" not in page
    assert "&lt;b&gt;no" in page
    again = Result.from_dict(json.loads(table.to_json())["results"][0])
    assert again == table.results[0]

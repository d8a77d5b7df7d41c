"""Running cases on systems: in a process of its own, told as a table, JSON and a page."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tacit.audit.attack_suite.run import (
    OURS,
    SYSTEMS,
    attacks,
    end_group,
    interpreter_of,
    load_cases,
    system_named,
)
from tacit.audit.attack_suite.system import FALLS, HOLDS, UNDECIDED
from tacit.audit.attack_suite.worker import under_attack
from tacit.errors import UsageError


def test_without_systems_the_cases_are_listed():
    found = attacks()
    assert len(found) == len(list(found)) >= 90
    assert "float gaps/sum" in str(found)
    assert "NaN" in found.classes


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(UsageError, match="opendp"):
        attacks(["opendb"])
    with pytest.raises(UsageError, match="float gaps"):
        attacks(only=["float gap"])
    with pytest.raises(UsageError):
        system_named("nobody")


def test_interpreters_are_named_or_found(monkeypatch):
    assert interpreter_of("tacit", {}) == sys.executable
    assert interpreter_of("opendp", {"opendp": "/x/python"}) == "/x/python"
    monkeypatch.setenv("TACIT_PYTHON_DP_ACCOUNTING", "/y/python")
    assert interpreter_of("dp-accounting", {}) == "/y/python"


def test_what_is_not_installed_is_said_so(monkeypatch):
    monkeypatch.setitem(SYSTEMS, "pydp", ("pydp", "no_such_package"))
    found = attacks(["pydp"], only=["NaN"])
    assert "not installed" in found.results[0].absent
    assert "not installed" in str(found)
    assert json.loads(found.to_json())["results"][0]["outcomes"] == {}


def test_an_interpreter_that_fails_is_said_so():
    found = attacks(["opendp"], only=["NaN"], pythons={"opendp": "/no/such/python"})
    assert "could not be run" in found.results[0].absent


@pytest.mark.full
def test_a_system_is_attacked_in_a_process_of_its_own():
    found = attacks(["tacit-framework"], only=["sums in a tree", "NaN"])
    (result,) = found.results
    assert result.version
    assert found.fallen("tacit-framework") == []
    assert found.cell("sums in a tree", result) == "holds 3/3"
    assert found.cell("NaN", result) == "-"


QUICK = {
    *("order of summation", "rounding that repeats", "NaN", "infinities", "edges of bins"),
    *("public keys", "equality of texts", "a file read by its rows", "readings that differ"),
    *("errors that quote the rows", "odd amounts", "a failure between charge and answer"),
    *("copied and rolled-back ledgers", "forged certificates", "sensitivity", "sums in a tree"),
    *("stability of counts", "noisy maximum in zCDP", "a sample used twice", "joins"),
    *("reports that are not remembered", "hostile reports", "items outside of the domain"),
}


@pytest.mark.full
@pytest.mark.parametrize("name", OURS)
def test_tacit_falls_under_none(name):
    ids = {case.id for case in load_cases() if case.attack in QUICK}
    found = under_attack(name, ids).outcomes
    wrong = {k: o.evidence for k, o in found.items() if o.verdict in (FALLS, UNDECIDED)}
    assert wrong == {}
    assert sum(o.verdict == HOLDS for o in found.values()) >= 9


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_tacit_falls_under_none_of_all(name):
    """Timing depends on the machine, and is looked at by hand."""
    ids = {case.id for case in load_cases() if case.attack != "time of a draw"}
    found = under_attack(name, ids).outcomes
    wrong = {k: o.evidence for k, o in found.items() if o.verdict in (FALLS, UNDECIDED)}
    assert wrong == {}


SLOW = """
import json, subprocess, sys, time
ids = json.loads(sys.stdin.readline() or "[]")
outcomes = {}
for name in ids[:2]:
    outcomes[name] = ["holds", "seen"]
    print(json.dumps({"system": "tacit", "version": "1", "absent": "", "outcomes": outcomes}))
print('{"system": "tac', end="", flush=True)
"""


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("subprocess.Popen(['sleep', '600']); time.sleep(600)", "stopped after 2 seconds"),
        ("sys.exit('no memory left')", "no memory left"),
    ],
)
def test_what_was_found_stands_where_a_system_does_not_come_to_its_end(tmp_path, end, why):
    python = tmp_path / "python"
    (tmp_path / "slow.py").write_text(SLOW + end + "\n")
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/slow.py"\n')
    python.chmod(0o755)
    (found,) = attacks(["tacit"], only=["NaN"], pythons={"tacit": str(python)}, timeout=2).results
    verdicts = [outcome.verdict for outcome in found.outcomes.values()]
    assert verdicts[:2] == [HOLDS, HOLDS]
    assert set(verdicts[2:]) == {UNDECIDED}
    assert why in list(found.outcomes.values())[-1].evidence


def test_a_process_ends_with_what_it_started_and_that_does_not_want_to():
    """The child holds the pipe, which is read to its end only once both are gone."""
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
    deaf += "; time.sleep(600)"
    started = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {deaf!r}])"
    process = subprocess.Popen(
        [sys.executable, "-c", started], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    end_group(process, 0.2)
    assert process.stdout.read() == b""
    process.stdout.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"systems": "tacit"},
        {"systems": [3]},
        {"only": "float gaps"},
        {"timeout": 0},
        {"timeout": "soon"},
        {"pythons": "python"},
        {"pythons": {"opendpp": sys.executable}},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(UsageError):
        attacks(**({"systems": ["tacit-framework"], "only": ["float gaps"]} | wrong))


def test_an_interpreter_that_is_none_is_told():
    found = attacks(["opendp"], only=["float gaps"], pythons={"opendp": "/bin/echo"})
    assert "/bin/echo printed something else" in found.results[0].absent

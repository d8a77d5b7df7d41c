"""Running cases on systems: in a process of its own, told as a table, JSON and a page."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from fractions import Fraction
from itertools import count

import pytest

from support.audit.good_system import Good
from support.audit.toy_systems import FALLING
from tacit.audit.attack_suite.run import (
    OURS,
    SYSTEMS,
    AttackResult,
    AttackTable,
    attacks,
    end_group,
    interpreter_of,
    load_cases,
    system_named,
    under_attack,
)
from tacit.audit.attack_suite.system import (
    FALLS,
    HOLDS,
    NOT_APPLICABLE,
    UNDECIDED,
    Case,
    CaseOutcome,
    Hits,
    System,
    count_hits,
    moved_at_most,
    moved_beyond_noise,
    rarely_shown,
)
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
    monkeypatch.setitem(SYSTEMS, "tacit-spark", ("tacit_spark", "no_such_package"))
    found = attacks(["tacit-spark"], only=["NaN"])
    assert "not installed" in found.results[0].absent
    assert "not installed" in str(found)
    assert json.loads(found.to_json())["results"][0]["outcomes"] == {}


ADAPTER = """
from tacit.audit.attack_suite.system import InstalledLibrary

class SYSTEM(InstalledLibrary):
    distribution = {!r}

    def noise(self, kind, value, scale):
        return value  # the same in each fork
"""


@pytest.fixture
def adapter(tmp_path):
    path = tmp_path / "my_library.py"
    path.write_text(ADAPTER.format("numpy"))
    return path


def test_a_library_is_attacked_through_an_adapter_in_a_file(adapter):
    case = "noise that can be repeated/after a fork"
    result = under_attack(str(adapter), {case})
    assert result.system == "my-library"
    assert result.outcomes[case].verdict == FALLS
    adapter.write_text(ADAPTER.format("none-such"))
    assert "no package none-such" in under_attack(str(adapter), {case}).absent
    with pytest.raises(UsageError, match="no adapter"):
        attacks([str(adapter.with_name("none.py"))])


@pytest.mark.full
def test_a_library_with_an_adapter_has_a_process_of_its_own(adapter):
    found = attacks([str(adapter)], only=["noise that can be repeated"], timeout=60)
    assert found.results[0].version
    assert found.fallen("my-library")


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


# Every case holds on a system that withstands it, and falls on one that does not.


CASES = load_cases()
EVERY_CASE_SLOW = {
    "rows left out in silence",
    "float gaps",
    "gaps of single precision",
    "sampling rates",
    "noise cut to whole numbers",
}


def marked(cases):
    return list(_marked(cases))


def _marked(cases):
    for case in cases:
        marks = [pytest.mark.slow] if case.attack in EVERY_CASE_SLOW else []
        yield pytest.param(case, id=case.id, marks=marks)


def under(case, kind, folder):
    """Run a case on a toy whose ledger is a file of its own."""
    system = kind()
    system.path = folder / kind.__name__ / "own.ledger"
    system.path.parent.mkdir()
    system.path.write_text("a ledger")
    return case.run(system)


def test_there_are_thirty_classes_with_three_cases_each():
    sizes = {attack: sum(c.attack == attack for c in CASES) for attack in {c.attack for c in CASES}}
    assert len(sizes) >= 30
    assert min(sizes.values()) >= 3
    assert all(case.source and case.question.endswith("?") for case in CASES)


def test_every_class_has_a_system_that_falls():
    assert set(FALLING) == {case.attack for case in CASES}


@pytest.mark.few(12)
@pytest.mark.parametrize("case", marked(CASES))
def test_the_good_one_holds_and_the_bad_one_falls(case, tmp_path):
    good = under(case, Good, tmp_path)
    assert good.verdict == HOLDS, good.evidence
    bad = under(case, FALLING[case.attack], tmp_path)
    assert bad.verdict == FALLS, bad.evidence
    assert bad.evidence != good.evidence


def test_a_system_that_offers_nothing_is_not_judged():
    assert {case.run(System()).verdict for case in CASES} == {NOT_APPLICABLE}


def test_a_case_that_cannot_be_run_says_nothing_of_the_system():
    def program(system):
        raise ZeroDivisionError

    found = Case("a", "b", "c?", "d", program).run(System())
    assert found.verdict == UNDECIDED
    assert "ZeroDivisionError" in found.evidence


# The table: what was withstood, what does not apply and what was not run.


def test_a_table_names_what_does_not_apply_and_what_was_not_run():
    cases = [case for case in load_cases() if case.attack in ("NaN", "joins")]
    nan = [case.id for case in cases if case.attack == "NaN"]
    outcomes = dict.fromkeys((case.id for case in cases), CaseOutcome(NOT_APPLICABLE, ""))
    outcomes[nan[0]], outcomes[nan[1]] = CaseOutcome(HOLDS, "yes"), CaseOutcome(UNDECIDED, "")
    table = AttackTable(cases, [AttackResult("toy", "1", outcomes)])
    assert table.rows() == [["NaN", "holds 1/1, 1 undecided"]]
    assert "none of these systems offers: joins." in str(table)
    assert "none of these systems offers: joins." in table.to_html()
    broken = AttackTable(cases, [AttackResult("toy", "", {}, "it could not be run: ImportError")])
    assert broken.rows()[0] == ["NaN", "not run"]
    assert "toy: it could not be run: ImportError." in broken.to_html()


def test_a_table_counts_what_was_withstood():
    cases = [case for case in load_cases() if case.attack in ("NaN", "joins")]
    nan = [case.id for case in cases if case.attack == "NaN"]
    outcomes = {name: CaseOutcome(HOLDS, "yes") for name in nan}
    outcomes[nan[0]] = CaseOutcome(FALLS, "<b>no</b>")
    outcomes[nan[1]] = CaseOutcome(NOT_APPLICABLE, "")
    outcomes["joins/a key twice in the public table"] = CaseOutcome(UNDECIDED, "")
    table = AttackTable(
        cases, [AttackResult("toy", "1", outcomes), AttackResult("gone", "", {}, "no")]
    )
    assert table.rows()[0][0] == "NaN"
    assert table.cell("NaN", table.results[0]) == f"FALLS {len(nan) - 2}/{len(nan) - 1}"
    assert table.cell("joins", table.results[0]) == "undecided"
    assert table.fallen("toy") == [nan[0]]
    page = table.to_html()
    assert "<b>no</b>" not in page
    assert "&lt;b&gt;no" in page
    again = AttackResult.from_dict(json.loads(table.to_json())["results"][0])
    assert again == table.results[0]


# How cases look: what is allowed holds, what is more falls.


def refuse():
    raise ValueError


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (lambda: 2.0, lambda: 1.0, HOLDS),
        (lambda: 2.5, lambda: 1.0, FALLS),
        (lambda: [1.0, 2.0], lambda: [1.0], FALLS),
        (lambda: float("nan"), lambda: 1.0, FALLS),
        (refuse, lambda: 1.0, FALLS),
        (refuse, refuse, HOLDS),
    ],
)
def test_a_row_moves_answers_by_what_is_allowed_and_errors_by_nothing(left, right, verdict):
    assert moved_at_most(left, right, 1.0, "a row").verdict == verdict


def test_a_rare_event_of_one_side_falls_and_one_of_both_holds():
    """The event in one release of 25, as the gaps of a sum of floats show."""
    left, right = count(), count()
    asked = {"epsilon": 1.0, "what": "it", "runs": 4800}
    found = rarely_shown(lambda: next(left) % 25, lambda: 1, lambda x: x == 0, **asked)
    assert found.verdict == FALLS
    assert "against 0 of" in found.evidence
    both = rarely_shown(
        lambda: next(left) % 25, lambda: next(right) % 25, lambda x: x == 0, **asked
    )
    assert both.verdict == HOLDS
    assert rarely_shown(lambda: 1, lambda: 1, lambda x: x == 0, **asked).verdict == HOLDS


@pytest.mark.parametrize("moved", [1, -2, 2, 4, 20])
@pytest.mark.parametrize("made_for", [1, 2, 4, 20])
def test_a_row_may_count_for_several_where_the_noise_is_made_for_them(moved, made_for):
    draw = random.Random(5)

    def noisy(value):
        return lambda epsilon: value + draw.choice((-1, 1)) * draw.expovariate(epsilon / made_for)

    found = moved_beyond_noise(noisy(3 + moved), noisy(3), "a row")
    assert found.verdict == (HOLDS if abs(moved) <= made_for else FALLS)


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
@pytest.mark.parametrize("turned", [False, True])
def test_an_answer_that_is_no_number_falls_however_large_the_noise_is(odd, turned):
    left, right = (odd, 3.0) if turned else (3.0, odd)
    found = moved_beyond_noise(lambda epsilon: left, lambda epsilon: right, "a row")
    assert found.verdict == FALLS


# Hits of a rare event: the level is exact, by enumeration; 47 against none refute epsilon 1.


LEVEL = 1e-5 / 10


def chance_of_refuting(ratio: Fraction, hits: int, level: float) -> Fraction:
    """The exact probability, over which hits are of u, that a claim of epsilon 1 is refuted."""
    of_u = ratio / (1 + ratio)
    return sum(
        (
            math.comb(hits, k) * of_u**k * (1 - of_u) ** (hits - k)
            for k in range(hits + 1)
            if Hits(k, hits - k, 0, 0, level).refutes(1.0)
        ),
        Fraction(0),
    )


def test_a_true_claim_is_refuted_at_most_as_often_as_the_levels_say():
    for level in (0.3, 0.05, LEVEL):
        for hits in (1, 7, 60, 150):
            assert chance_of_refuting(Fraction(math.e), hits, level) <= 2 * level
    assert chance_of_refuting(Fraction(math.e), 150, 0.05) > 0.02
    assert chance_of_refuting(Fraction(20), 150, LEVEL) > 0.99


def test_forty_seven_against_none_refute_one():
    found = Hits(47, 0, 1200, 1200, LEVEL)
    assert found.refutes(1.0)
    assert math.isclose(found.lower, -math.log(LEVEL ** (-1 / 47) - 1), abs_tol=1e-6)
    assert Hits(0, 47, 1200, 1200, LEVEL).refutes(1.0)
    assert not Hits(47, 8, 1200, 1200, LEVEL).refutes(1.0)
    assert Hits(0, 0, 1200, 1200, LEVEL).lower == 0


def test_releases_end_when_the_claim_is_refuted():
    found = count_hits(lambda: 1, lambda: 0, bool, epsilon=1.0, runs=1000, level=1e-5)
    assert found.refutes(1.0)
    assert found.on_u + found.on_v in (83, 166, 333)
    assert found.of_u == found.on_u
    assert found.of_v == 0
    same = count_hits(lambda: 1, lambda: 1, bool, epsilon=1.0, runs=1000, level=1e-5)
    assert same.on_u + same.on_v == 1000
    assert not same.refutes(1.0)

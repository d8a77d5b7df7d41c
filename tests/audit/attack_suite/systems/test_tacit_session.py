"""The adapter of a session asks what the attacks mean: its loud answers are the plain ones."""

from __future__ import annotations

import json

import pytest

from tacit.audit.attack_suite.system import LOUD, NotOfferedError
from tacit.audit.attack_suite.systems.tacit_session import TacitAccount, TacitSession
from tacit.errors import TacitError

SYSTEM = TacitSession()
ROWS = [1.0, 2.0, 3.0, 6.0]


@pytest.mark.parametrize(("kind", "truth"), [("count", 4), ("sum", 12), ("mean", 3)])
def test_loud_statistics_are_the_plain_ones(kind, truth):
    found = SYSTEM.statistic(kind, ROWS, bounds=(0.0, 10.0), epsilon=LOUD)
    assert found == pytest.approx(truth, abs=0.05)


@pytest.mark.full
def test_all_other_questions():
    asked = {"bounds": (0.0, 10.0), "epsilon": LOUD}
    assert SYSTEM.statistic("variance", ROWS, **asked) == pytest.approx(3.5, abs=0.05)
    assert 1.9 <= SYSTEM.statistic("median", ROWS, **asked) <= 3.1
    bars = SYSTEM.statistic("histogram", ROWS, edges=[0, 2.5, 10], epsilon=LOUD)
    assert bars == pytest.approx([2, 2], abs=0.05)
    counts = SYSTEM.group_counts(["a", "b", "a"], ["a", "c"], epsilon=LOUD)
    assert counts == pytest.approx({"a": 2, "c": 0}, abs=0.05)
    each = {"rows_each": 2, "groups_each": 1, "upper": 1.0, "epsilon": LOUD}
    sums = SYSTEM.people_sum([(1, "a", 1.0), (2, "b", 0.5)], ["a", "b"], **each)
    assert sums == pytest.approx({"a": 1, "b": 0.5}, abs=0.05)
    assert SYSTEM.joined_count([1, 1, 5], [1, 2], epsilon=LOUD) == pytest.approx(2, abs=0.05)
    assert SYSTEM.filtered_count("equal", [1, 2, 2], epsilon=LOUD, other=[2]) == pytest.approx(2)
    text = "x,y\n1,a\n2,b\n"
    assert SYSTEM.read_sum(text, "x", "integer", (0, 10), epsilon=LOUD) == pytest.approx(3)
    with pytest.raises(NotOfferedError):
        SYSTEM.filtered_count("logarithm", [1.0], epsilon=1.0)


@pytest.mark.full
def test_an_account_is_a_session_with_a_ledger_in_a_file():
    account = SYSTEM.account(1.0)
    assert isinstance(account, TacitAccount)
    first = account.ask(0.25, "same")
    assert account.ask(0.25, "same") == first
    assert account.spent() == 0.25
    account.again().ask(0.25, "other")
    assert account.spent() == 0.5
    other = SYSTEM.account(1.0)
    with pytest.raises(TacitError):
        other.fail(0.25, "f")
    assert other.spent() == 0.25


@pytest.mark.full
def test_certificates_are_changed_and_sealed_again():
    assert SYSTEM.verifies(SYSTEM.certificate())
    assert len({json.dumps(text) for text in SYSTEM.forgeries().values()}) == 5

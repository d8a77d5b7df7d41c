"""What a charge shows of itself."""

from __future__ import annotations

import tacit as tc
from tacit.accounting.ledger_chain import Entry
from tacit.report.verify import Verification


def test_an_entry_is_one_line_for_people() -> None:
    entry = Entry(2, "k", {"query": "x" * 3000}, tc.epsilon(1), "2026-01-02T03:04:05Z", "h")
    assert repr(entry) == "<Entry 2 of 2026-01-02T03:04:05Z: epsilon(1), open>"


def test_a_verification_is_one_line_that_names_what_failed() -> None:
    found = Verification(["a", "b"], ["c"])
    assert repr(found) == "<Verification: 2 checked, 1 unchecked>"
    found.check("the sum is right", lambda: "it is 3")
    assert repr(found).endswith("1 unchecked; FAILED the sum is right: it is 3>")

"""What a store keeps of a head is the head."""

import pytest

from tacit.accounting import epsilon, epsilon_delta, rho
from tacit.accounting.ledger_chain import Head, read_head, stored_head
from tacit.accounting.odometer import Spending
from tacit.errors import LedgerError


@pytest.mark.parametrize("total", [epsilon(1), rho("1/2"), epsilon_delta(1, "1e-6")])
def test_a_head_is_read_as_it_was_stored(total):
    spending = Spending.begun(total)
    for _ in range(2):
        head = Head(3, "a" * 64, spending)
        assert read_head(stored_head(head)) == head
        spending = spending.charged(epsilon("1/4").cost_in(total.kind))
    assert read_head(None) is None


@pytest.mark.parametrize("spent", ["", "[]", "{}", '{"kind":"pure"}', '{"filter":{}}'])
def test_totals_that_cannot_be_read_are_refused(spent):
    sequence, digest, total, _ = stored_head(Head(1, "a" * 64, Spending.begun(epsilon(1))))
    with pytest.raises(LedgerError, match="damaged"):
        read_head((sequence, digest, total, spent))

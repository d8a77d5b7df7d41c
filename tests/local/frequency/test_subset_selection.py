"""Reports of subset selection."""

from tacit.local import (
    SubsetSelection,
)


def test_subset_reports_have_no_order():
    """Bits in a row tell no order; each position is as likely whatever the true item is not."""
    oracle = SubsetSelection(8, p="1/2", size=3)
    law = oracle.distribution(5)
    assert len(set(law.values())) == 2
    assert len(law) == 56

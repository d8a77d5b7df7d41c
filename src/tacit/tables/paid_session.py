"""A session on a table that another one holds open, whose releases another ledger pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tacit.accounting.ledger.ledger import Ledger
from tacit.tables.release.opened_table import SharedTable
from tacit.tables.session import Session

__all__ = ["PaidSession"]


class PaidSession(Session):
    """A session that shares the open table of another; closing it closes nothing.

    Args:
        whole: holds the table open.
        ledger: a view of the ledger (:mod:`tacit.accounting.ledger.shared_budget`), or that of
            others who may ask the same table.
        others: how the other protected tables of the data set are opened, by name.

    Raises:
        LedgerError: the ledger is another data set's, or counts in other terms.

    >>> import tacit as tc
    >>> from tacit.accounting.ledger.shared_budget import on_account_of
    >>> from tacit.data import health_insurance
    >>> whole = tc.Session(health_insurance(), tc.unit("person", rows=5), tc.epsilon(1))
    >>> ada = PaidSession(whole, on_account_of(whole.ledger, "analyst:ada"), {})
    >>> ada.agg(n=tc.count()).release(epsilon="1/2").cost, whole.remaining
    (epsilon(0.5), epsilon(0.5))
    """

    def __init__(
        self, whole: Session, ledger: Ledger, others: Mapping[str, Callable[[Ledger], Session]]
    ) -> None:
        self._table, self.unit = SharedTable(whole._table), whole.unit
        self._declared, self._others = whole._declared, others
        self.ledger = self._open(ledger, None)

    def close(self) -> None:
        """Do nothing: whoever opened the table and the ledger closes them."""

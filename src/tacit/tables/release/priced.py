"""What a question may spend: looked up in the ledger, or found for a target."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Unpack

from tacit.accounting.ledger.ledger import Ledger
from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.tables.plan.price import Amount, Price, priced
from tacit.tables.plan.query import Query
from tacit.tables.plan.target import least_epsilon, read_confidence
from tacit.tables.release.charge import Charge, QueryCharge, TableQuestion
from tacit.tables.release.opened_table import OpenedTable

__all__ = ["Priced", "charge_of"]


@public
class Priced:
    """A question that a ledger pays for."""

    _table: OpenedTable
    _ledger: Ledger
    _query: Query

    def epsilon_for(
        self,
        targets: Mapping[str, Number],
        confidence: Number = "0.95",
        *,
        rows: int = 1000,
        delta: Number | None = None,
        weights: Mapping[str, Number] | None = None,
    ) -> Fraction:
        """Return the least epsilon with which answers are expected to be within their targets.

        Reads no row: the targets are for the noise alone, on values spread evenly over their
        bounds in a group of a public size.

        Args:
            targets: for each label the largest half-width of its interval, in the unit of its
                preview: that of the answer, or rows in rank for quantiles.  Labels without a target
                get their share too.
            confidence: the level of the interval, 0.95 by default: it covers in 95 of 100 releases.
            rows: the size of a group, for means and the like.
            delta: as in :meth:`release`.
            weights: as ``epsilon`` in :meth:`release`; an even share for each part without them.

        Returns:
            An exact number with four significant digits: the ``epsilon`` of a release, or its
            ``total``.

        Raises:
            UsageError: a label that is not asked, or a target that no epsilon reaches.
        """
        price = 1 if weights is None else weights
        paid, whole = self._ledger.kind, None if weights is None else 1
        query, _ = priced(self._query, paid, price, delta, None, whole)
        return least_epsilon(query, targets, read_confidence(confidence), rows, delta)

    def is_answered(
        self,
        epsilon: Amount | None = None,
        delta: Number | None = None,
        rho: Amount | None = None,
        *,
        total: Number | None = None,
        tag: str | None = None,
    ) -> bool:
        """Return whether :meth:`release` would replay a recorded answer, at no cost.

        Raises:
            UsageError: as :meth:`release`.
        """
        return self._priced(epsilon, delta, rho, total, tag).look().is_answered

    def is_charged(
        self,
        epsilon: Amount | None = None,
        delta: Number | None = None,
        rho: Amount | None = None,
        *,
        total: Number | None = None,
        tag: str | None = None,
    ) -> bool:
        """Return whether :meth:`release` would cost nothing more: it is answered, or was charged.

        Raises:
            UsageError: as :meth:`release`.
        """
        return self._priced(epsilon, delta, rho, total, tag).look().is_charged

    def release_key(
        self,
        epsilon: Amount | None = None,
        delta: Number | None = None,
        rho: Amount | None = None,
        *,
        total: Number | None = None,
        tag: str | None = None,
    ) -> str:
        """Return the key of :meth:`release` in the ledger; another question or price has another.

        Raises:
            UsageError: as :meth:`release`.
        """
        return self._priced(epsilon, delta, rho, total, tag).key

    def pay(
        self,
        epsilon: Amount | None = None,
        delta: Number | None = None,
        rho: Amount | None = None,
        *,
        total: Number | None = None,
        tag: str | None = None,
    ) -> None:
        """Charge what :meth:`release` would, without releasing yet; does nothing if it was charged.

        So the time of the charge does not depend on the engine, which runs no query here.  A later
        release uses this charge.

        Raises:
            BudgetError: more than remains; nothing was spent.
            UsageError: as :meth:`release`.
            LedgerError: the ledger cannot be written; nothing was spent.

        Example:
            >>> import pyarrow as pa, tacit as tc
            >>> session = tc.Session(pa.table({"a": [1]}), tc.one_row_each, tc.epsilon(1))
            >>> question = session.agg(n=tc.count())
            >>> question.pay(epsilon="1/2"), session.spent
            (None, epsilon(0.5))
            >>> answer = question.release(epsilon="1/2")
            >>> session.spent
            epsilon(0.5)
        """
        charge = self._priced(epsilon, delta, rho, total, tag)
        if charge.standing is None:
            self._ledger.charge(charge.key, charge.plan(None).cost, charge.public)

    def _priced(
        self,
        epsilon: Amount | None = None,
        delta: Number | None = None,
        rho: Amount | None = None,
        total: Number | None = None,
        tag: str | None = None,
    ) -> QueryCharge:
        paid = self._ledger.kind
        query, request = priced(self._query, paid, epsilon, delta, rho, total)
        return Charge(self._ledger, TableQuestion(query, request, tag), self._table.plans)


def charge_of(question: Priced, *, tag: str | None = None, **price: Unpack[Price]) -> QueryCharge:
    """Return a question at a price: its key, what the ledger holds of it, its cost.

    Args:
        question: the question.
        tag: as in :meth:`tacit.tables.question.Question.release`.
        **price: ``epsilon``, ``delta``, ``rho`` and ``total`` as there.

    Raises:
        UsageError: as there.
    """
    return question._priced(**price, tag=tag)

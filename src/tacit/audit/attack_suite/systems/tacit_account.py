"""A budget of a session: its ledger in a file, beside a CSV file that can be taken away."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tacit.accounting import epsilon
from tacit.audit.attack_suite.system import Account
from tacit.tables import Session, count, one_row_each
from tacit.tables import sum as total

__all__ = ["TacitAccount"]


class TacitAccount(Account):
    """A session over a CSV file with its ledger in a file."""

    def __init__(
        self, session: Session, folder: Path, source: Path, opens: Callable[[Path], Any]
    ) -> None:
        self._session, self._folder, self._source = session, folder, source
        self._opens = opens

    @classmethod
    def fresh(cls, budget: float, opens: Callable[[Path], Any] = Path) -> TacitAccount:
        """Return an account whose files go when it goes.

        Args:
            budget: of the ledger.
            opens: from the path of the CSV file to what a session takes for it.
        """
        folder = Path(tempfile.mkdtemp())
        source = folder / "rows.csv"
        source.write_text("x\n" + "".join(f"{i % 10}\n" for i in range(100)))
        ledger = folder / "own.ledger"
        session = Session(
            opens(source), one_row_each, epsilon(repr(budget)), ledger, name=source.name
        )
        made = cls(session, folder, source, opens)
        weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
        return made

    def ask(self, epsilon: float, label: str) -> float:
        """Release a sum whose bounds may stand in the label, else a count."""
        return self.asked(self._session, epsilon, label)

    @staticmethod
    def asked(session: Any, epsilon: float, label: str) -> float:
        """Ask a session, or what is asked as one, for a sum or a count of its column x."""
        if label.startswith("bounds "):
            low, high = (float(word) for word in label.split()[1::2])
            found = session.agg(s=total("x", low, high)).release(epsilon=epsilon).value("s")
            return float(found)
        tag = None if label == "same" else label
        return float(session.agg(n=count()).release(epsilon=repr(epsilon), tag=tag).value("n"))

    def spent(self) -> float:
        """Return what the ledger says."""
        return float(self._session.spent.amount)

    def again(self) -> Account:
        """Open the same source with the same ledger."""
        return self.opened_at(str(self._folder / "own.ledger"))

    def files(self) -> Sequence[str]:
        """Return the ledger."""
        return [str(self._folder / "own.ledger")]

    def opened_at(self, path: str) -> Account:
        """Open a ledger of another name for the same source."""
        source = self._opens(self._source)
        opened = Session(source, one_row_each, ledger=path, name=self._source.name)
        other = TacitAccount(opened, self._folder, self._source, self._opens)
        other._kept = self  # the folder lives as long as somebody has a handle
        return other

    _kept: Account | None = None

    def fail(self, epsilon: float, label: str) -> None:
        """Take the file away after the charge: reading it fails."""
        hidden = self._source.with_suffix(".hidden")
        asked = self._session.agg(n=count())
        os.replace(self._source, hidden)
        try:
            asked.release(epsilon=repr(epsilon), tag=label)
        finally:
            os.replace(hidden, self._source)

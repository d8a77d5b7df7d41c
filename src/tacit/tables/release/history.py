"""What a session shows of itself: its budget and columns, and its charges as a small table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tacit.accounting import Budget, Entry, Ledger
from tacit.accounting.budgets.shares import shares
from tacit.display.card import Card, Shown, Table
from tacit.errors import need
from tacit.report.text.words import protects_line, question_words
from tacit.tables.plan.query import Unit
from tacit.tables.release.plot_history import history_figure

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["History", "session_card"]


class History(list[Entry], Shown):
    """Every charge so far, the first one first.

    >>> import pyarrow, tacit as tc
    >>> ages = pyarrow.table({"age": [31, 45, 52]})
    >>> session = tc.Session(ages, unit=tc.one_row_each, budget=tc.epsilon(1))
    >>> _ = session.agg(n=tc.count()).release(epsilon="1/4")
    >>> session.history().to_dict()["cost"]
    ['epsilon 0.25']
    """

    def __init__(
        self, entries: Iterable[Entry] = (), total: Budget | None = None, left: Budget | None = None
    ) -> None:
        super().__init__(entries)
        self._total, self._left = total, left

    def plot(self) -> Figure:
        """Draw the budget as a bar: who spent what of it, when, and for what.

        Where many small charges cost less together than their sum, they share what is gone of the
        budget in proportion to their costs.

        Returns:
            A matplotlib Figure; save it with ``.savefig("budget.png")``.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        figure: Figure = history_figure(self, self._total, self._left)
        return figure

    def to_dict(self) -> dict[str, list[int | str]]:
        """Return it as columns: ``charge`` (1, 2, 3), ``when``, ``cost``, ``state``, ``question``.

        A state is ``open`` where the charge has no answer yet: asking the same again is free.
        """
        return {
            "charge": list(range(1, len(self) + 1)),
            "when": [entry.when[:19].replace("T", " ") for entry in self],
            "cost": [str(entry.cost) for entry in self],
            "state": [entry.state for entry in self],
            "question": [question_words(entry.question) for entry in self],
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return it as a pandas DataFrame (needs the extra ``pandas``)."""
        table: pandas.DataFrame = need("pandas", "pandas").DataFrame(self.to_dict())
        return table

    def card(self) -> Card:
        """Return what a notebook displays."""
        if not self:
            return Card("History", "nothing was released yet")
        table = self.to_dict()
        rows = [[str(cell) for cell in row] for row in zip(*table.values(), strict=True)]
        head = ["when (UTC)" if name == "when" else name for name in table]
        return Card("History", "", [Table(head, rows)])

    def __repr__(self) -> str:
        return self.card().text()


def session_card(name: str, unit: Unit, columns: Mapping[str, str], ledger: Ledger) -> Card:
    """Return what a notebook shows of a session: whom it protects, the budget, the columns."""
    kinds: dict[str, list[str]] = {}
    for column, kind in columns.items():
        kinds.setdefault(kind, []).append(column)
    rows = [[kind, ", ".join(listed)] for kind, listed in kinds.items()]
    bar = shares(ledger.total, ledger.spent, ledger.remaining)
    notes = [f"the budget is {ledger.whereabouts}"]
    protects = protects_line(unit.describe())
    return Card(f"Session on {name}", protects, [bar, Table(["kind", "columns"], rows)], notes)

"""What was released: values with their errors, for people and for other tools."""

from __future__ import annotations

import csv
import io
from typing import Any

from tacit.accounting import Entry, Ledger
from tacit.accounting.budgets.budget import Budget
from tacit.arithmetic.exact import show
from tacit.errors import UsageError, did_you_mean, need
from tacit.report import Certificate, issue
from tacit.report.text.words import column_note, protects_line
from tacit.tables.release.arrangement import AS_IT_IS, Arrangement
from tacit.tables.release.plot_answer import answer_figure

__all__ = ["Answer"]


class Answer:
    """A released answer: one row a group, and for each label its value and interval.

    Attributes:
        by: the grouping columns.
        keys: one tuple a group; one empty tuple where there are no groups.
        labels: what was asked.
        cost: what it took from the budget, once.
        replayed: whether it came from the ledger, at no cost.
        certificate: what was released, under which proof; see :class:`tacit.Certificate`.

    In tables (``to_dict``, ``to_pandas``, ``to_polars``, ``to_arrow``) the columns are the grouping
    columns, then for each label ``label``, ``label_error`` (the standard error of the noise), and
    ``label_low``, ``label_high`` (an interval that holds the value without noise in 95 of 100
    releases).  A histogram has these for each bin.  What is not known is missing: an answer that a
    test refused (:meth:`refused`), and the errors of noise that follows the data.
    """

    def __init__(
        self,
        by: tuple[str, ...],
        released: dict[str, Any],
        certificate: Certificate,
        cost: Budget,
        replayed: bool,
    ) -> None:
        self.by = by
        self.keys = [tuple(key) for key in released["keys"]]
        self.cost = cost
        self.replayed = replayed
        self.certificate = certificate
        self._columns = {column["label"]: column for column in released["columns"]}

    @classmethod
    def of(
        cls,
        entry: Entry,
        ledger: Ledger,
        arrangement: Arrangement = AS_IT_IS,
        *,
        replayed: bool = False,
    ) -> Answer:
        """Return the answer that a ledger's entry holds, as it is shown, with its certificate."""
        if entry.answer is None:
            raise UsageError("this release was paid for and never answered; ask again")
        by = tuple(entry.question["query"]["by"])
        shown = arrangement.shown(by, entry.answer)
        names = arrangement.called(by)
        return cls(names, shown, issue(entry, ledger), entry.cost, replayed)

    @property
    def protects(self) -> str:
        """Whom the answer protects, in one line."""
        return protects_line(self.certificate.body["question"]["query"]["unit"])

    @property
    def about(self) -> dict[str, str]:
        """What a data set declares of the column of a label, in words; labels without are left out.

        Its meaning and its unit, such as ``"cost: of a visit, in euro"``.
        """
        said = self.certificate.body.get("declared", {})
        asked = self.certificate.body["question"]["query"]["aggregates"]
        known = [(label, column_note(a.get("column"), said)) for label, a in asked]
        return {label: told for label, told in known if told}

    @property
    def labels(self) -> tuple[str, ...]:
        """What was asked, by label."""
        return tuple(self._columns)

    def column(self, label: str) -> dict[str, Any]:
        """Return value, standard_error, low and high of a label, each a list over the groups.

        Raises:
            UsageError: no such label.
        """
        if label not in self._columns:
            raise UsageError(f"there is no answer {label!r}; {did_you_mean(label, self._columns)}")
        column: dict[str, Any] = self._columns[label]
        return column

    def value(self, label: str, *key: Any) -> Any:
        """Return the value of a label, in a group where there are groups.

        Raises:
            UsageError: no such label or group.
        """
        return self.column(label)["value"][self._place(key)]

    def interval(self, label: str, *key: Any) -> tuple[Any, Any]:
        """Return the interval of a label that covers in 95 of 100 releases.

        Raises:
            UsageError: no such label or group.
        """
        column, place = self.column(label), self._place(key)
        return column["low"][place], column["high"][place]

    def refused(self, label: str, *key: Any) -> bool:
        """Return whether the test of propose-test-release refused an answer; nothing says why.

        Raises:
            UsageError: no such label or group.
        """
        column, place = self.column(label), self._place(key)
        return bool(column["refused"][place]) if "refused" in column else False

    def _place(self, key: tuple[Any, ...]) -> int:
        if tuple(key) not in self.keys:
            named = ", ".join(self.by) or "nothing"
            raise UsageError(f"there is no group {key}; name one by {named}")
        return self.keys.index(tuple(key))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the answer as columns."""
        table: dict[str, list[Any]] = {
            name: [key[i] for key in self.keys] for i, name in enumerate(self.by)
        }
        for label, column in self._columns.items():
            for name, values in _flat(label, column):
                table[name] = values
        return table

    def to_pandas(self) -> Any:
        """Return the answer as a pandas DataFrame (needs the extra ``pandas``)."""
        return need("pandas", "pandas").DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """Return the answer as a polars DataFrame (needs the extra ``polars``)."""
        return need("polars", "polars").DataFrame(self.to_dict(), strict=False)

    def to_arrow(self) -> Any:
        """Return the answer as an Arrow table (needs the extra ``arrow``)."""
        return need("pyarrow", "arrow").table(self.to_dict())

    def to_csv(self) -> str:
        """Return the answer as CSV text."""
        table = self.to_dict()
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        return out.getvalue()

    def plot(self) -> Any:
        """Draw every label: a bar or a point a group, with its interval (needs the extra ``plot``).

        Returns:
            A matplotlib Figure; save it with ``.savefig("answer.png")``.
        """
        return answer_figure(self)

    def __len__(self) -> int:
        return len(self.keys)

    def __str__(self) -> str:
        header = [*self.by, *self.labels]
        rows = [
            [str(part) for part in key]
            + [_cell(self._columns[label], place) for label in self.labels]
            for place, key in enumerate(self.keys)
        ]
        widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in [header, *rows]
        ]
        paid = "replayed from the ledger, at no cost" if self.replayed else f"cost {self.cost!r}"
        return "\n".join([self.protects, *lines, f"({paid}; 95% intervals of the noise)"])

    def __repr__(self) -> str:
        asked = f"{', '.join(self.labels)} in {len(self.keys)} groups, cost {self.cost!r}"
        return f"<Answer {self.protects}; {asked}>"


_SUFFIXES = (("", "value"), ("_error", "standard_error"), ("_low", "low"), ("_high", "high"))


def _flat(label: str, column: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    """Return the columns of a label: four, or four for each bin of a histogram."""
    bins = column.get("bins")
    if bins is None:
        return [(label + suffix, list(column[part])) for suffix, part in _SUFFIXES]
    return [
        (f"{label} {name}{suffix}", [row[i] for row in column[part]])
        for i, name in enumerate(bins)
        for suffix, part in _SUFFIXES
    ]


def _cell(column: dict[str, Any], place: int) -> str:
    value, low, high = (column[part][place] for part in ("value", "low", "high"))
    if isinstance(value, list):
        return " ".join(_short(v) for v in value)
    if column.get("refused", [False] * (place + 1))[place]:
        return "refused by the test"
    if low is None and high is None:
        return _short(value)
    return f"{_short(value)} [{_short(low)}, {_short(high)}]"


def _short(value: Any) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else show(float(value))

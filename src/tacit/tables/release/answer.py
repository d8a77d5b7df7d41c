"""What was released: values with their errors, for people and for other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tacit.accounting import Entry, Ledger
from tacit.accounting.budgets.budget import Budget
from tacit.arithmetic.exact import as_fraction, show
from tacit.calls import instead, public
from tacit.display.card import Card, Pictures, Shown, Table
from tacit.errors import UsageError, did_you_mean
from tacit.report import Certificate, issue
from tacit.report.certificate import deriving
from tacit.report.check.derived import derived_words
from tacit.report.page.answers import answers
from tacit.report.text.vocabulary import answer_words
from tacit.report.text.words import column_note, protects_line
from tacit.tables.export.columns import Released, Statistic
from tacit.tables.export.exports import Exports
from tacit.tables.release.arrangement import AS_IT_IS, Arrangement
from tacit.tables.release.plot_answer import answer_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Answer"]


_FRAME = "answer.to_pandas() is a table"


@public
@instead(
    plot="It returns a figure: answer.plot().savefig('answer.png') writes it",
    savefig="a figure is written by answer.plot().savefig('answer.png')",
    to_json="to_dict() gives plain values, and certificate.save(path) writes JSON",
    show="a notebook shows it, print(answer) prints it, and plot() draws it",
    **dict.fromkeys(("head", "loc", "iloc", "sort_values", "groupby", "describe"), _FRAME),
    **dict.fromkeys(("values", "data", "df", "result", "rows"), _FRAME),
    verify="answer.certificate.verify() checks it",
    epsilon="answer.cost is what it spent",
)
class Answer(Exports, Shown):
    """A released answer: one row per group, and for each label its value and interval.

    Attributes:
        by: the grouping columns.
        keys: one tuple per group; one empty tuple where there are no groups.
        labels: what was asked.
        cost: what it spent of the budget, once.
        replayed: whether it came from the ledger, at no cost.
        certificate: what was released, under which proof; see :class:`tacit.Certificate`.

    It becomes a table of other tools (``to_dict``, ``to_pandas``, ``to_polars``, ``to_arrow``) or a
    file (``to_csv``, ``to_excel``, ``to_parquet``), with a row per group or, in the long form, a
    row per number; :class:`tacit.tables.export.exports.Exports` names the columns.  What is not
    known is missing: an answer that a test refused (:meth:`refused`), and the errors of noise that
    follows the data.
    """

    def __init__(
        self,
        by: tuple[str, ...],
        released: dict[str, Any],
        certificate: Certificate,
        cost: Budget,
        replayed: bool,
        query: Mapping[str, Any] | None = None,
    ) -> None:
        self.by = by
        self.keys = [tuple(key) for key in released["keys"]]
        self.cost = cost
        self.replayed = replayed
        self.certificate = certificate
        self._query: Any = query
        if query is None:
            body: Any = certificate.body
            self._query = body["question"]["query"]
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
        query: Any = entry.question["query"]
        by = tuple(query["by"])
        certificate, released = _derived(issue(entry, ledger), entry.answer, arrangement)
        shown, names = arrangement.shown(by, released), arrangement.called(by)
        return cls(names, shown, certificate, entry.cost, replayed, query)

    @classmethod
    def free(cls, certificate: Certificate, arrangement: Arrangement = AS_IT_IS) -> Answer:
        """Return an answer that follows from earlier releases, as it is shown."""
        body: Any = certificate.body
        by = tuple(body["question"]["query"]["by"])
        certificate, released = _derived(certificate, body["answer"], arrangement)
        shown, names = arrangement.shown(by, released), arrangement.called(by)
        nothing = Budget.from_json(body["spent"]["cost"])
        return cls(names, shown, certificate, nothing, replayed=False)

    def _instead_of(self, name: str) -> str:
        return f"answer.value({name!r}) is its value" if name in self._columns else ""

    @property
    def protects(self) -> str:
        """Whom the answer protects, in one line."""
        return protects_line(self._query["unit"])

    @property
    def about(self) -> dict[str, str]:
        """What a data set declares of the column of each label, in words, if anything.

        Its meaning and its unit, such as ``"cost: of a visit, in euro"``; of a label that is
        computed from others how, and why it has no interval where it has none.
        """
        body: Any = self.certificate.body
        said = body.get("declared", {})
        asked = self._query["aggregates"]
        known = [(label, column_note(a.get("column"), said)) for label, a in asked]
        found = {label: told for label, told in known if told}
        return found | {n: derived_words(one) for n, one in self._columns.items() if "of" in one}

    @property
    def asked_of(self) -> dict[str, str]:
        """The column that each label was asked of; labels without one are left out."""
        asked = self._query["aggregates"]
        return {label: str(a["column"]) for label, a in asked if a.get("column") is not None}

    @property
    def question(self) -> Mapping[str, object]:
        """What was asked, as plain JSON values; of a plan, what this question of it asked."""
        asked: Mapping[str, object] = self._query
        return asked

    @property
    def labels(self) -> tuple[str, ...]:
        """What was asked, by label."""
        return tuple(self._columns)

    def column(self, label: str) -> dict[str, list[Released]]:
        """Return value, standard_error, low and high of a label, each a list over the groups.

        Args:
            label: of the statistic, as it was asked.

        Raises:
            UsageError: no such label.
        """
        if label not in self._columns:
            raise UsageError(f"there is no answer {label!r}; {did_you_mean(label, self._columns)}")
        column: dict[str, list[Released]] = self._columns[label]
        return column

    def value(self, label: str, *key: object) -> Released:
        """Return the value of a label, in a group where there are groups.

        Args:
            label: of the statistic, as it was asked.
            *key: the group, a value for each grouping column; nothing where there are no groups.

        Raises:
            UsageError: no such label or group.
        """
        return self.column(label)["value"][self._place(key)]

    def interval(self, label: str, *key: object) -> tuple[Released, Released]:
        """Return the 95% interval of a label, which covers in 95 of 100 releases.

        Args:
            label: of the statistic, as it was asked.
            *key: the group, a value for each grouping column; nothing where there are no groups.

        Raises:
            UsageError: no such label or group.
        """
        column, place = self.column(label), self._place(key)
        return column["low"][place], column["high"][place]

    def refused(self, label: str, *key: object) -> bool:
        """Return whether the test of propose-test-release refused an answer; the reason is private.

        Args:
            label: of the statistic, as it was asked.
            *key: the group, a value for each grouping column; nothing where there are no groups.

        Raises:
            UsageError: no such label or group.
        """
        column, place = self.column(label), self._place(key)
        return bool(column["refused"][place]) if "refused" in column else False

    def _place(self, key: tuple[object, ...]) -> int:
        if tuple(key) not in self.keys:
            named = ", ".join(self.by) or "nothing"
            raise UsageError(f"there is no group {key}; name one by {named}")
        return self.keys.index(tuple(key))

    def statistics(self) -> Sequence[Statistic]:
        """Return what was released, by label, with the edges of histograms."""
        asked = dict(self._query["aggregates"])
        edges = {label: asked.get(label, {}).get("edges") for label in self._columns}
        return [
            Statistic(label, column, edges[label] and [_plain(edge) for edge in edges[label]])
            for label, column in self._columns.items()
        ]

    def about_lines(self) -> Sequence[tuple[str, str]]:
        """Return what a reader of its tables should know, by name."""
        return [
            ("data set", str(self.certificate.body["dataset"])),
            ("protects", self.protects.removeprefix("protects: ")),
            ("privacy loss", repr(self.cost)),
            ("intervals", str(self.certificate.body["accuracy"])),
            *((label, told) for label, told in self.about.items()),
            ("certificate", str(self.certificate.body["digest"])),
        ]

    def plot(self) -> Figure:
        """Draw every label: a bar or point per group, with its interval (needs the extra ``plot``).

        Returns:
            A matplotlib Figure; save it with ``.savefig("answer.png")``.
        """
        figure: Figure = answer_figure(self)
        return figure

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, label: object) -> NoReturn:
        raise UsageError(
            f"numbers are taken out by name and group: answer.value({self.labels[0]!r}"
            f"{''.join(f', {part}' for part in self.by)}) with a value of each grouping column, "
            "answer.interval(...), or all of them by answer.to_pandas()"
        )

    def card(self) -> Card:
        """Return what a notebook displays: values with intervals, charts, what it cost."""
        plain = [label for label in self.labels if "bins" not in self._columns[label]]
        names = [["missing" if p is None else str(p) for p in key] for key in self.keys]
        by, parts = list(self.by), []
        if plain:
            rows = [
                key + [_cell(self._columns[label], (place,)) for label in plain]
                for place, key in enumerate(names)
            ]
            parts.append(Table([*by, *plain], rows, names=len(by)))
        for label in self.labels:
            column = self._columns[label]
            if label in plain:
                continue
            rows = [
                [*key, str(name), _cell(column, (place, i))]
                for place, key in enumerate(names)
                for i, name in enumerate(column["bins"])
            ]
            each, _ = answer_words(str(column["kind"])).each
            parts.append(Table([*by, each, label], rows, names=len(by) + 1))
        groups = f"{len(names)} group{'' if len(names) == 1 else 's'}"
        paid = "replayed from the ledger, at no cost" if self.replayed else f"cost {self.cost!r}"
        told = [f"{label}: {about}" for label, about in self.about.items()]
        ends = f"({', '.join(self.labels)} in {groups}; {paid}; 95% intervals of the noise)"
        return Card("Answer", self.protects, [*parts, Pictures(self._charts)], [*told, ends])

    def _charts(self) -> list[tuple[str, Any]]:
        """Return a chart for each label that has several marks, and few enough to be read."""
        query = {**self._query, "by": self.by}
        shown = {"keys": self.keys, "columns": list(self._columns.values())}
        found = answers({"question": {"query": query}, "answer": shown})
        charts: list[tuple[str, Any]] = []
        for one in found.get("columns", ()):
            several = len(self.keys) > 1 or "bins" in self._columns[one["label"]]
            if one["chart"] and several:
                charts.append((f"{one['label']}: {one['words']}", one["chart"]))
            charts += [(f"{one['label']}: {title}", svg) for title, svg in one["panels"] or ()]
        return charts

    def __str__(self) -> str:
        return self.card().text()

    def __repr__(self) -> str:
        return self.card().text()


def _derived(
    certificate: Certificate, answer: Mapping[str, Any], arrangement: Arrangement
) -> tuple[Certificate, Mapping[str, Any]]:
    """Return a certificate and an answer with what an arrangement computes from the answer."""
    if not arrangement.derived:
        return certificate, answer
    certificate = deriving(certificate, arrangement.derived)
    body: Any = certificate.body
    return certificate, {**answer, "columns": [*answer["columns"], *body["derived"]]}


def _plain(edge: str) -> int | float:
    """Return an edge as a number of other tools."""
    exact = as_fraction(edge)
    return exact.numerator if exact.denominator == 1 else float(exact)


def _cell(column: dict[str, Any], place: tuple[int, ...]) -> str:
    """Return a value with its interval; of a list over groups, and in each over bins."""
    value, low, high = (_at(column[part], place) for part in ("value", "low", "high"))
    if column.get("refused") and column["refused"][place[0]]:
        return "refused by the test"
    if low is None and high is None:
        return _short(value)
    return f"{_short(value)} [{_short(low)}, {_short(high)}]"


def _at(cells: Any, place: tuple[int, ...]) -> Any:
    for index in place:
        cells = cells[index]
    return cells


def _short(value: Any) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else show(float(value))

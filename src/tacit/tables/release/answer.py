"""Answers: values, intervals, plots and exports."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from tacit import plotting
from tacit.accounting import Entry, Ledger
from tacit.accounting.budget import Budget
from tacit.arithmetic.exact import as_fraction, show
from tacit.calls import instead, public
from tacit.display.card import Card, CardTable, Pictures, Shown
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.expression import Expression
from tacit.report import Certificate, issue
from tacit.report.certificate import deriving
from tacit.report.derived import Formula, derived_words
from tacit.report.page import answers
from tacit.report.text import (
    DERIVED,
    answer_words,
    column_note,
    columns_in,
    labelled_key,
    labels_in,
    listed,
    protects_line,
)
from tacit.tables.export import ExportStatistic, Released
from tacit.tables.publish.publications import Publications
from tacit.tables.statistics.base import statistic_named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# How a released answer is shown: which groups, in which order, called what.
#
# All of it is post-processing of released numbers, which costs nothing and reads no row.  The
# ledger and the certificate hold the whole answer.


_BY_GROUP = ("value", "standard_error", "low", "high", "refused")


@dataclass(frozen=True)
class Order:
    """One key of an order."""

    value: Expression  # of the answer's columns
    descending: bool = False  # from the greatest down
    missing_first: bool = False  # whether groups without a value come first


@dataclass(frozen=True)
class Arrangement:
    """The arrangement of an answer."""

    # what grouping columns are called, where that is not their name
    names: tuple[tuple[str, str], ...] = ()
    # which groups are shown, by the grouping columns and the labels; None for all
    having: Expression | None = None
    order: tuple[Order, ...] = ()  # the keys of the order, the first first
    offset: int = 0  # how many groups are left out at the beginning
    limit: int | None = None  # how many groups are shown at most; None for all
    notes: tuple[str, ...] = ()  # what a reader should know of the answers
    derived: tuple[Formula, ...] = ()  # answers that are computed from those released, by label
    labels: tuple[str, ...] = ()  # those that are shown, in their order; all where there are none

    def called(self, by: Sequence[str]) -> tuple[str, ...]:
        """Return what the grouping columns are called."""
        names = dict(self.names)
        return tuple(names.get(name, name) for name in by)

    def shown(self, by: Sequence[str], released: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was released, as it is shown.

        >>> from tacit.expressions.expression import col
        >>> found = {"keys": [[1], [2], [3]], "columns": [{"label": "n", "value": [5, 9, 2]}]}
        >>> top = Arrangement(having=col("n") > 3, order=(Order(col("n"), True),))
        >>> top.shown(["site"], found)
        {'keys': [[2], [1]], 'columns': [{'label': 'n', 'value': [9, 5]}]}
        """
        if self.labels:
            shown = replace(self, labels=()).shown(by, released)
            known = {each["label"]: each for each in shown["columns"]}
            return {**shown, "columns": [known[label] for label in self.labels]}
        if self.having is None and not self.order and self.limit is None and not self.offset:
            return dict(released)
        rows = [
            {
                **dict(zip(by, key, strict=True)),
                **{each["label"]: each["value"][index] for each in released["columns"]},
            }
            for index, key in enumerate(released["keys"])
        ]
        indices = list(range(len(rows)))
        if self.having is not None:
            indices = [index for index in indices if self.having.evaluate(rows[index])]
        for key in reversed(self.order):
            indices = _sorted(indices, [key.value.evaluate(row) for row in rows], key)
        end = None if self.limit is None else self.offset + self.limit
        indices = indices[self.offset : end]
        return {
            **released,
            "keys": [released["keys"][index] for index in indices],
            "columns": [
                {n: [v[p] for p in indices] if n in _BY_GROUP else v for n, v in each.items()}
                for each in released["columns"]
            ],
        }


def _sorted(indices: list[int], values: Sequence[Any], key: Order) -> list[int]:
    missing = [index for index in indices if values[index] is None]
    present = [index for index in indices if values[index] is not None]
    present.sort(key=lambda p: (isinstance(values[p], str), values[p]), reverse=key.descending)
    return missing + present if key.missing_first else present + missing


AS_IT_IS: Arrangement = Arrangement()


# The figure of an answer: a panel a label, a mark a group, its interval as a bar.
#
# Groups stand on the vertical axis, so that long names are read without turning the head.


_MAX_GROUPS = 80
_MAX_PANELS = 12
_ACROSS = 2
_WIDTH = 4.7  # inches a panel
_LINE = 0.27  # inches a group


def answer_figure(answer: Answer) -> Any:
    """Draw every label of an answer with its 95% intervals."""
    # A label with one value per group is a panel with the groups from top to bottom: bars for
    # amounts, points for means, quantiles and the like.  A histogram is a panel of bins for every
    # group.  Where the answer counts rows or people, the other panels state that count of each
    # group, as n.
    #
    # Returns: a matplotlib Figure; save it with ``.savefig("answer.png")``.
    groups = [_named(key) for key in answer.keys]
    if not 0 < len(groups) <= _MAX_GROUPS:
        raise UsageError(
            f"a figure shows 1 to {_MAX_GROUPS} groups, and this answer has {len(groups)}; "
            "use to_pandas() and draw the groups that matter"
        )
    panels = []
    for label in answer.labels:
        for panel in _panels(answer, label, groups):
            panel.about = answer.about.get(label) or panel.about
            panels.append(panel)
    _state_sizes(answer, panels)
    across = min(_ACROSS, len(panels))
    rows = [panels[i : i + across] for i in range(0, len(panels), across)]
    heights = [max(_height(panel) for panel in row) for row in rows]
    fig = plotting.figure(_WIDTH * across, sum(heights))
    grid = plotting.axes(fig, len(rows), across, heights=heights)
    fig.get_layout_engine().set(h_pad=0.14, w_pad=0.1)
    for row, cells in zip(rows, grid, strict=True):
        slots = max(2, *(len(panel.names) for panel in row))
        for panel, cell in zip(row, cells, strict=False):
            _draw(cell, panel, slots)
        for cell in cells[len(row) :]:
            cell.set_axis_off()
    return fig


class _Panel:
    """The content of a panel: names, values, and intervals where they are known."""

    # What its values are: the column, with its meaning and its unit where they are declared.
    about = ""
    binned = False  # whether it shows the bins of one group
    # How many rows or people each of its groups has, as released; nothing where that is not.
    sizes: Sequence[str] = ()

    def __init__(
        self, title: str, detail: str, names: list[str], parts: list[list[Any]], bars: bool
    ) -> None:
        self.title = title
        self.detail = detail
        self.names = names
        self.value, self.low, self.high = parts
        self.bars = bars
        self.limits: tuple[float, float] | None = None


def _panels(answer: Answer, label: str, groups: list[str]) -> list[_Panel]:
    column: Mapping[str, Any] = answer.column(label)
    columns = answer.columns_of.get(label, [])
    kind = str(column["kind"]).replace("_", " ") + (f" of {listed(columns)}" if columns else "")
    by = ", ".join(answer.by)
    bins = column.get("bins")
    bars = answer_words(column["kind"]).amount
    parts = [list(column[part]) for part in ("value", "low", "high")]
    if bins is None:
        detail = f"{kind} by {by}" if by else kind
        panel = _Panel(label, detail, groups, parts, bars)
        # The values of an answer about several columns are in the unit of none.
        panel.about = columns[0] if len(columns) == 1 else ""
        return [panel]
    shown = list(enumerate(groups))[:_MAX_PANELS]
    names = [str(name) for name in bins]
    left_out = len(groups) - len(shown)
    panels = [
        _Panel(
            label if not by else f"{label}: {by} {group}",
            kind + (f" (one of the first {len(shown)} groups)" if left_out else ""),
            names,
            [part[index] for part in parts],
            bars,
        )
        for index, group in shown
    ]
    for panel in panels:
        panel.about, panel.binned = answer_words(column["kind"]).each[1], True
    ends = [x for p in panels for x in (*p.value, *p.low, *p.high) if x is not None]
    margin = 0.04 * (max(ends) - min(0, *ends)) or 1
    for panel in panels:  # one scale for all groups, so that they compare
        panel.limits = (min(0, *ends) - margin * (min(ends) < 0), max(0, *ends) + margin)
    return panels


def _counts_groups(kind: str) -> bool:
    """Return whether a kind is an amount of no column: how many rows or people there are."""
    return kind != DERIVED and statistic_named(kind).amount and not statistic_named(kind).fields


def _state_sizes(answer: Answer, panels: Sequence[_Panel]) -> None:
    """Give the panels of other labels the sizes of the groups, where they were released."""
    kinds = {label: str(answer.column(label)["kind"]) for label in answer.labels}
    counted = [label for label, kind in kinds.items() if _counts_groups(kind)]
    if not counted:
        return
    sizes = [f"{value:,}" for value in answer.column(counted[0])["value"]]
    for panel in panels:
        if panel.title not in counted and not panel.binned:
            panel.sizes = sizes


def _height(panel: _Panel) -> float:
    lines = sum(name.count("\n") + 1 for name in panel.names)
    return 1.15 + _LINE * max(2, lines)


def _draw(axes: Any, panel: _Panel, slots: int) -> None:
    """Draw a panel, its groups from the top in this many slots: bars of a row are equally thick."""
    across = range(len(panel.names))
    known = [i for i in across if panel.value[i] is not None]
    if panel.bars:
        values = [panel.value[i] for i in known]
        axes.barh(
            known, values, height=0.62, color="#b9c3cc", edgecolor=plotting.MUTED, linewidth=0.8
        )
        axes.axvline(0, color=plotting.INK, linewidth=1)
    for i in across:
        low, high = panel.low[i], panel.high[i]
        if low is not None and high is not None:
            axes.plot(
                [low, high], [i, i], color=plotting.INK, linewidth=1.5, marker="|", markersize=7
            )
    if not panel.bars:
        axes.plot(
            [panel.value[i] for i in known], known, linestyle="none", marker="o",
            color=plotting.ACCENT, markeredgecolor="white", markersize=7.5, zorder=3,
        )  # fmt: skip
    axes.set_yticks(list(across), panel.names)
    axes.set_ylim(slots - 0.4, -0.6)
    if panel.limits is not None:
        axes.set_xlim(*panel.limits)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x", color=plotting.FAINT, linewidth=0.7)
    axes.ticklabel_format(axis="x", style="plain", useOffset=False)
    axes.xaxis.set_major_formatter(lambda value, _: _tick(value))
    axes.locator_params(axis="x", nbins=6)
    if panel.about:
        axes.set_xlabel(textwrap.shorten(panel.about, 60, placeholder=" …"))
    for i, size in enumerate(panel.sizes):
        axes.annotate(
            f"n {size}", (1, i), (5, 0), ("axes fraction", "data"), "offset points",
            fontsize=8.5, color=plotting.MUTED, va="center", annotation_clip=False,
        )  # fmt: skip
    plotting.title(axes, panel.title, f"{panel.detail}, with 95% intervals")


def _tick(value: float) -> str:
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")


def _named(key: tuple[Any, ...]) -> str:
    """Return the name of a group, wrapped where it is long."""
    name = " / ".join("missing" if part is None else str(part) for part in key) or "all"
    return "\n".join(textwrap.wrap(name, 28, max_lines=3, placeholder=" …") or [""])


# What was released: values with their errors, for people and for other tools.


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
class Answer(Publications, Shown):
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
    row per number; :class:`tacit.tables.export.Exports` names the columns.  ``to_sdmx_csv``,
    ``to_json_stat``, ``to_px`` and ``to_csvw`` write files of official statistics.  What is not
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
        hidden: Sequence[Sequence[Any]] = (),
        declared: Mapping[str, Any] | None = None,
    ) -> None:
        self.by = by
        self._hidden = hidden
        self.keys = [tuple(key) for key in released["keys"]]
        self.cost = cost
        self.replayed = replayed
        self.certificate = certificate
        self._query: Any = query
        if query is None:
            body: Any = certificate.body
            self._query = body["question"]["query"]
        self._declared = declared
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
        hidden = _left_out(released, shown)
        declared: Any = entry.answer.get("declared") or {}
        return cls(names, shown, certificate, entry.cost, replayed, query, hidden, declared)

    @classmethod
    def free(cls, certificate: Certificate, arrangement: Arrangement = AS_IT_IS) -> Answer:
        """Return an answer that follows from earlier releases, as it is shown."""
        body: Any = certificate.body
        by = tuple(body["question"]["query"]["by"])
        certificate, released = _derived(certificate, body["answer"], arrangement)
        shown, names = arrangement.shown(by, released), arrangement.called(by)
        nothing = Budget.from_json(body["spent"]["cost"])
        hidden = _left_out(released, shown)
        return cls(names, shown, certificate, nothing, replayed=False, hidden=hidden)

    def _instead_of(self, name: str) -> str:
        return f"answer.value({name!r}) is its value" if name in self._columns else ""

    @property
    def protects(self) -> str:
        """Whom the answer protects, in one line."""
        return protects_line(self._query["unit"])

    @property
    def about(self) -> dict[str, str]:
        """The declarations of the columns of the labels, in words, if any.

        Its meaning and its unit, such as ``"cost: of a visit, in euro"``; of a label that is
        computed from others how, and why it has no interval where it has none.
        """
        body: Any = self.certificate.body
        declared = body.get("declared", {})
        aggregates = self._query["aggregates"]
        known = [
            (label, [column_note(n, declared) for n in columns_in(a)]) for label, a in aggregates
        ]
        notes = {label: "; ".join(filter(None, own)) for label, own in known if any(own)}
        for label, column in self._columns.items():
            own = derived_words(column) if "of" in column else _note(column)
            if own:
                notes[label] = f"{notes[label]}; {own}" if label in notes else own
        return notes

    @property
    def key_labels(self) -> dict[str, Mapping[object, str]]:
        declared = self._declared
        if declared is None:
            body: Any = self.certificate.body
            declared = body.get("declared")
        # Counts over time are of periods, which no file labels, and have no other groups.
        known = zip(self.by, labels_in(declared, self._query["by"]), strict=False)
        return {name: labels for name, labels in known if labels}

    @property
    def columns_of(self) -> dict[str, list[str]]:
        """The columns that each label was asked of; labels without one are left out."""
        known = {label: list(columns_in(a)) for label, a in self._query["aggregates"]}
        return {label: columns for label, columns in known.items() if columns}

    @property
    def question(self) -> Mapping[str, object]:
        """The question as plain JSON values; in a plan, this question of it."""
        asked: Mapping[str, object] = self._query
        return asked

    @property
    def labels(self) -> tuple[str, ...]:
        """The aggregates, by label."""
        return tuple(self._columns)

    def column(self, label: str) -> dict[str, list[Released]]:
        """Return value, standard_error, low and high of a label, each a list over the groups.

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
        return self.column(label)["value"][self._index_of(key)]

    def interval(self, label: str, *key: object) -> tuple[Released, Released]:
        """Return the 95% interval of a label, which covers in 95 of 100 releases.

        Args:
            label: of the statistic, as it was asked.
            *key: the group, a value for each grouping column; nothing where there are no groups.

        Raises:
            UsageError: no such label or group.
        """
        column, index = self.column(label), self._index_of(key)
        return column["low"][index], column["high"][index]

    def refused(self, label: str, *key: object) -> bool:
        """Return whether the test of propose-test-release refused an answer; the reason is private.

        Args:
            label: of the statistic, as it was asked.
            *key: the group, a value for each grouping column; nothing where there are no groups.

        Raises:
            UsageError: no such label or group.
        """
        column, index = self.column(label), self._index_of(key)
        return bool(column["refused"][index]) if "refused" in column else False

    def _index_of(self, key: tuple[object, ...]) -> int:
        if tuple(key) not in self.keys:
            named = ", ".join(self.by) or "nothing"
            raise UsageError(f"there is no group {key}; name one by {named}")
        return self.keys.index(tuple(key))

    def statistics(self) -> Sequence[ExportStatistic]:
        """Return what was released, by label, with the edges of histograms."""
        aggregates = dict(self._query["aggregates"])
        edges = {label: aggregates.get(label, {}).get("edges") for label in self._columns}
        return [
            ExportStatistic(label, column, edges[label] and [_plain(edge) for edge in edges[label]])
            for label, column in self._columns.items()
        ]

    def about_lines(self) -> Sequence[tuple[str, str]]:
        """Return what a reader of its tables should know, by name."""
        return [
            ("data set", str(self.certificate.body["dataset"])),
            ("protects", self.protects.removeprefix("protects: ")),
            ("privacy loss", repr(self.cost)),
            ("intervals", str(self.certificate.body["accuracy"])),
            *((label, note) for label, note in self.about.items()),
            ("certificate", str(self.certificate.body["digest"])),
        ]

    @property
    def selected(self) -> bool:
        """Whether partition selection chose the groups: those below its threshold are not shown."""
        return bool(self.by) and self._query.get("keys") is None

    def facts(self) -> Mapping[str, object]:
        body: Any = self.certificate.body
        loss = {name: part for name, part in self.cost.to_json().items() if name != "parts"}
        # An answer that follows from earlier releases has no time of its own.
        when = {"released": body["ledger"]["when"]} if "ledger" in body else {}
        return {
            "dataset": str(body["dataset"]),
            **when,
            "privacy_loss": loss,
            "unit_of_privacy": {**self._query["unit"], "words": self.protects},
            "intervals": str(body["accuracy"]),
            "certificate": str(body["digest"]),
        }

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
        labels = [self.key_labels.get(name, {}) for name in self.by]
        names = [list(map(labelled_key, key, labels)) for key in self.keys]
        by, parts = list(self.by), []
        if plain:
            rows = [
                key + [_cell(self._columns[label], (index,)) for label in plain]
                for index, key in enumerate(names)
            ]
            parts.append(CardTable([*by, *plain], rows, names=len(by)))
        for label in self.labels:
            column = self._columns[label]
            if label in plain:
                continue
            rows = [
                [*key, str(name), _cell(column, (index, i))]
                for index, key in enumerate(names)
                for i, name in enumerate(column["bins"])
            ]
            each, _ = answer_words(str(column["kind"])).each
            parts.append(CardTable([*by, each, label], rows, names=len(by) + 1))
        groups = f"{len(names)} group{'' if len(names) == 1 else 's'}"
        paid = "replayed from the ledger, at no cost" if self.replayed else f"cost {self.cost!r}"
        notes = [f"{label}: {about}" for label, about in self.about.items()]
        ends = f"({', '.join(self.labels)} in {groups}; {paid}; 95% intervals of the noise)"
        return Card("Answer", self.protects, [*parts, Pictures(self._charts)], [*notes, ends])

    def _charts(self) -> list[tuple[str, Any]]:
        """Return a chart for each label that has several marks, and few enough to be read."""
        query = {**self._query, "by": self.by}
        shown = {"keys": self.keys, "columns": list(self._columns.values())}
        declared = {n: {"labels": list(known.items())} for n, known in self.key_labels.items()}
        read = answers({"question": {"query": query}, "answer": shown, "declared": declared})
        charts: list[tuple[str, Any]] = []
        for one in read.get("columns", ()):
            several = len(self.keys) > 1 or "bins" in self._columns[one["label"]]
            if one["chart"] and several:
                charts.append((f"{one['label']}: {one['words']}", one["chart"]))
            charts += [(f"{one['label']}: {title}", svg) for title, svg in one["panels"] or ()]
        return charts

    def __str__(self) -> str:
        return self.card().text()

    def __repr__(self) -> str:
        return self.card().text()


def _note(column: Mapping[str, Any]) -> str:
    """Return what a reader should know of an answer, by its kind."""
    try:
        known = statistic_named(str(column["kind"]))
    except UsageError:  # a count over time is no statistic of a question
        return ""
    return known.note(column)


def _derived(
    certificate: Certificate, answer: Mapping[str, Any], arrangement: Arrangement
) -> tuple[Certificate, Mapping[str, Any]]:
    """Return a certificate and an answer with what an arrangement computes from the answer."""
    if not arrangement.derived:
        return certificate, answer
    certificate = deriving(certificate, arrangement.derived)
    body: Any = certificate.body
    return certificate, {**answer, "columns": [*answer["columns"], *body["derived"]]}


def _left_out(released: Mapping[str, Any], shown: Mapping[str, Any]) -> list[Any]:
    """Return the released groups that an arrangement leaves out."""
    kept = {tuple(key) for key in shown["keys"]}
    return [key for key in released["keys"] if tuple(key) not in kept]


def _plain(edge: str) -> int | float:
    """Return an edge as a number of other tools."""
    exact = as_fraction(edge)
    return exact.numerator if exact.denominator == 1 else float(exact)


def _cell(column: dict[str, Any], index: tuple[int, ...]) -> str:
    """Return a value with its interval; of a list over groups, and in each over bins."""
    value, low, high = (_at(column[part], index) for part in ("value", "low", "high"))
    if column.get("refused") and column["refused"][index[0]]:
        return "refused by the test"
    if low is None and high is None:
        return _short(value)
    return f"{_short(value)} [{_short(low)}, {_short(high)}]"


def _at(cells: Any, indices: tuple[int, ...]) -> Any:
    for index in indices:
        cells = cells[index]
    return cells


def _short(value: Any) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else show(float(value))

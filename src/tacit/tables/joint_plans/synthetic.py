"""A synthetic table: made-up rows that give nearly the answers that were published."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.arithmetic.mixing import Repeatable
from tacit.calls import listed, public
from tacit.display.card import Card, CardTable, Shown
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.operations import key_reading
from tacit.tables.release.answer import Answer
from tacit.tables.statistics.base import statistic_named
from tacit.workload.synthetic import Marginal, counts_of, fitted_rows, graphical_rows

if TYPE_CHECKING:
    import pyarrow

_MAX_ROWS = 10_000_000
_MAX_CELLS = 1 << 24
_METHODS = ("gradual", "graphical")


@dataclass
class _Column:
    """A column of the table: the keys that were listed, or the edges of its bins."""

    name: str
    keys: list[Any]
    edges: tuple[Fraction, ...] = ()
    integers: bool = False

    @property
    def size(self) -> int:
        return len(self.edges) - 1 if self.edges else len(self.keys)

    def values(self, indices: Any, stream: Repeatable) -> list[Any]:
        """Return a value for each place: the key, or a number of the bin, each as likely."""
        if not self.edges:
            return [self.keys[index] for index in indices.tolist()]
        turns = stream.words(len(indices)).astype(np.float64) / 2.0**64
        last = len(self.edges) - 2
        low = np.array([float(edge) for edge in self.edges[:-1]])[indices]
        high = np.array([float(edge) for edge in self.edges[1:]])[indices]
        if self.integers:
            values: list[Any] = (
                np.minimum(np.floor(low + turns * (high - low + (indices == last))), high)
                .astype(np.int64)
                .tolist()
            )
            return values
        spread: list[Any] = (low + turns * (high - low)).tolist()
        return spread


@public
class SyntheticTable(Shown):
    """Made-up rows that give nearly the answers that were published.

    Attributes:
        table: a :class:`pyarrow.Table`, a column for each column of the answers; its metadata name
            the certificates of the answers that it was made of.
        errors: for each label that it was fitted to, in order, a dict of the ``label``, how many
            ``cells`` it has, the ``distance`` of a cell in the table from the published one (the
            mean of the absolute differences, in rows), and the ``standard_error`` of the published
            ones, on average.
        unused: the labels that no count of rows answers, and that it was not fitted to.

    It holds nothing about people beyond the answers, and costs nothing; nor is it better than they
    are: what was not asked (how two columns go together, where no answer has both) is made up.

    Example:
        >>> import pyarrow as pa, tacit as tc
        >>> people = pa.table({"sex": ["f", "m"] * 200})
        >>> session = tc.Session(people, tc.one_row_each, tc.rho(1))
        >>> answer = session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(rho=1)
        >>> made = tc.synthetic_table(answer, rows=100)
        >>> made.errors[0]["cells"], made.table.num_rows
        (2, 100)
    """

    def __init__(
        self,
        table: pyarrow.Table,
        errors: list[dict[str, str | int | float]],
        unused: tuple[str, ...],
    ) -> None:
        self.table, self.errors, self.unused = table, errors, unused

    def card(self) -> Card:
        """Return what a notebook displays: the columns, and how far the answers are kept."""
        rows = [
            [str(e["label"]), str(e["cells"]), f"{e['distance']:.3g}", f"{e['standard_error']:.3g}"]
            for e in self.errors
        ]
        head = ["label", "cells", "rows off in a cell", "standard error of the answer"]
        title = f"{self.table.num_rows:,} made-up rows of {', '.join(self.table.column_names)}"
        return Card("Synthetic table", title, [CardTable(head, rows)], ["post-processing: no cost"])

    def __repr__(self) -> str:
        named = ", ".join(self.table.column_names)
        return f"<SyntheticTable of {self.table.num_rows} rows: {named}>"


@public
def synthetic_table(
    answers: Sequence[Answer],
    rows: int | None = None,
    *,
    method: str = "gradual",
    seed: int | None = None,
) -> SyntheticTable:
    """Make up a table whose counts are near to those that were published.

    It is made of counts by listed groups and of histograms, best those of one plan
    (:meth:`tacit.tables.session.Session.plan`), and of nothing else: so it costs nothing, whatever
    is done with it.  A bin of a histogram gives numbers that are spread evenly over it.

    Args:
        answers: about the same rows of one table.  All pairs of columns are a good choice.
        rows: how many; the mean of what the answers sum to if not given.
        method: ``"gradual"`` moves rows until they fit (Zhang et al., "PrivSyn", USENIX Security
            2021); ``"graphical"`` draws rows of the distribution of largest entropy that fits
            (McKenna et al., ICML 2019), by the library mbi, which ``pip install
            'tacit-dp[synthetic]'`` brings: what was not asked is then as independent as the answers
            leave it.  It takes half a minute and more, and its tables grow with the columns that
            the answers link.
        seed: of the random choices, for the same table again.

    Raises:
        UsageError: no counts among the answers, answers about different rows, a column that is
            grouped by in one answer and in bins in another, too many rows or cells, an unknown
            method.
        MissingExtraError: ``"graphical"`` without mbi.

    Example:
        >>> import pyarrow as pa, tacit as tc
        >>> people = pa.table({"sex": ["f", "m"] * 200, "age": [31, 45, 67, 12] * 100})
        >>> session = tc.Session(people, tc.one_row_each, tc.rho(1))
        >>> asked = session.group_by("sex", keys=["f", "m"])
        >>> plan = session.plan([asked.agg(ages=tc.histogram("age", [0, 20, 40, 80]))])
        >>> made = tc.synthetic_table(plan.release(rho=1))
        >>> made.table.column_names, 380 < made.table.num_rows < 420
        (['sex', 'age'], True)
    """
    several = [answers] if isinstance(answers, Answer) else answers
    given = listed(several, "give a list of answers, such as plan.release(...) gives")
    if not given or not all(isinstance(one, Answer) for one in given):
        raise UsageError("a synthetic table is made of answers, such as plan.release(...) gives")
    if method not in _METHODS:
        raise UsageError(f"there is no method {method!r}; {did_you_mean(str(method), _METHODS)}")
    _of_same_rows(given)
    columns: dict[str, _Column] = {}
    unused: list[str] = []
    parts: list[tuple[str, tuple[str, ...], Any, Any, list[tuple[Any, ...]]]] = []
    for answer in given:
        aggregates: Any = answer.question["aggregates"]
        own_aggregates = dict(aggregates)
        for label in answer.labels:
            column: Any = answer.column(label)
            known = statistic_named(column["kind"])
            if not known.counts or known.bin_reading != "cells":
                unused.append(label)
                continue
            _add_keys(columns, answer)
            names = answer.by
            if "edges" in own_aggregates[label]:
                _add_bins(columns, own_aggregates[label], answer)
                names = (*names, own_aggregates[label]["column"])
            parts.append((label, names, column["value"], column["standard_error"], answer.keys))
    if not any(names for _, names, *_ in parts):
        raise UsageError(
            "none of these answers counts rows by group or in bins; ask for "
            "group_by(..., keys=...).agg(n=tc.count()) or for tc.histogram(...)"
        )
    return _made(list(columns.values()), parts, rows, method, seed, given, tuple(unused))


def _made(
    columns: list[_Column],
    parts: list[tuple[str, tuple[str, ...], Any, Any, list[tuple[Any, ...]]]],
    rows: int | None,
    method: str,
    seed: int | None,
    answers: Sequence[Answer],
    unused: tuple[str, ...],
) -> SyntheticTable:
    import pyarrow as pa

    index_of = {column.name: index for index, column in enumerate(columns)}
    marginals: list[Marginal] = []
    spreads: list[Any] = []
    for _, names, values, spread, keys in parts:
        axes = tuple(index_of[name] for name in names)
        marginals.append((axes, _counts(columns, axes, values, keys, 0.0)))
        spreads.append(_counts(columns, axes, spread, keys, math.inf))
    totals = [float(counts.sum()) for _, counts in marginals]
    count = round(math.fsum(totals) / len(totals)) if rows is None else as_integer(rows, "rows", 1)
    if not 1 <= count <= _MAX_ROWS:
        raise UsageError(
            f"a synthetic table has from 1 to {_MAX_ROWS:,} rows, not {count:,}; give rows="
        )
    stream = Repeatable(secrets.randbits(64) if seed is None else as_integer(seed, "seed"))
    sizes = [column.size for column in columns]
    if method == "graphical":
        table = graphical_rows(sizes, marginals, spreads, count, stream)
    else:
        table = fitted_rows(sizes, marginals, count, stream)
    errors: list[dict[str, str | int | float]] = []
    for (label, _, _, spread, _), (axes, counts), total in zip(
        parts, marginals, totals, strict=True
    ):
        made = counts_of(table, axes, counts.shape) * (max(total, 0.0) / count)
        errors.append(
            {
                "label": label,
                "cells": int(counts.size),
                "distance": float(np.abs(made - counts).mean()),
                "standard_error": float(np.mean(np.asarray(spread, dtype=np.float64))),
            }
        )
    columns_of = {c.name: c.values(table[:, index], stream) for index, c in enumerate(columns)}
    digests = sorted({str(answer.certificate.body["digest"]) for answer in answers})
    metadata = {b"tacit synthetic table": json.dumps({"made of certificates": digests}).encode()}
    return SyntheticTable(pa.table(columns_of).replace_schema_metadata(metadata), errors, unused)


def _of_same_rows(answers: Sequence[Answer]) -> None:
    """Raise if answers are about different rows, by their public descriptions."""
    named = ("unit", "where", "table", "joins", "inner")
    rows = {json.dumps([a.question.get(name) for name in named], sort_keys=True) for a in answers}
    sets = {str(answer.certificate.body["dataset"]) for answer in answers}
    if len(rows) > 1 or len(sets) > 1:
        raise UsageError(
            "these answers are about different rows (another data set, filter or unit): make a "
            "synthetic table of answers about the same rows"
        )


def _kinds(answer: Answer) -> dict[str, str]:
    body: Any = answer.certificate.body
    return {column[0]: column[1] for column in body.get("table", [])}


def _add_keys(columns: dict[str, _Column], answer: Answer) -> None:
    kinds = _kinds(answer)
    for index, name in enumerate(answer.by):
        column = columns.setdefault(name, _Column(name, []))
        if column.edges:
            raise _both(name)
        reading = key_reading([key[index] for key in answer.keys])
        undeclared = bool(column.keys) and kinds.get(name) == "undeclared"
        if undeclared and reading != key_reading(column.keys):
            raise UsageError(
                f"the cells of {name!r} are not declared, and read in two ways: the keys of one "
                "answer are text, say, and those of another numbers; list keys of one kind"
            )
        known = {(type(key), key) for key in column.keys}
        for key in (key[index] for key in answer.keys):
            if (type(key), key) not in known:
                known.add((type(key), key))
                column.keys.append(key)


def _add_bins(columns: dict[str, _Column], aggregate: Any, answer: Answer) -> None:
    name = str(aggregate["column"])
    edges = tuple(as_fraction(edge, "an edge") for edge in aggregate["edges"])
    kinds = _kinds(answer)
    integers = all(edge.denominator == 1 and abs(edge) <= 1 << 53 for edge in edges)
    integers = integers and kinds.get(name) == "integer"
    column = columns.setdefault(name, _Column(name, [], edges, integers))
    if not column.edges:
        raise _both(name)
    if column.edges != edges:
        raise UsageError(f"{name!r} is in different bins in two answers: ask for the same edges")


def _both(name: str) -> UsageError:
    return UsageError(
        f"{name!r} is grouped by in one answer, and in bins in another: ask for it in one way, "
        "with_columns(bin=tc.col(...).cut(...)) makes groups of bins"
    )


def _counts(
    columns: list[_Column], axes: tuple[int, ...], values: Any, keys: Any, unknown: float
) -> Any:
    shape = tuple(columns[axis].size for axis in axes)
    if math.prod(shape) > _MAX_CELLS:
        raise UsageError(
            f"an answer about {math.prod(shape):,} cells is too large; at most {_MAX_CELLS:,}"
        )
    counts = np.full(shape, unknown)
    indices = [
        {(type(key), key): index for index, key in enumerate(columns[axis].keys)} for axis in axes
    ]
    for key, value in zip(keys, values, strict=True):
        at = tuple(indices[i][type(part), part] for i, part in enumerate(key))
        counts[at] = np.asarray(value, dtype=np.float64)
    return counts

"""What a count over time has published so far: from recorded parts to a table and a figure."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tacit import plotting
from tacit.accounting import Entry, Ledger
from tacit.arithmetic.exact import as_fraction
from tacit.calls import public
from tacit.errors import UsageError, need
from tacit.expressions.timeline import Timeline
from tacit.report import issue
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.noise_sums import sum_half_width
from tacit.tables.live.block_tree import PeriodTree
from tacit.tables.release.answer import Answer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PeriodAnswer", "answer_of_blocks", "law_of", "periods_of", "published"]


@public
class PeriodAnswer(Answer):
    """Counts by period, and running totals, with their errors: a line a period.

    As every :class:`Answer` it becomes a table (``to_pandas()`` and the like), with the columns
    ``period`` (where it begins), ``count`` and ``total``, each with its error and interval.  A
    number that was published never changes.  A total adds other noise than the counts: it is
    more exact than their sum, and may go down by a little.
    """

    @classmethod
    def so_far(
        cls, entry: Entry, ledger: Ledger, parts: Sequence[Mapping[str, object]], replayed: bool
    ) -> PeriodAnswer:
        """Return the answer that the parts of a charge make, with its certificate."""
        released = published(entry.question, parts)
        told = replace(entry, answer={**(entry.answer or {}), **released})
        return cls(("period",), released, issue(told, ledger), entry.cost, replayed)

    def plot(self) -> Figure:
        """Draw the counts and the running totals, with their 95% intervals, over time.

        Returns:
            A matplotlib Figure.

        Raises:
            MissingExtraError: matplotlib is not installed.
            UsageError: no period is over yet.
        """
        if not self.keys:
            raise UsageError("no period is over yet: there is nothing to draw")
        need("matplotlib.dates", "plot")
        fig = plotting.figure(8, 5)
        places = plotting.axes(fig, len(self.labels), 1)
        across = [_instant(key[0]) for key in self.keys]
        for (place,), label in zip(places, self.labels, strict=True):
            column = self.column(label)
            place.fill_between(
                across, column["low"], column["high"], color=plotting.FAINT, linewidth=0
            )
            place.plot(across, column["value"], color=plotting.ACCENT, linewidth=1.3)
            place.plot(across[-1:], column["value"][-1:], color=plotting.ACCENT, marker="o")
            place.margins(x=0.01)
            plotting.title(place, label, _DETAIL[label])
        figure: Figure = fig
        return figure


_DETAIL = {
    "count": "rows in each period, with 95% intervals",
    "total": "rows from the start to the end of each period, with 95% intervals",
}


def _instant(period: Any) -> Any:
    return datetime.datetime.fromisoformat(period) if isinstance(period, str) else period


def law_of(question: Mapping[str, Any]) -> NoiseLaw:
    """Return the noise on one block."""
    noise = question["noise"]
    return NoiseLaw(noise["step"], float(as_fraction(noise["scale"])), 1.0)


def published(
    question: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], most: int | None = None
) -> dict[str, Any]:
    """Return keys and columns, as an answer holds them, of the parts of a count over time.

    Args:
        question: the question of the charge.
        parts: what was recorded under it, in order.
        most: how many periods to state; default: all that were published.
    """
    _, tree = periods_of(question)
    blocks: list[list[int]] = [[] for _ in tree.widths]
    for part in parts:
        listed = iter(part["blocks"])
        for level, first, end in tree.closing(*part["periods"]):
            blocks[level] += [next(listed) for _ in range(first, end)]
    closed = len(blocks[0]) if most is None else min(most, len(blocks[0]))
    whole = zip(blocks, tree.widths, strict=True)
    return answer_of_blocks(question, [level[: closed // width] for level, width in whole])


def periods_of(question: Mapping[str, Any]) -> tuple[Timeline, PeriodTree]:
    """Return the periods of a question, and their blocks."""
    asked = question["query"]["aggregates"][0][1]
    line = Timeline(*(asked[name] for name in ("column", "reads", "start", "every", "periods")))
    return line, PeriodTree(line.periods, asked["branching"])


def answer_of_blocks(
    question: Mapping[str, Any], blocks: Sequence[Sequence[int]]
) -> dict[str, Any]:
    """Return the answer that the noisy counts of blocks make: their post-processing, and no more.

    Args:
        question: the question of the charge.
        blocks: of each level, those that are over, in their order.
    """
    line, tree = periods_of(question)
    closed = len(blocks[0])
    totals = [0]
    for earlier, level, place in tree.steps(closed):
        totals.append(totals[earlier] + blocks[level][place])
    law = law_of(question)
    return {
        "keys": [[line.label(place)] for place in range(closed)],
        "columns": [
            _column("count", list(blocks[0]), [1] * closed, law),
            _column("total", totals[1:], tree.terms[1 : closed + 1], law),
        ],
        "released": [list(level) for level in blocks],
    }


def _column(label: str, values: list[int], terms: Sequence[int], law: NoiseLaw) -> dict[str, Any]:
    errors = {m: math.sqrt(m * law.variance) for m in set(terms)}
    halves = {m: math.ceil(sum_half_width(law, m)) for m in set(terms)}
    pairs = list(zip(values, terms, strict=True))
    # No count is below zero, but a noisy one may be: the interval holds it all the same.
    return {
        "label": label,
        "kind": f"{label}_over_time",
        "value": values,
        "standard_error": [errors[m] for m in terms],
        "low": [min(value, max(0, value - halves[m])) for value, m in pairs],
        "high": [max(value, 0, value + halves[m]) for value, m in pairs],
    }

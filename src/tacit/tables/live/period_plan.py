"""The plan of a count over time: its question, its chain and its noise, from public facts alone.

The same functions charge a counter, carry it out and, from its certificate, plan it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.core import Measurement, Step, step_from
from tacit.errors import UsageError
from tacit.expressions.timeline import Timeline
from tacit.mechanisms import Gaussian, Laplace, calibrate
from tacit.report.text.vocabulary import say_answer
from tacit.tables.live.period_counts import CountsOverTime
from tacit.tables.plan.chains import Chains, chain_of_rows
from tacit.tables.plan.query import Query

__all__ = ["counts_asked", "counts_chain", "counts_step", "noise_of_counts", "refuse_groups"]


def counts_asked(line: Timeline, branching: int | None) -> list[Any]:
    """Return what is asked, as the aggregates of a question."""
    asked = {**line.to_json(), "branching": branching}
    return [[kind, {"kind": f"{kind}_over_time", **asked}] for kind in ("count", "total")]


def refuse_groups(query: Query) -> None:
    """Refuse to count over time what is no table of rows.

    Raises:
        UsageError: groups or aggregates in the question.
    """
    if query.by or query.aggregates or query.inner:
        raise UsageError(
            "a count over time is of rows, with no groups and no aggregates: ask the session, or "
            "after filter(...); for groups make one counter each, by a filter"
        )


def noise_of_counts(
    query: Query, line: Timeline, branching: int, granted: Budget
) -> dict[str, Any]:
    """Return the noise on every block, calibrated to what was granted."""
    kind: type[Step] = Gaussian if granted.kind == "concentrated" else Laplace
    asked: Any = counts_asked(line, branching)
    counts = _counts(query, {"query": {"aggregates": asked}, "noise": {"step": kind.name}})
    scale = calibrate(counts >> kind, 1, granted.amount).describe()["steps"][-1]["scale"]
    return {"step": kind.name, "scale": scale}


def counts_step(query: Query, question: Mapping[str, Any]) -> CountsOverTime:
    """Return the step that counts the blocks."""
    asked = {k: v for k, v in question["query"]["aggregates"][0][1].items() if k != "kind"}
    norm = "L2" if question["noise"]["step"] == Gaussian.name else "L1"
    return CountsOverTime(**asked, rows=query.unit.rows, norm=norm)


def _counts(query: Query, question: Mapping[str, Any]) -> Any:
    return chain_of_rows(query) >> counts_step(query, question)


def counts_chain(query: Query, question: Mapping[str, Any]) -> Chains:
    """Return the whole chain, from the table to the noise."""
    whole: Measurement = _counts(query, question) >> step_from(dict(question["noise"]))
    return Chains(query.schema, [("counts over time", [whole])])


@dataclass(frozen=True)
class _OverTime:
    """The words of a count over time: one noun for the periods, and one for running totals."""

    noun: str
    amount: bool = True
    each: tuple[str, str] = "period", "rows"

    def words(self, described: Mapping[str, Any]) -> str:
        """Say what one answer is, with its periods."""
        return self.noun.format(
            column=described["column"], periods=described["periods"], line=_periods(described)
        )


def _periods(aggregate: Mapping[str, Any]) -> str:
    asked = (aggregate[name] for name in ("column", "reads", "start", "every", "periods"))
    line = Timeline(*asked)
    unit = "" if line.reads == "integers" else f" {line.reads}"
    return f"from {line.label(0)}, {line.every}{unit} each"


say_answer(
    "count_over_time",
    _OverTime("the number of rows in each of {periods} periods of {column}, {line}"),
)
say_answer(
    "total_over_time",
    _OverTime("the number of rows from the start to the end of each of them"),
)

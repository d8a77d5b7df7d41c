"""The plan of a count over time: its question, its chain and its noise, from public facts alone.

The same functions charge a counter, carry it out and, from its certificate, plan it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.core import Step, step_from
from tacit.errors import UsageError
from tacit.expressions.timeline import Timeline
from tacit.mechanisms import Gaussian, Laplace, calibrate
from tacit.report.text.vocabulary import say_answer
from tacit.tables.live.block_tree import best_branching
from tacit.tables.live.period_counts import CountsOverTime
from tacit.tables.plan.chains import Chains, chain_of_rows
from tacit.tables.plan.price import read_tag
from tacit.tables.plan.query import Query

__all__ = ["PeriodPlan", "PeriodQuestion", "counts_asked", "question_of", "require_rows"]


def counts_asked(line: Timeline, branching: int | None) -> list[Any]:
    """Return what is asked, as the aggregates of a question."""
    asked = {**line.to_json(), "branching": branching}
    return [[kind, {"kind": f"{kind}_over_time", **asked}] for kind in ("count", "total")]


def require_rows(query: Query) -> None:
    """Refuse to count over time what is not rows that only come.

    Raises:
        UsageError: groups or aggregates in the question, or a left join with a protected table.
    """
    if query.by or query.aggregates or query.inner:
        raise UsageError(
            "a count over time is of rows, without groups or aggregates: start from the "
            "session, or after filter(...); for groups make one counter each, with a filter"
        )
    for join in query.joins:
        if join.public is None and join.how != "inner":
            raise UsageError(
                f"a count over time joins {join.table!r} with how='inner': the row that a left "
                "join makes of a row without a match disappears when a match is added, and rows "
                "that disappear let a person count more often than the limit says"
            )


@dataclass(frozen=True)
class PeriodPlan:
    """A count over time with its noise: what :class:`~tacit.tables.plan.plan.Plan` is for others.

    Args:
        query: the rows that are counted.
        question: what is asked, with its tree and its noise, as a ledger keeps it.
    """

    query: Query
    question: Mapping[str, Any]

    def __post_init__(self) -> None:
        require_rows(self.query)

    @classmethod
    def calibrated(
        cls, query: Query, line: Timeline, branching: int, granted: Budget, said: Mapping[str, Any]
    ) -> PeriodPlan:
        """Return the plan whose noise is calibrated to what was granted.

        Args:
            query: the rows that are counted.
            line: the periods.
            branching: how many blocks make one of the next level.
            granted: what may be spent.
            said: what the question says besides: its ``request`` and its ``tag``.
        """
        kind: type[Step] = Gaussian if granted.kind == "concentrated" else Laplace
        bare = cls(query, question_of(query, line, branching, {"step": kind.name}, said))
        found: Any = calibrate(bare.counts >> kind, 1, granted.amount)
        noise = {"step": kind.name, "scale": found.describe()["steps"][-1]["scale"]}
        return cls(query, {**bare.question, "noise": noise})

    @cached_property
    def step(self) -> CountsOverTime:
        """The step that counts the blocks."""
        asked = {k: v for k, v in self.question["query"]["aggregates"][0][1].items() if k != "kind"}
        norm = "L2" if self.question["noise"]["step"] == Gaussian.name else "L1"
        return CountsOverTime(**asked, rows=self.query.unit.rows, norm=norm)

    @cached_property
    def counts(self) -> Any:
        """The chain from the table to the counts."""
        return chain_of_rows(self.query) >> self.step

    @property
    def noise(self) -> Step:
        """The noise on each block."""
        return step_from(dict(self.question["noise"]))

    @cached_property
    def chains(self) -> Chains:
        """The whole chain, from the table to the noise."""
        return Chains(self.query.schema, [("counts over time", [self.counts >> self.noise])])

    @property
    def cost(self) -> Budget:
        """The privacy loss of all periods."""
        return self.chains.cost

    def released(self, exact: Sequence[int]) -> list[int]:
        """Return the counts of blocks with fresh noise."""
        measurement: Any = self.step.output(len(exact)) >> self.noise
        return [int(value) for value in measurement(exact)]


@dataclass(frozen=True)
class PeriodQuestion:
    """A count over time, at its price for all periods.

    Args:
        query: the rows that are counted.
        line: the periods.
        request: what all periods together may spend.
        tag: text that makes it another release of the same question.
        branching: how many blocks make one of the next level; None for the least error.

    Raises:
        UsageError: a tag that is no text.
    """

    query: Query
    line: Timeline
    request: Budget
    tag: str | None = None
    branching: int | None = None

    def __post_init__(self) -> None:
        read_tag(self.tag)

    @property
    def _said(self) -> dict[str, Any]:
        return {"request": self.request.to_json(), "tag": self.tag}

    @cached_property
    def public(self) -> dict[str, Any]:
        """The identity of its release: what was asked, and nothing that was chosen for it."""
        return question_of(self.query, self.line, self.branching, None, self._said)

    @property
    def family(self) -> None:
        """Nothing: the price decides how the periods are divided."""
        return None

    def plan(self, granted: Budget, like: object = None) -> PeriodPlan:
        """Return its plan, calibrated to what is granted."""
        branching = self.branching
        if branching is None:
            gaussian = granted.kind == "concentrated"
            branching = best_branching(self.line.periods, squared=not gaussian)
        return PeriodPlan.calibrated(self.query, self.line, branching, granted, self._said)


def question_of(
    query: Query,
    line: Timeline,
    branching: int | None,
    noise: Mapping[str, Any] | None,
    said: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a count over time as plain JSON; without what was chosen for whoever asks, its key."""
    asked = {**query.describe(), "aggregates": counts_asked(line, branching)}
    return {"query": asked, **said, "noise": noise}


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

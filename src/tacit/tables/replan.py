"""A release planned again from what its certificate says: by the code that planned it first."""

# What a certificate claims is never run.  From its public parts (the question, the kinds of the
# columns, the request, what was left) the plan is made again, and all that follows from it is there
# to compare: every chain, number by number, what they lose together, the price, and, from the
# numbers that were released, every value with its error and its interval.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.accounting.budget import Budget, fit
from tacit.accounting.ledger_chain import canonical
from tacit.errors import UsageError
from tacit.expressions.schema import Schema
from tacit.report.issued import FIRST_FORMAT, Planner, register_planner
from tacit.tables.derived.derive import followed
from tacit.tables.joint import statistics as _of_plans  # noqa: F401  (registers them)
from tacit.tables.joint.cell_counts import CellsPart
from tacit.tables.noise import FIRST_RULES, RULES
from tacit.tables.open_source import identity_of
from tacit.tables.plan.methods import as_stated, has_choice, record_of
from tacit.tables.plan.parse_question import first_schemas, query_from, schema_from
from tacit.tables.plan.plan import Plan, shares_of
from tacit.tables.plan.query import Query, plain_key
from tacit.tables.release.release import answer_of, in_order
from tacit.tables.statistics.base import TableStatistic
from tacit.tables.statistics.counted_quantiles import CountedQuantilesPart, SumCells
from tacit.tables.statistics.part import LEVEL
from tacit.tables.streaming.counter import answer_of_blocks, periods_of, published
from tacit.tables.streaming.periods import PeriodPlan


class Replanned(ABC):
    """Consequences of a question, its request and the released numbers."""

    grows = False  # whether it was answered period by period, of a table that grew

    def __init__(self, question: Mapping[str, Any], query: Query) -> None:
        self.question = question
        self.query = query

    @property
    def unknown_keys(self) -> bool:
        """True if the groups were found in the data."""
        return bool(self.query.unknown_keys)

    @property
    def chooses(self) -> bool:
        """True if a method, or an option of one, was chosen by expected errors."""
        return any(has_choice(aggregate) for _, aggregate in self.query.aggregates)

    @property
    def joins_public(self) -> bool:
        """True if the rows of a public table are next to those that were asked."""
        counted_query = self.query if self.query.inner is None else self.query.inner
        return any(join.public is not None for join in counted_query.joins)

    @property
    @abstractmethod
    def cost(self) -> Budget:
        """The privacy loss of the release."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """The number of steps of all chains."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the chains and what they lose, as the release recorded them."""

    @abstractmethod
    def answer(self, keys: Any, released: Any, level: float = LEVEL) -> dict[str, Any]:
        """Return the answer that released numbers make, with intervals of a level."""

    @abstractmethod
    def columns(self, keys: Any) -> list[dict[str, Any]]:
        """Return what is known of the answer's columns without the numbers; the rest is missing."""


class _Release(Replanned):
    def __init__(
        self,
        question: Mapping[str, Any],
        query: Query,
        request: Budget,
        groups: int,
        methods: Mapping[str, Any],
        keys_by: str | None,
        counted: Sequence[Mapping[str, Any]] = (),
        rules: int = RULES,
    ) -> None:
        super().__init__(question, query)
        self.methods = methods
        chosen = [(label, as_stated(a, methods.get(label))) for label, a in query.aggregates]
        self.plan = Plan(replace(query, aggregates=tuple(chosen)), request, keys_by, rules)
        of_cells = [step for step in counted if step["step"] != SumCells.name]
        for part in self.plan.parts:
            if isinstance(part, CellsPart):
                for family in part.families.values():
                    family.use_stated(of_cells)
            counted_part = getattr(part, "inner", part)
            if isinstance(counted_part, CountedQuantilesPart):
                counted_part.use_stated(counted)
        self.groups = groups

    @property
    def cost(self) -> Budget:
        return self.plan.cost

    @property
    def steps(self) -> int:
        rows = self.query.row_steps
        keys = int(self.plan.keys is not None) * (rows + 2)
        parts = zip(self.plan.parts, self.plan.chains(self.groups), strict=True)
        return keys + sum(len(ends) * (rows + 3 - part.on_people) for part, ends in parts)

    def describe(self) -> dict[str, Any]:
        described = self.plan.describe(self.groups)
        return described if self.states_axes else _without_axes(described)

    # Whether the steps that count cells state the axes; earlier versions only named them.
    states_axes = True

    @property
    def confused(self) -> bool:
        """True if it is a plan in which an earlier version took one axis for another."""
        cells = [part for part in self.plan.parts if isinstance(part, CellsPart)]
        if any(axis.mixes_kinds for part in cells for axis in part.axes):
            return True
        return not self.states_axes and any(part.has_one_name_twice for part in cells)

    def _keys(self, keys: Any) -> None:
        if self.query.keys is not None or not self.query.by:
            own = [list(map(plain_key, key)) for key in self.query.keys or [()]]
            if canonical(keys) != canonical(own):
                raise UsageError("its groups are not the keys that were asked for")
            return
        for key in keys:
            plain = all(part is None or isinstance(part, (str, int, bool)) for part in key)
            if not plain or len(key) != len(self.query.by):
                raise UsageError("a key is text, a number or nothing for each grouping column")
        if in_order(keys) != keys or len(set(map(tuple, keys))) < len(keys):
            raise UsageError("its keys are not in order, or one is given twice")

    def answer(self, keys: Any, released: Any, level: float = LEVEL) -> dict[str, Any]:
        if self.confused:
            raise UsageError(
                "two of its axes have one name, or two readings of one column, and the version "
                "that made it counted one of them for both: ask again, with a tag"
            )
        self._keys(keys)
        sizes = [step.size for ends in self.plan.chains(len(keys)) for step, _ in ends]  # type: ignore[attr-defined]
        if [len(numbers) for numbers in released] != sizes:
            raise UsageError("the number of released values is not the number that the chains give")
        for numbers in released:
            for number in numbers:
                _check_number(number)
        with np.errstate(all="ignore"):  # what someone made up may be infinite
            answer = answer_of(self.plan, keys, released, level)
        return {**answer, "columns": self._with_methods(answer["columns"])}

    def columns(self, keys: Any) -> list[dict[str, Any]]:
        self._keys(keys)
        known = [
            {"label": label, **self._column(aggregate, len(keys))}
            for label, aggregate in self.plan.query.aggregates
        ]
        return self._with_methods(known)

    def _with_methods(self, columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return columns with the records of choices that were not made again."""
        for column, (label, aggregate) in zip(columns, self.query.aggregates, strict=True):
            if has_choice(aggregate):
                stated = self.methods.get(label) or {}
                used = column.get("method") or {"used": "global"}
                column["method"] = record_of(aggregate, stated, used, self._shares(aggregate))
        return columns

    def _shares(self, aggregate: TableStatistic) -> list[str]:
        shares = shares_of(self.query, self.plan.request, aggregate)
        return [str(noise.loss) for noise in shares]

    def _column(self, aggregate: Any, groups: int) -> dict[str, Any]:
        column: dict[str, Any] = {"kind": aggregate.kind}
        names = aggregate.answer_names()
        if aggregate.amount:
            error: Any = self.plan.expected_error(aggregate, 1)
            if names is not None:
                error = [error] * len(names)
            column["standard_error"] = [error] * groups
        if names is not None:
            column["bins"] = names
        method = self.plan.record(aggregate)
        return column if method is None else {**column, "method": method}


def _without_axes(described: Mapping[str, Any]) -> dict[str, Any]:
    chains = [
        {**chain, "steps": [{k: v for k, v in s.items() if k != "axes"} for s in chain["steps"]]}
        for chain in described["chains"]
    ]
    return {**described, "chains": chains}


# The kinds of columns that periods are read from; a time with a zone is of no kind of its own.
_READ_FROM = {"integers": ("integer",), "days": ("date",), "seconds": ("date", "other")}


class _Counts(Replanned):
    grows = True

    def __init__(self, question: Mapping[str, Any], query: Query, request: Budget) -> None:
        super().__init__(question, query)
        line, tree = periods_of(question)
        line.check()
        kind = query.columns.column(line.column).kind
        if kind not in ("missing", "undeclared", *_READ_FROM[line.reads]):
            raise UsageError(f"its periods are {line.reads}, and the column holds {kind} values")
        again = PeriodPlan.calibrated(query, line, tree.branching, request, {}).question
        noise, parts = again["noise"], [question["query"]["aggregates"], question["noise"]]
        if canonical({"asked": parts}) != canonical(
            {"asked": [again["query"]["aggregates"], noise]}
        ):
            raise UsageError(
                f"its periods or its noise are not those of the request, which takes {noise}"
            )
        self.line, self._plan = line, PeriodPlan(query, question)

    @property
    def cost(self) -> Budget:
        return self._plan.cost

    @property
    def steps(self) -> int:
        return self.query.row_steps + 2

    def describe(self) -> dict[str, Any]:
        return self._plan.chains.describe()

    def answer(self, keys: Any, released: Any, level: float = LEVEL) -> dict[str, Any]:
        if level != LEVEL:
            raise UsageError("a count over time has intervals of one level")
        _, tree = periods_of(self.question)
        closed = len(released[0])
        if [len(level) for level in released] != [closed // width for width in tree.widths]:
            raise UsageError("the number of released values is not the number of blocks of periods")
        if closed > self.line.periods or not all(
            type(count) is int for level in released for count in level
        ):
            raise UsageError("each block has one noisy count, a whole number")
        return answer_of_blocks(self.question, released)

    def columns(self, keys: Any) -> list[dict[str, Any]]:
        _, tree = periods_of(self.question)
        blank = answer_of_blocks(
            self.question, [[0] * (len(keys) // width) for width in tree.widths]
        )
        if blank["keys"] != keys:
            raise UsageError("its periods are not those that were asked for, from the first on")
        return [{k: column[k] for k in _OF_COUNTS} for column in blank["columns"]]


_OF_COUNTS = ("label", "kind", "standard_error")


def replan(
    question: Mapping[str, Any],
    schemas: tuple[Schema, Schema | None],
    groups: int,
    budget: Budget,
    left: Budget,
    cost: Budget,
    methods: Mapping[str, Any],
    keys_by: str | None,
    counted: Sequence[Mapping[str, Any]] = (),
    rules: int = RULES,
) -> Replanned:
    """Plan a question again."""
    # Where the request was lowered to what remained (:func:`~tacit.accounting.budget.fit`),
    # it is planned so: which of the two it was, is seen by the cost.
    #
    # schemas: the columns of the table; and those with the derived ones, where a certificate states
    #   their kinds (:func:`~tacit.tables.plan.parse_question.first_schemas`).
    plan = None
    for request in _granted(Budget.from_json(question["request"]), budget, left, cost):
        plan = _planned(question, schemas, request, groups, methods, keys_by, counted, rules)
        if plan.cost.cost_in(budget.kind) == cost:
            break
    assert plan is not None
    return plan


def _planned(
    question: Mapping[str, Any],
    schemas: tuple[Schema, Schema | None],
    request: Budget,
    groups: int,
    methods: Mapping[str, Any],
    keys_by: str | None,
    counted: Sequence[Mapping[str, Any]],
    rules: int,
) -> Replanned:
    described = question["query"]
    if "noise" not in question:
        query = query_from(described, *schemas)
        _only(question, {"query", "request", "tag"})
        return _Release(question, query, request, groups, methods, keys_by, counted, rules)
    _only(question, {"query", "request", "tag", "noise"})
    if described["by"] or described["keys"] is not None or "inner" in described:
        raise UsageError("a count over time is of rows, without groups")
    timed = str(described["aggregates"][0][1]["column"])
    query = query_from({**described, "aggregates": []}, *schemas, timed=timed)
    return _Counts(question, query, request)


def _only(question: Mapping[str, Any], names: set[str]) -> None:
    if set(question) != names or not isinstance(question["tag"], str | None):
        raise UsageError(f"a question has the parts {', '.join(sorted(names))}, and no others")
    request = question["request"]
    if canonical(Budget.from_json(request).to_json()) != canonical(request):
        raise UsageError("its request is not in the form that Tacit writes")


def _granted(request: Budget, budget: Budget, left: Budget, cost: Budget) -> Iterator[Budget]:
    """Yield what the budget may have granted: the request, or what remained, nearly as much."""
    if budget.kind == "concentrated" and request.kind != budget.kind:
        yield request
        return
    converted = request.cost_in(budget.kind)
    yield converted
    lowered = fit(converted, left + cost)
    if lowered != converted:
        yield lowered


def _check_number(value: Any) -> None:
    pair = value if isinstance(value, list) and len(value) == 2 else [value]
    if not all(part is None or type(part) in (int, float) for part in pair):
        raise UsageError("what was released is a number, or nothing where a test refused")


def of_certificate(body: Mapping[str, Any]) -> Replanned:
    """Plan again the release that the body of a certificate describes."""
    question, spent = body["question"], body["spent"]
    left, cost, budget = (Budget.from_json(spent[n]) for n in ("remaining", "cost", "budget"))
    schemas = (
        first_schemas(question["query"], body["chains"])
        if body["format"] == FIRST_FORMAT
        else (schema_from(body["table"]), None)
    )
    methods = {c["label"]: c["method"] for c in body["answer"]["columns"] if "method" in c}
    groups = len(body["answer"]["keys"])
    unknown = question["query"]["by"] and question["query"]["keys"] is None
    keys_by = body["chains"][0]["steps"][-1]["step"] if unknown else None
    steps = [step for chain in body["chains"] for step in chain["steps"]]
    counted = [step for step in steps if step["step"] in ("cell_counts", SumCells.name)]
    rules = _rules_of(body)
    again = replan(question, schemas, groups, budget, left, cost, methods, keys_by, counted, rules)
    if isinstance(again, _Release):
        again.states_axes = any("axes" in step for step in steps)
    return again


def _rules_of(body: Mapping[str, Any]) -> int:
    """Return the version of the rules of the intervals of a certificate."""
    if "intervals" not in body:
        return FIRST_RULES
    rules = body["intervals"]
    if type(rules) is not int or not FIRST_RULES < rules <= RULES or "noise" in body["question"]:
        raise UsageError("its intervals follow rules that are not known here")
    return rules


register_planner(Planner(identity_of, of_certificate, published, followed))

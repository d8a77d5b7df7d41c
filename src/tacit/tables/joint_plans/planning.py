"""Plans of several questions under one price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Self, TypeVar

from tacit.accounting.budget import Budget
from tacit.accounting.budget import epsilon as unit_loss
from tacit.arithmetic.exact import Number, positive, show
from tacit.calls import public
from tacit.display.card import Card, CardTable, Shown
from tacit.errors import BudgetError, UsageError, did_you_mean
from tacit.report import Certificate
from tacit.report.derived import derived_columns
from tacit.report.text import aggregate_words, protects_line
from tacit.tables.derived.derive import Earlier, free_errors_of
from tacit.tables.joint.cell_counts import CellsPart
from tacit.tables.joint_plans.comparison import ComparedPlan, compared, plan_figure, plan_page
from tacit.tables.joint_plans.merge import Merged
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import (
    Price,
    read_confidence,
    read_rows,
    read_weights,
    smallest_amount,
)
from tacit.tables.plan.query import Query
from tacit.tables.question import Question, question_parts
from tacit.tables.release.answer import Answer
from tacit.tables.release.opened_table import SharedTable
from tacit.tables.statistics.part import Noise
from tacit.workload.cells import loss_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# From accuracy to cost: what each part of a plan must lose to be within its targets.


Needed = dict[
    str, tuple[int, Fraction]
]  # of each label the position of its part, and what that loses


class Aim(NamedTuple):
    """The arguments of ``cheapest``, which determine how the parts of a plan share its loss."""

    targets: Mapping[str, Number | str]
    confidence: Number
    rows: int


def read_targets(targets: Mapping[str, Number | str], labels: Sequence[str]) -> dict[str, Fraction]:
    """Return how far each interval may reach; a noun behind the number is left out."""
    if not isinstance(targets, Mapping) or not targets:
        raise UsageError('name a target for a label: cheapest({"n": "5 people"})')
    checked = {}
    for label, target in targets.items():
        if label not in labels:
            raise UsageError(f"there is no answer {label!r}; {did_you_mean(str(label), labels)}")
        words = target.split() if isinstance(target, str) else [target]
        if not words:
            raise UsageError(f"the target of {label!r} is a number, such as '5 people'")
        checked[label] = positive(words[0], f"the target of {label!r}")
    return checked


def needed_losses(
    query: Query,
    targets: Mapping[str, Fraction],
    kind: Literal["pure", "concentrated"],
    rows: int,
    level: Fraction,
) -> Needed:
    """Return of each label what its part must lose for all of its targets."""
    # The parts lose sequentially, and each interval depends on its own part alone; so the
    # least total is the sum of what each part needs on its own.
    read_rows(rows, "the table")
    plan, aggregates = Plan(query, Budget(kind, Fraction(1))), dict(query.aggregates)
    parts = {label: plan.parts_of(aggregate)[0] for label, aggregate in aggregates.items()}
    aimed: dict[int, list[str]] = {}
    for label in targets:
        if aggregates[label].method is not None:
            raise UsageError(
                f"the error of {label!r} depends on the data, since it names a method: leave "
                "method= out, or look at preview()"
            )
        aimed.setdefault(parts[label], []).append(label)
    lacking = [label for label, index in parts.items() if index not in aimed]
    if lacking:
        raise UsageError(
            f"name a target for {', '.join(map(repr, lacking))} too: its share of the privacy "
            "loss follows from its target"
        )
    losses: dict[int, Fraction] = {}
    for index, labels in aimed.items():
        losses[index] = max(
            _min_loss(plan, label, index, targets[label], rows, level) for label in labels
        )
    return {label: (index, losses[index]) for label, index in parts.items()}


def _min_loss(
    plan: Plan, label: str, index: int, target: Fraction, rows: int, level: Fraction
) -> Fraction:
    unit, aggregate = plan.query.unit, dict(plan.query.aggregates)[label]
    noise: Literal["laplace", "gaussian"] = plan.noises[index].kind

    def half(amount: Fraction) -> float:
        noises = [Noise(noise, amount, unit.rows, unit.one)]
        reached = aggregate.half_width([plan.parts[index]], noises, rows, float(level))
        if reached is None:
            raise UsageError(f"no interval of {label!r} is known in advance: look at preview(...)")
        return reached

    smallest, reached_target = smallest_amount(lambda amount: half(amount) <= target)
    if not reached_target:
        raise UsageError(
            f"no loss brings {label!r} within {show(target)} in {show(100 * level)} of 100 "
            f"releases of {rows} rows: at {show(smallest)}, which protects nobody, it is "
            f"{show(half(smallest))}. Ask for a wider target, plan for more rows, or give closer "
            "bounds"
        )
    return smallest


def set_of_parts(needed: Needed) -> dict[int, Fraction]:
    """Return what each part loses, each once.

    >>> set_of_parts({"n": (0, Fraction(1)), "m": (0, Fraction(1)), "age": (1, Fraction(2))})
    {0: Fraction(1, 1), 1: Fraction(2, 1)}
    """
    return dict(needed.values())


# What a plan adds: the answers to its questions that follow from earlier releases.


@public
class FreeAnswers:
    """The answers to the questions of a plan that follow from earlier releases."""

    _question: Question
    _plan: Merged
    _questions: Sequence[Question]

    def free_answers(
        self, certificates: Iterable[Certificate] = (), *, tag: str | None = None
    ) -> list[Answer | None]:
        """Return the answers that follow from earlier releases; never spends, reads no row.

        A plan pays for all of its questions.  Where some of them follow at no cost, plan the
        others alone: they have less error for the same loss.

        Args:
            certificates: as in :meth:`tacit.tables.question.Question.free_answer`.
            tag: as there.

        Returns:
            For each question, in their order, its answer, or None where it does not follow.

        Raises:
            UsageError, LedgerError: as there.

        Example:
            >>> import pyarrow as pa, tacit as tc
            >>> session = tc.Session(pa.table({"age": [31, 45]}), tc.one_row_each, tc.epsilon(1))
            >>> _ = session.agg(ages=tc.histogram("age", [0, 20, 40, 80])).release(epsilon="1/2")
            >>> asked = [
            ...     session.agg(ages=tc.histogram("age", [0, 40, 80])),
            ...     session.agg(n=tc.count()),
            ... ]
            >>> free = session.plan(asked).free_answers()
            >>> [answer is not None for answer in free]
            [True, False]
            >>> rest = session.plan([one for one, answer in zip(asked, free) if answer is None])
        """
        earlier = Earlier(question_parts(self._question).ledger, certificates, tag)
        derived = earlier.certificates([member.query for member in self._plan.members])
        return [
            None if one is None else Answer.free(one, question_parts(question).arrangement)
            for question, one in zip(self._questions, derived, strict=True)
        ]

    def free_errors(
        self, certificates: Iterable[Certificate] = (), *, tag: str | None = None
    ) -> list[dict[str, float] | None]:
        """Return the standard errors that :meth:`free_answers` would have; writes nothing.

        Returns:
            For each question the root mean square of the standard errors of each of its labels;
            None where it does not follow.

        Raises:
            UsageError: as :meth:`free_answers`.
        """
        earlier = Earlier(question_parts(self._question).ledger, certificates, tag)
        return [earlier.errors(member.query) for member in self._plan.members]

    def _free(self) -> dict[str, float]:
        """Return for a preview, by label of the plan, the errors of the answers that are free."""
        parts = question_parts(self._question)
        if isinstance(parts.table, SharedTable):  # see Question.preview
            return {}
        members = self._plan.members
        free = free_errors_of([member.query for member in members], parts.ledger)
        return {
            member.labels[label]: error
            for member, errors in zip(members, free, strict=True)
            for label, error in errors.items()
        }


# Plans: several questions, answered together with less error than one by one.


_FEW_ERRORS = 6
_P = TypeVar("_P", bound="PlannedQuestions")


@public
class PlannedQuestions(Shown, ABC):
    """What follows from the questions of a plan alone: its strategy and its expected errors."""

    _plan: Merged
    _notes: tuple[str, ...]
    _loss_kind: str  # the kind of the budget that pays

    @abstractmethod
    def preview(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        *,
        tag: str | None = None,
        rows: Iterable[int] = (100, 1_000, 10_000),
        confidence: Number | None = None,
    ) -> Preview:
        """Return the expected error of every answer; see :meth:`QuestionPlan.preview`."""

    @abstractmethod
    def release(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        *,
        tag: str | None = None,
    ) -> list[Answer]:
        """Publish the answers to all questions; see :meth:`QuestionPlan.release`."""

    @abstractmethod
    def _weighted(self, plan: Merged, aim: Aim) -> Self:
        """Return the plan whose parts share its loss as their targets need."""

    def cheapest(
        self,
        targets: Mapping[str, Number | str],
        confidence: Number = "0.95",
        *,
        rows: int = 1000,
    ) -> CheapestPlan[Self]:
        """Return the smallest loss, and its split, whose expected errors are within the targets.

        Reads no row, as :meth:`tacit.tables.question.Question.epsilon_for`, whose targets these
        are.  All counts share one amount; every other part takes what its own target needs.

        Args:
            targets: for each label the largest half-width of its interval, in the unit of its
                preview; a noun may follow: ``{"n": "5 people", "age": "1 year"}``.
            confidence: the level of the interval.
            rows: the size of the table, for means and the like.

        Returns:
            The loss (a rho where the budget of the session is one, else an epsilon), and the plan
            with that split.

        Raises:
            UsageError: a label that is not asked, a part without a target, or a target that no loss
                reaches.
        """
        level, query = read_confidence(confidence), self._plan.query
        aimed = self._plan.aimed(read_targets(targets, self.labels))
        of_rho = self._loss_kind == "concentrated"
        kind: Literal["pure", "concentrated"] = "concentrated" if of_rho else "pure"
        needed = needed_losses(query, aimed, kind, rows, level)
        total = sum(set_of_parts(needed).values(), Fraction(0))
        weights = read_weights({label: loss for label, (_, loss) in needed.items()}, [*needed])
        weighted = replace(self._plan, query=replace(query, weights=weights))
        plan = self._weighted(weighted, Aim(dict(targets), confidence, rows))
        parts = {label: needed[self._plan.serving(label)] for label in self.labels}
        shares = {label: loss / total for label, (_, loss) in parts.items()}
        return CheapestPlan(Budget(kind, total), shares, plan)

    def plot(
        self, epsilon: Number | None = None, *, rho: Number | None = None, rows: int = 1000
    ) -> Figure:
        """Draw the expected error of every answer against the loss, next to asking one by one.

        One by one, every answer has an even share of the loss, and the counts split theirs so that
        their total squared error is least.  No row is read.

        Args:
            epsilon: the loss in the middle, which is marked.
            rho: the same, of a rho budget.
            rows: the size of the table, for means and the like.

        Returns:
            A matplotlib Figure, of at most twelve answers; save it with ``.savefig("plan.png")``.

        Raises:
            UsageError: neither epsilon nor rho, or both; rows that are no size.
            MissingExtraError: matplotlib is not installed.
        """
        figure: Figure = plan_figure(self._compared, loss_of(epsilon, rho), rows)
        return figure

    def to_html(
        self, epsilon: Number | None = None, *, rho: Number | None = None, rows: int = 1000
    ) -> str:
        """Return the plan as a page: the questions, what gets noise, the errors with and without.

        One file without scripts, for whoever decides on the plan.  No row is read.

        Args:
            epsilon: the loss of the plan.
            rho: the same, of a rho budget.
            rows: the size of the table, for means and the like.

        Raises:
            UsageError: neither epsilon nor rho, or both; rows that are no size.
            MissingExtraError: jinja2 is not installed.
        """
        protects = protects_line(self._plan.query.unit.describe())
        return plan_page(self._compared(loss_of(epsilon, rho), rows), protects, self._noisy)

    def _compared(self, loss: Budget, rows: int, made: Plan | None = None) -> ComparedPlan:
        queries = [member.query for member in self._plan.members]
        return compared(self._plan, queries, loss, read_rows(rows, "the table"), made)

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of every answer in a preview of the plan, in the order of the questions."""
        return self._plan.labels

    @property
    def strategy(self) -> list[dict[str, object]]:
        """The counts that get noise: columns, numbers of counts, shares of the loss.

        For the noise that the budget of the session implies: Gaussian for a rho, else Laplace.
        Empty where nothing is counted.
        """
        kind = "gaussian" if self._loss_kind == "concentrated" else "laplace"
        if self._counts is None:
            return []
        return [
            {"columns": [axis.name for axis in axes], "cells": cells, "share": share}
            for axes, cells, share in self._counts.measured(kind)
        ]

    @property
    def _noisy(self) -> list[dict[str, object]]:
        """The strategy, with filters in words."""
        words = {name: f"where {condition}" for name, condition in self._plan.query.derived}
        strategy = self.strategy
        for one in strategy:
            columns: Any = one["columns"]
            one["columns"] = [
                words[name] if str(name).startswith("filter ") and name in words else name
                for name in columns
            ]
        return strategy

    @cached_property
    def _counts(self) -> CellsPart | None:
        parts = Plan(self._plan.query, unit_loss(1)).parts
        return next((part for part in parts if isinstance(part, CellsPart)), None)

    def card(self) -> Card:
        """Return what a notebook displays: what is asked, and what gets noise for it."""
        query = self._plan.query
        rows = [[label, aggregate_words(a.to_json())] for label, a in query.aggregates]
        parts = [CardTable(["label", "what is asked"], rows)]
        notes = [
            [_shown(one["columns"]), str(one["cells"]), show(Fraction(str(one["share"])))]
            for one in self._noisy
        ]
        if notes:
            head = ["noise is added to counts of", "cells", "share of the loss of the counts"]
            parts.append(CardTable(head, notes))
        todo = "nothing is spent yet: .preview(rho=...) shows the errors, .release(...) answers"
        return Card("Plan", protects_line(query.unit.describe()), parts, [todo])

    def __repr__(self) -> str:
        count = len(self._plan.members)
        return f"<{type(self).__name__} of {count} questions: {', '.join(self.labels)}>"


@public
class QuestionPlan(FreeAnswers, PlannedQuestions):
    """Several questions that are answered together, under one charge.

    Counts, counts by listed groups and histograms come from one strategy: noise is added to a few
    sums of cells, and every count follows from these by least squares.  So they agree with one
    another, and their total squared error is at most that of asking one by one with the best split
    of the budget (:mod:`tacit.tables.joint.strategy`).  Ranges and prefix sums come from a
    strategy of their own, the one with the smallest error (:mod:`tacit.tables.joint.family`).
    Sums, means, variances and quantiles, in all or by listed groups, are answered next to them.

    Example:
        >>> import pyarrow as pa, tacit as tc
        >>> people = pa.table({"sex": ["f", "m", "f"], "age": [31, 45, 67]})
        >>> session = tc.Session(people, tc.one_row_each, tc.rho("1/2"))
        >>> plan = session.plan(
        ...     [
        ...         session.agg(n=tc.count()),
        ...         session.group_by("sex", keys=["f", "m"]).agg(by_sex=tc.count()),
        ...         session.agg(ages=tc.histogram("age", [0, 40, 80])),
        ...     ]
        ... )
        >>> whole, sexes, ages = plan.release(rho="1/2")
        >>> sexes.keys, len(ages.column("ages")["value"][0]), session.budget.covers(session.spent)
        ([('f',), ('m',)], 2, True)
    """

    def __init__(
        self,
        whole: Question,
        plan: Merged,
        questions: Sequence[Question],
        notes: Sequence[str] = (),
    ) -> None:
        self._question, self._plan = whole, plan
        self._questions, self._notes = tuple(questions), tuple(notes)
        self._loss_kind = question_parts(whole).ledger.kind

    def preview(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        *,
        tag: str | None = None,
        rows: Iterable[int] = (100, 1_000, 10_000),
        confidence: Number | None = None,
    ) -> Preview:
        """Return the expected error of every answer, before anything is spent; reads no row.

        A label that several questions have is called by it and the number of the question,
        ``n_1`` and ``n_2``.

        Args:
            epsilon: as in :meth:`release`.
            delta: as in :meth:`release`.
            rho: as in :meth:`release`.
            tag: as in :meth:`release`.
            rows: sizes of the table, for means and the like.
            confidence: as in :meth:`tacit.tables.question.Question.preview`.

        Raises:
            UsageError: as :meth:`release`.
        """
        preview = self._question.preview(
            epsilon, delta, rho, tag=tag, rows=rows, confidence=confidence
        )
        preview = self._plan.by_label(preview)
        return replace(preview, notes=(*preview.notes, *self._notes), free=self._free())

    def release(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        *,
        tag: str | None = None,
    ) -> list[Answer]:
        """Publish the answers to all questions, with noise, and pay for them once.

        The budget is charged before the first row is read; a plan that was answered is answered
        from the ledger, at no cost.  The answers share one certificate, and their ``cost`` is that
        of the whole plan.  Counts are not rounded, so that they add up exactly as they were
        estimated, and one may be a little below zero
        unless the plan was made with ``nonnegative=True``.

        Args:
            epsilon: pure differential privacy, what all answers together may spend.
            delta: with ``epsilon``, for an (epsilon, delta) budget.
            rho: zero-concentrated differential privacy (Gaussian noise), which answers many counts
                with less error.
            tag: a label that makes this a new, separately paid release: for a table that changes.

        Returns:
            One answer per question, in their order.

        Raises:
            BudgetError, UsageError, DataSourceError, LedgerError: as
                :meth:`tacit.tables.question.Question.release`.
        """
        try:
            released = self._question.release(epsilon, delta, rho, tag=tag)
        except BudgetError as error:
            price: Price = {"epsilon": epsilon, "delta": delta, "rho": rho}
            raise type(error)(f"{error}{self._fitting(price)}") from None
        return answers_of(self, released)

    def _fitting(self, price: Price) -> str:
        """Describe how far a plan is too expensive, and its errors at what is left."""
        # Everything said is public: what is left of the budget, and the errors of a preview.
        left = question_parts(self._question).ledger.remaining
        cost = self._question.cost(**price)
        if price.get("delta") or cost.kind != left.kind or not 0 < left.amount < cost.amount:
            return ""
        name = "rho" if left.kind == "concentrated" else "epsilon"
        fitting: dict[str, Any] = {name: left.amount}
        notes = [
            f"{label} {errors[0]:.3g}" for label, errors in self.preview(**fitting).errors.items()
        ]
        more = "" if len(notes) <= _FEW_ERRORS else ", ..."
        shown = ", ".join(notes[:_FEW_ERRORS])
        return (
            f". The plan takes {show(cost.amount - left.amount)} too much; release({name}="
            f"{str(left.amount)!r}) would fit, with these expected errors: {shown}{more}"
        )

    def cost(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        *,
        tag: str | None = None,
    ) -> Budget:
        """Return what :meth:`release` would charge now: zero if it is answered or was charged."""
        return self._question.cost(epsilon=epsilon, delta=delta, rho=rho, tag=tag)

    def is_answered(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        *,
        tag: str | None = None,
    ) -> bool:
        """Return whether :meth:`release` would replay recorded answers, at no cost."""
        return self._question.is_answered(epsilon, delta, rho, tag=tag)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the plan, as :attr:`tacit.tables.question.Question.notes`."""
        return (*self._question.notes, *self._notes)

    def _weighted(self, plan: Merged, aim: Aim) -> Self:
        own = question_parts(self._question)
        question = Question(own.table, own.ledger, plan.query, own.declared)
        return type(self)(question, plan, self._questions, self._notes)


class PlanParts(NamedTuple):
    """The parts of a plan, for a service that prices and pays its question as any other."""

    question: Question  # the whole plan as a question
    plan: Merged
    questions: tuple[Question, ...]


def plan_parts(plan: QuestionPlan) -> PlanParts:
    """Return the parts of a plan."""
    return PlanParts(plan._question, plan._plan, tuple(plan._questions))


def comparison_of(
    plan: PlannedQuestions, loss: Budget, rows: int, made: Plan | None = None
) -> ComparedPlan:
    """Return the errors of a plan next to those of asking one by one."""
    # made: the plan of its question at this loss, where there is one.
    return plan._compared(loss, rows, made)


def strategy_in_words(plan: PlannedQuestions) -> list[dict[str, object]]:
    """Return the strategy of a plan, with filters in words."""
    return plan._noisy


def answers_of(plan: QuestionPlan, released: Answer) -> list[Answer]:
    """Return the answer to each question of a plan, of the released answer to all of them."""
    columns = {label: released.column(label) for label in released.labels}
    answers = []
    for question, member in zip(plan._questions, plan._plan.members, strict=True):
        query = member.query.describe()
        arrangement = question_parts(question).arrangement
        answer = member.answer(columns)
        derived = derived_columns(arrangement.derived, member.query.by, answer)
        answer = {**answer, "columns": [*answer["columns"], *derived]}
        answer = arrangement.shown(member.query.by, answer)
        names = arrangement.called(member.query.by)
        paid = released.certificate, released.cost, released.replayed
        answers.append(Answer(names, answer, *paid, query))
    return answers


@public
@dataclass(frozen=True)
class CheapestPlan(Generic[_P]):
    """The smallest loss of a plan whose answers are within their targets.

    Attributes:
        loss: a rho or an epsilon.
        shares: of each label, the share of the loss that its part takes; labels that one part
            answers, as all counts, take it once.
        plan: the plan with these shares.

    Example:
        >>> import pyarrow as pa, tacit as tc
        >>> people = pa.table({"sex": ["f", "m", "f"], "age": [31, 45, 67]})
        >>> session = tc.Session(people, tc.one_row_each, tc.rho(2))
        >>> plan = session.plan([session.agg(n=tc.count(), age=tc.mean("age", 0, 100))])
        >>> found = plan.cheapest({"n": "5 people", "age": "2 years"})
        >>> found.loss, round(float(found.shares["n"]), 2)
        (rho(0.065252), 0.96)
        >>> (answer,) = found.release()
    """

    loss: Budget
    shares: Mapping[str, Fraction]
    plan: _P

    def release(self, *, tag: str | None = None) -> list[Answer]:
        """Publish the answers at this loss; see :meth:`QuestionPlan.release`."""
        return self.plan.release(**self._price, tag=tag)

    def preview(self) -> Preview:
        """Return the expected error of every answer at this loss."""
        return self.plan.preview(**self._price)

    @property
    def _price(self) -> dict[str, Any]:
        return {"rho" if self.loss.kind == "concentrated" else "epsilon": self.loss.amount}


def _shown(columns: Any) -> str:
    return " and ".join(map(str, columns)) or "all rows"

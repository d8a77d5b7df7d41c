"""Plans of several questions to a data set of a service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias, cast

from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.client.remote_question import (
    RemoteDataset,
    RemoteJob,
    RemoteQuestion,
    RemoteSql,
    Sent,
    exact_price,
    remote_parts,
)
from tacit.tables.joint_plans.merge import Merged
from tacit.tables.joint_plans.planning import Aim, PlannedQuestions
from tacit.tables.joint_plans.session_plans import planned
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import Price
from tacit.tables.question import Question
from tacit.tables.release.answer import Answer
from tacit.tables.session import described_question

Asked: TypeAlias = RemoteQuestion | RemoteSql


@public
class RemotePlan(Sent, PlannedQuestions):
    """Several questions to a data set of a service, answered together under one charge.

    It is used as :class:`tacit.tables.joint_plans.planning.QuestionPlan`.  Its strategy, its
    errors next to those of asking one by one, its page and :meth:`cheapest` are computed on this
    machine, from public facts; the service previews, charges and answers it.
    """

    _asks: ClassVar = "plans"
    _previews: ClassVar = "plans/preview"

    def __init__(
        self,
        at: RemoteDataset,
        questions: Sequence[Asked],
        options: Mapping[str, Any],
        merged: tuple[Merged, tuple[str, ...]] | None = None,
        aim: Aim | None = None,
    ) -> None:
        self._at, self._questions, self._options = at, tuple(questions), dict(options)
        self._aim, self._loss_kind = aim, at.budget.kind
        if merged is None and not any(isinstance(one, RemoteSql) for one in questions):
            merged = self._merge([one for one in questions if isinstance(one, RemoteQuestion)])
        if merged is not None:
            self._merged = merged

    @cached_property
    def _merged(self) -> tuple[Merged, tuple[str, ...]]:
        # Where a question is in SQL the service translates it: at any price, for the strategy
        # depends on none.
        amount = "rho" if self._loss_kind == "concentrated" else "epsilon"
        reply = self._previewed({**self._payload(), amount: "1", "rows": [100]})

        def rows_of(name: str) -> Question:
            table = self._at.table(name or None)
            return cast("Question", RemoteQuestion(self._at, *self._at.question(table)))

        return self._merge(
            [
                cast("RemoteQuestion", described_question(one["described"], rows_of))
                for one in reply["plan"]["questions"]
            ]
        )

    def _merge(self, questions: Sequence[RemoteQuestion]) -> tuple[Merged, tuple[str, ...]]:
        parts = [remote_parts(one) for one in questions]
        queries = [query for query, _ in parts]
        return planned(queries, parts[0][1], self._loss_kind, **self._options)

    @property
    def _plan(self) -> Merged:  # type: ignore[override]
        return self._merged[0]

    @property
    def _notes(self) -> tuple[str, ...]:  # type: ignore[override]
        return self._merged[1]

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
        """Return the expected error of every answer, before anything is spent.

        See :meth:`tacit.tables.joint_plans.planning.QuestionPlan.preview`; ``free`` has the labels
        of the questions that follow from releases that the holder of the token may see.

        Raises:
            UsageError: a question, or what the plan may spend, is wrong.
            AccessError: this is not for the holder of the token.
            ServiceError: the service does not answer.
        """
        price = Price(epsilon=epsilon, delta=delta, rho=rho, tag=tag)
        return Preview.from_json(self._expected(price, rows, confidence)["preview"])

    def release(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        *,
        tag: str | None = None,
    ) -> list[Answer]:
        """Publish the answers to all questions, and pay for them once; waits for the service.

        See :meth:`tacit.tables.joint_plans.planning.QuestionPlan.release`.  Where the connection
        breaks, the same request is sent again under the same key, which charges nothing twice.

        Returns:
            One answer per question, in their order.

        Raises:
            BudgetError: more than remains; nothing was spent.
            UsageError, AccessError, ServiceError: as :meth:`preview`.
            RefusedError: a reviewer refused it.
        """
        return self.submit(epsilon, delta, rho, tag=tag).results()

    def submit(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        *,
        tag: str | None = None,
    ) -> RemoteJob:
        """Ask for a release, and return at once; :meth:`RemoteJob.results` has the answers."""
        price = Price(epsilon=epsilon, delta=delta, rho=rho, tag=tag)
        return self._submitted({**self._payload(), **exact_price(price)})

    def free_answers(self, *, tag: str | None = None) -> list[Answer | None]:
        """Return the answers that follow from releases that one may see; never spends.

        Args:
            tag: of the releases.

        Returns:
            For each question, in their order, its answer, or None where it does not follow.

        Raises:
            UsageError, AccessError, ServiceError: as :meth:`preview`.
        """
        return [one.free_answer(tag=tag) for one in self._questions]

    def free_errors(self, *, tag: str | None = None) -> list[dict[str, float] | None]:
        """Return the standard errors that :meth:`free_answers` would have.

        Raises:
            UsageError, AccessError, ServiceError: as :meth:`preview`.
        """
        return [one.free_errors(tag=tag) for one in self._questions]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the plan: what its questions state differently of a column."""
        return self._notes

    def _weighted(self, plan: Merged, aim: Aim) -> Self:
        merged = plan, self._notes
        return type(self)(self._at, self._questions, self._options, merged, aim)

    def _payload(self) -> dict[str, Any]:
        weights = self._options["weights"]
        defaults = {"least": "total", "unlisted": "count", "nonnegative": False}
        fields = {name: v for name, v in self._options.items() if v != defaults.get(name)}
        if weights is not None:
            fields["weights"] = {
                label: as_integer(one, f"the weight of {label!r}") for label, one in weights.items()
            }
        if self._aim is not None:
            fields["cheapest"] = {
                "targets": {label: str(one) for label, one in self._aim.targets.items()},
                "confidence": str(as_fraction(self._aim.confidence)),
                "rows": self._aim.rows,
            }
        questions = [one._payload() for one in self._questions]
        table = next(iter(tables_of(self._questions)), None)
        return {"questions": questions, "table": table, **fields}


def tables_of(questions: Iterable[object]) -> set[str | None]:
    """Return the tables of questions; one in SQL names its table in its text."""
    return {remote_parts(one)[0].table for one in questions if isinstance(one, RemoteQuestion)}

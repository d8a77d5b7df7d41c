"""What a session adds: plans of several of its questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from tacit.accounting.ledger.ledger import Ledger
from tacit.arithmetic.exact import Number
from tacit.calls import listed, public
from tacit.errors import UsageError
from tacit.tables.planned.contradictions import contradictions
from tacit.tables.planned.merge import merged
from tacit.tables.planned.planning import QuestionPlan
from tacit.tables.planned.worst_error import relative_weights, worst_weights
from tacit.tables.question import Question, held_by
from tacit.tables.together import sums_of_bins as _sums_of_bins  # noqa: F401  (its kinds)
from tacit.tables.together.kind import CELL_KINDS

__all__ = ["Planning"]


@public
class Planning:
    """What a session adds: plans of several of its questions."""

    ledger: Ledger

    def plan(
        self,
        questions: Iterable[Question],
        weights: Mapping[str, Number] | None = None,
        *,
        least: Literal["total", "relative", "worst"] = "total",
        unlisted: Literal["count", "drop"] = "count",
        nonnegative: bool = False,
    ) -> QuestionPlan:
        """Plan several questions together: less error than one by one, under one charge.

        Args:
            questions: of this session, each of all rows, by listed groups, or with a filter of its
                own.
            weights: the weight of the squared errors of a label, such as ``{"n": 10}``; whole
                numbers, 1 by default.
            least: which error of the counts is minimised: the ``"total"`` of all squared errors
                (the default); the ``"relative"`` one, each beside the count that a cell of its
                label has on average; or the ``"worst"`` over the labels.  For Gaussian noise where
                the budget is a rho, else for Laplace noise.
            unlisted: what becomes of rows with a value that is no key and in no bin of a column
                that any question counts by.  By default they count wherever that column is not
                asked about, and each column has a cell for them, which costs a little error; with
                ``"drop"`` they are left out of the whole plan, and it has the least error of its
                strategy for the listed cells alone.
            nonnegative: whether no count may be below zero: the nearest such counts are published,
                which still add up (:mod:`tacit.workload.nonnegative`).  Standard errors and
                intervals are those of least squares without it, and hold all the same.

        Raises:
            UsageError: weights beside the worst error, no questions, questions of another session,
                groups that are not listed, statistics by group that a plan does not answer, or
                keys, edges or bounds of which nothing is within what the data set declares.
        """
        told = "a plan takes a list of questions: session.plan([session.agg(n=tc.count()), ...])"
        asked = listed(questions, told)
        if not asked or not all(isinstance(each, Question) for each in asked):
            raise UsageError(told)
        held = [held_by(each) for each in asked]
        first = held[0]
        if any(each.ledger is not self.ledger or each.table is not first.table for each in held):
            raise UsageError(
                "a plan is of questions of one session, about one table: make them of this session"
            )
        queries = [each.query for each in held]
        known = isinstance(least, str) and least in ("total", "relative", "worst")
        if not known or (least != "total" and weights is not None):
            raise UsageError(
                'least is "total" (the default, with weights where some count more), "relative" or '
                '"worst", which find the weights themselves'
            )
        if not isinstance(unlisted, str) or unlisted not in ("count", "drop"):
            raise UsageError('unlisted is "count" (the default) or "drop"')
        if not isinstance(nonnegative, bool):
            raise UsageError("nonnegative is True or False")
        drop = unlisted == "drop"
        of_rho = self.ledger.kind == "concentrated"
        noise: Literal["laplace", "gaussian"] = "gaussian" if of_rho else "laplace"
        found = merged(queries, weights, noise=noise, drop=drop, nonnegative=nonnegative)
        if least != "total":
            asked_of = dict(found.query.aggregates)
            counts = {name: a for name, a in asked_of.items() if a.kind in CELL_KINDS}
            chosen = worst_weights(counts, noise) if least == "worst" else relative_weights(counts)
            found = merged(queries, chosen, noise=noise, drop=drop, nonnegative=nonnegative)
        labels = [member.labels for member in found.members]
        notes = contradictions(queries, labels, first.declared)
        whole = Question(first.table, first.ledger, found.query, first.declared)
        return QuestionPlan(whole, found, asked, notes)

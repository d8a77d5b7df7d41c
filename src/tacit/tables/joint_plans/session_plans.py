"""Plans of a session, and what contradicts in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from tacit.accounting.ledger import Ledger
from tacit.arithmetic.exact import Number, show
from tacit.calls import listed as listed_in_order
from tacit.calls import public
from tacit.errors import UsageError
from tacit.report.text import listed, so_many
from tacit.tables.joint.cell_counts import CellsPart, RequestedCells, key_of
from tacit.tables.joint.statistics import CountOfCells
from tacit.tables.joint_plans.merge import Merged, merged
from tacit.tables.joint_plans.planning import QuestionPlan
from tacit.tables.plan.query import Declared, Query, plain_key
from tacit.tables.question import Question, question_parts
from tacit.tables.statistics.part import Noise

# Where the questions of a plan say different things of one column, or another than is declared.
#
# Different bins, or different bounds, of a column are different numbers with noise of their own: a
# plan answers them side by side, and says so.  (Different keys are not: what gets noise are the
# cells of all of them.)  Where nothing of what a question asks can occur in a table as it is
# declared, it is refused.


# Of each column what is said of it, with the labels that say it.
Contradictions = dict[str, dict[str, list[str]]]


def contradictions(
    queries: Sequence[Query], labels: Sequence[Mapping[str, str]], declared: Declared
) -> tuple[str, ...]:
    """Return what the questions say differently of a column, one sentence each."""
    bins: Contradictions = {}
    bounds: Contradictions = {}
    notes: dict[str, None] = {}
    for query, names in zip(queries, labels, strict=True):
        computed = {name for name, _ in query.derived}
        for name in (name for name in query.by if name not in computed):
            keys = [plain_key(key[query.by.index(name)]) for key in query.keys or ()]
            lists = f"{listed(list(names.values()))} lists" if names else ""
            notes |= dict.fromkeys(_of_keys(name, keys, declared, lists))
        for label, aggregate in query.aggregates:
            own = names[label]
            if aggregate.edges and aggregate.column and aggregate.column not in computed:
                text = f"the edges {_shown(aggregate.edges)}"
                bins.setdefault(aggregate.column, {}).setdefault(text, []).append(own)
                ends = aggregate.edges[0], aggregate.edges[-1]
                clash = (
                    f"{own} has bins of {aggregate.column} from {show(ends[0])} to {show(ends[1])}"
                )
                notes |= dict.fromkeys(_of_bounds(aggregate.column, ends, declared, clash))
            for one in aggregate.clamped:
                if one.lower is None or one.upper is None or one.column in computed:
                    continue
                if aggregate.edges:
                    continue
                text = f"[{show(one.lower)}, {show(one.upper)}]"
                bounds.setdefault(one.column, {}).setdefault(text, []).append(own)
                clash = f"{own} clamps {one.column} to {text}"
                ends = one.lower, one.upper
                notes |= dict.fromkeys(_of_bounds(one.column, ends, declared, clash))
    for column, each in bins.items():
        if len(each) > 1:
            clash = f"{column} is in different bins: {_side_by_side(each)}"
            notes[f"{clash}. They share no noise: give the same edges where they can be"] = None
    for column, each in bounds.items():
        if len(each) > 1:
            clash = f"{column} is clamped to different bounds: {_side_by_side(each)}"
            notes[f"{clash}. They share no noise: give the same bounds where they can be"] = None
    return tuple(notes)


def _side_by_side(each: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{text} in {listed(labels)}" for text, labels in each.items())


def _of_keys(name: str, keys: Sequence[Any], declared: Declared, lists: str) -> list[str]:
    known = declared.keys.get(name)
    if known is None or not keys:
        return []
    known_keys = {(type(key), key) for key in map(plain_key, known)}
    strange = [key for key in dict.fromkeys(keys) if (type(key), key) not in known_keys]
    if len(strange) == len(set(keys)):
        raise UsageError(
            f"{lists} keys of {name} of which the data set declares none: by its declaration no "
            "row has them; list declared keys, or change the declaration"
        )
    if not strange:
        return []
    several = so_many(str(len(strange)), "key", "keys")
    return [f"{lists} {several} of {name} that the data set does not declare"]


def _of_bounds(
    column: str, ends: tuple[Fraction, Fraction], declared: Declared, clash: str
) -> list[str]:
    known = declared.bounds.get(column)
    if known is None:
        return []
    low, high = known
    within = f"the values that the data set declares are from {show(low)} to {show(high)}"
    if ends[1] < low or ends[0] > high:
        raise UsageError(
            f"{clash}, and {within}: by its declaration no value lies there; ask for others, or "
            "change the declaration"
        )
    if low <= ends[0] and ends[1] <= high:
        return []
    return [f"{clash}, and {within}: what lies beyond takes noise for nothing"]


def _shown(edges: Sequence[Fraction]) -> str:
    few = [show(edge) for edge in edges]
    return ", ".join(few if len(few) <= 6 else [*few[:3], "...", few[-1]])


# Weights of the answers of a plan with which its largest error is least, or its relative error.
#
# Let ``v_i(w)`` be the mean squared error of the counts of label i under the strategy that is best
# for the weights w.  The smallest largest error is found where the weights go with the errors:
# ``max over w, sum w = 1, of min over strategies of sum w_i v_i`` is the dual of
# ``min over strategies of max v_i``.  It is ascended by multiplying each weight with its error, and
# the weights with the smallest largest error of all rounds are taken, those of the start among
# them: so it is never larger than that of a plan with equal weights.  (Errors are compared where
#   the noise is wide
# next to one row, so that the loss is only a common factor of all of them.)


_ROUNDS, _FEW = 40, 8
_LARGEST = 1 << 20


def worst_weights(
    counts: Mapping[str, CountOfCells], kind: Literal["laplace", "gaussian"]
) -> dict[str, int]:
    """Return the weight of each label, an integer."""
    noise = Noise(kind, Fraction(1, 1000), 1)
    weights = dict.fromkeys(counts, 1.0)
    best, smallest = dict.fromkeys(counts, 1), float("inf")
    # where bins are read in order, each round may look for another strategy of theirs
    ordered = any(each.reading != "cells" for each in counts.values())
    rounds = _FEW if ordered else _ROUNDS
    for _ in range(rounds if len(counts) > 1 else 0):
        top = max(weights.values())
        integers = {label: max(1, round(w / top * _LARGEST)) for label, w in weights.items()}
        weighted = {
            label: RequestedCells(each.axes, integers[label], each.reading)
            for label, each in counts.items()
        }
        part = CellsPart(tuple(dict.fromkeys(weighted.values())))
        errors = {label: part.expected_error(key_of(a), noise, 1) for label, a in weighted.items()}
        worst = max(errors.values())
        if worst < smallest * (1 - 1e-6):
            best, smallest = integers, worst
        weights = {label: w * (errors[label] / worst) ** 2 for label, w in weights.items()}
    return best


def relative_weights(counts: Mapping[str, CountOfCells]) -> dict[str, int]:
    """Return the weights with which the total is that of squared relative errors."""
    # Of n rows, a cell of a label with m listed cells has ``n / m`` on average, so that a squared
    # error counts ``(m / n)^2``: in proportion to ``m^2``, whatever n is.
    return {name: RequestedCells(each.axes).listed ** 2 for name, each in counts.items()}


def planned(
    queries: Sequence[Query],
    declared: Declared,
    kind: str,
    weights: Mapping[str, Number] | None,
    least: str,
    unlisted: str,
    nonnegative: bool,
) -> tuple[Merged, tuple[str, ...]]:
    """Return several questions as one, and what contradicts in them."""
    # kind: of the budget that pays.
    # Raises: UsageError, as :meth:`Planning.plan`.
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
    of_rho = kind == "concentrated"
    noise: Literal["laplace", "gaussian"] = "gaussian" if of_rho else "laplace"
    merged_plan = merged(queries, weights, noise=noise, drop=drop, nonnegative=nonnegative)
    if least != "total":
        by_name = dict(merged_plan.query.aggregates)
        counts = {name: a for name, a in by_name.items() if isinstance(a, CountOfCells)}
        chosen = worst_weights(counts, noise) if least == "worst" else relative_weights(counts)
        merged_plan = merged(queries, chosen, noise=noise, drop=drop, nonnegative=nonnegative)
    labels = [member.labels for member in merged_plan.members]
    notes = contradictions(queries, labels, declared)
    return merged_plan, notes


# What a session adds: plans of several of its questions.


@public
class Planning:
    """The plans of several questions of a session."""

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
                (the default); the ``"relative"`` one, each next to the count that a cell of its
                label has on average; or the ``"worst"`` over the labels.  For Gaussian noise where
                the budget is a rho, else for Laplace noise.
            unlisted: what becomes of rows with a value that is not a key and in no bin of a column
                that any question counts by.  By default they count wherever that column is not
                asked about, and each column has a cell for them, which costs a little error; with
                ``"drop"`` they are left out of the whole plan, and it has the smallest error of its
                strategy for the listed cells alone.
            nonnegative: whether no count may be below zero: the nearest such counts are published,
                which still add up (:mod:`tacit.workload.synthetic`).  Standard errors and
                intervals are those of least squares without it, and hold all the same.

        Raises:
            UsageError: weights next to the worst error, no questions, questions of another session,
                groups that are not listed, statistics by group that a plan does not answer, or
                keys, edges or bounds of which nothing is within what the data set declares.
        """
        usage = "a plan takes a list of questions: session.plan([session.agg(n=tc.count()), ...])"
        listed_questions = listed_in_order(questions, usage)
        if not listed_questions or not all(isinstance(each, Question) for each in listed_questions):
            raise UsageError(usage)
        parts = [question_parts(each) for each in listed_questions]
        first = parts[0]
        if any(each.ledger is not self.ledger or each.table is not first.table for each in parts):
            raise UsageError(
                "a plan is of questions of one session, about one table: make them of this session"
            )
        queries = [each.query for each in parts]
        merged_plan, notes = planned(
            queries, first.declared, self.ledger.kind, weights, least, unlisted, nonnegative
        )
        question = Question(first.table, first.ledger, merged_plan.query, first.declared)
        return QuestionPlan(question, merged_plan, listed_questions, notes)

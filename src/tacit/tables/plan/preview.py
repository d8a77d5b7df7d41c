"""Expected errors, the smallest epsilon for a target, and what a question is warned of."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any

from tacit.accounting.budget import Budget, share
from tacit.accounting.ledger import Ledger
from tacit.arithmetic.exact import show
from tacit.calls import calls_inside, public
from tacit.display.card import Card, CardTable, Share, Shares, Shown
from tacit.errors import (
    DataSourceWarning,
    UsageError,
    WeakGuaranteeWarning,
    did_you_mean,
    need,
)
from tacit.expressions.expression import Expression, col
from tacit.expressions.operations import as_keys, equals_in, read_as, readings_in, with_readings
from tacit.expressions.schema import Schema
from tacit.expressions.timeline import Timeline
from tacit.report.odds import weak_guarantee
from tacit.report.text import declared_words, listed, missing_words, protects_line
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.price import MOST_ROWS
from tacit.tables.plan.query import Declared, Query
from tacit.tables.privacy_unit import PersonUnit, person_json

if TYPE_CHECKING:
    import pandas

# What a release would cost and how far off its answers would be, before anything is spent.


_PLAIN = "standard error"  # the unit of an error that is in the unit of the answer
_NEVER = 1e-6  # the probability of a refusal that is not worth a word
_NUMBERS = ("errors", "intervals", "refusals")  # what has, for each label, one number a size


@public
@dataclass(frozen=True, repr=False)
class Preview(Shown):
    """The expected error of every answer, from the noise alone.

    Attributes:
        cost: what the release would spend.
        remaining: the budget that is left before it.
        rows: the sizes of a group for which errors are given.
        errors: for each label, one error for each size: a standard error; for quantiles, how many
            *rows* the answer is off in rank at most, in 95 of 100 releases; by a method from local
            sensitivity, the mean absolute error on rows that are spread evenly over the bounds.
        threshold: about how many people a key must have to be released; None for public keys.
        methods: for each label that names a method, the one that answers, and why.
        refusals: for each label by propose-test-release, the probability at each size that the test
            refuses an answer.
        bounds: for each label whose column is computed by the question, of a row or of a person's
            rows, what it is clamped to.
        protects: whom the answers protect, in one line.
        whereabouts: where the budget is kept, as the end of a sentence.
        notes: what else a reader should know: of the declared columns, and of a table without name.
        weak: why the privacy loss protects hardly anyone; None where it protects people.
        confidence: the level of the intervals, where they were asked for.
        intervals: for each label the expected half-width of its interval at each size, in the unit
            of its error; none where that depends on the data.
        granted: whether the ledger would grant the cost; None where it was not asked.
        free: for each label whose question follows from earlier releases, the standard error of the
            answer that costs nothing; at a service, from the releases that the asker may see.
        limited_by: at a service, what leaves the asker no more than ``remaining``: the budget, or
            the cap of the person, the team or the data set; several where they leave the same.
    """

    cost: Budget
    remaining: Budget
    rows: tuple[int, ...]
    errors: dict[str, tuple[float, ...]]
    units: dict[str, str]
    threshold: int | None = None
    methods: dict[str, str] = field(default_factory=dict)
    refusals: dict[str, tuple[float, ...]] = field(default_factory=dict)
    bounds: dict[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    protects: str = ""
    whereabouts: str = ""
    notes: tuple[str, ...] = ()
    weak: str | None = None
    confidence: Fraction | None = None
    intervals: dict[str, tuple[float, ...]] = field(default_factory=dict)
    granted: bool | None = None
    free: dict[str, float] = field(default_factory=dict)
    limited_by: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        plan: Plan,
        remaining: Budget,
        rows: tuple[int, ...],
        confidence: Fraction | None = None,
    ) -> Preview:
        """Return the preview of a plan.

        Raises:
            UsageError: sizes that are not above zero, or a budget that cannot pay for the release.
        """
        if not rows or any(isinstance(n, bool) or not isinstance(n, Real) for n in rows):
            raise UsageError("rows is a list of sizes of a group, such as [100, 1000]")
        if not all(0 < size <= MOST_ROWS for size in rows):
            raise UsageError("rows are sizes of a group, above zero and at most 10^18")
        limits = [part.most_rows for part in plan.parts if part.most_rows is not None]
        if limits and max(rows) > min(limits):
            raise UsageError(
                f"errors by local sensitivity are computed for groups of at most {min(limits)} rows"
            )
        errors = {}
        units = {}
        methods = {}
        refusals = {}
        for label, aggregate in plan.query.aggregates:
            served = plan.parts[plan.parts_of(aggregate)[0]]
            errors[label] = tuple(plan.expected_error(aggregate, size) for size in rows)
            units[label] = served.error_unit
            note = plan.method_note(aggregate)
            if note:
                methods[label] = note
            chances = [served.refusal(plan.noise_of(aggregate), size) for size in rows]
            known = tuple(chance for chance in chances if chance is not None)
            if known:
                refusals[label] = known
        threshold = None if plan.keys is None else plan.keys.threshold
        cost = plan.cost.cost_in(remaining.kind)
        computed = {name for name, _ in plan.query.derived}
        if plan.query.inner is not None:
            computed |= {label for label, _ in plan.query.inner.aggregates}
        bounds = {
            f"{label} ({one.column})" if len(a.clamped) > 1 else label: (one.lower, one.upper)
            for label, a in plan.query.aggregates
            for one in a.clamped
            if one.column in computed and one.lower is not None and one.upper is not None
        }
        preview = cls(
            cost,
            remaining,
            rows,
            errors,
            units,
            threshold,
            methods,
            refusals,
            bounds,
            protects_line(plan.query.unit.describe()),
        )
        if confidence is None:
            return preview
        intervals = {}
        for label, aggregate in plan.query.aggregates:
            halves = [plan.half_width(aggregate, size, float(confidence)) for size in rows]
            intervals[label] = tuple(half for half in halves if half is not None)
        intervals = {label: halves for label, halves in intervals.items() if halves}
        return replace(preview, confidence=confidence, intervals=intervals)

    @property
    def affordable(self) -> bool:
        """True if the budget covers the cost; many small parts may cost less than their sum."""
        return self.remaining.covers(self.cost) if self.granted is None else self.granted

    def refused(self) -> dict[str, str]:
        """Describe, by label, the sizes at which a test may refuse, with the probability."""
        described = {}
        for label, chances in self.refusals.items():
            at = zip(self.rows, chances, strict=True)
            shown = [f"{show(chance)} at {size} rows" for size, chance in at if chance > _NEVER]
            if shown:
                described[label] = ", ".join(shown)
        return described

    def within(self) -> dict[str, str]:
        """Describe, by label, the expected half-width of the interval at each size."""
        if self.confidence is None:
            return {}
        sure = f"in {show(100 * self.confidence)} of 100 releases"
        widths = {}
        for label, halves in self.intervals.items():
            at = zip(halves, self.rows, strict=True)
            shown = ", ".join(f"{show(half)} at {size} rows" for half, size in at)
            unit = "" if self.units[label] == _PLAIN else f" ({self.units[label]})"
            widths[label] = f"within {shown} of the true value{unit} {sure}"
        return widths

    def clamped(self) -> dict[str, str]:
        """Describe, by label, the bounds that a computed column is clamped to."""
        return {
            label: f"clamped to [{show(low)}, {show(high)}]; the closer the bounds, the smaller the"
            " error: narrow them with .clip(lower, upper), in SQL clamp(x, lower, upper)"
            for label, (low, high) in self.bounds.items()
        }

    def to_dict(self) -> dict[str, list[str | float | None]]:
        """Return the preview as columns: label, unit, and the error at each size of a group."""
        table: dict[str, list[Any]] = {
            "label": list(self.errors),
            "error in": list(self.units.values()),
        }
        for index, size in enumerate(self.rows):
            table[f"{size} rows"] = [errors[index] for errors in self.errors.values()]
        return table

    @property
    def under(self) -> str:
        """Which limit leaves no more, as the end of a sentence; empty in a session."""
        return f" under {listed(self.limited_by)}" if self.limited_by else ""

    def to_json(self) -> dict[str, object]:
        """Return all of it as plain JSON values; an infinite error is null."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            **values,
            "cost": self.cost.to_json(),
            "remaining": self.remaining.to_json(),
            "rows": list(self.rows),
            "notes": list(self.notes),
            "limited_by": list(self.limited_by),
            "bounds": {k: [str(end) for end in ends] for k, ends in self.bounds.items()},
            "confidence": None if self.confidence is None else str(self.confidence),
            **{name: _finite(values[name]) for name in _NUMBERS},
        }

    @classmethod
    def from_json(cls, described: Mapping[str, object]) -> Preview:
        """Return the preview that :meth:`to_json` described.

        Raises:
            UsageError: these values do not describe a preview.
        """
        fields_: Any = described
        try:
            confidence = fields_["confidence"]
            read: dict[str, Any] = {
                "cost": Budget.from_json(fields_["cost"]),
                "remaining": Budget.from_json(fields_["remaining"]),
                "rows": tuple(map(int, fields_["rows"])),
                "notes": tuple(map(str, fields_["notes"])),
                "bounds": {
                    k: (Fraction(a), Fraction(b)) for k, (a, b) in fields_["bounds"].items()
                },
                "confidence": None if confidence is None else Fraction(confidence),
                "free": {k: float(v) for k, v in fields_.get("free", {}).items()},
                "limited_by": tuple(map(str, fields_.get("limited_by", ()))),
                **{name: _endless(fields_[name]) for name in _NUMBERS},
            }
            rest = {each.name for each in fields(cls)} - set(read)
            return cls(**{name: fields_[name] for name in rest} | read)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise UsageError("this is not a preview of Tacit") from None

    def to_pandas(self) -> pandas.DataFrame:
        """Return the preview as a pandas DataFrame (needs the extra ``pandas``)."""
        table: pandas.DataFrame = need("pandas", "pandas").DataFrame(self.to_dict())
        return table

    def card(self) -> Card:
        """Return what a notebook displays: the errors, the cost, what else to know."""
        table = self.to_dict()
        rows = [
            [v if isinstance(v, str) else show(float(v)) for v in row]
            for row in zip(*table.values(), strict=True)
        ]
        notes = [f"{label}: {method}" for label, method in self.methods.items()]
        notes += [f"{label}: {method}" for label, method in self.clamped().items()]
        notes += [f"{label}: {method}" for label, method in self.within().items()]
        refused = self.refused().items()
        notes += [f"{label}: refused with probability {method}" for label, method in refused]
        notes += [
            f"{label}: follows from earlier releases at no cost, with a standard error of "
            f"{show(float(f'{error:.3g}'))}; .free_answer() of the question gives it"
            for label, error in self.free.items()
        ]
        location = f", {self.whereabouts}" if self.whereabouts else ""
        left = f"{self.remaining!r} that is left{self.under}{location}"
        notes.append(f"cost {self.cost!r} of the {left}")
        if self.threshold is not None:
            notes.append(f"a key is released where its noisy count of people is {self.threshold}+")
        notes += [*self.notes, *([self.weak] if self.weak else [])]
        parts: list[CardTable | Shares] = [CardTable(list(table), rows, names=2)]
        if self.remaining.covers(self.cost):
            parts.append(self._bar())
        return Card("Preview: nothing is spent yet", self.protects, parts, notes)

    def _bar(self) -> Shares:
        used, left = share(self.cost, self.remaining), self.remaining - self.cost
        parts = (
            Share("this", "this release", str(self.cost), used),
            Share("left", "left after it", str(left), 1 - used),
        )
        return Shares(f"the {self.remaining} that is left", parts, spoken=False)

    def __str__(self) -> str:
        return self.card().text()

    def __repr__(self) -> str:
        return self.card().text()


def _finite(numbers: Mapping[str, Sequence[float]]) -> dict[str, list[float | None]]:
    return {
        k: [float(v) if math.isfinite(v) else None for v in each] for k, each in numbers.items()
    }


def _endless(numbers: Mapping[str, Sequence[float | None]]) -> dict[str, tuple[float, ...]]:
    return {k: tuple(math.inf if v is None else float(v) for v in n) for k, n in numbers.items()}


# What a reader of a preview should know next to the errors, and what is warned of before a charge.
#
# An undeclared column has no type that could be refused, so that its readings are stated: by the
# preview, and, where a statistic or a filter takes it for numbers, by a warning before the charge.
# Both follow from the question and the declared kinds alone.


# How a cell of an undeclared column is read; where it is text there is nothing to say.
_READS = {
    "read_numeric": "a number, or true or false as 1 or 0",
    "read_number": "a number",
    "read_whole": "a whole number, or true or false as 1 or 0",
    "read_integer": "a whole number",
    "read_date": "a date such as 2024-12-31",
    "read_seconds": "a time such as 2024-12-31 18:30",
    "read_boolean": "true or false",
}


def noted(
    plan: Plan,
    rows: tuple[int, ...],
    declared: Declared,
    ledger: Ledger,
    named: bool,
    confidence: Fraction | None = None,
) -> Preview:
    """A preview with notes: the columns as declared, the ledger, a missing name, the odds."""
    notes = declared_words(declared.about(plan.query), plan.query.describe())
    if not named:
        notes.append(
            "the table has no name of its own: give it one, name='visits', by which its ledger and "
            "its certificates tell it from others"
        )
    notes += _codes(plan.query) + _listed_values(
        [*_numbers(plan), *_conditions(plan.query)], plan.query
    )
    if plan.keys is not None and plan.keys.note is not None:
        notes.append(plan.keys.note)
    notes += [*_of_groups(plan), *_unlisted(plan.query, declared)]
    expected = Preview.of(plan, ledger.remaining, rows, confidence)
    return replace(
        expected,
        granted=ledger.chain.affords(expected.cost),
        whereabouts=ledger.whereabouts,
        notes=tuple(notes),
        weak=weak_guarantee(requested_loss(plan), declared.size) or _unused(plan, declared.size),
    )


def _codes(query: Query) -> list[str]:
    """Return which codes are read as missing, of the table and of those joined with it."""
    described = query.describe()
    rows = described.get("inner", described)
    read = [rows, *rows.get("joins", ()), *described.get("joins", ())]
    codes = [each.get("reading", {}).get("missing") for each in read]
    return [missing_words(each) for each in codes if each]


def _of_groups(plan: Plan) -> list[str]:
    """Return a note where the noise grows with a number of groups that no one named."""
    query = plan.query
    if not isinstance(query.unit, PersonUnit) or query.unit.most_groups is not None:
        return []
    rows, keys = query.unit.rows, query.keys
    costs = plan.keys is not None or any(part.on_people for part in plan.parts)
    if rows == 1 or not costs or not query.by or (keys is not None and len(keys) == 1):
        return []
    return [
        f"the unit names no groups, so a person may count as present in as many as rows, {rows}, "
        "and the noise of the counts of people grows with that: if people are in fewer groups, "
        f"name them, such as tc.unit({person_json(query.unit.column)!r}, rows={rows}, groups=1)"
    ]


def _unlisted(query: Query, declared: Declared) -> Iterator[str]:
    """Yield a note of each column that is filtered by what is none of its declared categories."""
    unlisted: dict[str, list[object]] = {}
    for condition in query.where:
        for name, value in equals_in(condition.substitute(query.resolved)):
            keys = declared.keys.get(name)
            if keys is not None and value is not None and value not in keys:
                unlisted.setdefault(name, []).append(value)
    for name, values in unlisted.items():
        given = ", ".join(repr(value)[:60] for value in dict.fromkeys(values[:5]))
        near = did_you_mean(str(values[0])[:60], map(str, declared.keys[name]))
        yield f"the filter asks for {given}, not among the declared categories of {name!r}; {near}"
    if query.inner is not None:
        yield from _unlisted(query.inner, declared)


def _unused(plan: Plan, size: int | None) -> str | None:
    """Return a note on a delta that is too large, and that no answer uses."""
    weak = weak_guarantee(plan.request, size) if plan.request.delta else None
    return None if weak is None else f"{weak}; no answer uses this delta, so leave it out"


def requested_loss(plan: Plan) -> Budget:
    """Return the loss of a release: all that was requested, except a delta that nothing uses."""
    return plan.request if plan.cost.delta else plan.cost


def warn_if_weak(loss: Budget | None, size: int | None) -> None:
    """Warn of a loss that protects hardly anyone, before it is charged: at the user's line.

    >>> from tacit.accounting import epsilon
    >>> warn_if_weak(epsilon(10), None)
    """
    # loss: what is about to be charged; None where it was charged before.
    weak = None if loss is None else weak_guarantee(loss, size)
    if weak is not None:
        warnings.warn(weak, WeakGuaranteeWarning, stacklevel=calls_inside())


def warn_of_budget(budget: Budget | None, size: int | None) -> None:
    """Warn of the delta of a budget that is too large for a table of a public size.

    >>> from tacit.accounting import epsilon_delta
    >>> warn_of_budget(epsilon_delta(1, "1e-6"), 1000)
    """
    # budget: that is said where a table is opened; None where a ledger says it alone.
    # size: how many people the table has; None where that is not declared.
    if budget is not None and budget.delta and size is not None:
        warn_if_weak(Budget("approximate", Fraction(0), budget.delta), size)


# ---- undeclared columns


def warn_if_undeclared(plan: Plan) -> None:
    """Warn of numbers that are asked of a column that was never declared to hold such."""
    # Whether its cells are numbers is not known before they are paid for, so it cannot be refused.
    _warn_of_numbers([*_numbers(plan), *_conditions(plan.query)])


def _warn_of_numbers(values: Iterable[Expression]) -> None:
    """Warn of undeclared columns that statistics, filters or computed groups take for numbers."""
    numbers = [pair for value in values for pair in readings_in(value)]
    names = list(dict.fromkeys(name for name, reading in numbers if reading == "read_numeric"))
    if names:
        _warn(
            f"{_never(names)} numbers: a cell that is neither a number nor true or false counts as "
            f"missing. Declare the kind, as in types={{{names[0]!r}: 'float'}}, or give a data "
            "frame a column of numbers; or say so in the question with .cast(float)"
        )


def warn_of_periods(query: Query, line: Timeline) -> None:
    """Warn of periods of a column that was never declared to hold times, and of its filters."""
    _warn_of_numbers(_conditions(query))
    if _timed(query, line):
        _warn(
            f"{_never([line.column])} times: a row whose cell is not {_READS[line.reading]} is in "
            f"no period. Declare the kind, as in types={{{line.column!r}: 'timestamp'}}, or give a "
            "data frame a column of times"
        )


def period_notes(query: Query, line: Timeline) -> tuple[str, ...]:
    """Return how undeclared columns are read by a count over time, one sentence each."""
    timed = [Expression(line.reading, (col(line.column),))] if _timed(query, line) else []
    return tuple(_codes(query) + _listed_values([*timed, *_conditions(query)], query))


def _timed(query: Query, line: Timeline) -> bool:
    return query.columns.column(line.column).kind == "undeclared"


def _never(names: Sequence[str]) -> str:
    return f"{listed(list(names))} {'was' if len(names) == 1 else 'were'} never declared to hold"


def _warn(text: str) -> None:
    warnings.warn(text, DataSourceWarning, stacklevel=calls_inside())


def _listed_values(expressions: Iterable[Expression], query: Query) -> list[str]:
    """Return which undeclared columns are read as other than text, one sentence per reading."""
    undeclared = {name for name, kind in query.columns.kinds() if kind == "undeclared"}
    if query.inner is not None:
        undeclared |= {n for n, kind in query.inner.columns.kinds() if kind == "undeclared"}
    values: dict[str, dict[str, None]] = {}
    for expression in expressions:
        for name, reading in readings_in(expression):
            if reading in _READS and name in undeclared:
                values.setdefault(reading, {})[name] = None
    return [
        f"{listed(list(names))} {'is' if len(names) == 1 else 'are'} not declared: a cell is read "
        f"as {_READS[reading]}, and any other cell is missing"
        for reading, names in values.items()
    ]


def _numbers(plan: Plan) -> Iterator[Expression]:
    """Yield what statistics of numbers are about, with the readings of undeclared columns."""
    query = plan.query
    size = len(query.keys or [()])
    requests = [request for part in plan.requests(size) for request in part]
    schema = _own(query)
    for value in dict.fromkeys(value for request in requests for value, _ in request.columns):
        yield read_as(value, "read_numeric", schema)
    while query.inner is not None:
        query = query.inner
        schema = _own(query)
        for _, aggregate in query.aggregates:
            for one in aggregate.clamped if aggregate.lower is not None else ():
                value = query.resolved.get(one.column, col(one.column))
                yield read_as(value, "read_numeric", schema)


def _conditions(query: Query) -> Iterator[Expression]:
    """Yield the filters and groups of a question, with the readings of undeclared columns."""
    schema, known = _own(query), query.resolved
    for condition in query.where:
        yield read_as(condition.substitute(known), "read_boolean", schema)
    groups = {name: known.get(name, col(name)) for name in query.by}
    if query.keys is None:
        yield from (with_readings(group, schema) for group in groups.values())
    else:
        yield from as_keys(groups, query.keys, schema).values()
    if query.inner is not None:
        yield from _conditions(query.inner)


def _own(query: Query) -> Schema:
    """Return the columns of a question that are not derived."""
    derived = {name for name, _ in query.derived}
    return Schema([c for name, c in query.columns.items() if name not in derived])

"""Names in scope, and the statistics of a select list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.errors import did_you_mean
from tacit.expressions.expression import Expression, col, literal, when
from tacit.expressions.functions import LOWER, UPPER, Node, constants_of
from tacit.sql.parse import only, placed, refuse
from tacit.sql.values import Names, class_of, constant, form, number, timed, truth, value
from tacit.tables import count, count_people, mean, median, percentile, std, sum, var
from tacit.tables import max as greatest
from tacit.tables import min as least
from tacit.tables.question import Question
from tacit.tables.statistics.base import Aggregate, kind_of
from tacit.tables.statistics.counts import count_distinct
from tacit.tables.statistics.covariance_and_regression import correlation, covariance
from tacit.tables.statistics.percentiles import percentiles

__all__ = [
    "AGGREGATES",
    "Asked",
    "Scope",
    "aggregates_of",
    "asked_of",
    "columns_of",
    "find",
    "has_aggregate",
    "is_aggregate",
    "own_name",
    "plain_name",
]

# What the names in a query stand for: columns of tables, and values that subqueries name.


_SMALL = str.maketrans(UPPER, LOWER)


def plain_name(name: str) -> str:
    """Return a name with A to Z in lower case, as names without quotes are compared."""
    return name.translate(_SMALL)


def find(identifier: Any, known: Mapping[str, Any], what: str) -> str:
    """Return the name among those known that an identifier means."""
    # In quotes it is a name as it is written; without, A to Z are as a to z, and it must mean one
    # name.
    name = str(identifier.this)
    if name in known and identifier.args.get("quoted"):
        return name
    alike = [each for each in known if plain_name(each) == plain_name(name)]
    near = did_you_mean(name, known)
    if what == "column" and not near.endswith("?"):
        near += f". A text has single quotes: '{name}'"
    if identifier.args.get("quoted"):
        refuse(identifier, f"there is no {what} {name!r}; {near}")
    if len(alike) > 1:
        refuse(identifier, f"{name!r} is one of several {what}s: write it in quotes, as it is")
    if not alike:
        refuse(identifier, f"there is no {what} {name!r}; {near}")
    return alike[0]


class Scope:
    """The rows that a part of a query asks, and what each name stands for there."""

    def __init__(self, question: Question, tables: Mapping[str, Mapping[str, Expression]]) -> None:
        self.question = question
        self.tables = dict(tables)
        self.conditions: list[Expression] = []
        self._derived: dict[str, str] = {}

    def renamed(self, tables: Mapping[str, Mapping[str, Expression]]) -> Scope:
        """Return the same rows, with other names."""
        renamed = Scope(self.question, tables)
        renamed.conditions = list(self.conditions)
        return renamed

    def column(self, node: Any, times: bool = False) -> Expression:
        """Return the value that a name stands for."""
        if type(node.this).__name__ != "Identifier":
            refuse(node, "* is allowed only in count(*): name the columns")
        if node.args.get("db") or node.args.get("join_mark"):
            refuse(node, "a column is named by its table and its name: visits.cost")
        found = self._named(node)
        if not times and self.has_times(found):
            refuse(
                node,
                "a column with times is read as its days: write cast(t as date), or compare it "
                "with days, t >= date '2024-01-01' and t < date '2024-02-01'",
            )
        return found

    def _named(self, node: Any) -> Expression:
        table = node.args.get("table")
        if table is not None:
            return self._in_table(node, find(table, self.tables, "table"))
        return self.named(node.this)

    def named(self, name: Any) -> Expression:
        """Return the value that a name without a table stands for."""
        known: dict[str, list[Expression]] = {}
        for columns in self.tables.values():
            for each, stands in columns.items():
                known.setdefault(each, []).append(stands)
        found = known[find(name, known, "column")]
        if len(found) > 1:
            refuse(name, f"{name.this!r} is a column of several tables: write table.{name.this}")
        return found[0]

    def _in_table(self, node: Any, table: str) -> Expression:
        columns = self.tables[table]
        return columns[find(node.this, columns, f"column of {table!r}")]

    def stands_for(self, node: Any) -> Expression | None:
        """Return what a whole node stands for here: of rows, nothing but what it says."""
        return None

    def kind(self, value: Expression) -> str:
        """Return the kind of a value."""
        return value.kind(self.question.schema)

    def has_times(self, value: Expression) -> bool:
        """Return whether a value is a column of dates with times of day."""
        if value.operation != "col":
            return False
        column = self.question.schema.get(constants_of(value)[0])
        if column is None or column.kind != "date":
            return False
        # What a join adds has the name of its kind alone, and may have times.
        joined = column.declared == column.kind and column.name not in self._derived.values()
        return joined or "TIMESTAMP" in column.declared.upper()

    def filter(self, condition: Expression, node: Any) -> None:
        """Keep the rows for which a condition holds."""
        with placed(node):
            self.question = self.question.filter(condition)
        self.conditions.append(condition)

    def name_of(self, value: Expression, wanted: str, node: Any) -> str:
        """The name of a column that holds a value; a new one is called as wanted, if free."""
        # One that has no name, or the name of another column, is called by its expression.
        if value.operation == "col":
            return str(value.parameters[0])
        key = repr(value.to_json())
        if key not in self._derived:
            taken = {plain_name(name) for name in self.question.schema}
            name = wanted if wanted and plain_name(wanted) not in taken else _own_name(value)
            with placed(node):
                self.question = self.question.with_columns(**{name: value})
            self._derived[key] = name
        return self._derived[key]


def _own_name(value: Node) -> str:
    # A column's name is in the ledger key: it does not follow the names of methods in Python.
    parts = [_own_name(operand) for operand in value.operands]
    name, known = value.operation, constants_of(value)
    if name in ("col", "literal"):
        return str(value)
    if name == "is_null":
        return f"({parts[0]} is missing)"
    if name == "~":
        return f"~{parts[0]}"
    if len(parts) == 2 and not name.isidentifier():
        return f"({parts[0]} {name} {parts[1]})"
    known = known[:1] if name == "in_zone" else known
    return f"{name}({', '.join(parts + [repr(each) for each in known])})"


def columns_of(question: Question) -> dict[str, Expression]:
    """Return what the columns of a question stand for: themselves."""
    return {name: col(name) for name in question.schema}


# Aggregates: what is asked of the rows, with the bounds that the text gives.


Bounds = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Asked:
    """An aggregate of the text."""

    node: Any
    kind: str  # the kind of answer
    value: Expression | None = None  # what it is asked of, or None
    called: str = ""  # the name of the value, where the text gives it one
    bounds: Bounds | None = None  # the bounds that the text gives, or None
    q: Fraction | None = None
    several: tuple[Fraction, ...] = ()  # of percentiles that are asked for together
    beside: Asked | None = None  # the other column of a covariance, asked in the same way
    label: str = ""  # what it is called where the text gives no name; empty for the kind's own name
    note: str = ""  # what a reader should know of the answer

    @property
    def key(self) -> tuple[Any, ...]:
        """What two aggregates have in common that ask the same."""
        said = None if self.value is None else repr(self.value.to_json())
        return self.kind, said, self.bounds, self.q, self.several, self.beside and self.beside.key

    def aggregate(self, scope: Scope) -> Aggregate:
        """Return what the question is asked, its value a column of the question."""
        made: Aggregate
        if self.value is None:
            made = _MAKE[self.kind]()
            return made
        name = self._column(scope)
        bounds = self.bounds or (None, None)
        with placed(self.node):
            if self.beside is not None:
                other = self.beside._column(scope)
                both = {name: self.bounds, other: self.beside.bounds}
                known = {column: each for column, each in both.items() if each is not None}
                made = _MAKE[self.kind](name, other, known or None)
            elif self.kind == "count_distinct":
                made = count_distinct(name)
            else:
                which = {"percentile": (self.q,), "percentiles": (self.several,)}
                made = _MAKE[self.kind](name, *which.get(self.kind, ()), *bounds)
        return made

    def _column(self, scope: Scope) -> str:
        """Return the column of the question that holds the value."""
        assert self.value is not None
        if scope.has_times(self.value):
            refuse(
                self.node, "days of a column with times are not aggregated: use year(t) or month(t)"
            )
        kind = scope.kind(self.value)
        if kind not in _NUMERIC and self.kind != "count_distinct":
            refuse(self.node, f"{self.kind} needs numbers, and this holds {kind}")
        return scope.name_of(self.value, self.called, self.node)

    def name(self, made: Aggregate) -> str:
        """Return what the answer is called where the text gives no name."""
        return self.label or kind_of(made.kind).label(made)


_MAKE: dict[str, Callable[..., Any]] = {
    "count": count,
    "count_people": count_people,
    "mean": mean,
    "sum": sum,
    "var": var,
    "std": std,
    "median": median,
    "percentile": percentile,
    "percentiles": percentiles,
    "covariance": covariance,
    "correlation": correlation,
    "min": least,
    "max": greatest,
}
_NUMERIC = ("integer", "float", "decimal", "boolean", "undeclared", "missing")
AGGREGATES: dict[str, Callable[[Any, Scope], Asked]] = {}

_OVER_N = "is divided by n, and not by n - 1: on many rows the two are nearly the same"
_EXTREME = "is a value that a handful of rows may be beyond: the true one would be a person's own"


def has_aggregate(node: Any) -> bool:
    """Return whether an aggregate stands anywhere in a part of a query."""
    return any(class_of(each) in AGGREGATES for each in node.walk())


def aggregates_of(node: Any) -> list[Any]:
    """Return the aggregates that a part of a query computes with, none inside of another."""
    if is_aggregate(node):
        return [node]
    return [each for inner in node.iter_expressions() for each in aggregates_of(inner)]


def is_aggregate(node: Any) -> bool:
    """Return whether an item is one aggregate, or one that no formula has a place for."""
    while type(node).__name__ == "Paren":
        node = node.this
    return class_of(node) in AGGREGATES or type(node).__name__ == "Window"


def asked_of(node: Any, scope: Scope) -> Asked:
    """Return the aggregate that a node is."""
    while type(node).__name__ == "Paren":
        node = node.this
    name = class_of(node)
    if name in AGGREGATES:
        with placed(node):
            return AGGREGATES[name](node, scope)
    if name == "Window":
        refuse(node, "windows have no translation: group by columns instead")
    return refuse(
        node, "write one aggregate here, such as sum(cost) as total, and compute with it outside"
    )


def _of(node: Any, scope: Scope, kind: str, inner: Any, **more: Any) -> Asked:
    """Return an aggregate of a value, with the bounds that the text of the value gives."""
    if type(inner).__name__ == "Distinct":
        refuse(node, "DISTINCT is allowed only in count(distinct person): aggregate the rows")
    found, called, bounds = _bounded(inner, scope)
    return Asked(node, kind, found, called, bounds, **more)


def own_name(node: Any) -> str:
    """The name that a value has in the text: that of a column, or of what a subquery names."""
    # Nothing where it is computed on the spot.
    return str(node.this.this) if type(node).__name__ == "Column" else ""


def _bounded(inner: Any, scope: Names) -> tuple[Expression, str, Bounds | None]:
    """Return a value, its name, and the bounds that its text gives, where all of it is a clamp."""
    # An aggregate clamps its column to its bounds, so that a clamp around the whole is the bounds
    # and nothing more, exactly as they are written.  Other bounds are declared, or follow from
    # those.
    while type(inner).__name__ == "Paren":
        inner = inner.this
    found = value(inner, scope)
    if found.operation == "clamp" and class_of(inner) == "clamp":
        lower, upper = number(inner.expressions[1]), number(inner.expressions[2])
        if lower is not None and upper is not None and lower < upper:
            held: Any = found.operands[0]
            return held, own_name(inner.expressions[0]), (lower, upper)
    return found, own_name(inner), None


@form(
    "aggregates",
    AGGREGATES,
    "Count",
    examples={
        "count(*)": "tc.count(), how many rows there are",
        "count(cost)": "tc.sum of 1 where there is a value and 0 where there is none",
        "count(distinct person)": "tc.count_people(), of the column that identifies people",
        "count(distinct site)": "tc.count_distinct, of any other column",
    },
)
def _count(node: Any, scope: Scope) -> Asked:
    only(node, "this", "big_int")
    inner = node.this
    name = type(inner).__name__
    if name == "Star":
        only(inner)
        return Asked(node, "count")
    if name == "Distinct":
        only(inner, "expressions")
        person = scope.question.unit.column
        listed = inner.expressions
        if len(listed) == 1 and person is not None:
            found = timed(listed[0], scope)
            if found.operation == "col" and found.parameters[0] == person:
                return Asked(node, "count_people")
        if len(listed) != 1:
            refuse(node, "distinct values are counted for one column: count(distinct site)")
        return Asked(node, "count_distinct", value(listed[0], scope), own_name(listed[0]))
    found = timed(inner, scope)
    if constant(found) is not None:
        return Asked(node, "count")
    return Asked(
        node,
        "sum",
        when(found.is_null()).then(0).otherwise(1),
        label=f"count_{found}",
    )


@form(
    "aggregates",
    AGGREGATES,
    "CountIf",
    examples={"count_if(age < 18)": "tc.sum of 1 where the condition is true, and 0 elsewhere"},
)
def _count_if(node: Any, scope: Scope) -> Asked:
    only(node, "this", "big_int")
    return _indicator(node, truth(node.this, scope).true)


def _indicator(node: Any, condition: Expression) -> Asked:
    found = when(condition).then(1).otherwise(0)
    return Asked(node, "sum", found, label="count")


@form(
    "aggregates",
    AGGREGATES,
    *("Sum", "Avg", "VariancePop", "StddevPop", "Median"),
    examples={
        "sum(cost), avg(cost), median(cost)": "tc.sum, tc.mean, tc.median; missing values are "
        "passed over, and a sum of none is 0",
        "var_pop(cost), stddev_pop(cost)": "tc.var, tc.std",
    },
)
def _statistic(node: Any, scope: Scope) -> Asked:
    only(node, "this")
    return _of(node, scope, _KINDS[type(node).__name__], node.this)


_KINDS = {
    "Sum": "sum",
    "Avg": "mean",
    "VariancePop": "var",
    "StddevPop": "std",
    "Median": "median",
    "Variance": "var",
    "Stddev": "std",
    "StddevSamp": "std",
    "Min": "min",
    "Max": "max",
}


@form(
    "aggregates",
    AGGREGATES,
    *("Variance", "Stddev", "StddevSamp"),
    examples={
        "var_samp(cost), variance(cost)": f"tc.var: it {_OVER_N}",
        "stddev_samp(cost), stddev(cost)": f"tc.std: it {_OVER_N}",
    },
)
def _of_sample(node: Any, scope: Scope) -> Asked:
    only(node, "this")
    return _of(node, scope, _KINDS[type(node).__name__], node.this, note=_OVER_N)


@form(
    "aggregates",
    AGGREGATES,
    *("Min", "Max"),
    examples={"min(cost), max(cost)": f"tc.min, tc.max, an extreme percentile: it {_EXTREME}"},
)
def _least_or_greatest(node: Any, scope: Scope) -> Asked:
    only(node, "this")
    return _of(node, scope, _KINDS[type(node).__name__], node.this, note=_EXTREME)


@form(
    "aggregates",
    AGGREGATES,
    *("PercentileCont", "Quantile", "WithinGroup"),
    examples={
        "percentile_cont(0.9) within group (order by cost)": "tc.percentile(cost, 90)",
        "quantile_cont(cost, 0.9), quantile(cost, 0.9)": "the same",
        "quantile_cont(cost, [0.25, 0.5, 0.75]), percentile_cont(array[0.25, 0.5, 0.75]) within "
        "group (order by cost)": "tc.percentiles(cost, [25, 50, 75]), chosen together",
    },
)
def _percentile(node: Any, scope: Scope) -> Asked:
    name = type(node).__name__
    if name == "WithinGroup":
        only(node, "this", "expression")
        ordered = node.expression.expressions
        if class_of(node.this) not in ("PercentileCont", "PercentileDisc") or len(ordered) != 1:
            refuse(node, "write percentile_cont(0.9) within group (order by cost)")
        only(node.this, "this")
        if ordered[0].args.get("desc"):
            refuse(ordered[0], "order ascending, and ask for 1 minus the share")
        share, inner = node.this.this, ordered[0].this
    elif name == "Quantile":
        only(node, "this", "quantile")
        share, inner = node.args["quantile"], node.this
    else:
        only(node, "this", "expression")
        share, inner = node.expression, node.this
    if type(share).__name__ == "Array":
        only(share, "expressions", "bracket_notation", "value_constructor")
        each = [number(one) for one in share.expressions]
        several = tuple(100 * one for one in each if one is not None and 0 < one < 1)
        if len(several) < len(each) or sorted(set(several)) != list(several) or not each:
            refuse(node, "several percentiles are constants that rise between 0 and 1: [0.25, 0.5]")
        return _of(node, scope, "percentiles", inner, several=several)
    q = None if share is None else number(share)
    if q is None or not 0 <= q <= 1:
        refuse(node, "a percentile is a constant from 0 to 1: percentile_cont(0.9)")
    return _of(node, scope, "percentile", inner, q=100 * q)


@form(
    "aggregates",
    AGGREGATES,
    "Filter",
    examples={
        "count(*) filter (where age < 18)": "tc.sum of 1 where the condition is true, and 0 "
        "elsewhere",
        "sum(cost) filter (where age < 18)": "the aggregate of the values where it is true",
    },
)
def _filter(node: Any, scope: Scope) -> Asked:
    only(node, "this", "expression")
    only(node.expression, "this")
    inner = asked_of(node.this, scope)
    condition = truth(node.expression.this, scope).true
    if inner.kind == "count":
        return _indicator(node, condition)
    if inner.value is None:
        refuse(node, "people cannot be counted where a condition holds: put it into WHERE")
    kept = when(condition).then(inner.value).otherwise(literal(None))
    return replace(inner, node=node, value=kept, called="")


@form(
    "aggregates",
    AGGREGATES,
    *("Corr", "CovarSamp"),
    examples={"corr(age, cost), covar_samp(age, cost)": "tc.correlation, tc.covariance"},
)
def _of_two(node: Any, scope: Scope) -> Asked:
    only(node, "this", "expression")
    kind = "correlation" if type(node).__name__ == "Corr" else "covariance"
    first = _of(node, scope, kind, node.this)
    return replace(first, beside=_of(node, scope, kind, node.expression))

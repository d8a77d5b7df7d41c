"""Names in scope, and the statistics of a select list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from tacit.tables.statistics.absolute_deviation import mad
from tacit.tables.statistics.base import TableStatistic
from tacit.tables.statistics.counts import count_distinct
from tacit.tables.statistics.covariance_and_regression import correlation, covariance
from tacit.tables.statistics.geometric_mean import geometric_mean
from tacit.tables.statistics.percentiles import percentiles
from tacit.tables.statistics.weights_and_ratios import weighted_mean

# What the names in a query represent: columns of tables, and values that subqueries name.


_SMALL = str.maketrans(UPPER, LOWER)


def plain_name(name: str) -> str:
    """Return a name with A to Z in lower case, as names without quotes are compared."""
    return name.translate(_SMALL)


def column_name(node: Any, scope: Scope) -> str | None:
    """Return the column of the table that a value is; None for another value."""
    while type(node).__name__ == "Paren":
        node = node.this
    if type(node).__name__ != "Column":
        return None
    column = scope.column(node, times=True)
    return str(column.parameters[0]) if column.operation == "col" else None


def names_person(nodes: Sequence[Any], scope: Scope) -> bool:
    """Return whether values are the columns that name a person, each once, in any order."""
    if len(nodes) == 1 and type(nodes[0]).__name__ == "Tuple":
        nodes = nodes[0].expressions
    names, person = [column_name(node, scope) for node in nodes], scope.question.unit.columns
    return bool(person) and len(names) == len(person) and set(names) == set(person)


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
    """The rows of a part of a query, and the meaning of each name there."""

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
        """Return the value of a name."""
        if type(node.this).__name__ != "Identifier":
            refuse(node, "* is allowed only in count(*): name the columns")
        if node.args.get("db") or node.args.get("join_mark"):
            refuse(node, "a column is named by its table and its name: visits.cost")
        column = self._named(node)
        if not times and self.has_times(column):
            refuse(
                node,
                "a column with times is read as its days: write cast(t as date), or compare it "
                "with days, t >= date '2024-01-01' and t < date '2024-02-01'",
            )
        return column

    def _named(self, node: Any) -> Expression:
        table = node.args.get("table")
        if table is not None:
            return self._in_table(node, find(table, self.tables, "table"))
        return self.named(node.this)

    def named(self, name: Any) -> Expression:
        """Return the value of a name without a table."""
        known: dict[str, list[Expression]] = {}
        for columns in self.tables.values():
            for each, known_value in columns.items():
                known.setdefault(each, []).append(known_value)
        matches = known[find(name, known, "column")]
        if len(matches) > 1:
            refuse(name, f"{name.this!r} is a column of several tables: write table.{name.this}")
        return matches[0]

    def _in_table(self, node: Any, table: str) -> Expression:
        columns = self.tables[table]
        return columns[find(node.this, columns, f"column of {table!r}")]

    def meaning_of(self, node: Any) -> Expression | None:
        """Return the meaning of a whole node; None in the rows of a table."""
        return None

    def kind(self, value: Expression) -> str:
        """Return the kind of a value."""
        return value.kind(self.question.schema)

    def has_times(self, value: Expression) -> bool:
        """Return True if a value is a column of dates with times of day."""
        if value.operation != "col":
            return False
        column = self.question.schema.get(constants_of(value)[0])
        if column is None or column.kind != "date":
            return False
        # What a join adds has the name of its kind alone, and may have times.
        joined = column.declared == column.kind and column.name not in self._derived.values()
        return joined or "TIMESTAMP" in column.declared.upper()

    def filter(self, condition: Expression, node: Any) -> None:
        """Keep the rows for which a condition is true."""
        with placed(node):
            self.question = self.question.filter(condition)
        self.conditions.append(condition)

    def name_of(self, value: Expression, wanted: str, node: Any) -> str:
        """Return the name of a column with a value; a new one gets the wanted name, if free."""
        # One without a name, or with the name of another column, is named by its expression.
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
    """Return the columns of a question as values."""
    return {name: col(name) for name in question.schema}


# Aggregates of rows, with the bounds in the text.


Bounds = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class SqlAggregate:
    """An aggregate of the text."""

    node: Any
    kind: str  # the kind of answer
    value: Expression | None = None  # of which value, or None
    called: str = ""  # the name of the value in the text, if any
    bounds: Bounds | None = None  # the bounds in the text, or None
    q: Fraction | None = None
    fractions: tuple[Fraction, ...] = ()  # of several percentiles in one call
    second: SqlAggregate | None = None  # the other column of a covariance
    label: str = ""  # its default name; empty for that of its kind
    note: str = ""  # a note on the answer

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for aggregates with equal answers."""
        value = None if self.value is None else repr(self.value.to_json())
        return (
            self.kind,
            value,
            self.bounds,
            self.q,
            self.fractions,
            self.second and self.second.key,
        )

    def aggregate(self, scope: Scope) -> TableStatistic:
        """Return the aggregate of the question, with its value a column of the question."""
        made: TableStatistic
        if self.value is None:
            made = _MAKE[self.kind]()
            return made
        name = self._column(scope)
        bounds = self.bounds or (None, None)
        with placed(self.node):
            if self.second is not None:
                other = self.second._column(scope)
                both = {name: self.bounds, other: self.second.bounds}
                known = {column: each for column, each in both.items() if each is not None}
                made = _MAKE[self.kind](name, other, known or None)
            elif self.kind == "count_distinct":
                made = _MAKE[self.kind](name)
            else:
                which = {"percentile": (self.q,), "percentiles": (self.fractions,)}
                made = _MAKE[self.kind](name, *which.get(self.kind, ()), *bounds)
        return made

    def _column(self, scope: Scope) -> str:
        """Return the column of the question with the value."""
        assert self.value is not None
        if scope.has_times(self.value):
            refuse(
                self.node, "days of a column with times are not aggregated: use year(t) or month(t)"
            )
        kind = scope.kind(self.value)
        if kind not in _NUMERIC and self.kind != "count_distinct":
            refuse(self.node, f"{self.kind} needs numbers, and this is {kind}")
        return scope.name_of(self.value, self.called, self.node)

    def name(self, made: TableStatistic) -> str:
        """Return the default name of the answer."""
        return self.label or made.label()


_MAKE: dict[str, Callable[..., Any]] = {
    "count": count,
    "count_people": count_people,
    "count_distinct": count_distinct,
    "mean": mean,
    "sum": sum,
    "var": var,
    "std": std,
    "median": median,
    "mad": mad,
    "geometric_mean": geometric_mean,
    "percentile": percentile,
    "percentiles": percentiles,
    "covariance": covariance,
    "weighted_mean": weighted_mean,
    "correlation": correlation,
    "min": least,
    "max": greatest,
}
_NUMERIC = ("integer", "float", "decimal", "boolean", "undeclared", "missing")
AGGREGATES: dict[str, Callable[[Any, Scope], SqlAggregate]] = {}

_OVER_N = "is divided by n, and not by n - 1: on many rows the two are nearly the same"
_EXTREME = "is a value that a handful of rows may be beyond: the true one would be a person's own"


def has_aggregate(node: Any) -> bool:
    """Return True if a part of a query contains an aggregate."""
    return any(class_of(each) in AGGREGATES for each in node.walk())


def aggregates_of(node: Any) -> list[Any]:
    """Return the outermost aggregates in a part of a query."""
    if is_aggregate(node):
        return [node]
    return [each for inner in node.iter_expressions() for each in aggregates_of(inner)]


def is_aggregate(node: Any) -> bool:
    """Return True if an item is one aggregate, or a window, which no formula may contain."""
    while type(node).__name__ == "Paren":
        node = node.this
    return class_of(node) in AGGREGATES or type(node).__name__ == "Window"


def aggregate_of(node: Any, scope: Scope) -> SqlAggregate:
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


def _of(node: Any, scope: Scope, kind: str, inner: Any, **more: Any) -> SqlAggregate:
    """Return an aggregate of a value, with the bounds in the text of the value."""
    if type(inner).__name__ == "Distinct":
        refuse(node, "DISTINCT is allowed only in count(distinct person): aggregate the rows")
    expression, called, bounds = _bounded(inner, scope)
    return SqlAggregate(node, kind, expression, called, bounds, **more)


def own_name(node: Any) -> str:
    """Return the name of a value in the text: a column, or a name of a subquery."""
    # Empty for a computed value.
    return str(node.this.this) if type(node).__name__ == "Column" else ""


def _bounded(inner: Any, scope: Names) -> tuple[Expression, str, Bounds | None]:
    """Return a value, its name, and its bounds if its text is a clamp."""
    # An aggregate clamps its column to its bounds, so that a clamp around the whole is the bounds
    # and nothing more, exactly as they are written.  Other bounds are declared, or follow from
    # those.
    while type(inner).__name__ == "Paren":
        inner = inner.this
    expression = value(inner, scope)
    if expression.operation == "clamp" and class_of(inner) == "clamp":
        lower, upper = number(inner.expressions[1]), number(inner.expressions[2])
        if lower is not None and upper is not None and lower < upper:
            clamped: Any = expression.operands[0]
            return clamped, own_name(inner.expressions[0]), (lower, upper)
    return expression, own_name(inner), None


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
def _count(node: Any, scope: Scope) -> SqlAggregate:
    only(node, "this", "big_int")
    inner = node.this
    name = type(inner).__name__
    if inner is None:  # count() is count(*) in DuckDB
        return SqlAggregate(node, "count")
    if name == "Star":
        only(inner)
        return SqlAggregate(node, "count")
    if name == "Distinct":
        only(inner, "expressions")
        listed = inner.expressions
        if names_person(listed, scope):
            return SqlAggregate(node, "count_people")
        if len(listed) != 1 or type(listed[0]).__name__ == "Tuple":
            refuse(node, "distinct values are counted for one column: count(distinct site)")
        return SqlAggregate(node, "count_distinct", value(listed[0], scope), own_name(listed[0]))
    counted = timed(inner, scope)
    if constant(counted) is not None:
        return SqlAggregate(node, "count")
    return SqlAggregate(
        node,
        "sum",
        when(counted.is_null()).then(0).otherwise(1),
        label=f"count_{counted}",
    )


@form(
    "aggregates",
    AGGREGATES,
    "CountIf",
    examples={"count_if(age < 18)": "tc.sum of 1 where the condition is true, and 0 elsewhere"},
)
def _count_if(node: Any, scope: Scope) -> SqlAggregate:
    only(node, "this", "big_int")
    return _indicator(node, truth(node.this, scope).true)


def _indicator(node: Any, condition: Expression) -> SqlAggregate:
    indicator = when(condition).then(1).otherwise(0)
    return SqlAggregate(node, "sum", indicator, label="count")


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
def _statistic(node: Any, scope: Scope) -> SqlAggregate:
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
    "mad": "mad",
    "geomean": "geometric_mean",
    "geometric_mean": "geometric_mean",
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
def _of_sample(node: Any, scope: Scope) -> SqlAggregate:
    only(node, "this")
    return _of(node, scope, _KINDS[type(node).__name__], node.this, note=_OVER_N)


@form(
    "aggregates",
    AGGREGATES,
    *("Min", "Max"),
    examples={"min(cost), max(cost)": f"tc.min, tc.max, an extreme percentile: it {_EXTREME}"},
)
def _min_or_max(node: Any, scope: Scope) -> SqlAggregate:
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
def _percentile(node: Any, scope: Scope) -> SqlAggregate:
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
        fractions = tuple(100 * one for one in each if one is not None and 0 < one < 1)
        if len(fractions) < len(each) or sorted(set(fractions)) != list(fractions) or not each:
            refuse(node, "several percentiles are constants that rise between 0 and 1: [0.25, 0.5]")
        return _of(node, scope, "percentiles", inner, fractions=fractions)
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
def _filter(node: Any, scope: Scope) -> SqlAggregate:
    only(node, "this", "expression")
    only(node.expression, "this")
    inner = aggregate_of(node.this, scope)
    condition = truth(node.expression.this, scope).true
    if inner.kind == "count":
        return _indicator(node, condition)
    if inner.value is None:
        refuse(node, "people cannot be counted under a condition: put it into WHERE")
    filtered = when(condition).then(inner.value).otherwise(literal(None))
    return replace(inner, node=node, value=filtered, called="")


@form(
    "aggregates",
    AGGREGATES,
    *("Corr", "CovarSamp"),
    examples={"corr(age, cost), covar_samp(age, cost)": "tc.correlation, tc.covariance"},
)
def _of_two(node: Any, scope: Scope) -> SqlAggregate:
    only(node, "this", "expression")
    kind = "correlation" if type(node).__name__ == "Corr" else "covariance"
    first = _of(node, scope, kind, node.this)
    return replace(first, second=_of(node, scope, kind, node.expression))


@form(
    "aggregates",
    AGGREGATES,
    *("mad", "geomean", "geometric_mean"),
    examples={
        "mad(cost)": "tc.mad, the median distance from the median",
        "geomean(clamp(cost, 1, 500))": "tc.geometric_mean, between bounds above zero",
    },
)
def _named(node: Any, scope: Scope) -> SqlAggregate:
    only(node, "this", "expressions")
    name = class_of(node)
    if len(node.expressions) != 1:
        refuse(node, f"{name} is of one value: {name}(cost)")
    return _of(node, scope, _KINDS[name], node.expressions[0])


@form(
    "aggregates",
    AGGREGATES,
    *("weighted_avg", "wavg"),
    examples={
        "weighted_avg(cost, weight), wavg(cost, weight)": "tc.weighted_mean, over the rows that "
        "have both"
    },
)
def _weighted(node: Any, scope: Scope) -> SqlAggregate:
    only(node, "this", "expressions")
    if len(node.expressions) != 2:
        refuse(node, "a weighted mean is of a value and a weight: weighted_avg(cost, weight)")
    value, weight = (_of(node, scope, "weighted_mean", each) for each in node.expressions)
    return replace(value, second=weight)

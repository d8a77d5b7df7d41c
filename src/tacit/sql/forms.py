"""What is accepted: a form for each kind of node, registered by the file that translates it.

Everything that reads a value or a condition of the text goes through :func:`value` and
:func:`truth`, which look the node's class up in these tables.  A class that stands in neither is
refused, and the page of the grammar is written from the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.expressions.expression import Expression, literal, when
from tacit.sql.refusal import placed, refuse

__all__ = [
    "CONDITIONS",
    "FORMS",
    "VALUES",
    "Form",
    "Names",
    "Truth",
    "class_of",
    "form",
    "forms",
    "refuse_unknown",
    "timed",
    "truth",
    "value",
]


class Names(Protocol):
    """What the names in a part of a query stand for."""

    def column(self, node: Any, times: bool = False) -> Expression:
        """Return the value that a name stands for; with times of day only where that is asked."""
        ...

    def stands_for(self, node: Any) -> Expression | None:
        """Return what a whole node stands for here, as an aggregate does in HAVING."""
        ...

    def kind(self, value: Expression) -> str:
        """Return the kind of a value."""
        ...

    def has_times(self, value: Expression) -> bool:
        """Return whether a value is a column of dates with times of day."""
        ...


@dataclass(frozen=True)
class Truth:
    """A condition of SQL, which is true, false or unknown: where it is true, and where false.

    Where one of the two is missing, as a column of truth values may be, it counts as false, in a
    filter and in every connective.  NOT exchanges them, so that the conditions that
    Tacit evaluates (two-valued: a comparison with a missing value is false) keep the rows that SQL
    keeps.
    """

    true: Expression
    false: Expression

    def __invert__(self) -> Truth:
        return Truth(self.false, self.true)

    @property
    def as_value(self) -> Expression:
        """The condition as a value: missing where it is unknown."""
        return when(self.true).then(True).otherwise(when(self.false).then(False).otherwise(None))


@dataclass(frozen=True)
class Form:
    """A form of SQL that is accepted.

    Attributes:
        part: which part of a query it belongs to.
        example: how it is written.
        means: what it becomes.
    """

    part: str
    example: str
    means: str


FORMS: list[Form] = []
VALUES: dict[str, Callable[[Any, Names], Expression]] = {}
CONDITIONS: dict[str, Callable[[Any, Names], Truth]] = {}

_NEAREST: Mapping[str, str] = {
    "Window": "windows have no translation: group by columns instead",
    "Subquery": "a subquery is allowed only in FROM, row by row",
    "Exists": "EXISTS has no translation: join the table by its key",
    "Any": "ANY has no translation: list the values, x in (1, 2)",
    "Rand": "random() has no translation: a question has one answer, and the noise is Tacit's own",
    "Uuid": "uuid() has no translation: a question has one answer",
    "CurrentDate": "the present day has no place in a question: write it, date '2024-12-31'",
    "CurrentTimestamp": "the present time has no place in a question: write the day, "
    "date '2024-12-31'",
    "CurrentTime": "the present time has no place in a question: write the day, date '2024-12-31'",
    "RegexpLike": "patterns of regular expressions have no translation: x like 'abc%'",
    "ILike": "ILIKE has no translation: lower(x) like 'abc%'",
    "Glob": "GLOB has no translation: x like 'abc%'",
    "SimilarTo": "SIMILAR TO has no translation: x like 'abc%'",
    "IntDiv": "// has no translation: / divides as numbers with fractions",
    "DPipe": "text cannot be joined: group by both columns",
    "Interval": "intervals have no translation: compare with a date, day >= date '2024-01-31'",
    "TimestampTrunc": "date_trunc has no translation: group by year(day), month(day)",
    "Star": "* is allowed only in count(*): name the columns",
    "Tuple": "a list of values is allowed only after IN",
    "Placeholder": "a query has no placeholders: write the value",
    "Parameter": "a query has no parameters: write the value",
    "ApproxDistinct": "write count(distinct x)",
    "Mode": "the most frequent value has no translation: group by the column, order by count(*)",
    "GroupConcat": "values of rows are never shown: ask for aggregates of numbers",
    "ArrayAgg": "values of rows are never shown: ask for aggregates of numbers",
    "Rollup": "ROLLUP has no translation: ask one query for each grouping",
    "Cube": "CUBE has no translation: ask one query for each grouping",
    "GroupingSets": "GROUPING SETS have no translation: ask one query for each grouping",
    "CovarPop": "write covar_samp(x, y)",
    "Array": "a list is allowed only for the shares of percentiles: "
    "quantile_cont(cost, [0.25, 0.5, 0.75])",
    "Anonymous": "there is no such function here",
}
"""What a reader is shown of a node that has no form, by its class."""
_AGGREGATES = {
    *("Count", "CountIf", "Sum", "Avg", "Min", "Max", "Median", "Variance", "VariancePop"),
    *("Stddev", "StddevSamp", "StddevPop", "PercentileCont", "Quantile", "WithinGroup", "Filter"),
}


def form(
    part: str, table: dict[str, Any], *names: str, examples: Mapping[str, str]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as what translates nodes of these classes.

    Args:
        part: the part of the page of the grammar.
        table: the table of such functions.
        *names: classes of nodes; of a function that the parser has no class for, its name in small
            letters.
        examples: how it is written, with what that becomes.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            table[name] = function
        forms(part, examples)
        return function

    return register


def forms(part: str, examples: Mapping[str, str]) -> None:
    """Register forms of a part of a query that no table looks up."""
    FORMS.extend(Form(part, example, means) for example, means in examples.items())


def class_of(node: Any) -> str:
    """Return the name that a node is looked up by."""
    name = type(node).__name__
    return str(node.this).lower() if name == "Anonymous" else name


def value(node: Any, names: Names) -> Expression:
    """Return the expression of a value.

    Raises:
        UnsupportedQueryError: it has no translation.
    """
    known = names.stands_for(node)
    if known is not None:
        return known
    if type(node).__name__ == "Paren":
        return value(node.this, names)
    name = class_of(node)
    if name in VALUES:
        with placed(node):
            return VALUES[name](node, names)
    if name in CONDITIONS:
        return truth(node, names).as_value
    return refuse(node, _unknown(node))


def timed(node: Any, names: Names) -> Expression:
    """Return the expression of a value that may have times of day, where its day is what counts."""
    while type(node).__name__ == "Paren":
        node = node.this
    if type(node).__name__ == "Column":
        return names.column(node, times=True)
    return value(node, names)


def truth(node: Any, names: Names) -> Truth:
    """Return where a condition is true and where it is false.

    Raises:
        UnsupportedQueryError: it has no translation, or is no condition.
    """
    name = class_of(node)
    if name == "Paren":
        return truth(node.this, names)
    if name in CONDITIONS:
        with placed(node):
            return CONDITIONS[name](node, names)
    found = value(node, names)
    with placed(node):
        kind = names.kind(found)
    if kind not in ("boolean", "undeclared", "missing"):
        refuse(node, "a condition is true or false on each row, and this is neither: compare it")
    return Truth(found, found == literal(False))


def refuse_unknown(node: Any) -> None:
    """Refuse a node that no table knows, and that is no name.

    Raises:
        UnsupportedQueryError: it is such a node.
    """
    if type(node).__name__ not in ("Column", "Star") and class_of(node) not in {
        *VALUES,
        *CONDITIONS,
    }:
        refuse(node, _unknown(node))


def _unknown(node: Any) -> str:
    name = type(node).__name__
    if name in _AGGREGATES:
        return "an aggregate is allowed only in the select list, in HAVING and in ORDER BY"
    said = _NEAREST.get(name, f"{name.upper()} has no translation")
    if name == "Anonymous":
        said = f"there is no function {str(node.this)[:60]!r} here"
    return f"{said}; docs/sql.md lists what there is"

"""What the names in a query stand for: columns of tables, and values that subqueries name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.errors import did_you_mean
from tacit.expressions.expression import Expression, col
from tacit.expressions.node import LOWER, UPPER, constants_of
from tacit.sql.refusal import placed, refuse
from tacit.tables.question import Question

__all__ = ["Scope", "columns_of", "find", "plain_name"]

_SMALL = str.maketrans(UPPER, LOWER)


def plain_name(name: str) -> str:
    """Return a name with A to Z in lower case, as names without quotes are compared."""
    return name.translate(_SMALL)


def find(identifier: Any, known: Mapping[str, Any], what: str) -> str:
    """Return the name among those known that an identifier means.

    In quotes it is a name as it is written; without, A to Z are as a to z, and it must mean one
    name.

    Raises:
        UnsupportedQueryError: it means none, or several.
    """
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
    """The rows that a part of a query asks, and what each name stands for there.

    Attributes:
        question: the rows, with the filters so far.
        tables: of each table by its name there, what its columns stand for.
        conditions: the filters so far.
    """

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
        """Return the value that a name stands for.

        Raises:
            UnsupportedQueryError: there is none, there are several, or it has times of day where
                its day would be taken for them.
        """
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
        """Return the kind of a value.

        Raises:
            UsageError: values that do not fit together.
        """
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
        """Return the name of a column that holds a value; a new one is called as wanted, if free.

        One that has no name, or the name of another column, is called by its expression.
        """
        if value.operation == "col":
            return str(value.parameters[0])
        key = repr(value.to_json())
        if key not in self._derived:
            taken = {plain_name(name) for name in self.question.schema}
            name = wanted if wanted and plain_name(wanted) not in taken else str(value)
            with placed(node):
                self.question = self.question.with_column(name, value)
            self._derived[key] = name
        return self._derived[key]


def columns_of(question: Question) -> dict[str, Expression]:
    """Return what the columns of a question stand for: themselves."""
    return {name: col(name) for name in question.schema}

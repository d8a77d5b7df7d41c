"""A question as a program describes it, asked again through the doors that a person's goes through.

A description is what :meth:`tacit.tables.plan.query.Query.describe` writes, and it may come from
anybody: a service reads it from a request.  So each part of it is handed to the method that a user
calls in Python, which refuses what cannot be asked of the table as it is hosted; and in the end the
question that was built describes itself, and is refused unless that is what was said.  Whom the
answers protect is therefore always what the data set declares: a description that says otherwise is
another question, and refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tacit.accounting.ledger.hash_chain import canonical
from tacit.errors import UsageError
from tacit.expressions.expression import from_json
from tacit.tables.plan.parse_question import aggregate_from
from tacit.tables.question import Question
from tacit.tables.reading import without_reading

__all__ = ["described_question"]

_MOST = 1000
"""Computed columns, and answers, of one question."""
_BROKEN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def described_question(said: Mapping[str, Any], open: Callable[[str], Question]) -> Question:
    """Return the question that a description says.

    Args:
        said: the description.
        open: returns a question about all rows of a table, by its name in the data set; of a table
            without one it is given empty text.

    Raises:
        UsageError: it describes no question, or one that cannot be asked.
    """
    try:
        found, joins = _asked(said, open)
        # how the tables are read is what the data set declares, whatever is said of it
        built, asked = map(without_reading, (found.described(), _with_joins(said, joins)))
        same = canonical(built) == canonical(asked)
    except UsageError:
        raise
    except _BROKEN:
        raise UsageError(
            "this does not describe a question: a client of another version may have written "
            "it; ask in SQL, or use the client of the version that the service runs"
        ) from None
    if not same:
        raise UsageError(
            "the description of the question has unknown parts, is not in the form that Tacit "
            "writes, or names other people than the data set protects: write it as "
            "Query.describe() does"
        )
    return found


def _asked(said: Mapping[str, Any], open: Callable[[str], Question]) -> tuple[Question, list[Any]]:
    """Return the question, built part by part, and the joins that it made."""
    name = said.get("table", "")
    if not isinstance(name, str):
        raise TypeError(name)
    rows = open(name)
    inner = said.get("inner")
    for join in (said if inner is None else inner).get("joins", ()):
        on = {str(here): str(there) for here, there in join["on"]}
        rows = rows.join(str(join["table"]), on=on, how=str(join["how"]))
    joins: Any = rows.described().get("joins", [])
    if inner is not None:
        rows = _filtered(rows, inner).per_person(**_aggregates(inner))
    found = _filtered(rows, said).agg(**_aggregates(said))
    if said["by"]:
        keys = said["keys"]
        by = [str(column) for column in said["by"]]
        found = found.group_by(*by, keys=None if keys is None else [tuple(key) for key in keys])
    return found, joins


def _filtered(rows: Question, said: Mapping[str, Any]) -> Question:
    """Return rows with the columns that are computed and the filters."""
    if max(len(said["derived"]), len(said["aggregates"])) > _MOST:
        raise UsageError(f"a question has at most {_MOST} columns and {_MOST} answers")
    for name, expression in said["derived"]:
        rows = rows.with_column(str(name), from_json(expression))
    return rows.filter(*(from_json(expression) for expression in said["where"]))


def _aggregates(said: Mapping[str, Any]) -> dict[str, Any]:
    asked = [(str(label), aggregate_from(one)) for label, one in said["aggregates"]]
    if len(dict(asked)) < len(asked):
        raise UsageError("each answer needs a label of its own")
    return dict(asked)


def _with_joins(said: Mapping[str, Any], joins: list[Any]) -> dict[str, Any]:
    """Return a description with joins as the data set makes them, in the place of those said."""
    if "inner" in said:
        return {**said, "inner": _with_joins(said["inner"], joins)}
    return {**said, "joins": joins} if joins else dict(said)

"""From the text of a query to the question that it asks.

The text is never executed: it is parsed, every node and every argument of a node is looked up among
the forms that are understood, and the question is built through the methods that a user calls
in Python.  What is not understood is refused before anything is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tacit.errors import UnsupportedQueryError
from tacit.sql.parse import parse
from tacit.sql.refusal import only, refuse
from tacit.sql.relation import Tables
from tacit.sql.select import question_of_select
from tacit.tables.question import Question

__all__ = ["question_of"]


def question_of(
    text: str,
    names: Sequence[str],
    joins: Sequence[str],
    open: Callable[[str], Question],
) -> Question:
    """Return the question that a query asks.

    Args:
        text: one query, in the dialect of DuckDB.
        names: of the tables that it may ask.
        joins: the names of tables that can be joined to them.
        open: returns a question about all rows of a table, by its name.

    Raises:
        UnsupportedQueryError: the text has no translation; the error says where and why.
        MissingExtraError: sqlglot is not installed.
    """
    try:
        return _translated(parse(text), Tables(open, tuple(names), tuple(joins)))
    except RecursionError:
        raise UnsupportedQueryError(
            "the query is nested too deep: name its parts with WITH"
        ) from None


def _translated(tree: Any, tables: Tables) -> Question:
    while type(tree).__name__ == "Subquery":
        only(tree, "this")
        tree = tree.this
    name = type(tree).__name__
    if name in ("Union", "Intersect", "Except"):
        refuse(tree, f"{name.upper()} has no translation: ask each query by itself")
    if name != "Select":
        refuse(tree, f"{name.upper()} is not a question: write select count(*) from ...")
    return question_of_select(tree, tables)

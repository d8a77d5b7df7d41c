"""Where in the text something cannot be translated, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from tacit.calls import rewritten
from tacit.errors import UnsupportedQueryError, UsageError

__all__ = ["only", "place_of", "placed", "refuse"]


def place_of(node: Any) -> tuple[int, int]:
    """Return line and column of the first word below a node that the parser has a place for.

    Where it has none below, those of the nearest node above count.
    """
    while node is not None:
        known = [each.meta for each in node.walk() if "line" in each.meta]
        if known:
            first = min(known, key=lambda meta: int(meta["start"]))
            wide = int(first["end"]) - int(first["start"])
            return int(first["line"]), max(1, int(first["col"]) - wide)
        node = node.parent
    return 1, 1


def refuse(node: Any, reason: str) -> NoReturn:
    """Refuse a part of a query.

    Raises:
        UnsupportedQueryError: always.
    """
    raise UnsupportedQueryError(reason, place_of(node))


def only(node: Any, *understood: str) -> None:
    """Refuse a node that says more than is translated.

    Raises:
        UnsupportedQueryError: it has an argument besides those that are understood.
    """
    for name, said in node.args.items():
        if name not in understood and said is not None and said is not False and said != []:
            reason = _ARGUMENTS.get(name.rstrip("_"))
            what = type(node).__name__.upper()
            refuse(node, reason or f"{name.rstrip('_')} of {what} has no translation; leave it out")


@contextmanager
def placed(node: Any) -> Iterator[None]:
    """Give an error of the question that a part of the query makes the place of that part."""
    try:
        yield
    except UnsupportedQueryError:
        raise
    except UsageError as error:
        raise UnsupportedQueryError(_in_sql(str(error)), place_of(node)) from None


def _in_sql(message: str) -> str:
    """Return a message in which an aggregate with bounds is written as in SQL."""
    return rewritten(message, _bounded)


def _bounded(name: str, given: list[str]) -> str | None:
    if name not in _BOUNDED or len(given) != 3:
        return None
    column, low, high = given
    return f"{_BOUNDED[name]}(clamp({column}, {low}, {high}))"


_BOUNDED = {
    **{name: name for name in ("sum", "median", "min", "max")},
    "mean": "avg",
    "var": "var_samp",
    "std": "stddev",
}
"""What SQL calls the statistics that need bounds."""


_ARGUMENTS = {
    "distinct": "DISTINCT has no translation: group by the columns, and ask for count(*)",
    "qualify": "windows have no translation: group by columns instead",
    "windows": "windows have no translation: group by columns instead",
    "into": "SELECT INTO writes a table; a question only reads: take INTO out",
    "locks": "FOR UPDATE and its like lock rows; a question only reads: leave it out",
    "sample": "samples have no translation: ask all rows, and the noise protects them",
    "laterals": "LATERAL has no translation: write the subquery in FROM",
    "pivots": "PIVOT has no translation: group by the column, and turn the answer round yourself",
    "recursive": "a recursive expression is not row by row: write its steps out",
    "materialized": "MATERIALIZED is for an engine, which never sees this text: leave it out",
    "hint": "hints are for an engine, which never sees this text: leave it out",
    "limit_options": "LIMIT takes a number of groups: limit 10",
    "query": "a subquery is allowed only in FROM, row by row: IN takes a list of values",
    "db": "a table is named only by its name: leave the schema out",
    "catalog": "a table is named only by its name: leave the database out",
    "kind": "this kind of join or select has no translation: write JOIN or LEFT JOIN",
    "method": "NATURAL and ASOF joins have no translation: say JOIN ... ON a.key = b.key",
    "rollup": "ROLLUP has no translation: ask one query for each grouping",
    "cube": "CUBE has no translation: ask one query for each grouping",
    "grouping_sets": "GROUPING SETS have no translation: ask one query for each grouping",
    "all": "GROUP BY ALL has no translation: name the columns",
    "with_fill": "WITH FILL has no translation: public keys already give every group",
    "except": "* EXCEPT has no translation: name the columns",
    "replace": "* REPLACE has no translation: name the columns",
    "rename": "* RENAME has no translation: name the columns",
}
"""What a reader is shown of an argument that is not understood, and the nearest thing that is."""

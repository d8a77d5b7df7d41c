"""Write the grammar of SQL into its page, from the code that accepts it.

Usage: ``python tools/make_sql_grammar.py`` (run it after a form was added or changed).
"""

from __future__ import annotations

import re
from pathlib import Path

from tacit.sql import select as translate  # noqa: F401  (loads every file that registers forms)
from tacit.sql.values import FORMS

PAGE = Path(__file__).parents[1] / "docs" / "sql.md"
_PARTS = (
    *("clauses", "tables", "subqueries", "totals per person", "aggregates"),
    *("conditions", "values", "functions"),
)
_MARKS = "<!-- the grammar: tools/make_sql_grammar.py -->", "<!-- the end of the grammar -->"


def grammar() -> str:
    """Return the tables of the grammar, one for each part of a query."""
    lines = []
    for part in _PARTS:
        lines += ["", f"### {part.capitalize()}", "", "| SQL | what it is |", "|---|---|"]
        forms = dict.fromkeys((form.example, form.means) for form in FORMS if form.part == part)
        lines += [f"| `{example}` | {means} |" for example, means in forms]
    return "\n".join([*lines, ""])


def page(text: str) -> str:
    """Return the page with the grammar as it is."""
    begin, end = _MARKS
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{grammar()}\n{end}{rest.partition(end)[2]}"


def main() -> None:
    """Write the page."""
    text = PAGE.read_text(encoding="utf-8")
    assert all(re.search(re.escape(mark), text) for mark in _MARKS)
    PAGE.write_text(page(text), encoding="utf-8")


if __name__ == "__main__":
    main()

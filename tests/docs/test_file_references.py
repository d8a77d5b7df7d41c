"""The pages of the plan, the declaration and the ledger list every field, and none that is not."""

from __future__ import annotations

import re
from pathlib import Path

from tacit.accounting import ledger_chain as hash_chain
from tacit.cli.release import plan_file
from tacit.tables.dataset import declaration, table
from tacit.tables.dataset import table as column
from tacit.tables.statistics.base import statistics
from tacit.tables.statistics.method import Options

DOCS = Path(__file__).parents[2] / "docs"
CODE = re.compile(r"`([a-z]\w*)`")


def section(page: str, heading: str) -> str:
    """The text below a heading of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.partition(f"\n## {heading}")[2].partition("\n## ")[0]


def first_cells(text: str) -> set[str]:
    """The names in the first cell of each row of the tables."""
    rows = re.findall(r"^\| (.*?) \|", text, flags=re.MULTILINE)
    return {name for cell in rows for name in CODE.findall(cell)}


def test_the_page_of_plans_has_every_field() -> None:
    fields = plan_file._FIELDS
    assert first_cells(section("plan-file.md", "`[source]`")) == set(fields["[source]"])
    assert first_cells(section("plan-file.md", "`unit`")) == set(fields["[unit]"])
    assert first_cells(section("plan-file.md", "`[budget]`")) == set(fields["[budget]"])
    assert first_cells(section("plan-file.md", "`[[question]]`")) == set(fields["[[question]]"])


def test_the_page_of_plans_has_every_statistic_with_its_fields() -> None:
    told = section("plan-file.md", "`[question.answers]`")
    shown = {}
    for row in re.findall(r"^\| (`[a-z].*?) \|(.*)\|$", told, flags=re.MULTILINE):
        names, fields = (tuple(CODE.findall(cell)) for cell in row)
        shown |= {} if names == ("statistic",) else dict.fromkeys(names, fields)
    assert shown == {
        known.kind: (*known.fields, *known.optional) for known in statistics(of_plans=True)
    }
    methods = {known.kind for known in statistics() if known.methods}
    sentence = told.partition("or an expression. ")[2]
    taking, _, options = sentence.partition("take a [method]")
    assert set(CODE.findall(taking)) == methods
    assert set(CODE.findall(options)) == set(Options.__annotations__)


def test_the_page_of_declarations_has_every_field() -> None:
    page = "declaration-file.md"
    assert first_cells(section(page, "The data set")) == set(declaration._FIELDS)
    assert first_cells(section(page, "A table")) == set(table._TABLE_FIELDS)
    assert first_cells(section(page, "A column")) == set(column._FIELDS)
    below = CODE.findall(section(page, "The data set").partition("In `unit`")[2])
    assert set(below) == {*declaration._UNIT, *declaration._BUDGET, "budget"} - {"unit"}


def test_the_page_of_ledgers_has_every_kind_of_event_with_its_fields() -> None:
    shown = {}
    for row in section("ledger-file.md", "The kinds").splitlines():
        cells = row.split(" | ")
        if row.startswith("| `") and len(cells) == 3 and "`event`" not in cells[0]:
            must, _, may = cells[1].partition(";")
            shown[CODE.findall(cells[0])[0]] = (set(CODE.findall(must)), set(CODE.findall(may)))
    more = hash_chain._MORE
    assert shown == {
        kind: (must, more.get(kind, set())) for kind, must in hash_chain._BODIES.items()
    }
    assert first_cells(section("ledger-file.md", "An event")) == {
        *("sequence", "event", "key", "when", "body", "previous")
    }
    text = (DOCS / "ledger-file.md").read_text(encoding="utf-8")
    assert f"today {hash_chain.FORMAT}" in text

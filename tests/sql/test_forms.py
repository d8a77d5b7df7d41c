"""The pages say what the code accepts: the grammar, and a hundred queries."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import tacit as tc
from house.project import ROOT
from sql.queries import opened, queries
from tacit.errors import UnsupportedQueryError
from tacit.expressions.expression import Expression, col
from tacit.expressions.schema import Column, Schema
from tacit.sql import aggregates
from tacit.sql import values as forms
from tacit.sql.aggregates import Scope
from tacit.sql.parse import parse

KINDS = {
    **dict.fromkeys(("cost", "age", "site"), "integer"),
    **dict.fromkeys(("day", "first", "last", "at"), "date"),
    "name": "text",
    "smokes": "boolean",
}
DECLARED = {"at": "TIMESTAMP"}


def tool() -> Any:
    path = ROOT / "tools" / "make_sql_grammar.py"
    spec = importlib.util.spec_from_file_location("make_sql_grammar", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_grammar_of_the_code() -> None:
    text = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
    assert tool().page(text) == text, "run tools/make_sql_grammar.py"
    assert {form.part for form in forms.FORMS} == set(tool()._PARTS)


class _Rows:
    """The rows of a table, where nothing is asked but what names stand for."""

    unit = tc.unit("person", rows=1)
    schema = Schema(
        [
            *(Column(name, kind, DECLARED.get(name, kind.upper())) for name, kind in KINDS.items()),
            *(Column(name, "integer", "BIGINT") for name in ("person", "Cost")),
        ]
    )


def scope() -> Scope:
    question: Any = _Rows()
    columns: dict[str, Expression] = {name: col(name) for name in question.schema}
    del columns["Cost"]
    return Scope(question, {"visits": columns})


@pytest.mark.parametrize("form", forms.FORMS, ids=lambda form: form.example)
def test_what_the_grammar_lists_is_accepted(form: forms.Form) -> None:
    if form.part not in ("values", "functions", "conditions", "aggregates"):
        return  # clauses, tables and subqueries are run by the tests of those
    example = form.example.replace('"Cost"', '"cost"')
    for node in parse(f"select {example} from visits").expressions:
        if form.part == "aggregates":
            assert aggregates.asked_of(node, scope())
        elif form.part == "conditions":
            assert forms.truth(node, scope())
        else:
            assert scope().kind(forms.value(node, scope()))


def test_the_forms_do_not_depend_on_which_module_is_imported_first() -> None:
    counted = "from tacit.sql.values import VALUES, CONDITIONS; print(len(VALUES), len(CONDITIONS))"
    alone = subprocess.run(
        [sys.executable, "-c", counted], check=True, capture_output=True, text=True
    )
    assert alone.stdout.split() == [str(len(forms.VALUES)), str(len(forms.CONDITIONS))]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tc.Session]:
    with opened(tmp_path_factory.mktemp("hundred")) as found:
        yield found


def test_there_are_a_hundred_queries() -> None:
    assert len(queries()) >= 100
    assert len({query for query, _, _ in queries()}) == len(queries())


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("query", "outcome", "said"), queries(), ids=[query[:70] for query, _, _ in queries()]
)
def test_each_query_of_the_page(session: tc.Session, query: str, outcome: str, said: str) -> None:
    if outcome == "refused":
        with pytest.raises(UnsupportedQueryError) as caught:
            session.sql(query)
        assert caught.value.reason == said
        return
    asked = session.sql(query)
    delta = "1e-7" if "it takes a delta" in said else None
    assert asked.preview(epsilon=1, delta=delta).affordable
    assert all(note in said for note in asked.notes)

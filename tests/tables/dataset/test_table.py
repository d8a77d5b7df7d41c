"""The declaration of a table: what is read comes back, and a slip is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import UsageError
from tacit.tables.dataset.table import TableDeclaration

FIELDS = {"path": "a.csv", "delimiter": ";", "threads": 2, "columns": {"x": {"kind": "integer"}}}


def test_what_is_read_comes_back(tmp_path: Path) -> None:
    found = TableDeclaration.from_fields(FIELDS, "the table 'a'")
    assert found.to_fields() == FIELDS
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert found.within(tmp_path) == str(tmp_path / "a.csv")
    options = found.options("a", tmp_path)
    assert options == {
        "name": "a",
        "table": None,
        "threads": 2,
        "delimiter": ";",
        "types": {"x": "integer"},
    }


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("a.csv", "must be a table of fields"),
        ({"paht": "a.csv"}, "did you mean 'path'"),
        ({"path": "a.csv", "spark": "a"}, "one of the three"),
        ({"url": "postgresql://h/d"}, "say its table"),
        ({"path": "a.csv", "public": True, "person": "p"}, "is protected"),
    ],
)
def test_a_slip_is_named(fields: object, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        TableDeclaration.from_fields(fields, "the table 'a'")

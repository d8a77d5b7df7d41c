"""The curator's own look at a table: exact, marked as not private, and run by nothing else."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import tacit as tc
from tacit.tables.open_source import open_source

TEXT = (
    'age,day,flag,site\n31,2024-01-31,true,a\nforty,05.01.2024,no,b\n52,2024-02-01\n1,2,3,4,5\n"\n'
)


def test_it_counts_what_would_be_missing_and_says_where(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    found = tc.check(path)
    assert found.rows == 5
    assert found.wrong == {"spoiled": 1, "short": 1, "long": 1}
    assert found.where["long"] == (("people.csv", 5),)
    assert found.where["spoiled"] == (("people.csv", 6),)
    assert dict(found.columns["age"].missing_as) == {
        "integer": 1,
        "float": 1,
        "date": 3,
        "timestamp": 3,
        "boolean": 3,
    }
    assert found.types == {"age": "text", "day": "text", "flag": "boolean", "site": "text"}
    told = str(found)
    assert told.startswith("NOT PRIVATE")
    assert "--types age=text,day=text,flag=boolean,site=text" in told
    assert not any(value in told for value in ("forty", "05.01", "31"))


def test_a_declared_column_is_held_against_its_kind(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    found = tc.check(path, types={"age": "integer", "day": "date"}, date_format="%d.%m.%Y")
    assert dict(found.columns["age"].missing_as) == {"integer": 1}
    assert dict(found.columns["day"].missing_as) == {"date": 2}


def test_what_it_suggests_can_be_declared(tmp_path):
    path = tmp_path / "people.csv"
    lines = "".join(f"{i},{i / 4},2024-01-{i % 28 + 1:02},{i % 2 == 0},s{i}\n" for i in range(40))
    path.write_text("a,b,c,d,e\n" + lines)
    types = tc.check(path).types
    assert types == {"a": "integer", "b": "float", "c": "date", "d": "boolean", "e": "text"}
    with open_source(path, types=types) as source:
        assert source.columns == types


def test_objects_of_a_frame_are_looked_at_too():
    found = tc.check(pd.DataFrame({"age": [31, "x", None], "n": [1, 2, 3]}))
    assert found.columns["age"].missing_as["integer"] == 1
    assert (found.columns["n"].kind, found.columns["n"].filled) == ("integer", 3)


def test_nothing_else_runs_it():
    source = Path(tc.__file__).parent
    users = [p for p in source.rglob("*.py") if "tables.check" in p.read_text(encoding="utf-8")]
    assert {str(p.relative_to(source)) for p in users} == {"__init__.py", "cli/release/check.py"}

"""JSON lines: each cell by its own value, each column as declared."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from tacit.cli import run
from tacit.errors import UsageError
from tacit.tables.open_source import open_source

NAMES = ["id", "x", "day"]
HOSTILE = [
    b"{bad",
    b"[1]",
    b"3",
    b'{"id": "\xff"}',
    b'{"id": "\\ud800", "x": NaN}',
    b'{"id": [1], "x": {"a": 1}}',
    b'{"id":' + b"[" * 100_000 + b"}",
    b'{"x": ' + b"9" * 10_000 + b"}",
    b'{"id": "' + b"x" * (1 << 20) + b'"}',
    b'{"x": 1e999, "x": -1e999}',
]


def rows_of(source: Any, **options: Any) -> list[Any]:
    with open_source(source, **options) as opened:
        names = ", ".join(map(opened.engine.dialect.identifier, opened.schema))
        return sorted(opened.engine.rows(f"select {names} from {opened.relation} as t"), key=repr)


def test_json_lines_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "v.jsonl"
    big = "12345678901234567890123"
    path.write_text(
        f'{{"id": "007", "x": 1.0, "day": "2024-02-29"}}\r\n\n{{"x": {big}, "other": 1}}\n'
        '{"id": true, "x": -1e5, "day": null}\n'
    )
    assert rows_of(path, header=NAMES) == [
        ("007", "1.0", "2024-02-29"),
        ("true", "-1e5", None),
        (None, big, None),
    ]
    types = {"id": "text", "x": "float", "day": "date"}
    assert rows_of(path, types=types) == [
        ("007", 1.0, datetime.date(2024, 2, 29)),
        ("true", -1e5, None),
        (None, float(big), None),
    ]
    assert rows_of(path, header=["x"], null=["1.0"])[-1] == (None,)
    with pytest.raises(UsageError, match=r"v\.jsonl has no schema.*header="):
        open_source(path)
    for options in ({"delimiter": ";"}, {"skip": 1}, {"encoding": "latin-1"}):
        with pytest.raises(UsageError, match=r"v\.jsonl has none of that"):
            open_source(path, header=NAMES, **options)
    with pytest.raises(UsageError, match="no such column"):
        open_source(path, header=["id"], types={"y": "text"})


def test_one_hostile_line_changes_no_other(tmp_path):
    path = tmp_path / "v.ndjson"
    line = json.dumps({"id": "a", "x": 2, "day": "2024-01-01"}).encode()
    path.write_bytes(line)
    types = {"id": "text", "x": "integer", "day": "date"}
    before = rows_of(path, types=types)
    path.write_bytes(b"\n".join([*HOSTILE, line, *HOSTILE]))
    after = rows_of(path, types=types)
    assert len(after) == 2 * len(HOSTILE) + 1
    assert before[0] in after


@pytest.mark.full
def test_a_declaration_and_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("v.jsonl").write_text('{"id": 1, "x": 5}\n{"id": 2, "x": 98}\n' * 10)
    assert run(["init", "v.jsonl", "--header", "id,x"]) == 0
    assert 'header = ["id", "x"]' in Path("v.toml").read_text()
    assert run(["check", "v.jsonl", "--header", "id,x"]) == 0
    Path("d.toml").write_text(
        'name = "d"\nunit = { person = "id", rows = 10 }\nbudget = { epsilon = 1e9 }\n'
        '[tables.v]\npath = "v.jsonl"\nheader = ["id", "x"]\nmissing = { x = [98] }\n'
        '[tables.v.columns]\nx = { kind = "integer", bounds = [0, 10] }\n'
    )
    with tc.open("d.toml", ledger=tc.in_memory) as session:
        answer = session.agg(x=tc.mean("x")).release(epsilon=1e8)
    assert answer.value("x") == pytest.approx(5, abs=0.1)

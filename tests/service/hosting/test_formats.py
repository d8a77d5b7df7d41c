"""An answer in the formats of the API."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

import tacit as tc
from tacit.report import Certificate
from tacit.service.hosting.ask import CERTIFICATE, answer_json, as_bytes, format_of


@pytest.fixture(scope="module")
def answer() -> Any:
    rows = pa.table({"site": ["a", "b", "a"], "cost": [1, 2, 3]})
    session = tc.Session(rows, tc.one_row_each, tc.epsilon(1), tc.in_memory)
    asked = session.group_by("site", keys=["a", "b"]).agg(n=tc.count(), cost=tc.mean("cost", 0, 9))
    return asked.release(epsilon=1)


def test_json_holds_groups_values_and_intervals(answer: Any) -> None:
    found = answer_json(answer)
    assert (found["by"], found["keys"]) == (["site"], [["a"], ["b"]])
    for column in found["columns"]:
        assert column["value"] == answer.column(column["label"])["value"]
        assert set(column) >= {"label", "value", "standard_error", "low", "high"}
    assert found["protects"].startswith("protects:")


@pytest.mark.parametrize("form", ["wide", "long"])
def test_files_hold_the_same_table(answer: Any, form: str) -> None:
    table = answer.to_arrow(form=form)
    arrow = pa.ipc.open_file(as_bytes(answer, "arrow", form)).read_all()
    parquet = pa.parquet.read_table(io.BytesIO(as_bytes(answer, "parquet", form)))
    assert arrow.equals(table)
    assert parquet.equals(table)
    for file in (arrow, parquet):
        carried = Certificate(json.loads(file.schema.metadata[CERTIFICATE.encode()]))
        assert carried == answer.certificate
        assert carried.verify()
    text = as_bytes(answer, "csv", form).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == table.column_names
    assert len(rows) == table.num_rows


@pytest.mark.parametrize(
    ("accept", "format"),
    [
        (None, "json"),
        ("*/*", "json"),
        ("application/json", "json"),
        ("text/html, text/csv;q=0.5", "csv"),
        ("application/vnd.apache.arrow.file", "arrow"),
        ("APPLICATION/VND.APACHE.PARQUET", "parquet"),
    ],
)
def test_the_format_that_a_header_asks_for(accept: str | None, format: str) -> None:
    assert format_of(accept) == format


def test_what_is_not_known_is_null(answer: Any) -> None:
    broken = answer_json(answer)
    answer.column("n")["high"][0] = float("inf")
    assert answer_json(answer)["columns"][0]["high"][0] is None
    answer.column("n")["high"][0] = broken["columns"][0]["high"][0]

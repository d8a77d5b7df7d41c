"""The flags of a published format: what they write, and what they refuse before it costs."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest

import tacit as tc
from tacit.cli.shared.options import FormatOptions
from tacit.cli.shared.publish import Publisher
from tacit.errors import UsageError


def flags(**given) -> FormatOptions:
    empty = dict.fromkeys(("format", "output", "structure", "dataflow", "ids", "constants"))
    return FormatOptions(**{**empty, "names": False, "labels": None, **given})


def test_without_a_format_nothing_is_written(capsys) -> None:
    publisher = Publisher(flags())
    publisher.check(["--json"], 3)
    publisher.write(None)
    assert capsys.readouterr().out == ""


def test_a_file_has_its_metadata_next_to_it(tmp_path: Path, capsys) -> None:
    table = pyarrow.table({"site": ["a", "b"]})
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=tc.in_memory)
    answer = session.group_by("site", keys=["a", "b"]).agg(n=tc.count()).release(epsilon=1)
    publisher = Publisher(flags(format="csvw", output=str(tmp_path / "t.csv")))
    publisher.check([], 1)
    publisher.write(answer)
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "t.csv-metadata.json"}
    assert capsys.readouterr().err.count("wrote ") == 2
    Publisher(flags(format="px"), "site").write(answer)
    assert capsys.readouterr().out == answer.to_px(time="site")


@pytest.mark.parametrize(
    ("given", "tables", "words"),
    [
        ({"format": "px"}, 2, "the plan has several"),
        ({"format": "px", "output": "no/such/t.px"}, 1, "there is no folder"),
        ({"format": "json-stat", "dataflow": "A:B(1.0)"}, 1, "an option of sdmx-csv"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_first(given, tables, words) -> None:
    with pytest.raises(UsageError, match=words):
        Publisher(flags(**given)).check([], tables)

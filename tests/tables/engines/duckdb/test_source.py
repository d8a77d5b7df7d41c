"""Opening tables: every kind of source, and every way in which one can be wrong."""

from __future__ import annotations

import os
import re
import traceback

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, Rows

GRID = Grid.for_bounds(0, 100)
AGE = Moments(col("age"), GRID)


SECRET = "Zaphod"


def test_declared_kinds_make_misfits_missing_and_drop_no_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"age,sex\n31,f\n{SECRET},m\n1e999,f\n")
    with open_source(path) as source:
        assert source.columns["age"] == "undeclared"
        undeclared = Query(source, OneRowEach()).run([Rows(), AGE])
    with open_source(path, types={"age": "float"}) as source:
        found = Query(source, OneRowEach()).run([Rows(), AGE])
        assert found.of(Rows()).tolist() == [3]
        assert found.of(AGE)[0][:2].tolist() == [1, 2]
        assert found.of(AGE).tolist() == undeclared.of(AGE).tolist()
    with (
        open_source(path, types={"age": "text"}) as source,
        pytest.raises(UsageError, match="needs numbers"),
    ):
        Query(source, OneRowEach()).run([AGE])
    with pytest.raises(UsageError, match="did you mean 'age'"):
        open_source(path, types={"agee": "float"})


BROKEN = {
    "latin.csv": f"a,{SECRET}\xff\n1,2\n".encode("latin-1"),
    "twice.csv": f"{SECRET},{SECRET}\n1,2\n".encode(),
    "open.csv": f'a,"{SECRET}\n1,2\n'.encode(),
    "blank.csv": f"\n{SECRET}\n".encode(),
    "broken.parquet": SECRET.encode() * 10,
    "empty.csv": b"",
    "empty.parquet": b"",
    "notes.doc": SECRET.encode(),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_without_quoting_it(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(BROKEN[name])
    with pytest.raises(DataSourceError) as caught:
        open_source(path)
    told = "".join(traceback.format_exception(caught.value, chain=True))
    assert SECRET not in told
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_is_no_file_says_what_it_is(tmp_path, suffix):
    """A link that leads nowhere was "did you mean" itself, and a pipe was called empty."""
    gone, pipe, null = (tmp_path / (name + suffix) for name in ("gone", "pipe", "null"))
    gone.symlink_to("nowhere")
    os.mkfifo(pipe)
    null.symlink_to("/dev/null")
    for named in (gone, tmp_path / f"gon*{suffix}"):
        with pytest.raises(DataSourceError, match=r"gone.* leads to no file: repair"):
            open_source(named)
    for named, what in ((pipe, pipe), (null, null), (tmp_path / f"pip*{suffix}", pipe)):
        with pytest.raises(DataSourceError, match=re.escape(f"{what} is a pipe, a device")):
            open_source(named)
    gone.unlink()
    with pytest.raises(DataSourceError, match="is a pipe, a device"):
        open_source(tmp_path)


@pytest.mark.parametrize("place", ["/no/where", "~nobody-of-this-name"])
def test_a_place_without_a_folder_is_told(place):
    """They were said to need the right to read, and ended with a traceback."""
    with pytest.raises(DataSourceError, match=re.escape(f"there is no folder {place}")):
        open_source(f"{place}/people.csv")


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age\n1\n")
    with open_source(path) as source:
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(DataSourceError, match="could not be read to its end"):
            Query(source, OneRowEach()).run([AGE])


def test_a_folder_that_goes_while_it_is_looked_through(tmp_path, monkeypatch):
    def gone(*_):
        raise FileNotFoundError

    monkeypatch.setattr(os, "listdir", gone)
    with pytest.raises(DataSourceError, match="cannot be looked through") as caught:
        open_source(tmp_path)
    assert caught.value.__context__ is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder(tmp_path):
    (tmp_path / "people.csv").write_text("age\n1\n")
    (tmp_path / "people.csv").chmod(0)
    with pytest.raises(DataSourceError, match="no right to read"):
        open_source(tmp_path / "people.csv")


def test_a_file_that_breaks_later_tells_nothing(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"age": [1.0, 2.0], "name": [SECRET, "b"]}), path)
    with open_source(path) as source:
        path.write_bytes(path.read_bytes()[:40] + SECRET.encode())
        with pytest.raises(DataSourceError) as caught:
            Query(source, OneRowEach()).run([AGE])
    assert SECRET not in "".join(traceback.format_exception(caught.value, chain=True))
    assert caught.value.__context__ is None

"""The file of a collector: it comes back whole, and one that was damaged is never read."""

import hashlib

import numpy as np
import pytest

from tacit.errors import DataSourceError
from tacit.local import DirectEncoding
from tacit.local.collecting.collector_state import Kept, read_kept, write_kept, write_whole

ORACLE = DirectEncoding(["a", "b", "c"], epsilon=1)


@pytest.fixture
def written(tmp_path):
    place = tmp_path / "day.state"
    sums = np.array([3, 0, 1], dtype=np.int64)
    write_kept(place, Kept(ORACLE, 4, sums, {"length": 2}, None, None, "1e-9"))
    return place


def test_all_comes_back(written):
    found = read_kept(written)
    assert (found.oracle, found.n, found.sums.tolist()) == (ORACLE, 4, [3, 0, 1])
    assert (dict(found.refused), found.seen, found.outliers) == ({"length": 2}, None, "1e-9")


def test_every_changed_byte_is_found(written):
    data = written.read_bytes()
    for place in range(0, len(data), 7):
        changed = bytearray(data)
        changed[place] ^= 1
        written.write_bytes(changed)
        with pytest.raises(DataSourceError, match=r"not the state of a collector|is damaged"):
            read_kept(written)
    written.write_bytes(data[:-5])
    with pytest.raises(DataSourceError, match="damaged"):
        read_kept(written)


def test_a_sealed_file_that_holds_something_else_is_refused(written):
    body = written.read_bytes()[:-32].replace(b'"n": 4', b'"n":-4')
    written.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(DataSourceError, match=r"cannot be|not a state that can be resumed"):
        read_kept(written)


def test_a_file_that_cannot_be_replaced_stays(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataSourceError, match="cannot be written"):
        write_whole(tmp_path / "folder", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]

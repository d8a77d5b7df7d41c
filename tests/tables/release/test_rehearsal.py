"""What can fail is tried before the charge, on no rows; and once where it cannot change."""

import pyarrow
import pytest

import tacit as tc
from tacit.errors import DataSourceError
from tacit.tables.release import release as rehearsal

PEOPLE = pyarrow.table({"site": [0, 1, 1], "age": [31, 45, 52], "who": [1, 1, 2]})


@pytest.fixture
def tried(monkeypatch):
    """Return what was rehearsed, as it grows."""
    found = []
    genuine = rehearsal.rehearse
    monkeypatch.setattr(
        rehearsal, "rehearse", lambda *asked, **how: found.append(asked) or genuine(*asked, **how)
    )
    return found


def test_what_was_tried_on_a_table_in_memory_is_not_tried_again(tried):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(10**6))
    older, groups = session.filter(tc.col("age") > 40), session.group_by("site", keys=[0, 1])
    for epsilon in (1, 2):
        older.agg(n=tc.count()).release(epsilon=epsilon)
        groups.agg(age=tc.mean("age", 0, 99)).release(epsilon=epsilon)
    assert len(tried) == 2
    groups.agg(age=tc.mean("age", 0, 98)).release(epsilon=1)
    session.group_by("site", keys=[1, 0]).agg(age=tc.mean("age", 0, 99)).release(epsilon=1)
    assert len(tried) == 4
    session.refresh()
    older.agg(n=tc.count()).release(epsilon=3)
    assert len(tried) == 5


def test_what_others_may_change_is_tried_each_time(tried, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("site,age\n0,31\n1,45\n")
    session = tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(9), ledger=tc.in_memory)
    people = tc.Session(PEOPLE, tc.unit("who", rows=2), budget=tc.epsilon(9))
    for asked in (session, people):
        for epsilon in (1, 2):
            asked.agg(n=tc.count()).release(epsilon=epsilon)
    assert len(tried) == 4


def test_a_table_that_was_closed_is_found_out_before_the_charge(tried):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(9))
    session.agg(n=tc.count()).release(epsilon=1)
    session.source.close()
    with pytest.raises(DataSourceError, match="closed; open it again; nothing was spent"):
        session.agg(n=tc.count()).release(epsilon=2)
    assert (len(tried), session.spent) == (2, tc.epsilon(1))

"""What is too much to plan together is refused where it is planned, in a sentence."""

from __future__ import annotations

import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.cell_axis import Axis
from tacit.tables.planned.merge import check_listed


def axis(*keys: int) -> Axis:
    return Axis(("site",), tuple((key,) for key in keys))


def test_the_keys_of_a_column_count_once_however_many_questions_list_them() -> None:
    check_listed([[axis(*range(450))]] * 2000)
    check_listed([[axis(*range(i, i + 3))] for i in range(448)])
    with pytest.raises(UsageError, match="list 451 keys of the columns site together"):
        check_listed([[axis(*range(i, i + 3))] for i in range(449)])
    with pytest.raises(UsageError, match="list 452 keys of the columns site, day together"):
        check_listed([[axis(*range(449)), Axis(("day",), ((1,),))], [Axis(("day",), ((2,), (3,)))]])
    check_listed([[axis(*range(400))], [Axis(("day",), tuple((i,) for i in range(400)))]])
    check_listed([[axis(1)], [axis(True)]])


def test_many_questions_with_a_key_each_are_refused_by_the_plan_and_not_at_the_release() -> None:
    rows = pa.table({"site": [1, 2, 3]})
    session = tc.Session(rows, tc.one_row_each, tc.epsilon(1), name="p", ledger=tc.in_memory)
    asked = [session.group_by("site", keys=[i]).agg(n=tc.count()) for i in range(451)]
    with pytest.raises(UsageError, match="at most 450 are planned together"):
        session.plan(asked)

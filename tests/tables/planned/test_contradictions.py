"""What the questions of a plan say differently of one column, or against the declaration."""

import pytest

import tacit as tc
from tacit.errors import UsageError

DECLARED = """
name = "people"
unit = "row"
budget = { rho = 1 }
[tables.people]
path = "people.csv"
[tables.people.columns]
sex = { kind = "text", keys = ["f", "m"] }
age = { kind = "integer", bounds = [0, 100] }
"""


@pytest.fixture
def session(tmp_path):
    (tmp_path / "people.csv").write_text("sex,age\nf,31\nm,45\n")
    (tmp_path / "people.toml").write_text(DECLARED)
    with tc.open(tmp_path / "people.toml", ledger=tc.in_memory) as opened:
        yield opened


def test_what_is_planned_side_by_side_is_said(session):
    plan = session.plan(
        [
            session.agg(ages=tc.histogram("age", [0, 50, 100]), mean=tc.mean("age")),
            session.agg(up_to=tc.prefix_sums("age", [0, 40, 100]), narrow=tc.mean("age", 0, 50)),
            session.group_by("sex", keys=["m", "x"]).agg(wide=tc.sum("age", -10, 90)),
        ]
    )
    notes = plan.preview(rho="1/2").notes
    assert notes == plan.notes
    for told in (
        "age is in different bins: the edges 0, 50, 100 in ages; the edges 0, 40, 100 in up_to.",
        "age is clamped to different bounds: [0, 100] in mean; [0, 50] in narrow; [-10, 90]",
        "wide clamps age to [-10, 90], and the values that the data set declares are from 0 to 100",
        "wide lists 1 key of sex that the data set does not declare",
    ):
        assert any(note.startswith(told) for note in notes), told
    assert len(notes) == 4
    same = [session.agg(a=tc.ranges("age", [0, 9])), session.agg(b=tc.histogram("age", [0, 9]))]
    assert session.plan(same).preview(rho="1/2").notes == ()


def test_what_nothing_can_be_counted_in_is_refused(session):
    other = session.agg(n=tc.count())
    by = session.group_by("sex", keys=["x", "y"])
    for question, told in (
        (by.agg(m=tc.count()), "keys of sex of which the data set declares none"),
        (session.agg(h=tc.histogram("age", [101, 200])), "no value lies there"),
        (session.agg(m=tc.mean("age", 200, 300)), "m clamps age to"),
    ):
        with pytest.raises(UsageError, match=told):
            session.plan([other, question])
    older = session.with_column("older", tc.col("age") + 900)
    assert session.plan([older.agg(m=tc.mean("older", 900, 1000))]).notes == ()
    assert session.spent.is_nothing

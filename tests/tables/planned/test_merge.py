"""Several questions as one: labels, axes, filters, and what cannot be planned together."""

import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.planned.merge import merged

TABLE = {"sex": ["f", "m"], "site": [1, 2], "age": [20, 50]}


@pytest.fixture
def session():
    import pyarrow

    with tc.Session(pyarrow.table(TABLE), tc.one_row_each, tc.epsilon(9), name="people") as opened:
        yield opened


def whole(*questions, weights=None):
    return merged([question._query for question in questions], weights)


def axes(aggregate):
    return [axis.name for axis in aggregate.axes]


def test_groups_bins_and_filters_become_axes(session):
    by_sex = session.group_by("sex", keys=["f", "m"])
    old = by_sex.filter(tc.col("age") >= 18).agg(old=tc.count())
    found = whole(
        session.agg(n=tc.count()), by_sex.agg(h=tc.histogram("age", [0, 30, 90])), old
    ).query
    assert found.by == ()
    assert found.keys is None
    assert found.where == ()
    assert {label: axes(asked) for label, asked in found.aggregates} == {
        "n": [],
        "h": ["sex", "age in 2 bins"],
        "old": ["sex", "filter 1"],
    }
    assert [name for name, _ in found.derived] == ["filter 1"]


def test_one_filter_of_all_questions_stays_a_filter(session):
    old = session.filter(tc.col("age") >= 18)
    found = whole(old.agg(n=tc.count()), old.agg(m=tc.count())).query
    assert len(found.where) == 1
    assert found.derived == ()


def test_labels_that_two_questions_have_are_numbered(session):
    one = session.agg(n=tc.count(), only=tc.count())
    found = whole(one, session.agg(n=tc.count(), n_1=tc.count()))
    assert [dict(member.labels) for member in found.members] == [
        {"n": "n_1_2", "only": "only"},
        {"n": "n_2", "n_1": "n_1"},
    ]


def test_groups_that_are_not_all_combinations_are_one_axis(session):
    keys = [("f", 1), ("m", 2), ("m", 1)]
    ((_, asked),) = whole(
        session.group_by("sex", "site", keys=keys).agg(n=tc.count())
    ).query.aggregates
    assert [axis.columns for axis in asked.axes] == [("sex", "site")]
    full = [("m", 2), ("f", 1), ("m", 1), ("f", 2)]
    found = whole(session.group_by("sex", "site", keys=full).agg(n=tc.count()))
    assert axes(found.query.aggregates[0][1]) == ["sex", "site"]
    assert found.members[0].places == (0, 3, 1, 2)


def test_weights_are_how_much_an_answer_counts(session):
    one = session.agg(n=tc.count(), m=tc.count())
    found = whole(one, weights={"n": 5}).query
    assert {label: asked.importance for label, asked in found.aggregates} == {"n": 5, "m": 1}
    for wrong in ({"x": 1}, {"n": 0}, {"n": "1/2"}):
        with pytest.raises(UsageError):
            whole(one, weights=wrong)


def test_what_cannot_be_planned_is_refused_before_anything_is_spent(session):
    n = session.agg(n=tc.count())
    with pytest.raises(UsageError, match="not listed"):
        whole(n, session.group_by("sex").agg(m=tc.count()))
    with pytest.raises(UsageError, match="by sex, and a plan answers by groups counts, histograms"):
        whole(n, session.group_by("sex", keys=["f"]).agg(a=tc.count_distinct("age")))
    with pytest.raises(UsageError, match="of other rows than other questions"):
        whole(n, session.filter(tc.col("site") == 1).agg(a=tc.count_distinct("age")))
    one = session.with_column("z", tc.col("age") + 1).agg(h=tc.histogram("z", [0, 9]))
    two = session.with_column("z", tc.col("age") + 2).agg(i=tc.histogram("z", [0, 9]))
    with pytest.raises(UsageError, match="in different ways"):
        whole(one, two)
    with pytest.raises(UsageError, match="nothing is asked"):
        whole(n, session.filter(tc.col("age") > 1))
    with pytest.raises(UsageError, match="needs numbers"):
        whole(n, session.agg(h=tc.histogram("sex", [0, 1])))
    assert session.spent == tc.epsilon(9) - session.remaining == session.budget - tc.epsilon(9)


def test_millions_of_keys_are_refused_with_their_number_before_they_are_looked_at(
    session, monkeypatch
):
    asked = session.group_by("site", keys=list(range(100_001))).agg(m=tc.count())
    monkeypatch.setattr("tacit.tables.planned.merge.Plan", None)  # so it is refused before it
    with pytest.raises(UsageError, match=r"list 100,001 keys and ask for 100,002 numbers"):
        whole(session.agg(n=tc.count()), asked)
    monkeypatch.undo()
    many = [session.filter(tc.col("age") > i).agg(m=tc.count()) for i in range(401)]
    with pytest.raises(UsageError, match="401 filters and computed columns"):
        whole(*many)
    with pytest.raises(UsageError, match="list 451 keys of the columns site"):
        whole(session.group_by("site", keys=list(range(451))).agg(m=tc.count()))
    wide = session.group_by("site", keys=list(range(60_000)))
    with pytest.raises(UsageError, match=r"6,000,000 numbers"):
        whole(wide.agg(h=tc.histogram("age", list(range(101)))))

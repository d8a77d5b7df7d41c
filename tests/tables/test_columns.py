"""The columns of an answer: wide and long say the same, under names that do not collide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import UsageError
from tacit.tables.export import Column, Statistic, columns_of

NUMBER = st.none() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False)
PARTS = ("value", "standard_error", "low", "high")
NAMES = ["site", "value", "statistic", "bin", "bin_lower", "lower", "group_value", "upper"]


@st.composite
def answers(draw):
    """Grouping columns, keys and statistics, some with bins and some of these with edges."""
    by = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    groups = draw(st.integers(0, 3))
    part = st.none() | st.integers(-5, 5) | st.text(max_size=3)
    keys = [tuple(draw(part) for _ in by) for _ in range(groups)]
    statistics = []
    for label in draw(st.lists(st.sampled_from("abc"), unique=True, min_size=1, max_size=3)):
        bins = draw(st.none() | st.integers(1, 3))
        cells = NUMBER if bins is None else st.lists(NUMBER, min_size=bins, max_size=bins)
        column = {p: [draw(cells) for _ in range(groups)] for p in PARTS}
        edges = None
        if bins is not None:
            column["bins"] = [f"bin {i}" for i in range(bins)]
            edges = draw(st.none() | st.just(list(range(bins + 1))))
        statistics.append(Statistic(label, column, edges))
    return by, keys, statistics


@pytest.mark.full
@given(answers())
def test_the_long_form_holds_each_number_of_the_wide_one_once(drawn):
    by, keys, statistics = drawn
    wide = {c.name: c.values for c in columns_of(by, keys, statistics)}
    long = columns_of(by, keys, statistics, "long")
    table = {c.name: c.values for c in long}
    assert len(table) == len(long)
    assert [c.values for c in long[: len(by)]] == [
        [key[i] for key in keys for one in statistics for _ in one.column.get("bins", [0])]
        for i in range(len(by))
    ]
    assert list(table)[-4:] == ["value", "lower", "upper", "standard_error"]
    binned = any("bins" in one.column for one in statistics)  # else "bin" may be a grouping column
    found = iter(zip(*table.values(), strict=True))
    for place in range(len(keys)):
        for one in statistics:
            for i, name in enumerate(one.column.get("bins", [None])):
                row = dict(zip(table, next(found), strict=True))
                stem = one.label if name is None else f"{one.label} {name}"
                assert row["statistic"] == one.label
                if binned:
                    assert row["bin"] == name
                for ours, theirs in zip(
                    ("value", "standard_error", "lower", "upper"),
                    ("", "_error", "_low", "_high"),
                    strict=True,
                ):
                    assert row[ours] == wide[stem + theirs][place]
                if one.edges is not None:
                    assert (row["bin_lower"], row["bin_upper"]) == tuple(one.edges[i : i + 2])
    assert next(found, None) is None


def test_a_grouping_column_keeps_its_cells_where_the_long_form_has_its_name():
    n = Statistic("n", {part: [1] for part in PARTS})
    found = columns_of(["value", "group_value"], [["a", "b"]], [n], "long")
    assert [(c.name, c.values) for c in found[:2]] == [
        ("group_group_value", ["a"]),
        ("group_value", ["b"]),
    ]
    assert len({c.name for c in found}) == len(found)


def test_another_form_is_refused_with_the_two_there_are():
    with pytest.raises(UsageError, match="did you mean 'long'"):
        columns_of([], [()], [], "lonng")


@pytest.mark.full
@given(st.lists(NUMBER | st.text(max_size=2) | st.booleans(), max_size=5), st.booleans())
def test_typed_columns_have_one_type_and_lose_nothing_that_is_missing(values, number):
    if number:
        values = [value for value in values if not isinstance(value, (str, bool))]
    plain = Column("c", values, number).plain
    assert [value is None for value in plain] == [value is None for value in values]
    known = {type(value) for value in plain if value is not None}
    assert len(known) <= 1
    assert not number or known <= {int, float}

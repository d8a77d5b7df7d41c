"""Axes of cells: every row is in exactly one, and the number of its cell is that of its key."""

from fractions import Fraction

import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.cell_axis import Axis, axis_from

SEX = Axis(("sex",), (("f",), ("m",), (None,)))
AGE = Axis(("age",), edges=(Fraction(0), Fraction(18), Fraction(65)))
BOTH = Axis(("sex", "age"), (("f", 3), ("m", 5), (None, 5), ("m", None)))


@pytest.mark.parametrize(
    ("axis", "row", "cell"),
    [
        (SEX, {"sex": "f"}, 0),
        (SEX, {"sex": "m"}, 1),
        (SEX, {"sex": None}, 2),
        (SEX, {"sex": "x"}, 3),
        (AGE, {"age": 0}, 0),
        (AGE, {"age": 17.9}, 0),
        (AGE, {"age": 18}, 1),
        (AGE, {"age": 65}, 1),
        (AGE, {"age": 65.1}, 2),
        (AGE, {"age": -1}, 2),
        (AGE, {"age": None}, 2),
        (AGE, {"age": float("nan")}, 2),
        (BOTH, {"sex": "f", "age": 3}, 0),
        (BOTH, {"sex": None, "age": 5}, 2),
        (BOTH, {"sex": "m", "age": None}, 3),
        (BOTH, {"sex": "f", "age": 5}, 4),
    ],
)
def test_the_cell_of_a_row(axis, row, cell):
    assert axis.code(tc.col).evaluate(row) == cell
    assert axis.code(tc.col, 7).evaluate(row) == 7 * cell


@pytest.mark.parametrize("axis", [SEX, AGE, BOTH])
def test_an_axis_is_read_back(axis):
    assert axis_from(axis.to_json()) == axis
    assert len(axis.names) == axis.listed == axis.size - 1


def test_many_keys_are_no_deep_expression():
    axis = Axis(("site",), tuple((i,) for i in range(100)))
    code = axis.code(tc.col)
    assert [code.evaluate({"site": i}) for i in (0, 57, 99, 100, -1)] == [0, 57, 99, 100, 100]


@pytest.mark.parametrize("listed", [1, 2, 12, 13, 27])
def test_each_of_few_keys_and_of_many_has_its_place(listed):
    axis = Axis(("site",), (*((3 * i,) for i in range(listed - 1)), (None,)))
    code = axis.code(tc.col, 5)
    for row in [*(3 * i for i in range(listed - 1)), None, 1, -3, 3 * listed]:
        place = axis.exact_places.get(((type(row), row),), listed)
        assert code.evaluate({"site": row}) == 5 * place


def test_keys_of_two_questions_share_an_axis():
    other = Axis(("sex",), (("x",), ("m",)))
    both = SEX.joined(other)
    assert both.keys == (("f",), ("m",), (None,), ("x",))
    assert both.places(other) == [3, 1]
    assert Axis(("flag",), ((True,),)).joined(Axis(("flag",), ((1,),))).listed == 2


@pytest.mark.parametrize(
    "described",
    [
        {"columns": ["sex"], "keys": []},
        {"columns": ["sex"], "keys": [["f"], ["f"]]},
        {"columns": ["sex"], "keys": [["f", "m"]]},
        {"columns": ["sex"], "keys": [[["f"]]]},
    ],
)
def test_what_is_no_axis_is_refused(described):
    with pytest.raises(UsageError):
        axis_from(described)

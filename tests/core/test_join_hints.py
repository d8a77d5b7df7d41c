"""What would join two sides that do not fit is named in the refusal."""

import pytest

import tacit as tc
from tacit.errors import MismatchError

COLUMN = tc.Space(tc.Vector(float), tc.SymmetricDistance())


@pytest.mark.parametrize(
    ("space", "step", "joins"),
    [
        (COLUMN, tc.sum(), ("clamp(lower, upper)",)),
        (COLUMN, tc.laplace(1), ("count()",)),
        (tc.Space(tc.Vector(int, size=3), tc.L1Distance()), tc.gaussian(1), ("to_l2()",)),
        (tc.Space(tc.Vector(int, size=3), tc.L2Distance()), tc.laplace(1), ("to_l1()",)),
        (tc.Space(tc.Number("float"), tc.AbsoluteDistance()), tc.laplace(1), ("to_grid(step)",)),
        (
            tc.Space(tc.Number("int", 0, 1), tc.DiscreteDistance()),
            tc.laplace(1),
            ("to_absolute()",),
        ),
    ],
    ids=str,
)
def test_a_mismatch_names_the_step_that_joins(space, step, joins):
    with pytest.raises(MismatchError) as caught:
        space >> step
    assert set(joins) <= set(caught.value.joins)
    assert all(join in str(caught.value) for join in joins)


def test_two_finished_parts_name_the_step_between_them():
    first = COLUMN >> tc.clamp(0, 1)
    second = tc.Space(tc.Number("int", 0, grid=1), tc.AbsoluteDistance()) >> tc.laplace(1)
    with pytest.raises(MismatchError) as caught:
        first >> second
    assert caught.value.left == first.output
    assert caught.value.right == second.input
    assert "count()" in caught.value.joins

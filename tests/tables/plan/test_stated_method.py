"""Methods as a certificate states them: only what a choice may have led to is planned with."""

import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.plan.methods import as_stated, has_choice

AUTO = tc.mean("x", 0, 1, method="auto")
SMOOTH = tc.mean("x", 0, 1, method="smooth")
BINS = tc.mean("x", 0, 1, method="sample_and_aggregate")


def test_what_is_left_to_be_chosen():
    assert [has_choice(a) for a in (AUTO, SMOOTH, BINS)] == [True, True, True]
    given = tc.mean("x", 0, 1, method="smooth", distribution="laplace")
    assert [has_choice(a) for a in (tc.mean("x", 0, 1), given)] == [False, False]
    assert as_stated(given, {"used": "ptr"}) is given


def test_a_choice_is_taken_over_as_it_is_stated():
    assert as_stated(AUTO, {"used": "global"}).method is None
    smooth = as_stated(AUTO, {"used": "smooth", "distribution": "laplace"}).method
    assert (smooth.name, smooth.distribution) == ("smooth", "laplace")
    assert as_stated(BINS, {"used": "sample_and_aggregate", "bins": 7}).method.bins == 7


@pytest.mark.parametrize(
    ("asked", "stated"),
    [
        (AUTO, None),
        (AUTO, {"used": "auto"}),
        (AUTO, {"used": "better"}),
        (SMOOTH, {"used": "ptr"}),
        (SMOOTH, {"used": "smooth"}),
        (BINS, {"used": "sample_and_aggregate", "bins": None}),
    ],
    ids=str,
)
def test_what_is_no_answer_to_the_question_is_refused(asked, stated):
    with pytest.raises(UsageError):
        as_stated(asked, stated)

"""Whom a session protects, as it is said."""

import pytest

import tacit as tc
from tacit.errors import TacitError, UsageError
from tacit.tables.privacy_unit import PersonUnit


def test_units_are_checked():
    assert tc.unit("p", rows=1).rows == 1
    assert tc.unit("p", rows=3).groups == 3
    assert tc.unit("p", rows=3, groups=9).groups == 9
    for wrong in ({"rows": 0}, {"rows": -1}, {"rows": 1.5}, {"groups": 0}, {"rows": 2**41}):
        with pytest.raises(TacitError):
            tc.unit("p", **wrong)
    with pytest.raises(UsageError, match="is named by text"):
        tc.unit(3)
    assert isinstance(tc.unit("p", rows=1), PersonUnit)


def test_a_person_column_alone_is_refused():
    with pytest.raises(UsageError, match=r"tc\.unit\('person', rows=5\), or rows=1 if each person"):
        tc.unit("person")
    assert tc.unit("person", rows=1).rows == 1
    assert tc.unit("person", 3).groups == 3


@pytest.mark.parametrize("column", ["", None, 3])
def test_a_person_column_has_a_name(column):
    for make in (tc.unit, PersonUnit):
        with pytest.raises(UsageError, match="text that is not empty"):
            make(column, 1)
    with pytest.raises(UsageError, match="text that is not empty"):
        tc.unit(column)

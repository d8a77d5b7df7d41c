"""The domain that flags describe."""

from fractions import Fraction

import pytest

from tacit.cli.sensitivity import Population, domain_of
from tacit.errors import UsageError
from tacit.statistics import Interval, Records, Values


def test_each_way_is_the_domain_that_python_makes():
    assert domain_of(Population(records="1,2,5", size=2)) == Records([1, 2, 5], size=2)
    assert domain_of(Population(values="0,1/3", size=4)) == Values([0, Fraction(1, 3)], size=4)
    assert domain_of(Population(interval="-1:0.5", size=3)) == Interval(-1, "1/2", size=3)


def test_columns_of_numbers_are_found_in_a_file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,name,pay\n31,Ada,10\n45,Bo,20\n")
    one = domain_of(Population(csv=str(path), column=["age"], size=1))
    assert one == Records([31, 45], size=1)
    both = domain_of(Population(csv=str(path), size=1))
    assert both == Records({"age": [31, 45], "pay": [10, 20]}, size=1)
    for column, why in (("name", "holds text"), ("agee", "did you mean")):
        with pytest.raises(UsageError, match=why):
            domain_of(Population(csv=str(path), column=[column], size=1))
    path.write_text("name\nAda\n")
    with pytest.raises(UsageError, match="no column of numbers"):
        domain_of(Population(csv=str(path), size=1))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Population(), "in one way"),
        (Population(records="1", values="2"), "in one way"),
        (Population(values="1,2", column=["age"]), "--csv"),
        (Population(interval="0-1", size=1), "LOW:HIGH"),
        (Population(records="1,two", size=1), "two"),
    ],
)
def test_what_is_no_domain_is_refused(given, why):
    with pytest.raises(UsageError, match=why):
        domain_of(given)

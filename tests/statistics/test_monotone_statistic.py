"""What the argument of monotone statistics rests on, and the answers that it gives."""

from __future__ import annotations

import itertools
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest

from tacit.errors import InfeasibleError
from tacit.statistics import Interval, Records, Sample, sensitivity
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.statistic import Monotone

NAMES = ["mean", "median", "percentile(30)", "min", "max"]


@pytest.mark.parametrize("name", NAMES)
def test_the_two_assumptions_hold(name: str) -> None:
    """Raised records never lower it; nor does a smallest that leaves, nor a largest raise it."""
    f: Any = lookup(name)
    assert isinstance(f, Monotone)
    for size in range(1, 5):
        for records in itertools.combinations_with_replacement((0, 1, 3, 7), size):
            value = f.of(Sample(list(records)))
            for i in range(size):
                raised = sorted([*records[:i], records[i] + 2, *records[i + 1 :]])
                assert f.of(Sample(raised)) >= value
            if size > 1:
                assert f.of(Sample(list(records[1:]))) >= value
                assert f.of(Sample(list(records[:-1]))) <= value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
def test_a_release_without_a_size_is_as_bad_as_the_worst_size(name: str, relation: Any) -> None:
    population = [0, 1, 1, 5, 9]
    found = sensitivity(name, Records(population), None, 1, relation)
    sizes = []
    for size in range(1, 6):
        with suppress(InfeasibleError):  # nobody is left to join, or may leave
            sizes.append(sensitivity(name, Records(population, size=size), None, 1, relation).value)
    assert found.value == max(sizes)
    assert "the worst over releases of every size" in found.notes


@pytest.mark.parametrize("name", NAMES)
def test_more_distance_is_no_less_and_the_witness_attains_it(name: str) -> None:
    f: Any = lookup(name)
    values = []
    for k in (1, 2, 3):
        found = sensitivity(name, Records([0, 2, 2, 3, 8, 9], size=3), None, k)
        x, y = found.witness
        assert abs(f.exact([Fraction(v) for v in x]) - f.exact([Fraction(v) for v in y])) == (
            found.value
        )
        values.append(found.value)
    assert values == sorted(values)


def test_methods_say_whether_a_population_was_looked_through() -> None:
    assert sensitivity("mean", Records([1, 2, 3], size=2)).method == "polynomial"
    assert sensitivity("mean", Interval(0, 1, size=2)).method == "closed form"


def test_where_nobody_is_left_a_release_has_no_neighbour_but_itself() -> None:
    found = sensitivity("mean", Records([1, 2, 3], size=3), None, 1, "bounded")
    assert found.value == 0
    assert found.witness is None
    assert any("no neighbour but itself" in note for note in found.notes)
    fixed = sensitivity("median", Records([1, 2, 3]), [1, 2, 3], 1, "bounded")
    assert fixed.value == 0

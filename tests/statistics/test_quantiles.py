"""Percentiles at a distance equal the definition, and are never below it."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.at_distance import by_definition
from support.examples import examples
from tacit.statistics.quantiles import percentile
from tacit.statistics.question import RELATIONS
from tacit.statistics.smooth import at_distance


@st.composite
def cases(draw: st.DrawFn, most_values: int = 4) -> tuple[list[int], list[int], str, int]:
    values = sorted(draw(st.sets(st.integers(-9, 20), min_size=2, max_size=most_values)))
    data = draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
    relation = draw(st.sampled_from(RELATIONS))
    if relation == "remove" and len(data) == 1:
        data = data * 2
    return data, values, relation, draw(st.integers(0, 3))


@examples(1.5)
@given(case=cases(3), q=st.fractions(0, 1, max_denominator=12))
def test_any_percentile_equals_the_definition(
    case: tuple[list[int], list[int], str, int], q: Fraction
) -> None:
    data, values, relation, farthest = case
    statistic = percentile(100 * q)
    truth = by_definition(statistic.exact, data, values, relation, farthest)
    found = at_distance(statistic, data, (values[0], values[-1]), relation)
    assert [found.at(t) for t in range(farthest + 1)] == truth


@examples(0.6)
@given(case=cases(3))
def test_awkward_percentiles_are_never_below_the_definition(
    case: tuple[list[int], list[int], str, int],
) -> None:
    """A q with a huge denominator: exact, but for records that only join."""
    data, values, relation, farthest = case
    statistic = percentile(100 * Fraction(0.3))
    truth = by_definition(statistic.exact, data, values, relation, farthest)
    found = at_distance(statistic, data, (values[0], values[-1]), relation)
    profile = [found.at(t) for t in range(farthest + 1)]
    assert found.exact == (relation != "add")
    if found.exact:
        assert profile == truth
    assert all(a >= b for a, b in zip(profile, truth, strict=True))

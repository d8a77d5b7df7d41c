"""The weights of ranks against the move of a quantile, computed record by record."""

from fractions import Fraction

import pytest

from tacit.statistics.quantiles import Quantile
from tacit.statistics.rank_pairs import weights, whole


@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 2), Fraction(1, 4), Fraction(3, 7)])
def test_a_low_record_that_joins_moves_the_quantile_by_the_weighted_gaps(q):
    period = q.denominator
    below, above, unit = weights(q, period)
    for m in range(2, 3 * period + 2):
        values = [Fraction(3) ** i for i in range(m)]  # the lowest is the one that joins
        moved = Quantile(q).exact(values[1:]) - Quantile(q).exact(values)
        rank = int(q * (m - 1))
        gaps = [b - a for a, b in zip(values[rank:], values[rank + 1 :], strict=False)][:2]
        gaps += [Fraction(0)] * (2 - len(gaps))
        found = unit * int(below[m % period]) * gaps[0] + unit * int(above[m % period]) * gaps[1]
        assert found == moved, m


def test_whole_weights_have_no_common_factor():
    first, second, unit = whole([Fraction(1, 2), Fraction(0)], [Fraction(3, 2), Fraction(1)])
    assert ([*first], [*second], unit) == ([1, 0], [3, 2], Fraction(1, 2))
    assert whole([Fraction(1, 3**50)], [Fraction(2**70)])[0].dtype == object

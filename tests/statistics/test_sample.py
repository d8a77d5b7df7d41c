"""A sample holds exactly what was given, of any kind of number."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.errors import UsageError
from tacit.statistics.domains import Joined
from tacit.statistics.samples import Sample, merge

finite = st.floats(allow_nan=False, allow_infinity=False)
exact = st.one_of(
    finite,
    st.integers(-(2**70), 2**70),
    st.fractions(-99, 99, max_denominator=12),
    st.decimals("-9", "9", places=3),
)
SETTINGS = examples(1.5)


@SETTINGS
@given(st.lists(exact, min_size=1, max_size=20), st.data())
def test_a_sample_holds_exactly_what_was_given(
    values: list[float | int | Fraction | Decimal], data: st.DataObject
) -> None:
    truth = sorted(map(Fraction, values))
    sample = Sample(values)
    assert sample.fractions() == truth
    assert [sample[i] for i in range(len(truth))] == truth
    integers, grain = sample.on_grid
    assert [int(v) * grain for v in integers] == truth
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(truth))] * 2)))
    assert sample.total(start, stop) == sum(truth[start:stop])
    assert all(isinstance(v, int) or v.denominator > 1 for v in sample.values())


@SETTINGS
@given(st.lists(exact, min_size=1, max_size=12), st.lists(exact, max_size=6))
def test_multisets_join_and_part(a: list[Fraction], b: list[Fraction]) -> None:
    one, two = Sample(a), Sample(b, allow_empty=True)
    both = merge(one, two)
    assert both.fractions() == sorted([*one.fractions(), *two.fractions()])
    rest = both.without(two)
    assert rest is not None
    assert rest.fractions() == one.fractions()
    values, counts = both.distinct()
    assert dict(zip(values.fractions(), counts.tolist(), strict=True)) == Counter(both.fractions())
    missing = Counter(two.fractions()) - Counter(one.fractions())
    assert (one.without(two) is None) == bool(missing)
    joined = Joined(one, two, both.total)
    assert [joined.rank(i) for i in range(len(joined))] == both.fractions()


def test_arrays_of_every_kind() -> None:
    for kind in (np.int8, np.uint8, np.uint64, np.float32, np.float64, object):
        assert Sample(np.array([3, 1, 2], dtype=kind)).values() == (1, 2, 3)
    huge = np.array([2**64 - 1, 0], dtype=np.uint64)
    assert Sample(huge)[1] == 2**64 - 1
    assert Sample(np.array([2**62, 2**62 - 1])).total() == 2**63 - 1
    assert Sample([-0.0, 0.0, 1e300, 1e300]).total() == 2 * Fraction(1e300)
    for wrong in (np.array([True]), [True], [None], np.array([1j]), [1, [2]]):
        with pytest.raises(UsageError):
            Sample(wrong)

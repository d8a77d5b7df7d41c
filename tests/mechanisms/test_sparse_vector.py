"""The sparse vector technique finds what is far above its threshold."""

from tacit.core import (
    LInfinityDistance,
    Space,
    Vector,
)
from tacit.mechanisms import (
    AboveThreshold,
    SparseVector,
)


def test_sparse_vector_finds_what_is_far_above():
    queries = Space(Vector(int, size=5), LInfinityDistance())
    m = queries >> SparseVector(50, threshold_scale=1, query_scale=4, answers=2)
    assert m.map(1) == 2
    assert m([0, 10**6, 0, 10**6, 10**6]) == [False, True, False, True]
    assert m([0] * 5)[:1] == [False]
    one = queries >> AboveThreshold(50, 1, 2)
    assert one([0, 0, 0, 0, 10**6]) == 4
    assert one([-(10**6)] * 5) is None
    empty = Space(Vector(int), LInfinityDistance()) >> SparseVector(0, 1, 1)
    assert empty([]) == []

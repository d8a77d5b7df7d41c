"""Sets of one size: every order of the elements equally likely, and time that tells nothing."""

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest

from local.local_laws import reproducible
from tacit.local import SubsetSelection
from tacit.local.hashing import columns_to_rows, full_column, nested_sets, single_bits
from tacit.noise.bits import injected

PLANES = 3
AT_ONCE = 4096
"""Words that one request to the generator covers."""


def strings(k):
    """The first bits of k elements, in every possible way: (planes, ways) words of k bits."""
    ways = np.arange(1 << k * PLANES, dtype=np.uint64)
    return np.array([ways >> np.uint64(k * i) & np.uint64((1 << k) - 1) for i in range(PLANES)])


def drawn(k, w, planes):
    """What comes out for these first bits, followed by others of a reproducible stream."""
    later, found = np.random.default_rng(0), ([], [])
    for part in np.array_split(planes, -(-planes.shape[1] // AT_ONCE), axis=1):
        given = [plane.tobytes() for plane in part]

        def take(n, given=given):
            return given.pop(0) if given else later.bytes(n)

        with injected(take):
            drawn = nested_sets(np.repeat(full_column(k)[:, None], part.shape[1], axis=1), w)
        assert not given
        for kept, columns in zip(found, drawn, strict=True):
            kept.extend(columns[0].tolist())
    return found


@pytest.mark.few(4)
@pytest.mark.parametrize(("k", "w"), [(2, 1), (3, 2), (4, 1), (4, 3), (5, 2)])
def test_every_way_the_bits_can_fall(k, w):
    """The element of rank w is told by its bits as soon as no other element shares them."""
    planes = strings(k)
    first, following = drawn(k, w, planes)
    values = sum(
        (planes[i][:, None] >> np.arange(k, dtype=np.uint64) & np.uint64(1)) << np.uint64(2 - i)
        for i in range(PLANES)
    )
    settled = Counter()
    for bits, before, own in zip(values.tolist(), first, following, strict=True):
        edge = sorted(bits)[-w]
        if bits.count(edge) > 1:
            continue
        assert own == 1 << bits.index(edge)
        assert before == sum(1 << i for i in range(k) if bits[i] > edge)
        read = next(
            j for j in range(PLANES + 1) if sum(b >> 3 - j == edge >> 3 - j for b in bits) == 1
        )
        settled[before, own, read] += 1
    ends = {read for *_, read in settled}
    assert len(ends) > 1
    outcomes = {
        (sum(1 << i for i in order[: w - 1]), 1 << order[w - 1]) for order in permutations(range(k))
    }
    for read in ends:
        law = {outcome: settled[*outcome, read] for outcome in outcomes}
        assert len(set(law.values())) == 1, "the outcome and the time must be independent"


@pytest.mark.parametrize("k", [1, 2, 63, 64, 65, 130, 1000])
def test_sets_are_nested_of_their_size_and_within(k):
    n = 2500
    for w in sorted({1, (k + 1) // 2, k}):
        elements = np.repeat(full_column(k)[:, None], n, axis=1)
        first, following = nested_sets(elements, w)
        assert not (first & following).any()
        assert set(np.bitwise_count(first).sum(axis=0).tolist()) == {w - 1}
        assert set(np.bitwise_count(following).sum(axis=0).tolist()) == {1}
        assert not ((first | following) & ~elements).any()
        assert np.array_equal(elements, np.repeat(full_column(k)[:, None], n, axis=1))


def test_columns_of_different_sets():
    words = np.array([[0b1011, 0b1110, 0b11111]], np.uint64)
    for _ in range(50):
        first, following = nested_sets(words, 3)
        both = first | following
        assert np.bitwise_count(both).tolist() == [[3, 3, 3]]
        assert not (both & ~words).any()
        assert both[0, :2].tolist() == [0b1011, 0b1110]


@pytest.mark.full
def test_all_sets_of_many_elements_are_as_likely(chi_square):
    """Pairs among 70 elements, which two words hold: all 2,415 come equally often."""
    n, k = 200_000, 70
    with reproducible(11):
        first, following = nested_sets(np.repeat(full_column(k)[:, None], n, axis=1), 2)
    rows = np.unpackbits(columns_to_rows(first | following, k), axis=1, bitorder="little")
    pairs = Counter(map(tuple, np.nonzero(rows)[1].reshape(n, 2).tolist()))
    seen = [pairs[pair] for pair in combinations(range(k), 2)]
    assert sum(seen) == n
    assert chi_square(seen, [n / len(seen)] * len(seen)) > 1e-5


@pytest.mark.few(4)
@pytest.mark.parametrize("value", [0, 63, 64, 129])
def test_places_of_a_long_report_are_as_likely_as_told(value, chi_square):
    oracle, n = SubsetSelection(130, epsilon=1), 40_000
    with reproducible(value):
        reports = oracle.perturb_many([value] * n)
    assert oracle.valid(reports).all()
    counts = oracle.aggregate(reports).sums
    own, other = oracle.support
    assert chi_square([counts[value], n - counts[value]], [n * own, n - n * own]) > 1e-5
    spread = float(n * other * (1 - other)) ** 0.5
    assert max(abs(np.delete(counts, value) - float(n * other))) < 6 * spread


def test_places_and_rows_agree():
    for k in (1, 8, 64, 65, 200):
        places = np.arange(k)
        rows = columns_to_rows(single_bits(places, k), k)
        assert np.array_equal(
            np.unpackbits(rows, axis=1, count=k, bitorder="little"), np.eye(k, dtype=np.uint8)
        )
        assert np.bitwise_count(full_column(k)).sum() == k


def test_the_coin_and_the_answer_change_no_work():
    """As many random bytes are taken, whichever of two coins falls: it comes last."""
    oracle, taken = SubsetSelection(20, p="1/2", size=5), []

    def counted(coin):
        stream = np.random.default_rng(3)
        sizes = []

        def take(n):
            sizes.append(n)
            return stream.bytes(n) if n != 1 else bytes([coin])

        with injected(take):
            report = oracle.perturb(7)
        taken.append(sizes)
        return bool(report[0] >> 7 & 1)

    assert counted(0)
    assert not counted(255)
    assert taken[0] == taken[1]

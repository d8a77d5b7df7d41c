"""Windows and crossed pairs find what all blocks find."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.variance_families import best_of
from support.examples import examples
from tacit.statistics import Records, Sample, sensitivity
from tacit.statistics.dispersion_candidates import Contest, Spread, blocks, crossed, windows
from tacit.statistics.prefix_moments import Moments


@examples(0.6)
@given(
    st.lists(st.integers(-40, 40), min_size=12, max_size=40),
    st.booleans(),
    st.sampled_from([0, 1]),
    st.data(),
)
def test_windows_find_what_all_blocks_find_within_a_distance(records, root, ddof, data):
    moments = Moments(Sample(records))
    size = len(records)
    most = data.draw(st.integers(1, 3), "distance")
    n = data.draw(st.integers(most + max(most, 2), size - most), "size")
    quick, full = (Contest(moments, Spread(ddof, root)) for _ in range(2))
    for d in range(1, most + 1):
        windows(quick, n - d, d, d, anchored=not root)
        blocks(full, n - d, d, d)
    if moments.constant:
        return
    assert quick.winner().value == full.winner().value


@pytest.mark.parametrize(
    "population",
    [[1, 1, 15, 16, 24, 27, 27, 205], [4, 19, 20, 46, 50, 54, 163, 237, 249]],
)
def test_windows_alone_are_not_enough_beyond_half_of_the_release(population):
    """Substituting more than half of a release can leave a gap in the narrow one."""
    by_windows = max(best_of(population, 4, d, windows) for d in (1, 2, 3))
    by_blocks = max(best_of(population, 4, d, blocks) for d in (1, 2, 3))
    assert by_windows < by_blocks
    found = sensitivity("var", Records(population, size=4), None, 3, "bounded")
    assert found.value == by_blocks


@examples(1.5)
@given(
    st.integers(2, 6),
    st.integers(0, 3),
    st.lists(st.one_of(st.integers(0, 30), st.integers(0, 500)), min_size=14, max_size=14),
    st.booleans(),
    st.data(),
)
def test_crossed_pairs_complete_the_windows_at_an_exact_distance(kept, spare, records, root, data):
    lost = data.draw(st.integers(1, min(kept, 3)), "lost")
    gained = data.draw(st.integers(lost, 4), "gained")
    moments = Moments(Sample(records[: kept + gained + lost + spare]))
    if moments.constant:
        return
    quick, full = (Contest(moments, Spread(0, root)) for _ in range(2))
    blocks(full, kept, gained, lost)
    windows(quick, kept, gained, lost)
    crossed(quick, kept, gained, lost)
    assert float(quick.winner().value) == pytest.approx(float(full.winner().value), rel=1e-14)


def test_crossed_pairs_are_needed():
    """At exactly two substitutions a gained record can lie between the shared and the lost ones."""
    population = [0, 0, 0, 0, 10, 11, 11, 10_000]
    by_windows = best_of(population, 6, 2, windows)
    assert by_windows < best_of(population, 6, 2, blocks)
    assert best_of(population, 6, 2, crossed) == best_of(population, 6, 2, blocks)
    found = sensitivity("var", Records(population, size=6), None, 2, "bounded", within=False)
    assert found.value == best_of(population, 6, 2, blocks)

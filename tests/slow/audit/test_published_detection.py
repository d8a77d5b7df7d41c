"""The audit by samples against the published table, with a hundredth of the published samples."""

from __future__ import annotations

import pytest

from support.audit.published_mechanisms import NEAR, PUBLISHED
from tacit.audit import sampled

SAMPLES = 2_100_000
"""On each side: a hundredth of the 10.7 + 200 million of DP-Sniper."""


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_best_published_lower_bound_is_reached(name):
    mechanism, u, v, published = PUBLISHED[name]
    found = sampled(mechanism, u, v, epsilon=published, batch=True, samples=SAMPLES)
    assert found.refuted, str(found)
    assert found.lower >= published


@pytest.mark.slow
@pytest.mark.parametrize("name", NEAR)
def test_a_wrong_claim_is_refuted_and_the_bound_is_true(name):
    mechanism, u, v, floor, truth = NEAR[name]
    found = sampled(mechanism, u, v, epsilon=floor, batch=True, samples=SAMPLES)
    assert found.refuted, str(found)
    assert found.lower <= truth

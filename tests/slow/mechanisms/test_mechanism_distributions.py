"""Goodness of fit: what every mechanism releases follows the exact law that it states."""

import pytest

from laws.test_measurement_laws import CASES, name_of
from tacit.audit.verify import members
from tacit.mechanisms.output_distribution import outcome

DRAWS = 40_000
LIMIT = 1e-7
"""Of a p-value: all cases together are then wrongly refused less than once in 10^5 runs."""

LISTED = [
    (space, step, how)
    for space, step, _, how in CASES
    if step.name not in ("continual_count", "release_keys", "laplace", "gaussian", "geometric")
]


def first_member(space, how):
    if how.get("domain"):
        return how["domain"][1]
    if how.get("pairs"):
        return how["pairs"][1][0]
    found = members(space.domain)
    return found[len(found) // 2]


@pytest.mark.slow
@pytest.mark.parametrize(("space", "step", "how"), LISTED, ids=name_of)
def test_releases_follow_the_stated_law(space, step, how):
    stats = pytest.importorskip("scipy.stats")
    m = space >> step
    data = first_member(space, how)
    law = m.distribution(data)
    counts = {}
    for _ in range(DRAWS):
        shown = outcome(m(data))
        counts[shown] = counts.get(shown, 0) + 1
    likely = {x: float(law.probability(x).middle) for x in counts}
    often = [x for x in counts if DRAWS * likely[x] >= 10]
    seen = [counts[x] for x in often]
    wanted = [DRAWS * likely[x] for x in often]
    rest = DRAWS - sum(wanted)
    if rest > 10:
        seen, wanted = [*seen, DRAWS - sum(seen)], [*wanted, rest]
    else:
        wanted = [w * sum(seen) / sum(wanted) for w in wanted]
    assert len(seen) == 1 or stats.chisquare(seen, wanted).pvalue > LIMIT


@pytest.mark.slow
def test_the_fit_sees_a_wrong_law():
    stats = pytest.importorskip("scipy.stats")
    assert stats.chisquare([5200, 4800], [5000, 5000]).pvalue < 1e-3

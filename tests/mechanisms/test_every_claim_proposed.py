"""Propose-test-release, with and without the search for a bound, enumerated by the library and by
hand: every statistic and relation it offers, all data sets of a few records, all neighbours.

By hand: the distance to instability by walking over all data sets, the noises from their formula.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

import tacit.mechanisms.propose_test_release as search_room
from support.by_hand.noise_by_hand import WholeLaplace, hockey_stick, largest_ratio, too_far
from support.by_hand.proposal_by_hand import (
    DELTA,
    EPSILON,
    HIGH,
    LOW,
    SPLIT,
    VALUES,
    Case,
    Ladder,
    Proposal,
    far,
)
from support.by_hand.small_domains import STATISTICS
from tacit.audit import verify
from tacit.mechanisms.local_statistic import column_space
from tacit.mechanisms.propose_test_release import BoundSearch, propose_bound, propose_test_release

LABELS = ("x", "y", "z")
NEVER_FAR = 1e-9
RELATIONS = ["unbounded", "bounded"]
NAMES = [*STATISTICS, "function"]
OFFERED = [
    (name, relation, known)
    for name in NAMES
    for relation in RELATIONS
    for known in (False, True)
    if name != "count" and (known or name != "function")
    if known or relation == "bounded" or not name.startswith("trimmed")
]
"""A count never moves by more than any bound below one: it is refused."""


@pytest.mark.few(57)
@pytest.mark.parametrize(("name", "relation", "known"), OFFERED)
def test_distances_are_those_of_the_definition(name: str, relation: str, known: bool) -> None:
    """And move by one between neighbours; where the value jumps too far both are 0."""
    case = Case(name, relation, known)
    for bound in (Fraction(1, 2), Fraction(3, 2), Fraction(4)):
        if bound >= case.local.full:
            continue
        found = {data: case.computed(data, bound) for data in case.listed}
        for data, distance in found.items():
            truth = case.distance(data, bound)
            assert far(distance) <= far(truth)
            if case.is_exact(data):
                assert distance == truth
        for one, other in case.pairs():
            here, there = far(found[one]), far(found[other])
            assert here == there or abs(here - there) <= 1
            if abs(case.value(one) - case.value(other)) > bound:
                assert here == there == 0


@pytest.mark.few(57)
@pytest.mark.parametrize(("name", "relation", "known"), OFFERED)
def test_no_pair_of_neighbours_exceeds_the_claim(name: str, relation: str, known: bool) -> None:
    case = Case(name, relation, known)
    m = propose_test_release(
        case.asked,
        bound=case.bound,
        epsilon=EPSILON,
        delta=DELTA,
        relation=relation,
        split=SPLIT,
        grid="3/4",
        **case.domain,
    )
    assert m.map(1) == (EPSILON, DELTA)
    ours = Proposal(case)
    assert ours.threshold == m.threshold
    for apart in (1, 2):
        assert ours.worst(apart) <= 1 + 1e-9
    for data in case.listed[5::13]:
        law = m.distribution(list(map(float, data)))
        by_hand = ours.laws[data]
        for outcome, chance in law.table.items():
            assert float(chance.middle) == pytest.approx(by_hand.get(outcome, 0.0), abs=1e-12)
        assert math.fsum(by_hand[x] for x in by_hand if x in law.table) > 1 - 1e-9


@pytest.mark.full
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_threshold_or_a_scale_too_small_exceeds_the_claim(relation: str) -> None:
    cases = [Case(name, relation, most=4) for name in ("median", "percentile(30)", "max")]
    assert max(Proposal(case, sooner=1).worst() for case in cases) > 1.2
    data = cases[0].listed[-1]
    right, wrong = (Proposal(cases[0], narrow=part).law(data, None) for part in (1, 0.9))
    assert max(abs(right[x] - wrong[x]) for x in right) > 1e-3  # where laws agree to 1e-12
    if relation == "unbounded":  # the other has no pair that is both near the bound and passes
        close = [Case(name, relation, True, bound=Fraction(2)) for name in ("mean", "median")]
        assert max(Proposal(case, Fraction(1), narrow=0.5).worst() for case in close) > 1


@pytest.mark.full
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["median", "var"])
def test_certified_enumeration(name: str, relation: str) -> None:
    case = Case(name, relation, known=True)
    m = propose_test_release(
        name, None, "3/2", EPSILON, DELTA, relation, SPLIT, values=VALUES, grid="3/2"
    )
    listed = [list(map(float, data)) for data in case.listed]
    assert verify(m, listed).or_raise().kind == "exact"


@pytest.mark.full
def test_releases_have_the_law_by_hand() -> None:
    case = Case("median", "unbounded")
    m = propose_test_release("median", (LOW, HIGH), "3/2", EPSILON, DELTA, split=SPLIT, grid="3/4")
    for data in ((4, 4, 4), (0, 4, 4, 4)):
        exact = tuple(map(Fraction, data))
        law = Proposal(case).law(exact, case.distance(exact, case.bound))
        drawn = Counter(m(list(map(float, data))) for _ in range(150))
        seen = {x if x is None else Fraction(x): n for x, n in drawn.items()}
        assert too_far(seen, law) > NEVER_FAR


# ---- the mode


def mode(data: tuple[str, ...]) -> str:
    return max(LABELS, key=lambda label: (data.count(label), -LABELS.index(label)))


def near(data: tuple[str, ...], relation: str) -> set[tuple[str, ...]]:
    less = {data[:i] + data[i + 1 :] for i in range(len(data))}
    if relation == "bounded":
        return {tuple(sorted((*kept, v))) for kept in less for v in LABELS}
    return less | {tuple(sorted((*data, v))) for v in LABELS}


def steps_to_another_mode(data: tuple[str, ...], relation: str) -> int | None:
    """How many steps until a neighbour has another mode, by walking over all data sets."""
    seen = front = {data}
    for t in range(len(data) + 2):
        reached = {other for one in front for other in near(one, relation)}
        if any(mode(other) != mode(data) for other in reached):
            return t
        front, seen = reached - seen, seen | reached
        if not front:
            return None
    raise AssertionError("another mode is never further than all records")


@pytest.mark.few(2)
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_mode_by_hand(relation: str) -> None:
    m = propose_test_release("mode", None, None, 1, DELTA, relation, values=LABELS)
    test = WholeLaplace(1.0)
    threshold = next(t for t in itertools.count(1) if test.at_least(t) <= DELTA)
    first = 0 if relation == "unbounded" else 1
    listed = [
        data
        for size in range(first, 6)
        for data in itertools.combinations_with_replacement(LABELS, size)
    ]
    laws = {}
    for data in listed:
        distance = steps_to_another_mode(data, relation)
        passes = 1.0 if distance is None else test.at_least(threshold - distance)
        laws[data] = {mode(data): passes, None: 1 - passes}
        ours = m.distribution(list(data))
        for outcome, chance in laws[data].items():
            assert float(ours.probability(outcome).middle) == pytest.approx(chance, abs=1e-12)
    worst = max(
        hockey_stick(laws[one], laws[other], 1.0)
        for one in listed
        for other in near(one, relation)
        if other in laws
    )
    assert worst <= float(DELTA) * (1 + 1e-9)
    assert worst > 0.3 * float(DELTA)
    assert verify(m, [list(data) for data in listed], d_in=2).or_raise().kind == "exact"


# ---- the search for a bound


SEARCHED = [one for one in OFFERED if one[0] != "std"]


@pytest.mark.few(57)
@pytest.mark.parametrize(("name", "relation", "known"), SEARCHED)
def test_the_search_by_hand(
    name: str, relation: str, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_room, "_UNITS", 2)  # few enough outcomes to list
    case = Case(name, relation, known)
    ours = Ladder(case)
    bounds = case.domain["bounds"] if name == "function" else None
    step = BoundSearch(case.asked, 4, "1/5", ratio=2, rungs=3, bounds=bounds)
    m: Any = column_space(None if known else (LOW, HIGH), relation, case.domain["values"]) >> step
    threshold = ours.threshold(ours.delta / ours.rungs)
    assert (m.threshold, m.ladder) == (threshold, ours.bounds)
    laws = {data: ours.law(data, threshold, 2) for data in case.listed}
    for data in case.listed[6::20]:
        listed = m.distribution(list(map(float, data)))
        for outcome, chance in laws[data].items():
            assert float(listed.probability(outcome).middle) == pytest.approx(chance, abs=1e-12)
    for one, other in case.pairs():
        assert hockey_stick(laws[one], laws[other], ours.epsilon) <= ours.delta * (1 + 1e-9)


def test_a_search_with_a_sixth_of_its_noise_exceeds_the_claim() -> None:
    case = Case("percentile(90)", "bounded", known=True)
    sharp = Ladder(case, narrow=1 / 6)
    threshold = Ladder(case).threshold(Ladder(case).delta / 3)
    laws = {data: sharp.law(data, threshold, 2) for data in case.listed}
    found = [hockey_stick(laws[one], laws[other], 4.0) for one, other in case.pairs()]
    assert max(found) > 0.2


@pytest.mark.full
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["median", "mean", "var", "max"])
def test_the_bound_alone_by_hand_in_pure_dp(name: str, relation: str) -> None:
    case = Case(name, relation)
    ours = Ladder(case)
    m = propose_bound(name, (LOW, HIGH), 2, reach=1, relation=relation, ratio=2, rungs=3)
    threshold = 1 + ours.threshold(0.01)
    laws = {}
    for data in case.listed:
        *rungs, last, none = ours.rung_law(data, threshold)
        laws[data] = dict(zip(ours.bounds, [*rungs, last + none], strict=False))
    for data in case.listed[1::6]:
        listed = m.distribution(list(map(float, data)))
        for bound, chance in laws[data].items():
            assert float(listed.probability(bound).middle) == pytest.approx(chance, abs=1e-12)
    worst = max(largest_ratio(laws[one], laws[other]) for one, other in case.pairs())
    assert worst <= 2 + 1e-9

"""Sample-and-aggregate enumerated by the library and by hand: every aggregate, relation, vectors.

By hand: every order of the records and every way to bin them, and each private centre by formula.
"""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from support.by_hand.noise_by_hand import too_far
from support.by_hand.sampled_by_hand import CENTRES, Coordinate, excess, law_of, ratio
from support.by_hand.small_domains import steps
from support.by_hand.smooth_by_hand import SLACK
from tacit.mechanisms.sample_and_aggregate import AGGREGATES, sample_and_aggregate

EPSILON, DELTA = Fraction(1), Fraction(1, 20)
RELATIONS = ["unbounded", "bounded"]
NEVER_FAR = 1e-9
MOST, DEFAULT = 3, 2
PLANES = ((0, 0), (2, 0), (0, 1), (2, 1))


def first_record(content: Any) -> float:
    """A function that depends on the order within a bin."""
    return float(content[0])


def corner(content: Any) -> Any:
    """Two numbers: the largest of one column, and the other of the first record."""
    rows = np.asarray(content)
    return rows[:, 0].max(), rows[0, 1]


FUNCTIONS: dict[str, Any] = {"max": max, "first": first_record}


class Case:
    """A release of one number, or of two, and the same by hand.

    Args:
        centre: one of ``CENTRES``.
        relation: of neighbours.
        bins: how many.
        function: a name of ``FUNCTIONS``, or ``"corner"`` for two numbers.
        sharp: what epsilon is multiplied by in the law by hand.
    """

    def __init__(
        self, centre: str, relation: str, bins: int, function: str, sharp: float = 1.0
    ) -> None:
        self.centre, self.relation, self.bins, self.sharp = centre, relation, bins, sharp
        self.two = function == "corner"
        self.function = corner if self.two else FUNCTIONS[function]
        self.mosts = (2, 1) if self.two else (MOST,)
        # the middle of each pair of bounds, rounded up to the grid
        self.default = (1, 1) if self.two else (DEFAULT,)

    @cached_property
    def mechanism(self) -> Any:
        bounds = [(0, most) for most in self.mosts]
        return sample_and_aggregate(
            self.function,
            self.bins,
            bounds if self.two else bounds[0],
            EPSILON,
            aggregate=self.centre.split()[0],
            delta=DELTA if "delta" in self.centre else None,
            relation=self.relation,
            grid=1,
        )

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        epsilon = float(EPSILON) / len(self.mosts)
        rates: list[tuple[float, float]] = [(0.0, 0.0)] * len(self.mosts)
        if "smooth" in self.centre:
            inner = [one._inner for one in self.mechanism._centres]
            rates = [(float(m.shift), float(m.beta)) for m in inner]
        return tuple(
            Coordinate(self.centre, self.bins, most, epsilon, *rate, sharp=self.sharp)
            for most, rate in zip(self.mosts, rates, strict=True)
        )

    @cached_property
    def listed(self) -> list[tuple[Any, ...]]:
        first = 0 if self.relation == "unbounded" else 1
        points: tuple[Any, ...] = PLANES if self.two else (0, 1, 3)
        return [
            records
            for size in range(first, 3 if self.two else 4)
            for records in itertools.combinations_with_replacement(points, size)
        ]

    def asked(self, part: Any) -> tuple[int, ...]:
        found = self.function(part)
        return tuple(map(int, found)) if self.two else (int(found),)

    @cached_property
    def laws(self) -> dict[tuple[Any, ...], Any]:
        made = (self.asked, self.coordinates, self.default)
        return {records: law_of(records, *made) for records in self.listed}

    def worst(self, apart: int = 1) -> float:
        """The largest loss of a pair that far apart, over the claimed one."""
        claim = self.mechanism.map(apart)
        found = [
            excess(self.laws[one], self.laws[other], float(claim[0])) / float(claim[1])
            if isinstance(claim, tuple)
            else ratio(self.laws[one], self.laws[other]) / float(claim)
            for one, other in itertools.permutations(self.listed, 2)
            if steps(one, other, self.relation) == apart
        ]
        return max(found)


def test_nothing_that_is_offered_is_left_out() -> None:
    assert {centre.split()[0] for centre in CENTRES} == set(AGGREGATES)


@pytest.mark.few(18)
@pytest.mark.parametrize("function", [*FUNCTIONS, "corner"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("centre", CENTRES)
def test_no_pair_exceeds_the_claim_by_hand(centre: str, relation: str, function: str) -> None:
    worst = 0.0
    for bins in (1, 2, 3):
        case = Case(centre, relation, bins, function)
        for apart in (1, 2):
            loss = case.worst(apart)
            assert loss <= 1 + 1e-9, (bins, apart)
            worst = max(worst, loss)
    if centre == "mean":
        assert worst > 1 - 1e-9 or relation == "unbounded"  # from one bound to the other


@pytest.mark.few(8)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("centre", CENTRES)
def test_the_law_is_the_one_by_hand(centre: str, relation: str) -> None:
    for bins, function in ((1, "max"), (2, "first"), (3, "max")):
        case = Case(centre, relation, bins, function)
        for records in case.listed[2::9]:
            ours = case.mechanism.distribution(list(records))
            by_hand = zip(case.coordinates[0].outcomes, case.laws[records], strict=True)
            for outcome, chance in by_hand:
                assert float(ours.probability(outcome).middle) == pytest.approx(
                    chance, abs=2 * SLACK if "smooth" in centre else 1e-12
                )


@pytest.mark.few(10)
@pytest.mark.parametrize("function", ["first", "corner"])
@pytest.mark.parametrize("centre", CENTRES)
def test_releases_have_the_law_by_hand(centre: str, function: str) -> None:
    """Vectors too, whose law the library does not list."""
    case = Case(centre, "unbounded", 2, function)
    records: tuple[Any, ...] = PLANES[1:3] if case.two else (0, 1, 3)
    data = np.array(records)
    drawn = Counter(
        tuple(Fraction(x).limit_denominator(1000) for x in np.atleast_1d(case.mechanism(data)))
        for _ in range(150 if "smooth" in centre else 600)
    )
    outcomes = itertools.product(*(one.outcomes for one in case.coordinates))
    chances = law_of(records, case.asked, case.coordinates, case.default)
    law = dict(zip(outcomes, np.ravel(chances).tolist(), strict=True))
    assert too_far(drawn, law) > NEVER_FAR


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("centre", "sharp", "function"),
    [
        ("mean", 1 / 0.9, "max"),
        ("mean", 1 / 0.9, "corner"),
        ("median", 2.0, "max"),
        ("winsorized_mean", 3.0, "max"),
        ("smooth", 2.0, "max"),
        ("smooth with delta", 2.0, "max"),
    ],
)
def test_less_noise_than_claimed_is_seen(centre: str, sharp: float, function: str) -> None:
    found = [
        Case(centre, relation, bins, function, sharp).worst()
        for relation in RELATIONS
        for bins in (1, 2)
    ]
    assert max(found) > 1.02
    right, wrong = (Case(centre, "bounded", 2, function, part) for part in (1.0, 1 / 0.9))
    records = right.listed[-1]
    assert np.abs(right.laws[records] - wrong.laws[records]).max() > 1e-3

"""A release of a session by ``method=``, from the rows of a table to the joint law of its answer.

The engine counts the records; everything after them is written out from definitions.  The answer of
a group is cut into cells, which is post-processing: no pair of tables may exceed the claim there.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

import tacit as tc
from support.by_hand.noise_by_hand import UnitNoise, WholeLaplace
from support.by_hand.sampled_by_hand import every_way
from support.by_hand.small_domains import STATISTICS, Enumerated, most_change
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.release.release import PlanRunner

LOW, HIGH, VALUES = Fraction(0), Fraction(4), (0, 4)
GROUPS = (("a",), ("b",))
EDGES = [x / 2 for x in range(-8, 25)]
GRID_UNITS = 1024
"""Of a bound, in propose-test-release."""

HOWS: list[dict[str, Any]] = [
    {"method": "smooth", "distribution": "laplace"},
    {"method": "smooth", "distribution": "student_t"},
    {"method": "smooth", "distribution": "cauchy"},
    {"method": "ptr", "bound": 1},
    {"method": "ptr", "bound": "search"},
    {"method": "sample_and_aggregate", "bins": 2},
]
CONCENTRATED = ["laplace_log_normal", "uniform_log_normal", "arsinh_normal"]
OTHERS: list[tuple[tuple[str, int], ...]] = [(), (("a", 0), ("b", 4)), (("a", 4), ("a", 4))]
COMING: list[tuple[tuple[str, int], ...]] = [
    (("a", 0),),
    (("a", 0), ("a", 4)),
    (("a", 4), ("b", 0)),
    (("a", 0), ("a", 0), ("b", 4)),  # more rows than any unit here allows
]
UNITS = [tc.unit("person", rows=1), tc.unit("person", rows=2), tc.unit("person", rows=2, groups=1)]
ROWS = [("a", 0), ("a", 4), ("b", 4)]

Row = tuple[int, str, int]
Records = tuple[tuple[int, ...], ...]


def table_of(rows: tuple[Row, ...]) -> Any:
    frame = pd.DataFrame(rows, columns=["person", "g", "x"])
    return frame.astype({"person": "int64", "g": "str", "x": "int64"})


@cache
def noise_of(kind: str, sigma: float) -> UnitNoise:
    return UnitNoise(kind, sigma)


@dataclass(frozen=True)
class Release:
    """A question that names its method, its plan, and the law of its answer by hand.

    Attributes:
        statistic: ``"median"`` or ``"mean"``.
        how: the method and its options, as pairs.
        unit: what is protected.
        known: whether the keys are public.
        budget: what may be spent.
        sharp: what the noise on answers is too small by.
    """

    statistic: str
    how: tuple[tuple[str, Any], ...]
    unit: Any = tc.one_row_each
    known: bool = False
    budget: Any = field(default_factory=lambda: tc.epsilon_delta(4, "1/5"))
    sharp: float = 1.0

    @cached_property
    def aggregate(self) -> Any:
        return getattr(tc, self.statistic)("x", 0, 4, **dict(self.how))

    @cached_property
    def plan(self) -> Plan:
        source = open_source(table_of(()), name="empty")
        query = Query(
            source.schema,
            self.unit,
            by=("g",),
            keys=GROUPS if self.known else None,
            aggregates=(("x", self.aggregate),),
        )
        source.close()
        return Plan(query, self.budget)

    @property
    def part(self) -> Any:
        return self.plan.parts[0]

    def counted(self, rows: tuple[Row, ...]) -> tuple[dict[Any, int], dict[Any, list[Records]]]:
        """Run the engine: the people of each key, and the records for each set of keys.

        The records of a group are one list, or one for each bin of people.
        """
        source = open_source(table_of(rows), name="drawn")
        try:
            if self.known:
                sets, people = [GROUPS], {}
            else:
                exact = PlanRunner(source).collect(self.plan)
                people = dict(zip(exact.people.keys, exact.people.counts, strict=True))
                sets = [
                    keys
                    for size in range(1, len(people) + 1)
                    for keys in itertools.combinations(sorted(people), size)
                ]
            found = {}
            for keys in sets:
                (vectors,) = PlanRunner(source).collect(self.plan).vectors(
                    self.plan.chains(len(keys)), list(keys)
                )  # fmt: skip
                (counted,) = vectors.values()
                lists = [tuple(np.repeat(*part).tolist()) for part in counted]
                each = len(lists) // len(keys)
                found[keys] = [tuple(lists[i : i + each]) for i in range(0, len(lists), each)]
            return people, found
        finally:
            source.close()

    # ---- the law of one group, over the cells

    @cached_property
    def _laws(self) -> dict[Records, Any]:
        return {}

    def law(self, records: Records) -> Any:
        """The chance of each cell of the answer of one group."""
        if records not in self._laws:
            name = self.plan.used(self.aggregate).method.name  # type: ignore[union-attr]
            self._laws[records] = {
                "smooth": self._smooth,
                "ptr": self._tested,
                "sample_and_aggregate": self._sampled,
            }[name](records)
        return self._laws[records]

    @cached_property
    def _walk(self) -> Enumerated:
        full = most_change(self.statistic, LOW, HIGH, "unbounded")
        return Enumerated(STATISTICS[self.statistic], VALUES, "unbounded", full)

    def _value(self, data: tuple[Fraction, ...]) -> Fraction:
        return Fraction(STATISTICS[self.statistic](data)) if data else (LOW + HIGH) / 2

    def _smooth(self, records: Records) -> Any:
        m = self.part.on_column(self.plan.noises[0])
        data = tuple(map(Fraction, records[0]))
        s = self._walk.smooth(data, float(m.beta)) if data else float(self._walk.full)
        kind = self.part.record(self.plan.noises[0])["distribution"]
        sigma = float(getattr(m.unit, "sigma", 3))
        width = s / float(m.shift) * self.sharp
        return np.array(noise_of(kind, sigma).cells(float(self._value(data)), width, EDGES))

    def _tested(self, records: Records) -> Any:
        """Refused, and the cells; with a search for the bound, the cells of each bound."""
        data = tuple(map(Fraction, records[0]))
        m = self.part.on_column(self.plan.noises[0])
        epsilon = float(self.plan.noises[0].loss) / self.unit.rows / 2
        if not self.part.method.searches:
            bound = Fraction(self.part.method.bound)
            distance = self._distance(data, bound)
            test = WholeLaplace(1 / epsilon)
            passes = 1.0 if distance is None else test.at_least(m.threshold - distance)
            return np.array([1 - passes, *(passes * p for p in self._noisy(data, bound, epsilon))])
        level, query = WholeLaplace(25 / 9 / epsilon), WholeLaplace(25 / 8 / epsilon)
        y = np.arange(-150, 151)
        left, found = level.at(y), []
        for bound in m.ladder[:-1]:
            distance = self._distance(data, bound)
            least = m.threshold + y - (distance or 0)
            passes = np.array([query.at_least(int(x)) for x in least])
            if distance is None:
                passes = np.ones(len(y))
            found.append((float((left * passes).sum()), bound))
            left = left * (1 - passes)
        found.append((float(left.sum()), m.ladder[-1]))
        return np.concatenate([p * np.array(self._noisy(data, b, epsilon)) for p, b in found])

    def _distance(self, data: tuple[Fraction, ...], bound: Fraction) -> int | None:
        if data:
            return self._walk.distance(data, bound)
        return 0 if self._walk.full > bound else None

    def _noisy(self, data: tuple[Fraction, ...], bound: Fraction, epsilon: float) -> list[float]:
        grid = bound / GRID_UNITS
        centre = math.floor(self._value(data) / grid + Fraction(1, 2))
        return _cells(WholeLaplace(GRID_UNITS / epsilon * self.sharp), centre, grid)

    def _sampled(self, records: Records) -> Any:
        """The mean of two bins: of every way to bin rows, or of the bins that people are in."""
        grid = Fraction(1, 1 << 18)  # the power of two just below 4 / 2^20
        epsilon = float(self.plan.noises[0].loss) / self.unit.groups
        noise = WholeLaplace(4 / float(grid) / epsilon * self.sharp)
        if len(records) == 2:
            ways: Any = Counter([records])
        else:
            ways = Counter(
                tuple(tuple(sorted(records[0][r] for r in part)) for part in way)
                for way in every_way(len(records[0]), 2)
            )
        found: Any = 0.0
        for bins, times in ways.items():
            units = [
                math.floor(self._value(tuple(map(Fraction, part))) / grid + Fraction(1, 2))
                for part in bins
            ]
            law = np.array(_cells(noise, sum(units), grid / 2))
            found = found + times / ways.total() * law
        return found

    # ---- the joint law of an answer

    def joint(self, rows: tuple[Row, ...]) -> dict[Any, Any]:
        """For each set of keys that may come out: the chance of that, and of every answer then."""
        people, found = self.counted(rows)
        if self.known:
            return {GROUPS: self._product(1.0, found[GROUPS])}
        keys_part = self.plan.keys
        assert keys_part is not None
        shown = {key: chance_of_key(keys_part.step, n) for key, n in people.items()}
        laws = {}
        for keys in [(), *found]:
            chance = math.prod(p if key in keys else 1 - p for key, p in shown.items())
            laws[keys] = self._product(chance, found.get(keys, []))
        return laws

    def _product(self, chance: float, groups: list[Records]) -> Any:
        joint: Any = np.array(chance)
        for records in groups:
            joint = np.multiply.outer(joint, self.law(records))
        return joint.ravel()


def chance_of_key(step: Any, people: int) -> float:
    """The chance that a key of so many people is shown, by noise truncated at k or at k - 1."""
    assert step.name == "select_keys"
    epsilon, delta = float(step.epsilon), float(step.delta)

    def law(k: int) -> list[float]:
        weights = [math.exp(-epsilon * abs(y)) for y in range(-k, k + 1)]
        return [w / math.fsum(weights) for w in weights]

    k = next(k for k in itertools.count(1) if law(k)[-1] <= delta)
    share = (law(k - 1)[-1] - delta) / (law(k - 1)[-1] - law(k)[-1])
    return math.fsum(
        odds * p
        for reach, odds in ((k, share), (k - 1, 1 - share))
        for y, p in zip(range(-reach, reach + 1), law(reach), strict=True)
        if people > 0 and people + y > reach
    )


def _cells(noise: WholeLaplace, centre: int, grid: Fraction) -> list[float]:
    above = [1.0, *(noise.at_least(math.ceil(Fraction(e) / grid) - centre) for e in EDGES), 0.0]
    return [a - b for a, b in itertools.pairwise(above)]


def excess(p: dict[Any, Any], q: dict[Any, Any], epsilon: float) -> float:
    """The mass of one joint law above e^epsilon times the other."""
    return math.fsum(
        float(np.maximum(law - math.exp(epsilon) * q.get(keys, 0.0), 0).sum())
        for keys, law in p.items()
    )


def renyi(p: Any, q: Any, order: float) -> float:
    """The Renyi divergence of two laws on cells."""
    inside = (p > 1e-15) & (q > 1e-15)
    return float(np.log((p[inside] ** order * q[inside] ** (1 - order)).sum())) / (order - 1)


def rows_of(*people: tuple[tuple[str, int], ...]) -> tuple[Row, ...]:
    return tuple((person, g, x) for person, own in enumerate(people, 1) for g, x in own)


def tables(unit: Any) -> list[tuple[tuple[Row, ...], tuple[Row, ...]]]:
    """Pairs of tables: one without a person, and one with all their rows."""
    if unit.column is not None:
        return [(rows_of(own), rows_of(own, new)) for own in OTHERS for new in COMING]
    few = [m for n in range(3) for m in itertools.combinations_with_replacement(ROWS, n)]
    return [
        (rows_of(*((r,) for r in few_rows)), rows_of(*((r,) for r in few_rows), (row,)))
        for few_rows in few
        for row in ROWS
    ]


def worst(release: Release) -> float:
    """The largest delta at the charged epsilon, less the charged delta: never above zero."""
    cost = release.plan.cost
    laws: dict[Any, Any] = {}
    found = []
    for pair in tables(release.unit):
        for rows in pair:
            if rows not in laws:
                laws[rows] = release.joint(rows)
                total = sum(float(law.sum()) for law in laws[rows].values())
                assert abs(total - 1) < 1e-9
        for one, other in (pair, pair[::-1]):
            delta = excess(laws[one], laws[other], float(cost.amount))
            found.append(delta - float(cost.delta or 0))
    return max(found)

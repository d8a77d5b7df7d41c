"""Small groups of records and of people in bins, and the vectors that an engine counts of them."""

import itertools
from fractions import Fraction

import numpy as np

import tacit as tc
from tacit.core import Space
from tacit.mechanisms.propose_test_release import ProposeTestRelease
from tacit.mechanisms.smooth import SmoothNoise
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.release.release import PlanRunner
from tacit.tables.statistics.data_dependent_steps import (
    BinnedRecords,
    ChangedBins,
    ChangedRecords,
    CountedRecords,
    SampleMean,
)

CELLS = 2


def column(groups):
    return CountedRecords(groups, Fraction(0), Fraction(4), CELLS)


def records_of(groups):
    return Space(column(groups), ChangedRecords())


def bins_of(groups, bins):
    return Space(BinnedRecords(column(groups), bins), ChangedBins())


ON_RECORDS = [
    SmoothNoise("median", 1, distribution="cauchy", grid=2),
    SmoothNoise("mean", 1, "1/20", grid=1),
    SmoothNoise("var", rho="1/2", sigma=1, distribution="arsinh_normal", grid=1),
    SampleMean("median", 2, 1, grid=2),
    SampleMean("mean", 2, "1/2", grid=1),
]
TESTED = ProposeTestRelease("median", 1, 1, "1/10", grid=1)


PEOPLE, KEYS = [1, 2, 3, 4, 5], (("a",), ("b",), ("c",))
ASKED = {
    "middle": tc.median("x", 0, 4, method="smooth"),
    "spread": tc.std("y", -1, 1, method="ptr", bound="1/4"),
    "sampled": tc.mean("x", 0, 4, method="sample_and_aggregate", bins=3),
}


def vectors(table, unit):
    source = open_source(table, name="drawn")
    query = Query(source.schema, unit, by=("g",), keys=KEYS, aggregates=tuple(ASKED.items()))
    plan = Plan(query, tc.epsilon_delta(1, "1e-3"))
    chains = plan.chains(len(KEYS))
    found = PlanRunner(source).collect(plan).vectors(chains, list(KEYS))
    source.close()
    return [
        (plan.measurement(end, part.on_people), end[0], exact[end[0]])
        for part, ends, exact in zip(plan.parts, chains, found, strict=True)
        for end in ends
    ]


def data_sets(groups, most):
    """Every data set of at most so many records, over all groups."""
    places = list(itertools.product(range(groups), range(CELLS + 1)))
    for size in range(most + 1):
        for records in itertools.combinations_with_replacement(places, size):
            yield [
                np.unique(
                    np.array([z for g, z in records if g == own], np.int64), return_counts=True
                )
                for own in range(groups)
            ]

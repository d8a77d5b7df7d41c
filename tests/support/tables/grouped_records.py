"""Every small data set of records in groups."""

from __future__ import annotations

import itertools

import numpy as np

from support.tables.small_groups import CELLS


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

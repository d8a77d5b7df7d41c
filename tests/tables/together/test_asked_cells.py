"""What a plan asks of cells: families, and the best split of the loss among them."""

import random

import pytest
from tests.tables.together.test_family import ASKED, NOISES

from tacit.errors import UsageError
from tacit.tables.together.cell_counts import CellsPart


def test_questions_about_the_same_cells_are_one_family():
    part = CellsPart(ASKED)
    first, second = part.families.values()
    assert [axis.name for axis in first.axes] == ["x in 3 bins"]
    assert first.weights == (("ranges", 1),)
    # the listed groups, times the importance; the histogram by group joins
    assert dict(second.weights) == {"prefix_sums": 6, "cells": 2}
    assert [asked.axes for asked in part._alone] == [asked.axes for asked in ASKED[:2]]
    for kind in ("gaussian", "laplace"):
        assert sum(share for _, _, share in part.measured(kind)) == 1


def test_the_shares_are_the_best_split():
    part = CellsPart(ASKED)
    for kind, norm, power in (("gaussian", "L2", 1), ("laplace", "L1", 2)):
        alone, shares = part.split(kind)
        assert alone + sum(shares.values()) == 1
        totals = [part.strategy(kind).total, *(f.total(norm) for f in part.families.values())]
        best = [float(share) for share in (alone, *shares.values())]

        def whole(split, totals=totals, power=power):
            return sum(t / r**power for t, r in zip(totals, split, strict=True))

        for seed in range(20):
            drawn = [share * random.Random(seed).uniform(0.5, 2) for share in best]
            drawn[seed % len(drawn)] *= 1.3
            assert whole(best) <= whole([r / sum(drawn) for r in drawn]) * (1 + 1e-6)


def test_groups_of_a_question_by_itself_are_refused():
    with pytest.raises(UsageError, match="are answered in a plan"):
        CellsPart(ASKED).chains(2, ("g",), NOISES[0])

"""Trees add what a sum of features cannot say, and nothing where there is nothing."""

from __future__ import annotations

import numpy as np

from tacit.audit.events import boosted

DRAW = np.random.default_rng(11)


def test_a_product_of_two_signs_is_learned():
    rows = DRAW.normal(size=(4000, 3))
    of_u = rows[:, 0] * rows[:, 1] > 0
    trees = boosted(rows, of_u, np.zeros(4000))
    fresh = DRAW.normal(size=(2000, 3))
    right = (trees(fresh) > 0) == (fresh[:, 0] * fresh[:, 1] > 0)
    assert right.mean() > 0.9


def test_noise_is_left_alone():
    rows, of_u = DRAW.normal(size=(4000, 4)), DRAW.random(4000) < 0.5
    trees = boosted(rows, of_u, np.zeros(4000))
    assert len(trees.trees) <= 3
    assert np.abs(trees(rows)).max() < 1


def test_what_a_first_score_says_already_is_not_said_again():
    rows = DRAW.normal(size=(4000, 2))
    of_u = DRAW.random(4000) < 1 / (1 + np.exp(-3 * rows[:, 0]))
    assert np.abs(boosted(rows, of_u, 3 * rows[:, 0])(rows)).mean() < 0.2

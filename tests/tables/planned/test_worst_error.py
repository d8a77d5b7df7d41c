"""Weights that make the largest error small, against the errors of other weights."""

import random
from fractions import Fraction

import pytest

from tacit.tables.answers.base import Noise
from tacit.tables.cell_axis import Axis
from tacit.tables.planned.session_plans import worst_weights
from tacit.tables.together.cell_counts import AskedCells, CellsPart, key_of
from tacit.tables.together.kind import cells_asked

SEX = Axis(("g",), (("a",), ("b",)))
BINS = Axis(("x",), edges=tuple(map(Fraction, (0, 2, 5, 7))))
COUNTS = {"n": cells_asked([]), "sex": cells_asked([SEX]), "both": cells_asked([SEX, BINS])}


def worst(weights, kind):
    asked = [AskedCells(each.axes, weights[label]) for label, each in COUNTS.items()]
    part, noise = CellsPart(tuple(asked)), Noise(kind, Fraction(1, 1000), 1)
    return max(part.expected_error(key_of(each), noise, 1) for each in asked)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_no_drawn_weights_are_much_better(kind):
    found = worst(worst_weights(COUNTS, kind), kind)
    assert found <= worst(dict.fromkeys(COUNTS, 1), kind)
    source = random.Random(7)
    for _ in range(40):
        drawn = {label: source.randint(1, 1000) for label in COUNTS}
        assert found <= 1.02 * worst(drawn, kind)


def test_one_answer_has_the_weight_one():
    assert worst_weights({"n": COUNTS["n"]}, "gaussian") == {"n": 1}

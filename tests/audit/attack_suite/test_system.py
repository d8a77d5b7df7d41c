"""How cases look: what is allowed holds, what is more falls."""

from __future__ import annotations

import random
from itertools import count

import pytest

from tacit.audit.attack_suite.system import (
    FALLS,
    HOLDS,
    moved_at_most,
    moved_beyond_noise,
    rarely_shown,
)


def refuse():
    raise ValueError


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (lambda: 2.0, lambda: 1.0, HOLDS),
        (lambda: 2.5, lambda: 1.0, FALLS),
        (lambda: [1.0, 2.0], lambda: [1.0], FALLS),
        (lambda: float("nan"), lambda: 1.0, FALLS),
        (refuse, lambda: 1.0, FALLS),
        (refuse, refuse, HOLDS),
    ],
)
def test_a_row_moves_answers_by_what_is_allowed_and_errors_by_nothing(left, right, verdict):
    assert moved_at_most(left, right, 1.0, "a row").verdict == verdict


def test_a_rare_event_of_one_side_falls_and_one_of_both_holds():
    """The event in one release of 25, as the gaps of a sum of floats show."""
    left, right = count(), count()
    asked = {"epsilon": 1.0, "what": "it", "runs": 4800}
    found = rarely_shown(lambda: next(left) % 25, lambda: 1, lambda x: x == 0, **asked)
    assert found.verdict == FALLS
    assert "against 0 of" in found.evidence
    both = rarely_shown(
        lambda: next(left) % 25, lambda: next(right) % 25, lambda x: x == 0, **asked
    )
    assert both.verdict == HOLDS
    assert rarely_shown(lambda: 1, lambda: 1, lambda x: x == 0, **asked).verdict == HOLDS


@pytest.mark.parametrize("moved", [1, -2, 2, 4, 20])
@pytest.mark.parametrize("made_for", [1, 2, 4, 20])
def test_a_row_may_count_for_several_where_the_noise_is_made_for_them(moved, made_for):
    draw = random.Random(5)

    def noisy(value):
        return lambda epsilon: value + draw.choice((-1, 1)) * draw.expovariate(epsilon / made_for)

    found = moved_beyond_noise(noisy(3 + moved), noisy(3), "a row")
    assert found.verdict == (HOLDS if abs(moved) <= made_for else FALLS)


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
@pytest.mark.parametrize("turned", [False, True])
def test_an_answer_that_is_no_number_falls_however_large_the_noise_is(odd, turned):
    left, right = (odd, 3.0) if turned else (3.0, odd)
    found = moved_beyond_noise(lambda epsilon: left, lambda epsilon: right, "a row")
    assert found.verdict == FALLS

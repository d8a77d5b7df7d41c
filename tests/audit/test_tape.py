"""A tape hands out noise that notes what it is added to, and freezes the sums in a replay."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit import noise
from tacit.audit.replay import Diverged, Noise, Tape, run_once


def run(action, recorded=None):
    tape = Tape(recorded)
    return run_once(lambda _: action(), None, tape), tape


def test_a_sum_is_noted_with_its_number_and_frozen_in_the_replay():
    first, tape = run(lambda: 5 + noise.discrete_laplace(3))
    assert [(m.value, m.released) for m in tape.meetings] == [(5, first)]
    assert tape.draws[0].line.startswith("test_tape.py:")
    with pytest.raises(Diverged, match="instead of"):
        run(lambda: 7 + noise.discrete_laplace(3), tape)  # of another line


def test_the_same_line_is_answered_as_before():
    def release(value):
        return run(lambda: value + noise.discrete_laplace(3), recorded)

    recorded = None
    first, recorded = release(5)
    second, replayed = release(8)
    assert second == first
    assert replayed.meetings[0].value == 8


def test_arrays_keep_their_shape_and_every_cell_is_followed():
    released, tape = run(lambda: np.arange(4).reshape(2, 2) + noise.discrete_laplace(1, (2, 2)))
    assert released.shape == (2, 2)
    assert [m.value for m in tape.meetings] == [0, 1, 2, 3]


def test_factors_and_sums_of_draws_are_kept():
    def release():
        return 10 - (noise.discrete_laplace(2) * 3 + noise.discrete_gaussian(1) / 4)

    _, tape = run(release)
    (meeting,) = tape.meetings
    assert [factor for _, _, factor in meeting.draws] == [-3, Fraction(-1, 4)]
    assert meeting.value == 10


@pytest.mark.parametrize("taken", [int, float, abs, bool, round, hash])
def test_what_becomes_a_plain_number_is_noted(taken):
    _, tape = run(lambda: taken(noise.discrete_laplace(2)))
    assert len(tape.lost) == 1


def test_noise_shows_nothing_of_itself():
    shown, _ = run(lambda: repr(noise.discrete_laplace(1000)))
    assert shown == "Noise()"
    is_one, _ = run(lambda: isinstance(+noise.discrete_laplace(1000), Noise))
    assert is_one
    alone, _ = run(lambda: +noise.discrete_laplace(1000))
    assert type(alone) is int  # what is given out is released


def test_another_order_of_draws_is_no_replay():
    def release(rows):
        def inside():
            for _ in range(rows):
                noise.bernoulli("1/2")

        return run(inside, recorded)

    recorded = None
    _, recorded = release(2)
    with pytest.raises(Diverged, match="a draw more"):
        release(3)

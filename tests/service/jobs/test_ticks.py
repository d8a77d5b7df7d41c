"""Ticks: an outcome becomes visible as a function of the public clock."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tacit.service.jobs.queue import margin, next_tick, tick_after, ticks_late

TIMES = st.floats(min_value=0, max_value=1e6)
LATENCIES = st.floats(min_value=0.01, max_value=3600)


@given(TIMES, LATENCIES, TIMES)
def test_a_tick_is_a_power_of_two_of_the_latency(asked: float, latency: float, took: float) -> None:
    tick = next_tick(asked, latency, asked + took)
    assert tick > asked + took
    power = math.log2((tick - asked) / latency)
    assert abs(power - round(power)) < 1e-6
    assert round(power) >= 0


@given(TIMES, LATENCIES, TIMES, TIMES)
def test_what_is_done_within_the_latency_is_shown_at_the_same_moment(
    asked: float, latency: float, one: float, other: float
) -> None:
    within = [asked + (took % 1) * (latency - margin(latency)) * 0.999 for took in (one, other)]
    ticks = {tick_after(asked, latency, done) for done in within}
    assert ticks == {asked + latency}


@given(LATENCIES, st.floats(min_value=1, max_value=1e5))
def test_time_tells_few_bits(latency: float, slowest: float) -> None:
    """Of engine times up to a factor of the latency, at most log2 of it ticks can be told apart."""
    ticks = {tick_after(0, latency, latency * slowest * k / 500) for k in range(501)}
    assert len(ticks) <= math.log2(slowest) + 3


@given(LATENCIES)
def test_an_outcome_is_written_down_before_its_tick(latency: float) -> None:
    assert 0 < margin(latency) <= latency / 2
    just_too_late = latency - margin(latency) * 0.99
    assert tick_after(0, latency, just_too_late) == 2 * latency


def test_how_late_a_tick_is() -> None:
    assert [ticks_late(10, 2, visible) for visible in (10, 12, 14, 18, 26)] == [0, 0, 1, 2, 3]

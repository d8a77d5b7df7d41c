"""An address that sends tokens which are none is told to wait; the memory of it is bounded."""

from __future__ import annotations

import pytest

from tacit.service.problem import Problem
from tacit.service.web.problems import FailedTokens


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_an_address_is_stopped_at_its_limit_and_others_are_not() -> None:
    clock = Clock()
    failures = FailedTokens(3, clock)
    for _ in range(3):
        failures.note("10.0.0.1")
    with pytest.raises(Problem) as caught:
        failures.note("10.0.0.1")
    assert caught.value.code == "too_many"
    assert caught.value.details == {"retry_after": 60}
    failures.note("10.0.0.2")
    clock.now += 60
    failures.note("10.0.0.1")


def test_a_million_addresses_fill_no_memory() -> None:
    clock = Clock()
    failures = FailedTokens(1, clock)
    for number in range(30_000):
        failures.note(f"10.{number}")
    assert len(failures._seen) <= 10_000
    clock.now += 61
    failures.note("10.0.0.1")
    assert len(failures._seen) == 1

"""What the engines share."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tacit.errors import DataSourceError, UsageError
from tacit.tables.engines.base import (
    InPlaceEngine,
    checked_timeout,
    closed_on_failure,
    refuse_like_names,
)
from tacit.tables.engines.postgres import PostgresEngine


def test_an_engine_is_closed_where_the_table_is_not_found_and_only_there() -> None:
    closed: list[int] = []
    engine: Any = SimpleNamespace(close=lambda: closed.append(1))
    with closed_on_failure(engine):
        pass
    assert not closed
    with pytest.raises(KeyboardInterrupt), closed_on_failure(engine):
        raise KeyboardInterrupt
    assert closed == [1]


def test_an_engine_in_place_keeps_nothing_and_names_no_two_queries_alike() -> None:
    one, two = (InPlaceEngine().materialise("select 1") for _ in range(2))
    assert one.startswith("(select 1) as tacit_")
    assert one != two
    with InPlaceEngine().rehearsal():
        assert PostgresEngine.memory is None


def test_names_that_differ_in_capital_letters_are_refused() -> None:
    refuse_like_names(["age", "Site"])
    with pytest.raises(DataSourceError, match="capital letters"):
        refuse_like_names(["age", "AGE"])


@pytest.mark.parametrize("timeout", [0, -1, True, "5", 1e7])
def test_what_is_no_time_is_refused(timeout: Any) -> None:
    assert checked_timeout(2.5) == 2.5
    with pytest.raises(UsageError, match="number of seconds"):
        checked_timeout(timeout)

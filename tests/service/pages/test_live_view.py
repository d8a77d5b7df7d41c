"""Dashboards and collections, as pages show them."""

from __future__ import annotations

from typing import Any

from tacit.service.pages.live_view import board_card, shown_board, shown_estimate

BOARD: dict[str, Any] = {
    "id": "d1",
    "dataset": "visits",
    "counted": {
        "column": "day", "start": "2026-01-01", "every": "1d", "periods": 90, "epsilon": "1/2"
    },
    "asked_by": "ada",
    "state": "running",
    "created": 0,
    "periods_shown": 70,
}  # fmt: skip


def column(n: int) -> dict[str, list[float]]:
    return {
        "value": [float(i) for i in range(n)],
        "standard_error": [1.0] * n,
        "low": [i - 2.0 for i in range(n)],
        "high": [i + 2.0 for i in range(n)],
    }


def test_the_pictures_show_the_latest_periods_and_the_tables_all() -> None:
    periods = [f"2026-01-{1 + i:02}T00:00:00" for i in range(70)]
    counts = {"periods": periods, "columns": {"count": column(70), "total": column(70)}}
    shown = shown_board({**BOARD, "counts": counts})
    assert (shown["title"], shown["left"]) == ("day of visits", 10)
    assert [name for name, _ in shown["charts"]] == ["Rows in each period", "Running total"]
    first = shown["tables"][0]["rows"]
    assert (len(first), first[0]["item"], first[0]["between"]) == (70, "2026-01-70", "67.0 to 71.0")
    assert dict(board_card(BOARD)["about"])["Price of all periods"] == "epsilon 1/2"


def test_nothing_is_drawn_before_a_period_is_over() -> None:
    assert shown_board({**BOARD, "counts": None})["charts"] == []


def test_an_estimate_is_shown_by_size_and_without_what_is_no_number() -> None:
    items = [
        {"item": "a", "count": 1.0, "low": -3.0, "high": 5.0},
        {"item": [18, 25], "count": 40.0, "low": 30.0, "high": 50.0},
        {"item": "c", "count": None, "low": None, "high": None},
    ]
    told = {
        "collection": "colour", "n": 41, "refused": {"replay": 2, "range": 0}, "level": "0.95",
        "results": [{"name": None, "n": 41, "items": items}, {"name": "empty", "items": []}],
    }  # fmt: skip
    shown = shown_estimate(told)
    assert (shown["n"], shown["refused"]) == (41, "2 replay")
    assert [[row["item"] for row in one["rows"]] for one in shown["tables"]] == [["18 to 25", "a"]]

"""Counts over time from recorded parts: numbers that stay, totals of few blocks, intervals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tacit.tables.live.counter import answer_of_blocks, law_of, periods_of, published

QUESTION: dict[str, Any] = {
    "query": {
        "aggregates": [
            [
                "visits",
                {"column": "n", "reads": "integers", "start": 10, "every": 5, "periods": 8,
                 "branching": 2},
            ]
        ]
    },
    "noise": {"step": "laplace", "scale": "3"},
}  # fmt: skip


def blocks_of(counts: list[int]) -> list[list[int]]:
    """Every level that is over, without noise."""
    line, tree = periods_of(QUESTION)
    assert line.periods == 8
    return [
        [sum(counts[i : i + w]) for i in range(0, len(counts) // w * w, w)] for w in tree.widths
    ]


@pytest.mark.parametrize("closed", range(9))
def test_without_noise_totals_are_the_running_sums(closed: int) -> None:
    counts = [3, 0, 7, 1, 1, 9, 2, 4][:closed]
    found = answer_of_blocks(QUESTION, blocks_of(counts))
    assert found["keys"] == [[10 + 5 * i] for i in range(closed)]
    count, total = found["columns"]
    assert count["value"] == counts
    assert total["value"] == [sum(counts[: i + 1]) for i in range(closed)]
    for column in (count, total):
        for value, low, high in zip(column["value"], column["low"], column["high"], strict=True):
            assert 0 <= low <= value <= high


def test_errors_grow_with_the_blocks_that_a_total_is_made_of() -> None:
    _, tree = periods_of(QUESTION)
    count, total = answer_of_blocks(QUESTION, blocks_of([5] * 8))["columns"]
    law = law_of(QUESTION)
    assert set(count["standard_error"]) == {math.sqrt(law.variance)}
    assert total["standard_error"] == [
        pytest.approx(math.sqrt(terms * law.variance)) for terms in tree.terms[1:9]
    ]


def test_an_interval_holds_a_count_that_noise_made_negative() -> None:
    count, _ = answer_of_blocks(QUESTION, blocks_of([-40]))["columns"]
    assert (count["low"], count["high"][0] >= 0) == ([-40], True)


def test_what_was_published_does_not_depend_on_when_it_was() -> None:
    counts = [3, 0, 7, 1, 1, 9]
    _, tree = periods_of(QUESTION)
    blocks = blocks_of(counts)

    def parts(cuts: list[int]) -> list[dict[str, Any]]:
        made = []
        for before, after in itertools.pairwise(cuts):
            listed = [
                blocks[level][place]
                for level, first, end in tree.closing(before, after)
                for place in range(first, end)
            ]
            made.append({"periods": [before, after], "blocks": listed})
        return made

    at_once = published(QUESTION, parts([0, 6]))
    assert at_once == published(QUESTION, parts([0, 1, 2, 5, 6])) == answer_of_blocks(
        QUESTION, blocks
    )  # fmt: skip
    assert published(QUESTION, [])["keys"] == []
    assert published(QUESTION, parts([0, 6]), most=3)["keys"] == at_once["keys"][:3]

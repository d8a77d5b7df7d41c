"""Every value of the shared reference table, both columns, every relation and distance."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import tacit.statistics as ts
from support.tables.shared_data import shared_file
from tacit.errors import InfeasibleError

READINGS = {
    "unbounded_exact_k": ("unbounded", False),
    "unbounded_symdist_at_most_k": ("unbounded", True),
    "unbounded_remove_exact_k": ("remove", False),
    "unbounded_add_exact_k": ("add", False),
    "bounded_exact_k": ("bounded", False),
    "bounded_at_most_k": ("bounded", True),
}


def load() -> dict[str, Any]:
    path = shared_file("sensitivity_reference.json")
    if path is None:
        pytest.skip("the shared data folder is absent")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def name_of(query: str) -> str:
    return query.replace("percentile_", "percentile:")


def agree(found: ts.Sensitivity, stated: Any) -> bool:
    if isinstance(stated, float):
        return abs(float(found) - stated) <= 1e-9 * max(1.0, stated)
    return found.value == Fraction(stated)


def compare(block: dict[str, Any], population: list[int], at: list[int] | None) -> int:
    checked = 0
    for reading, (relation, within) in READINGS.items():
        for distance, queries in block.get(reading, {}).items():
            for query, stated in queries.items():
                over = ts.Records(population, size=6)
                asked = {"at": at, "distance": int(distance), "relation": relation}
                if stated is None:
                    with pytest.raises(InfeasibleError):
                        ts.sensitivity(name_of(query), over=over, within=within, **asked)
                else:
                    found = ts.sensitivity(name_of(query), over=over, within=within, **asked)
                    assert agree(found, stated), (reading, distance, query, found, stated)
                checked += 1
    return checked


def one_direction(block: dict[str, Any], population: list[int], at: list[int] | None) -> int:
    """ "1..k fewer or 1..k more" is the larger of the two relations in one direction."""
    checked = 0
    for distance, queries in block["unbounded_at_most_k_one_direction"].items():
        for query, stated in queries.items():
            over = ts.Records(population, size=6)
            best = 0.0
            for relation, room in (("add", 4), ("remove", 5)):
                k = min(int(distance), room)
                best = max(best, ts.sensitivity(name_of(query), over, at, k, relation).value)
            assert abs(best - Fraction(stated)) <= 1e-9 * max(1.0, float(Fraction(stated)))
            checked += 1
    return checked


@pytest.mark.few(2)
@pytest.mark.parametrize("column", ["school_year", "absence_days"])
def test_the_whole_reference_table(column: str) -> None:
    table = load()[column]
    population = table["universe"]
    checked = compare(table["global"], population, None)
    checked += one_direction(table["global"], population, None)
    for release, block in table["local"].items():
        checked += compare(block, population, json.loads(release))
        checked += one_direction(block, population, json.loads(release))
    assert checked > 500

"""JSON-stat 2.0."""

from __future__ import annotations

import json
from typing import Any

from tacit.tables.publish.cube import MEASURES, STATE_WORDS, Cube, Dimension, time_dimensions

# Source: X. Badosa, *JSON-stat 2.0 full format specification*.
#
# Labels and the full list of values are optional there; pyjstat reads no file without them.


def json_stat(cube: Cube, *, time: str | None = None) -> str:
    """Return a cube as JSON-stat: its numbers as the dimension ``measure``."""
    codes, labels = zip(*MEASURES, strict=True)
    dimensions = [*cube.dimensions, Dimension("measure", codes, labels)]
    numbers = [(number, cell) for cell in cube.cells for number in cell.numbers]
    status = {
        str(index): STATE_WORDS[cell.state_of(number)]
        for index, (number, cell) in enumerate(numbers)
        if number is None
    }
    role = {"metric": ["statistic", "measure"]}
    times = time_dimensions(cube, time)
    data: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": cube.title,
        "source": cube.facts.get("dataset"),
        "updated": cube.facts.get("released"),
        "note": [f"{name}: {text}" for name, text in cube.about],
        "id": [one.name for one in dimensions],
        "size": [len(one.codes) for one in dimensions],
        "role": {"time": times, **role} if times else role,
        "dimension": {one.name: _dimension(one) for one in dimensions},
        "value": [number for number, _ in numbers],
        "status": status,
        "extension": {"tacit": cube.facts},
    }
    return json.dumps(
        {name: part for name, part in data.items() if part not in (None, {}, [])},
        ensure_ascii=False,
        allow_nan=False,
    )


def _dimension(one: Dimension) -> dict[str, Any]:
    return {
        "label": one.column or one.name,
        "category": {
            "index": {code: index for index, code in enumerate(one.codes)},
            "label": dict(zip(one.codes, one.labels, strict=True)),
        },
    }

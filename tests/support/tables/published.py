"""A released answer that is hard to publish: codes, labels and missing cells of every kind."""

import math

from tacit.tables.export import ExportStatistic
from tacit.tables.publish.cube import Cube, cube_of

KEYS: list[tuple[object, int]] = [
    ("0101", 1),
    ("0102", 2),
    ("NA", 1),
    ("é; =x", 2),
    ("a: b", 1),
    (None, 2),
    ("", 1),
    ('q"q', 2),
    ("x,y (z)", 1),
    ("true", 1),
    ("1e5", 2),
    ("-", 1),
    ("missing", 2),
    ("北京", 2),
]
LABELS = {"site": {"0101": "North", "0102": "North", "NA": "Namibia, the «Republic»"}}
ABOUT = [("data set", "visits"), ("privacy loss", "epsilon(1)")]
FACTS = {
    "dataset": "visits",
    "released": "2026-11-28T17:40:51.787+00:00",
    "privacy_loss": {"kind": "pure", "epsilon": "1"},
}


def statistics() -> list[ExportStatistic]:
    """Return a count of every group, and a mean with what may be missing of it."""
    n = len(KEYS)
    count = {
        "value": list(range(-1, n - 1)),
        "standard_error": [1.5] * n,
        "low": [-(10**20)] * n,
        "high": [8] * n,
    }
    mean = {
        "value": [0.1 + i / 3 for i in range(n - 2)] + [None, None],
        "standard_error": [None] * n,
        "low": [1e-7] * (n - 2) + [None] * 2,
        "high": [math.inf] * (n - 2) + [None] * 2,
        "refused": [False] * (n - 1) + [True],
    }
    return [ExportStatistic("n", count), ExportStatistic("mean", mean)]


def cube(selected: bool = True, **more: object) -> Cube:
    """Return the cube of the answer."""
    given = {"about": ABOUT, "facts": FACTS, "key_labels": LABELS, **more}
    return cube_of(["site", "year"], KEYS, statistics(), selected=selected, **given)

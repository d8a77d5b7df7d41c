"""Number of examples of a property: by the run, and by the property."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(times: float, **others: Any) -> settings:
    """So many times the examples that the run gives each property (see ``tests/conftest.py``).

    >>> examples(2).max_examples == 2 * settings.default.max_examples
    True
    """
    return settings(max_examples=max(1, round(times * settings.default.max_examples)), **others)

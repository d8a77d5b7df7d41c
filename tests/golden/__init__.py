"""Golden files: what today's code gives, which a change of its inside must not change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from . import figures, keys, outputs

FILES: dict[str, Callable[[], Iterable[tuple[str, Callable[[], Any]]]]] = {
    "figures": figures.cases,
    "keys": keys.cases,
    "outputs": outputs.cases,
}

"""Contents of a figure, for the tests of plots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tacit.statistics as ts

CLASSIC = ts.Records([1, 2, 3, 10, 11], size=3)
TABLE = {"year": [1, 2, 2, 2, 5, 5, 7, 8, 9, 9], "days": [1, 2, 3, 4, 5, 6, 7, 8, 15, 20]}


def texts(figure: Any) -> list[str]:
    import matplotlib.text

    return [t.get_text() for t in figure.findobj(matplotlib.text.Text) if t.get_text()]


def save(figure: Any, folder: Path) -> None:
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        path = folder / f"figure.{kind}"
        figure.savefig(path)
        assert path.read_bytes().startswith(start)

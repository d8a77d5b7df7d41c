"""The table that comes with Tacit: real people, a public source, a true unit of privacy."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["health_insurance"]


def health_insurance() -> Path:
    """Return the path of the RAND Health Insurance Experiment as a Parquet file.

    The table has 20,190 rows, one per person and year, of 5,912 people, each with 1 to 5 rows: a
    table in which the person (column ``person``), not the row, is the unit of privacy.  Among its
    columns are ``site``, ``plan``, ``age``, ``income``, ``visits`` and ``spending``; the README
    beside the file says what each one means, in which unit and range.

    Source:
        RAND Corporation; in the public domain.  See the README beside the file.

    >>> health_insurance().name
    'health_insurance.parquet'
    """
    return Path(str(files(__name__) / "health_insurance.parquet"))

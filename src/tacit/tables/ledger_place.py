"""Where the ledger of a table stands by default: beside its file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

__all__ = ["ledger_beside"]


def ledger_beside(source: Any, table: str | None = None) -> Path | None:
    """Return the ledger's place beside a file or a folder: the same from whatever folder one asks.

    Args:
        source: a table, as :class:`tacit.Session` takes it.
        table: the table of a database.

    Returns:
        ``visits.ledger`` beside ``visits.csv``; None where there is no place: for a data frame, a
        connection, an address, a pattern of files, and for the table that comes with Tacit, which
        is public and stands among the program's own files.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "visits.csv"
    >>> path.touch()
    >>> ledger_beside(path).name, ledger_beside("visits-*.csv")
    ('visits.ledger', None)
    >>> folder.cleanup()
    """
    if not isinstance(source, (str, os.PathLike)) or "://" in os.fspath(source):
        return None
    path = Path(os.path.expanduser(os.fspath(source)))
    if not os.fspath(source) or not path.exists():
        return None
    place = path.resolve()
    from tacit.data import health_insurance

    if place == health_insurance().resolve():
        return None
    stem = place.name if place.is_dir() else place.name.split(".")[0] or place.name
    return place.with_name(f"{stem}.{table}.ledger" if table else f"{stem}.ledger")

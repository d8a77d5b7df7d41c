"""Statements that were planned of late: the next question that asks the same need not be parsed.

DuckDB takes as long to parse and to plan a small query as to run it.  It plans a statement anew
whenever it is run, but not to parse it again it can be given the statement itself.  The process
keeps those of its latest questions: their text is made of a question, and whether it can be planned
follows from the text and the types of the table.  Both are public; no row has a part in it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

__all__ = ["PlannedStatements", "planned_statements"]

_MOST = 64
_LONGEST = 1 << 16


class PlannedStatements:
    """Parsed statements by their text and the shape of the table that they were planned for.

    >>> import duckdb
    >>> known = PlannedStatements()
    >>> sql = "select 1"
    >>> known.keep("one", sql, duckdb.extract_statements(sql)[0])
    >>> known.get("one", sql).query, known.get("other", sql)
    ('select 1', None)
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], duckdb.Statement] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, shape: str, sql: str) -> duckdb.Statement | None:
        """Return a statement that was planned for a table of this shape, if it is kept."""
        return self._known.get((shape, sql))

    def keep(self, shape: str, sql: str, statement: duckdb.Statement) -> None:
        """Keep a statement that was planned; the one that was kept first makes room for it."""
        if len(sql) > _LONGEST:
            return
        with self._lock:
            self._known[shape, sql] = statement
            while len(self._known) > _MOST:
                self._known.popitem(last=False)

    def forget(self, shape: str, sql: str) -> None:
        """Forget a statement that failed: it is planned again before it is run."""
        with self._lock:
            self._known.pop((shape, sql), None)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._known.clear()


planned_statements = PlannedStatements()
"""Those of this process."""

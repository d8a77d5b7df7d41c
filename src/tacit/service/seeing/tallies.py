"""Counters of a service, added up over all its processes and machines in the store.

Each process counts in memory and adds what it counted to the store every few seconds, and whenever
its metrics are asked for.  So whichever process is asked, the counters are those of the service:
they never go back when another process answers, nor when one is started again.  What a process
counted since its last entry is lost where it is killed, and stands a few seconds late where it
lives.  The moments of the entries are those of a clock, whatever was counted.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping

import sqlalchemy as sa

from tacit.service.store.database import Database, metadata

__all__ = ["Tallies"]

Key = tuple[str, tuple[str, ...]]

_tallies = sa.Table(
    "tally",
    metadata,
    sa.Column("name", sa.String(60), primary_key=True),
    sa.Column("labels", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
)


class Tallies:
    """Counts by name and labels; threads may share one.

    Args:
        database: the store of the service; None counts in this process alone.

    >>> tallies = Tallies(None)
    >>> tallies.add("refreshes", ("visits",))
    >>> tallies.add("refreshes", ("visits",), 2)
    >>> tallies.totals()
    {('refreshes', ('visits',)): 3}
    """

    def __init__(self, database: Database | None) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._fresh: Counter[Key] = Counter()

    def add(self, name: str, labels: tuple[str, ...], number: int = 1) -> None:
        """Count something."""
        with self._lock:
            self._fresh[name, labels] += number

    def note(self) -> None:
        """Add what was counted here since the last time to the store.

        Raises:
            Problem: the store is away; what was counted is added the next time.
        """
        if self._database is None:
            return
        with self._lock:
            taken, self._fresh = self._fresh, Counter()
        if not taken:
            return
        try:
            with self._database.begin(lock="tallies") as run:
                for (name, labels), number in sorted(taken.items()):
                    _add(run, name, json.dumps(labels), number)
        except BaseException:
            with self._lock:
                self._fresh.update(taken)
            raise

    def totals(self) -> Mapping[Key, int]:
        """Return the counts of the whole service, with what was counted here until now.

        Raises:
            Problem: the store is away.
        """
        if self._database is None:
            with self._lock:
                return dict(self._fresh)
        self.note()
        with self._database.read() as run:
            rows = run.execute(sa.select(_tallies).order_by(_tallies.c.name, _tallies.c.labels))
            return {(row.name, tuple(json.loads(row.labels))): row.number for row in rows}


def _add(run: sa.Connection, name: str, labels: str, number: int) -> None:
    own = sa.and_(_tallies.c.name == name, _tallies.c.labels == labels)
    changed = run.execute(_tallies.update().where(own).values(number=_tallies.c.number + number))
    if not changed.rowcount:
        run.execute(_tallies.insert().values(name=name, labels=labels, number=number))

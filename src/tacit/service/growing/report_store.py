"""The sums of a collection's reports in the store: each report counts once, whatever happens.

A report is random by what the device did, before it was sent; so nothing here has to be kept from
anybody.  What is kept is little all the same: exact sums, how many reports were refused for which
reason, the random ids of those that counted (to refuse a replay), and how many each token sent
where the collection limits that.  Who sent which report is not kept.

**Once.**  The ids of a request are inserted where they are new, and only reports whose id was
inserted are added to the sums, in the same transaction.  A request that dies before its end has
added nothing; one whose reply was lost is refused as a replay when it comes again.  Of several
processes with the same report one inserts its id, by the table's primary key.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects import postgresql, sqlite

from tacit.errors import LedgerError, UsageError
from tacit.local.base.oracle import State
from tacit.local.collecting.wire import Decoded, Reason, Wire
from tacit.service.growing.collection import Collection
from tacit.service.store.database import Database, metadata

__all__ = ["MOST_REPORTS", "Posted", "ReportStore"]

MOST_REPORTS = 10_000
"""The most reports in one request."""

_sums_of = sa.Table(
    "collection_sum",
    metadata,
    sa.Column("collection", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("n", sa.BigInteger, nullable=False),
    sa.Column("sums", sa.LargeBinary, nullable=False),
    sa.Column("refused", sa.Text, nullable=False),
)
_ids = sa.Table(
    "collection_id",
    metadata,
    sa.Column("collection", sa.Text, nullable=False),
    sa.Column("id", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("collection", "id"),
    sqlite_with_rowid=False,
)
_tokens = sa.Table(
    "collection_token",
    metadata,
    sa.Column("collection", sa.Text, nullable=False),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("n", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("collection", "token"),
)
_AT_ONCE = 400
"""Ids in one statement: two parameters each, and SQLite once took 999."""


@dataclass(frozen=True)
class Posted:
    """What became of the reports of one request."""

    accepted: int
    refused: dict[str, int]


class ReportStore:
    """Adds reports to the sums of collections.

    Args:
        database: the store.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def post(self, collection: Collection, given: Any, token: str | None = None) -> Posted:
        """Add reports; one that is none is counted by its reason and disturbs no other.

        Args:
            collection: what they answer.
            given: bytes, reports of the wire format one after the other; or what JSON holds:
                one report as :meth:`tacit.local.Wire.to_json` writes it, or a list of such or of
                base64 text of the wire format.
            token: the number of the token that sends them.

        Raises:
            UsageError: neither, or more than 10,000 reports.
        """
        wire = Wire(collection.oracle)
        found = [_read(wire, one) for one in _apart(wire, given)]
        reports = [one for one in found if isinstance(one, Decoded)]
        refused: Counter[str] = Counter(one for one in found if isinstance(one, str))
        with self._database.begin() as connection:
            row = self._locked(connection, collection)
            taken = self._within(connection, collection, token, reports, refused)
            fresh = self._fresh(connection, collection, taken) if collection.replay else taken
            refused["replay"] += len(taken) - len(fresh)
            self._count(connection, collection, token, len(fresh))
            self._add(connection, collection, row, fresh, refused)
        return Posted(len(fresh), {name: n for name, n in refused.items() if n})

    def state(self, collection: Collection) -> tuple[State, dict[str, int]]:
        """Return the exact sums, and how many reports were refused for which reason.

        Raises:
            LedgerError: the store has sums of this name for another mechanism.
        """
        with self._database.read() as connection:
            row = connection.execute(_asked(collection)).first()
        if row is None:
            return collection.oracle.empty(), {}
        return _state(collection, row), json.loads(row.refused)

    def _locked(self, connection: sa.Connection, collection: Collection) -> Any:
        """Return the row of a collection, held by this transaction, begun if there is none."""
        empty = collection.oracle.empty()
        fresh = {
            "collection": collection.name,
            "fingerprint": empty.oracle,
            "n": 0,
            "sums": _bytes(empty.sums),
            "refused": "{}",
        }
        connection.execute(_insert(connection, _sums_of).values(fresh).on_conflict_do_nothing())
        row = connection.execute(_asked(collection).with_for_update()).one()
        _state(collection, row)
        return row

    def _within(
        self,
        connection: sa.Connection,
        collection: Collection,
        token: str | None,
        reports: list[Decoded],
        refused: Counter[str],
    ) -> list[Decoded]:
        """Return the reports that the token may still send."""
        if collection.per_token is None:
            return reports
        sent = connection.execute(
            sa.select(_tokens.c.n).where(
                _tokens.c.collection == collection.name, _tokens.c.token == (token or "")
            )
        ).scalar()
        left = max(0, collection.per_token - (sent or 0))
        refused["limit"] += len(reports[left:])
        return reports[:left]

    def _fresh(
        self, connection: sa.Connection, collection: Collection, reports: list[Decoded]
    ) -> list[Decoded]:
        """Return the reports whose ids are new, each id once, and remember those."""
        first = {one.id: one for one in reversed(reports)}
        ids, new = list(first), set()
        for start in range(0, len(ids), _AT_ONCE):
            rows = [{"collection": collection.name, "id": i} for i in ids[start : start + _AT_ONCE]]
            asked = _insert(connection, _ids).values(rows).on_conflict_do_nothing()
            new |= {bytes(i) for i in connection.execute(asked.returning(_ids.c.id)).scalars()}
        return [one for number, one in first.items() if number in new]

    def _count(
        self, connection: sa.Connection, collection: Collection, token: str | None, added: int
    ) -> None:
        if collection.per_token is None or not added:
            return
        row = {"collection": collection.name, "token": token or "", "n": added}
        asked = _insert(connection, _tokens).values(row)
        connection.execute(
            asked.on_conflict_do_update(
                index_elements=["collection", "token"], set_={"n": _tokens.c.n + added}
            )
        )

    def _add(
        self,
        connection: sa.Connection,
        collection: Collection,
        row: Any,
        reports: Sequence[Decoded],
        refused: Counter[str],
    ) -> None:
        state = _state(collection, row)
        if reports:
            batch = np.stack([np.asarray(one.report) for one in reports])
            state += collection.oracle.aggregate(batch)
        told = Counter(json.loads(row.refused)) + refused
        connection.execute(
            _sums_of.update()
            .where(_sums_of.c.collection == collection.name)
            .values(n=state.n, sums=_bytes(state.sums), refused=json.dumps(told, sort_keys=True))
        )


def _apart(wire: Wire, given: Any) -> list[bytes | str]:
    """Return the single reports of a request, as bytes of the wire format or as JSON text."""
    found: list[bytes | str]
    if isinstance(given, bytes):
        size = wire.report_bytes
        found = [given[at : at + size] for at in range(0, min(len(given), 1 << 26), size)]
    elif isinstance(given, dict):
        found = [json.dumps(given)]
    elif isinstance(given, list):
        found = [_one(part) for part in given[: MOST_REPORTS + 1]]
    else:
        raise UsageError("send one report, or a list of reports")
    if len(found) > MOST_REPORTS:
        raise UsageError(f"at most {MOST_REPORTS:,} reports come in one request")
    return found


def _one(part: Any) -> bytes | str:
    if not isinstance(part, str):
        return json.dumps(part)
    try:
        return base64.b64decode(part, validate=True)
    except ValueError:
        return b""


def _read(wire: Wire, one: bytes | str) -> Decoded | Reason:
    return wire.read(one) if isinstance(one, bytes) else wire.read_json(one)


def _asked(collection: Collection) -> Any:
    return sa.select(_sums_of).where(_sums_of.c.collection == collection.name)


def _insert(connection: sa.Connection, table: sa.Table) -> Any:
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    return dialect.insert(table)


def _bytes(sums: NDArray[np.int64]) -> bytes:
    return sums.astype("<i8").tobytes()


def _state(collection: Collection, row: Any) -> State:
    empty = collection.oracle.empty()
    sums = np.frombuffer(row.sums, "<i8").astype(np.int64)
    if row.fingerprint != empty.oracle or sums.shape != empty.sums.shape:
        raise LedgerError(
            f"the reports collected so far for {collection.name!r} answer another question "
            "(another list of answers, or another epsilon): give the changed collection another "
            "name"
        )
    return State(row.fingerprint, row.n, sums)

"""Collections of reports, stored and estimated while they grow."""

from __future__ import annotations

import base64
import inspect
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects import postgresql, sqlite

from tacit import local
from tacit.arithmetic.exact import as_integer
from tacit.errors import DataSourceError, LedgerError, UsageError, did_you_mean
from tacit.local.items import Items
from tacit.local.oracle import MODULES, Oracle, State, oracle_from
from tacit.local.poisoning import influence
from tacit.local.wire import Decoded, Reason, Wire
from tacit.outside import read_json
from tacit.report.odds import Wanted, results_of
from tacit.service.database import Database, metadata
from tacit.service.hosting.ask import finite_json
from tacit.service.problem import Problem

# A collection: a question of the local model that devices answer with reports.


_OWN = ("purpose", "question", "mechanism", "items", "bounds", "other", "missing")
_LIMITS = ("replay", "per_token")


@dataclass(frozen=True)
class Collection:
    """A question to devices, and how many reports are taken."""

    name: str
    oracle: Oracle  # the mechanism, as on the devices
    purpose: str = ""  # its purpose, in a sentence
    replay: bool = True  # whether a report that comes again is refused, by its id
    per_token: int | None = None  # maximum number of reports of one token, or None

    @classmethod
    def from_fields(cls, name: str, fields: Mapping[str, Any], folder: Path) -> Collection:
        """Read a collection from the settings.

        >>> fields = {"mechanism": "DirectEncoding", "items": ["yes", "no"], "epsilon": "1"}
        >>> Collection.from_fields("colour", fields, Path()).oracle.domain.labels
        ('yes', 'no')
        """
        # fields: either ``question``, the name of a file next to the settings that holds
        #   ``oracle.describe()`` as JSON, or ``mechanism`` (a class of :mod:`tacit.local`) with
        #   ``items`` (or ``bounds`` for a number), ``other``, ``missing`` and the mechanism's own
        #   parameters, such as ``epsilon``; further ``purpose``, ``replay`` and ``per_token``.
        where = f"the collection {name!r}"
        replay = fields.get("replay", True)
        if not isinstance(replay, bool):
            raise UsageError(f"{where}: replay is true or false")
        per_token = fields.get("per_token")
        if per_token is not None:
            per_token = as_integer(per_token, f"{where}: per_token", minimum=1)
        purpose = fields.get("purpose", "")
        if not isinstance(purpose, str):
            raise UsageError(f"{where}: purpose is text")
        own = {key: value for key, value in fields.items() if key not in (*_LIMITS, "purpose")}
        oracle = _from_file(own, folder, where) if "question" in own else _from_names(own, where)
        if not (hasattr(oracle, "estimate") or hasattr(oracle, "estimate_ranges")):
            raise UsageError(f"{where}: {type(oracle).__name__} has no live estimate")
        return cls(name, oracle, purpose, replay, per_token)

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "purpose": self.purpose,
            "oracle": self.oracle.describe(),
            "fingerprint": self.oracle.fingerprint,
            "epsilon": float(self.oracle.epsilon),
            "replay": self.replay,
            "per_token": self.per_token,
        }


def _from_file(fields: Mapping[str, Any], folder: Path, where: str) -> Oracle:
    if len(fields) > 1:
        raise UsageError(f"{where}: question = '...' states everything; leave out the other fields")
    name = fields["question"]
    if not isinstance(name, str) or Path(name).name != name or name.startswith("."):
        raise UsageError(f"{where}: question is the name of a file next to the settings")
    try:
        text = (folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataSourceError(f"{where}: {name} cannot be read as text") from None
    return oracle_from(read_json(text, name))


def _from_names(fields: Mapping[str, Any], where: str) -> Oracle:
    name = fields.get("mechanism")
    if not isinstance(name, str) or name not in MODULES:
        raise UsageError(f"{where}: mechanism = '...' names it; {did_you_mean(str(name), MODULES)}")
    kind = getattr(local, name)
    about: list[Any]
    if "bounds" in fields:
        ends = fields["bounds"]
        if not isinstance(ends, list) or len(ends) != 2:
            raise UsageError(f"{where}: bounds are a lower and an upper bound of a number")
        about = ends
    elif "items" in fields:
        about = [Items(fields["items"], other=fields.get("other"), missing=fields.get("missing"))]
    else:
        about = []
    rest = {key: value for key, value in fields.items() if key not in _OWN}
    try:
        inspect.signature(kind).bind(*about, **rest)
    except TypeError as error:
        raise UsageError(f"{where}: {name} cannot be made from these fields: {error}") from None
    made: Oracle = kind(*about, **rest)
    return made


def collections_of(fields_by_name: Mapping[str, Any], folder: Path) -> dict[str, Collection]:
    collections = {}
    for name, fields in fields_by_name.items():
        if not isinstance(fields, Mapping):
            raise UsageError(f"collections.{name} is a table of fields")
        collections[name] = Collection.from_fields(name, fields, folder)
    return collections


# The sums of a collection's reports in the store: each report counts once, whatever happens.
#
# A report was made random on the device, so nothing here is secret.  Little is stored all the
# same: exact sums, how many reports were refused for which
# reason, the random ids of those that counted (to refuse a replay), and how many each token sent
# where the collection limits that.  Who sent which report is not stored.
#
# **Once.**  The ids of a request are inserted where they are new, and only reports whose id was
# inserted are added to the sums, in the same transaction.  A request that dies before its end has
# added nothing; one whose reply was lost is refused as a replay when it comes again.  Of several
# processes with the same report one inserts its id, by the table's primary key.


MAX_REPORTS = 10_000  # maximum number of reports in one request

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
_AT_ONCE = 400  # ids in one statement: two parameters each, and SQLite once took 999


@dataclass(frozen=True)
class Posted:
    accepted: int
    refused: dict[str, int]


class ReportStore:
    """Adds reports to the sums of collections."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def post(self, collection: Collection, given: Any, token: str | None = None) -> Posted:
        """Add reports; an invalid one is counted by its reason and does not affect the others."""
        # given: bytes, concatenated reports of the wire format; or parsed JSON: one
        #   report as :meth:`tacit.local.Wire.to_json` writes it, or a list of such or of base64
        #   text of the wire format.
        wire = Wire(collection.oracle)
        decoded = [_read(wire, one) for one in _split(wire, given)]
        reports = [one for one in decoded if isinstance(one, Decoded)]
        refused: Counter[str] = Counter(one for one in decoded if isinstance(one, str))
        with self._database.begin() as connection:
            row = self._locked(connection, collection)
            taken = self._within(connection, collection, token, reports, refused)
            fresh = self._fresh(connection, collection, taken) if collection.replay else taken
            refused["replay"] += len(taken) - len(fresh)
            self._count(connection, collection, token, len(fresh))
            self._add(connection, collection, row, fresh, refused)
        return Posted(len(fresh), {name: n for name, n in refused.items() if n})

    def state(self, collection: Collection) -> tuple[State, dict[str, int]]:
        """Return the exact sums, and how many reports were refused for which reason."""
        with self._database.read() as connection:
            row = connection.execute(_sums_query(collection)).first()
        if row is None:
            return collection.oracle.empty(), {}
        return _state(collection, row), json.loads(row.refused)

    def _locked(self, connection: sa.Connection, collection: Collection) -> Any:
        """Return the row of a collection, locked by this transaction; created if missing."""
        empty = collection.oracle.empty()
        fresh = {
            "collection": collection.name,
            "fingerprint": empty.oracle,
            "n": 0,
            "sums": _bytes(empty.sums),
            "refused": "{}",
        }
        connection.execute(_insert(connection, _sums_of).values(fresh).on_conflict_do_nothing())
        row = connection.execute(_sums_query(collection).with_for_update()).one()
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
        """Return the reports with new ids, each id once, and store the ids."""
        first = {one.id: one for one in reversed(reports)}
        ids, new = list(first), set()
        for start in range(0, len(ids), _AT_ONCE):
            rows = [{"collection": collection.name, "id": i} for i in ids[start : start + _AT_ONCE]]
            statement = _insert(connection, _ids).values(rows).on_conflict_do_nothing()
            new |= {bytes(i) for i in connection.execute(statement.returning(_ids.c.id)).scalars()}
        return [one for number, one in first.items() if number in new]

    def _count(
        self, connection: sa.Connection, collection: Collection, token: str | None, added: int
    ) -> None:
        if collection.per_token is None or not added:
            return
        row = {"collection": collection.name, "token": token or "", "n": added}
        statement = _insert(connection, _tokens).values(row)
        connection.execute(
            statement.on_conflict_do_update(
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
        refusals = Counter(json.loads(row.refused)) + refused
        connection.execute(
            _sums_of.update()
            .where(_sums_of.c.collection == collection.name)
            .values(
                n=state.n, sums=_bytes(state.sums), refused=json.dumps(refusals, sort_keys=True)
            )
        )


def _split(wire: Wire, given: Any) -> list[bytes | str]:
    """Return the single reports of a request, as bytes of the wire format or as JSON text."""
    reports: list[bytes | str]
    if isinstance(given, bytes):
        size = wire.report_bytes
        reports = [given[at : at + size] for at in range(0, min(len(given), 1 << 26), size)]
    elif isinstance(given, dict):
        reports = [json.dumps(given)]
    elif isinstance(given, list):
        reports = [_one(part) for part in given[: MAX_REPORTS + 1]]
    else:
        raise UsageError("send one report, or a list of reports")
    if len(reports) > MAX_REPORTS:
        raise UsageError(f"at most {MAX_REPORTS:,} reports come in one request")
    return reports


def _one(part: Any) -> bytes | str:
    if not isinstance(part, str):
        return json.dumps(part)
    try:
        return base64.b64decode(part, validate=True)
    except ValueError:
        return b""


def _read(wire: Wire, one: bytes | str) -> Decoded | Reason:
    return wire.read(one) if isinstance(one, bytes) else wire.read_json(one)


def _sums_query(collection: Collection) -> Any:
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


# The live estimate of a collection, as JSON with intervals.


def live_estimate(
    collection: Collection,
    state: State,
    refused: Mapping[str, int],
    wanted: Wanted,
    poisoned: int | None = None,
) -> dict[str, Any]:
    """Return the estimate from all reports so far.

    >>> from tacit.local import DirectEncoding
    >>> oracle = DirectEncoding(["yes", "no"], p="3/4")
    >>> state = oracle.aggregate(oracle.perturb_many(["yes"] * 100))
    >>> estimate = live_estimate(Collection("colour", oracle), state, {"replay": 2}, Wanted())
    >>> estimate["n"], estimate["refused"], [row["item"] for row in estimate["results"][0]["items"]]
    (100, {'replay': 2}, ['yes', 'no'])
    """
    # It is computed from reports that were made random on the devices, so it may be asked for at
    # any time and costs nothing.
    if not state.n:
        raise Problem("not_ready", f"no report of {collection.name!r} came yet")
    results = list(results_of(collection.oracle, state, wanted))
    reply: dict[str, Any] = {
        "collection": collection.name,
        "n": state.n,
        "refused": dict(refused),
        "epsilon": float(collection.oracle.epsilon),
        "level": wanted.level,
        "results": [finite_json({"name": one.name, **one.record}) for one in results],
    }
    if poisoned is not None:
        reply["poisoned"] = _influence(collection, state, poisoned)
    return reply


def _influence(collection: Collection, state: State, poisoned: int) -> dict[str, Any]:
    moved = influence(collection.oracle, poisoned, n=state.n)
    several = moved if isinstance(moved, Mapping) else {"": moved}
    return {
        "reports": poisoned,
        "moved": {name: float(one.moved) for name, one in several.items()},
        "text": [str(one) for one in several.values()],
    }

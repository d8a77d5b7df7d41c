"""``tc.connect``: ask the data sets of a service, in the words of a session."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NoReturn, Unpack
from urllib.parse import quote

from tacit.accounting.budget import Budget
from tacit.arithmetic.exact import Number
from tacit.calls import listed, public
from tacit.client.remote_question import (
    RemoteDataset,
    RemoteJob,
    RemotePlan,
    RemoteQuestion,
    RemoteSql,
    is_of,
    pages,
    release_body,
    tables_of,
)
from tacit.client.transport import Transport
from tacit.errors import UsageError
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import Price
from tacit.tables.plan.query import Declared, Unit
from tacit.tables.question import QueryableTable
from tacit.tables.release.answer import Answer


@dataclass(frozen=True)
class ScheduledRelease:
    """A release in the calendar of a schedule.

    Attributes:
        due: when it is made, in UTC.
        tag: its tag: that of the schedule, and its date.
        state: ``planned``, ``due`` (and not made yet), ``missed``, ``cancelled``, or the state of
            its release, such as ``done``.
        job: the number of its release, for :meth:`Connection.job`; None before it was made.
    """

    due: datetime.datetime
    tag: str
    state: str
    job: str | None


@public
class RemoteSchedule:
    """A question that a service releases at each time of a calendar, paid for at the beginning.

    Attributes:
        id: its number at the service.
    """

    def __init__(self, transport: Transport, fields: Mapping[str, Any]) -> None:
        self._transport, self._fields = transport, dict(fields)
        self.id = str(fields["id"])
        self._path = f"/v1/schedules/{quote(self.id, safe='')}"

    @property
    def state(self) -> str:
        """``waiting`` (for a reviewer), ``refused``, ``running``, ``done`` or ``cancelled``.

        Or ``paying``, where its payment stopped half way: the same call again continues it.
        """
        return str(self._fresh()["state"])

    @property
    def title(self) -> str:
        """What its owner calls it."""
        return str(self._fields["title"])

    @property
    def question(self) -> str:
        """The question, in words."""
        return str(self._fields["question"])

    @property
    def cost(self) -> Budget:
        """The price of each release."""
        return Budget.from_json(self._fields["cost"])

    @property
    def total(self) -> Budget:
        """The price of all releases together."""
        return Budget.from_json(self._fields["total"])

    @property
    def calendar(self) -> list[ScheduledRelease]:
        """Its releases, as they are now."""
        return [
            ScheduledRelease(
                datetime.datetime.fromtimestamp(one["due"], datetime.UTC),
                str(one["tag"]),
                str(one["state"]),
                one["release"],
            )
            for one in self._fresh()["calendar"]
        ]

    def jobs(self) -> list[RemoteJob]:
        """Return the releases that were made, the first one first."""
        made = [one.job for one in self.calendar if one.job is not None]
        return [RemoteJob.named(self._transport, job) for job in made]

    def cancel(self) -> None:
        """Cancel it: no further release is made, and what was paid stays paid.

        What was paid can be asked with the tags of the calendar, at no further cost.  One that
        waits for a reviewer is withdrawn, and nothing was spent.

        Raises:
            RefusedError: it is over.
            AccessError: it is not yours.
        """
        self._fields = self._transport.delete(self._path)

    def _fresh(self) -> dict[str, Any]:
        if self._fields["state"] != "cancelled" or self._fields.get("calendar") is None:
            self._fields = self._transport.get(self._path)
        return self._fields

    def __repr__(self) -> str:
        return f"<RemoteSchedule {self.id}: {self._fields['state']}>"


@public
class _OfDataset(QueryableTable[RemoteQuestion]):
    """What is asked of a data set of a service, by its table or by the connection."""

    _hosted: RemoteDataset

    @property
    def budget(self) -> Budget:
        """The whole budget."""
        return self._hosted.budget

    @property
    def spent(self) -> Budget:
        """The budget spent so far."""
        return self._hosted.amount("spent")

    @property
    def remaining(self) -> Budget:
        """What is left of the budget; of what a cap leaves you, each preview tells."""
        return self._hosted.amount("remaining")

    def table(self, name: str) -> RemoteTable:
        """Return another protected table of the same data set.

        Raises:
            UsageError: there is none.
        """
        return RemoteTable(self._hosted, name)

    def sql(self, text: str) -> RemoteSql:
        """Ask a question that is written in SQL; see :meth:`tacit.Session.sql`.

        The service translates it when it is previewed or released, and says then what it refuses.
        """
        return RemoteSql(self._hosted, text)

    def plan(
        self,
        questions: Iterable[RemoteQuestion | RemoteSql],
        weights: Mapping[str, Number] | None = None,
        *,
        least: Literal["total", "relative", "worst"] = "total",
        unlisted: Literal["count", "drop"] = "count",
        nonnegative: bool = False,
    ) -> RemotePlan:
        """Plan several questions together: less error than one by one, under one charge.

        Args:
            questions: of this connection, about one table, built or in SQL.
            weights: as in :meth:`tacit.Session.plan`.
            least: as there.
            unlisted: as there.
            nonnegative: as there.

        Raises:
            UsageError: as :meth:`tacit.Session.plan`; of questions in SQL, when the plan is used.
        """
        at = self._hosted
        usage = "a plan takes a list of questions: service.plan([service.agg(n=tc.count()), ...])"
        members = listed(questions, usage)
        if not members or not all(isinstance(one, (RemoteQuestion, RemoteSql)) for one in members):
            raise UsageError(usage)
        if len(tables_of(members)) > 1 or not all(is_of(one, at) for one in members):
            raise UsageError(
                "a plan is of questions of one connection, about one table of a data set: make "
                "them of this one"
            )
        if weights is not None and not isinstance(weights, Mapping):
            raise UsageError('weights name labels, such as weights={"n": 10}')
        options = {"least": least, "unlisted": unlisted, "nonnegative": nonnegative}
        return RemotePlan(at, members, {"weights": weights, **options})

    def schedule(
        self,
        question: RemoteQuestion | RemoteSql | RemotePlan,
        *,
        start: str | datetime.date,
        every: str,
        times: int,
        title: str = "",
        **price: Unpack[Price],
    ) -> RemoteSchedule:
        """Have a question released at each time of a calendar; all releases are paid for now.

        Each is of the rows as they are then, and has the tag of the schedule with its date, such
        as ``"beds 2026-01-31"``.  The same call again returns the same schedule, at no cost.

        Args:
            question: a question or a plan of this connection.
            start: when the first release is due, in UTC: ``"2026-01-31"``, ``"2026-01-31 06:00"``.
            every: how far apart they are: ``"1d"``, ``"1w"``, ``"1mo"``, ``"3mo"``, ``"1y"``.  A
                month without the day of the first ends with its last day.
            times: how many there are.
            title: what the pages of the service call it.
            **price: ``epsilon``, ``delta``, ``rho``, ``total`` and ``tag`` of each release, as in
                :meth:`RemoteQuestion.release`.

        Raises:
            BudgetError: all releases together cost more than remains; nothing was spent.
            UsageError: the question, its price or the calendar is wrong; nothing was spent.
            AccessError: this is not for the holder of the token.
            RefusedError: it was cancelled, or a release with such a tag was made before.
            ServiceError: the service does not answer.
        """
        at = self._hosted
        request = release_body(question, at, price)
        if request is None:
            raise UsageError(
                "schedule a question or a plan of this connection: "
                "service.schedule(service.agg(n=tc.count()), start='2026-01-31', every='1mo', ...)"
            )
        first = start.isoformat() if isinstance(start, datetime.date) else start
        calendar = {"start": first, "every": every, "times": times, "title": title}
        made = at.transport.post(f"{at.path}/schedules", {"request": request, **calendar})
        return RemoteSchedule(at.transport, made)

    def schedules(self) -> list[RemoteSchedule]:
        """Return the schedules that the holder of the token may see."""
        at = self._hosted
        items = at.transport.get("/v1/schedules")["items"]
        return [RemoteSchedule(at.transport, one) for one in items if one["dataset"] == at.name]

    def history(self) -> list[RemoteJob]:
        """Return the releases that the holder of the token may see."""
        transport = self._hosted.transport
        releases = pages(transport, "/v1/releases", self._hosted.name)
        return [RemoteJob(transport, one) for one in releases]


@public
class RemoteTable(_OfDataset):
    """A table of a data set that a service hosts.

    What is public of it (columns, bounds, keys, whom it protects) is read once; the budget is read
    again each time.
    """

    def __init__(self, hosted: RemoteDataset, table: str | None = None) -> None:
        self._hosted, self._name = hosted, hosted.table(table)

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self._hosted.name

    @property
    def dataset(self) -> str:
        """The identity of the data set, as its ledger and its certificates carry it."""
        return str(self._hosted.fields["identity"])

    @property
    def about(self) -> dict[str, object]:
        """Metadata of the data set: purpose, owner, latency, approval and the like."""
        return {name: value for name, value in self._hosted.fields.items() if name != "tables"}

    @property
    def declared(self) -> Declared:
        """The bounds and keys that the data set has for the table."""
        return self._question().declared

    @property
    def unit(self) -> Unit:
        """Whom an answer protects."""
        return self._question().unit

    @property
    def columns(self) -> dict[str, str]:
        """The kind of every column, by name."""
        return dict(self._question().schema.kinds())

    def _question(self) -> RemoteQuestion:
        return RemoteQuestion(self._hosted, *self._hosted.question(self._name))

    def __repr__(self) -> str:
        return f"<RemoteTable {self._name!r} of {self.name!r} at {self._hosted.transport.url}>"


@public
class Connection(_OfDataset):
    """A service, asked with one token; made by :func:`tacit.connect`.

    Questions go to its data set: the one that was named, or the only one that the token sees;
    :meth:`dataset` gives another.
    """

    def __init__(self, transport: Transport, name: str | None = None) -> None:
        self._transport, self._name = transport, name

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._transport.url

    @property
    def datasets(self) -> list[str]:
        """The names of the data sets that the token gives access to."""
        return [str(one["name"]) for one in pages(self._transport, "/v1/datasets")]

    def dataset(self, name: str) -> RemoteTable:
        """Return a data set; its first protected table is asked, ``.table(...)`` asks another.

        Raises:
            AccessError: the token gives no access to a data set of that name.
        """
        return RemoteTable(RemoteDataset(self._transport, name))

    @cached_property
    def _hosted(self) -> RemoteDataset:  # type: ignore[override]
        if self._name is not None:
            return RemoteDataset(self._transport, self._name)
        names = self.datasets
        if len(names) != 1:
            listed = ", ".join(map(repr, names)) or "none"
            raise UsageError(
                f"name a data set, tc.connect(..., dataset='visits') or "
                f".dataset('visits'); the token sees: {listed}"
            )
        return RemoteDataset(self._transport, names[0])

    def _question(self) -> RemoteQuestion:
        return RemoteTable(self._hosted).filter()

    def preview(self, query: str, **price: Unpack[Price]) -> Preview:
        """Return the expected errors of a query in SQL, before anything is spent."""
        return self.sql(query).preview(**price)

    def release(self, query: str, **price: Unpack[Price]) -> Answer:
        """Release a query in SQL; see :meth:`tacit.tables.Question.release`."""
        return self.sql(query).release(**price)

    def job(self, name: str) -> RemoteJob:
        """Return a release by its name at the service.

        Raises:
            UsageError: there is none that the holder of the token may see.
        """
        return RemoteJob.named(self._transport, name)

    def why(self, action: str) -> str:
        """Return why the holder of the token may, or may not, do something on the data set."""
        parameters = {"action": action, "dataset": self._hosted.name}
        reply = self._transport.get("/v1/why", **parameters)
        return "; ".join(part for part in (reply["because"], reply["remedy"]) if part)

    def close(self) -> None:
        """Close the connections to the service."""
        self._transport.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UsageError(
            "a connection contains a token and cannot be pickled: connect where it is used"
        )

    def __repr__(self) -> str:
        return f"<Connection to {self.url}>"


@public
def connect(
    url: str,
    token: str | None = None,
    *,
    token_file: str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    ca_file: str | os.PathLike[str] | None = None,
) -> Connection:
    """Connect to a service that hosts data sets (``tacit serve``), and use it like a session.

    A question is built on this machine from public facts; the service previews, charges and answers
    it.  What the service refuses raises the same errors as a session.

    Args:
        url: the address of the service, ``https://statistics.example``; ``http://`` only on this
            machine.
        token: the access token, from the operator of the service.
        token_file: a file that holds the token, which only you can read.  By default the
            environment variable ``TACIT_TOKEN`` is used.
        dataset: the name of the data set to ask, if the token gives access to several.
        ca_file: certificates to trust besides those of the system, for your own certificate
            authority.

    Raises:
        UsageError: an unsafe address, no token, or a file that cannot be read.
        MissingExtraError: httpx is not installed.

    Example:
        >>> import tacit as tc
        >>> tc.connect("http://statistics.example", token="tacit_...")
        Traceback (most recent call last):
        tacit.errors.UsageError: http://statistics.example would send your token unencrypted: ...
        >>> with tc.connect("https://statistics.example", token="tacit_...") as service:
        ...     service
        <Connection to https://statistics.example>

        and then, where there is such a service::

            question = service.group_by("site").agg(n=tc.count(), cost=tc.mean("cost"))
            question.preview(epsilon="1/2")
            question.release(epsilon="1/2").to_pandas()
    """
    return Connection(Transport(url, token, token_file, ca_file), dataset)

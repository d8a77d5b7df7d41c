"""``tc.connect``: ask the data sets of a service, in the words of a session."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal, NoReturn, Unpack
from urllib.parse import quote

from tacit.accounting.budget import Budget
from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.client.remote_plan import RemotePlan
from tacit.client.remote_question import RemoteDataset, RemoteJob, RemoteQuestion, RemoteSql, pages
from tacit.client.remote_session import RemoteTable
from tacit.client.transport import Transport
from tacit.errors import UsageError
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import Price
from tacit.tables.question import QueryableTable
from tacit.tables.release.answer import Answer


class Connection(QueryableTable[RemoteQuestion]):
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
    def _default(self) -> RemoteTable:
        if self._name is not None:
            return self.dataset(self._name)
        names = self.datasets
        if len(names) != 1:
            listed = ", ".join(map(repr, names)) or "none"
            raise UsageError(
                f"name a data set, tc.connect(..., dataset='visits') or "
                f".dataset('visits'); the token sees: {listed}"
            )
        return self.dataset(names[0])

    def _question(self) -> RemoteQuestion:
        return self._default.filter()

    def table(self, name: str) -> RemoteTable:
        """Return another protected table of the data set."""
        return self._default.table(name)

    def sql(self, text: str) -> RemoteSql:
        """Ask a question that is written in SQL; see :meth:`tacit.Session.sql`."""
        return self._default.sql(text)

    def plan(
        self,
        questions: Iterable[RemoteQuestion | RemoteSql],
        weights: Mapping[str, Number] | None = None,
        *,
        least: Literal["total", "relative", "worst"] = "total",
        unlisted: Literal["count", "drop"] = "count",
        nonnegative: bool = False,
    ) -> RemotePlan:
        """Plan several questions together; see :meth:`tacit.Session.plan`."""
        return self._default.plan(
            questions, weights, least=least, unlisted=unlisted, nonnegative=nonnegative
        )

    def preview(self, query: str, **price: Unpack[Price]) -> Preview:
        """Return the expected errors of a query in SQL, before anything is spent."""
        return self.sql(query).preview(**price)

    def release(self, query: str, **price: Unpack[Price]) -> Answer:
        """Release a query in SQL; see :meth:`tacit.tables.Question.release`."""
        return self.sql(query).release(**price)

    @property
    def budget(self) -> Budget:
        """The whole budget of the data set."""
        return self._default.budget

    @property
    def spent(self) -> Budget:
        """The budget spent so far."""
        return self._default.spent

    @property
    def remaining(self) -> Budget:
        """The budget that is left."""
        return self._default.remaining

    def history(self) -> list[RemoteJob]:
        """Return the releases of the data set that the holder of the token may see."""
        return self._default.history()

    def job(self, name: str) -> RemoteJob:
        """Return a release by its name at the service.

        Raises:
            UsageError: there is none that the holder of the token may see.
        """
        return RemoteJob(
            self._transport, self._transport.get(f"/v1/releases/{quote(name, safe='')}")
        )

    def why(self, action: str) -> str:
        """Return why the holder of the token may, or may not, do something on the data set."""
        parameters = {"action": action, "dataset": self._default.name}
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

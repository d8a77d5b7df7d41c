"""A table of a data set of a service, used as a session is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from tacit.accounting.budget import Budget
from tacit.arithmetic.exact import Number
from tacit.client.remote_plan import RemotePlan, remote_plan
from tacit.client.remote_question import RemoteDataset, RemoteJob, RemoteQuestion, RemoteSql, pages
from tacit.tables.plan.query import Declared, Unit
from tacit.tables.question import QueryableTable

# A data set of a service, asked as a session is asked.


class RemoteTable(QueryableTable[RemoteQuestion]):
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
        """The budget that is left."""
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
        return remote_plan(self._hosted, questions, weights, least, unlisted, nonnegative)

    def history(self) -> list[RemoteJob]:
        """Return the releases that the holder of the token may see."""
        at = self._hosted
        return [
            RemoteJob(at.transport, one) for one in pages(at.transport, "/v1/releases", at.name)
        ]

    def _question(self) -> RemoteQuestion:
        return RemoteQuestion(self._hosted, *self._hosted.question(self._name))

    def __repr__(self) -> str:
        return f"<RemoteTable {self._name!r} of {self.name!r} at {self._hosted.transport.url}>"

"""A data set of a service, asked as a session is asked."""

from __future__ import annotations

from tacit.accounting.budgets.budget import Budget
from tacit.client.job import Job
from tacit.client.remote_dataset import RemoteDataset, pages
from tacit.client.remote_question import RemoteQuestion, RemoteSql
from tacit.tables.asking import AskedTable
from tacit.tables.plan.declared import Declared
from tacit.tables.plan.query import Unit

__all__ = ["RemoteTable"]


class RemoteTable(AskedTable[RemoteQuestion]):
    """A table of a data set that a service hosts.

    What is public of it (columns, bounds, keys, whom it protects) is read once; the budget is read
    anew each time.
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
        return str(self._hosted.said["identity"])

    @property
    def about(self) -> dict[str, object]:
        """What the service says of the data set: purpose, owner, latency, approval and the like."""
        return {name: said for name, said in self._hosted.said.items() if name != "tables"}

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

    def history(self) -> list[Job]:
        """Return the releases that the holder of the token may see."""
        at = self._hosted
        return [Job(at.transport, one) for one in pages(at.transport, "/v1/releases", at.name)]

    def _question(self) -> RemoteQuestion:
        return RemoteQuestion(self._hosted, *self._hosted.question(self._name))

    def __repr__(self) -> str:
        return f"<RemoteTable {self._name!r} of {self.name!r} at {self._hosted.transport.url}>"

"""What PostgreSQL's errors mean, in our own words: the server's may quote rows of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.errors import DataSourceError
from tacit.postgres.connection import is_cut
from tacit.tables.engines.base import EngineMemoryError

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["Failure", "failure_of"]

_CUT = (
    "the connection to PostgreSQL was cut before the answer came: the server was stopped, or the "
    "network failed; ask again when it can be reached"
)
_MEMORY = {
    "53200": "PostgreSQL ran out of memory: ask for fewer groups at once, or lower memory_limit",
    "53100": "PostgreSQL's disk is full: free space there, or raise memory_limit, and ask again",
    "53400": (
        "the query needs more room on PostgreSQL's disk than temp_file_limit allows: raise "
        "memory_limit, or ask for that limit to be raised"
    ),
}
_MEANING = {
    "57014": (
        "PostgreSQL ended the query: it took longer than timeout= or the server's own "
        "statement_timeout allows, or somebody cancelled it there; give it more time and ask again"
    ),
    "42501": (
        "no right to read the table (any more), or a function that its view calls; ask its owner "
        "for GRANT SELECT"
    ),
    "42P01": "the table is not there any more; open it again under its present name",
    "42703": "a column of the table is not there any more; open the table again",
    "53300": "PostgreSQL takes no more connections at present; ask again later",
    "54001": "the question is too deep for PostgreSQL (max_stack_depth): make it smaller",
    "55P03": "the table is locked by somebody else for longer than lock_timeout; ask again later",
    "40P01": "the table was locked by somebody else at the same time; ask again",
    "25P03": "the connection was idle for too long within a question; ask again",
}
_CHANGED = (
    "the table changed its shape on PostgreSQL while it was open (a column has another type): open "
    "it again"
)


@dataclass(frozen=True)
class Failure:
    """What went wrong.

    Attributes:
        message: in our words.
        lost: whether the connection is gone.
        memory: whether the server lacks room.
    """

    message: str
    lost: bool = False
    memory: bool = False

    def error(self) -> DataSourceError:
        """Return the exception to raise."""
        return EngineMemoryError(self.message) if self.memory else DataSourceError(self.message)


def failure_of(state: str | None, connection: Connection[Any], *, closed: bool = False) -> Failure:
    """Return what an error with this SQLSTATE means; only its class is looked at.

    Args:
        state: five characters, or None where the error is not the server's.
        connection: which the error came over.
        closed: whether the table was closed meanwhile.
    """
    lost = is_cut(state, connection)
    if closed:
        return Failure("the table was closed while it was read", lost)
    if lost:
        return Failure(_CUT, lost=True)
    if state in _MEMORY:
        return Failure(_MEMORY[state], memory=True)
    if state in _MEANING:
        return Failure(_MEANING[state])
    if (state or "").startswith("40"):
        return Failure("PostgreSQL had to end the query for the sake of others; ask again")
    if (state or "").startswith("42"):
        return Failure(_CHANGED)
    return Failure(
        f"PostgreSQL could not read the data as asked ({state or 'unknown'}; its message is "
        "withheld because it may quote the data): check the table, and the view or foreign server "
        "behind it, with PostgreSQL's own tools"
    )

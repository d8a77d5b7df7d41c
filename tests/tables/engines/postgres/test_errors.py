"""What PostgreSQL's errors mean: by their class alone, and never in the server's words."""

from types import SimpleNamespace

import pytest

from tacit.errors import DataSourceError
from tacit.tables.engines.base import EngineMemoryError
from tacit.tables.engines.postgres import failure_of

OPEN, CLOSED = SimpleNamespace(closed=False), SimpleNamespace(closed=True)


@pytest.mark.parametrize(
    ("state", "says", "lost", "memory"),
    [
        ("08006", "connection to PostgreSQL was cut", True, False),
        ("57P01", "connection to PostgreSQL was cut", True, False),
        ("53200", "out of memory", False, True),
        ("53100", "disk is full", False, True),
        ("57014", "took longer", False, False),
        ("42501", "GRANT SELECT", False, False),
        ("40001", "ask again", False, False),
        ("42804", "changed its shape", False, False),
        ("22012", "withheld because it may quote the data", False, False),
        (None, "unknown", False, False),
    ],
)
def test_each_class_has_its_remedy(state, says, lost, memory):
    found = failure_of(state, OPEN)
    assert says in found.message
    assert (found.lost, found.memory) == (lost, memory)
    assert type(found.error()) is (EngineMemoryError if memory else DataSourceError)


def test_a_connection_that_is_gone_is_lost_whatever_the_error_was():
    assert failure_of("22012", CLOSED).lost
    assert failure_of(None, CLOSED, closed=True).message.startswith("the table was closed")

"""Servers that tests share, and what the run says at its end about tests that were left out."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.servers.left_out import leave_out, told
from support.servers.postgres_server import Database, PostgresServer, missing
from support.servers.spark_session import LocalSpark
from support.servers.spark_session import missing as missing_of_spark

# How fast a machine is decides nothing.  Examples are the same in every run, except in the slow
# tests, where they are drawn anew; the fast tests try a tenth of them.
STEADY: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fast", derandomize=True, max_examples=10, **STEADY)
settings.register_profile("full", derandomize=True, max_examples=100, **STEADY)
settings.register_profile("random", max_examples=100, print_blob=True, **STEADY)
settings.load_profile("full")

SERVERS = {"postgres_server": "postgres", "local_spark": "spark"}
"""What starts a server, and the group of tests that share it in one process."""

MANY = 4
"""Cases of a test above which the fast tests run a quarter of them."""

LONGEST_ID = 60
"""Characters of a text that names a case of a test; a case may be a body of megabytes."""

MEMORY = Path("/dev/shm")
"""Where files are in memory: a commit of a ledger there does not wait for a disk."""

ENOUGH_MEMORY = 3 << 30
"""Bytes that must be free there; a whole run needs a few hundred megabytes."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Make temporary files in memory, where there is room, unless TMPDIR names another place.

    A test may end a process at any moment, never the machine: what was written and what was made
    durable cannot be told apart, on a disk or in memory.
    """
    if "TMPDIR" in os.environ or not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return
    may_run_programs = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    if may_run_programs and shutil.disk_usage(MEMORY).free >= ENOUGH_MEMORY:
        os.environ["TMPDIR"] = str(MEMORY)  # for what the tests start, too
        tempfile.tempdir = None


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL of this process's own, started when the first test asks for it."""
    lacking = missing()
    if lacking is not None:
        leave_out(*lacking)
    server = PostgresServer()
    yield server
    server.remove()


def of_the_full_run(request: pytest.FixtureRequest) -> None:
    """Refuse a test that asks for a server only while it runs, and is not marked for that."""
    assert request.node.get_closest_marker("full"), "mark this test with pytest.mark.full"


@pytest.fixture
def postgres(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Iterator[Database]:
    """A fresh database in a server that runs, whatever an earlier test did to it."""
    of_the_full_run(request)
    postgres_server.start()
    with postgres_server.database() as database:
        yield database


@pytest.fixture(scope="session")
def local_spark() -> Iterator[LocalSpark]:
    """A Spark of this process's own, started when the first test asks for it."""
    lacking = missing_of_spark()
    if lacking is not None:
        leave_out(*lacking)
    local = LocalSpark()
    yield local
    local.remove()


@pytest.fixture
def spark(request: pytest.FixtureRequest, local_spark: LocalSpark) -> Any:
    """A session of Spark that runs, whatever an earlier test did to it."""
    of_the_full_run(request)
    return local_spark.session()


def pytest_collection() -> None:
    """What is collected here stays: to look for garbage meanwhile costs seconds and finds none."""
    gc.disable()


@given(st.none())
@settings(max_examples=1, database=None)
def first_example(_: None) -> None:
    """Have Hypothesis make and register the generator of this thread."""


def pytest_collection_finish() -> None:
    """From here on look for garbage, but not among the tests themselves."""
    # Hypothesis looks for references to the generator that it registers, and warns where it sees
    # none; since Python 3.14 the only one is in a dict which it does not see once that is frozen.
    first_example()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for a server is one of the full run, and shares it with its like.

    Of a test that is marked ``few(n)`` so are all cases but every n-th, and of a test with many
    cases three in four.
    """
    seen: Counter[str] = Counter()
    cases = Counter(name_of(item) for item in items)
    for item in items:
        if few := item.get_closest_marker("few"):
            test = name_of(item)
            if seen[test] % few.args[0]:
                item.add_marker(pytest.mark.full)
            seen[test] += 1
        # By the name, not by the place: of a product of parameters each value has its turn.
        elif cases[name_of(item)] > MANY and crc32(item.nodeid.encode()) % 4:
            item.add_marker(pytest.mark.full)
        for fixture, group in SERVERS.items():
            if fixture in getattr(item, "fixturenames", ()) or engine_of(item) == group:
                item.add_marker(pytest.mark.full)
                if item.get_closest_marker("xdist_group") is None:
                    item.add_marker(pytest.mark.xdist_group(group))


def name_of(item: pytest.Item) -> str:
    """The name of a test without its case."""
    return item.nodeid.partition("[")[0]


def pytest_make_parametrize_id(val: object) -> str | None:
    """A case of a long text is named by how the text begins and how long it is."""
    if isinstance(val, (str, bytes)) and len(val) > LONGEST_ID:
        return f"{val[:20]!r} and so on, {len(val)} long"
    return None


def engine_of(item: pytest.Item) -> str | None:
    """The engine that a test takes as a parameter, and asks for while it runs."""
    given = getattr(getattr(item, "callspec", None), "params", {}).values()
    named = {"postgres": "postgres", "postgresql": "postgres", "spark": "spark"}
    return next((named[v] for v in given if isinstance(v, str) and v in named), None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out for want of a program, and what brings it."""
    for line in told(terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line, yellow=True)

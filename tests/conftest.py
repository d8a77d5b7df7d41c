"""Servers that tests share, and what the run says at its end about tests that were left out."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy  # noqa: F401 - Hypothesis registers its generator too
import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.servers.left_out import leave_out, told
from support.servers.postgres_server import Database, PostgresServer, missing
from support.servers.spark_session import LocalSpark
from support.servers.spark_session import missing as missing_of_spark

# How fast a machine is decides nothing.  Examples are the same in every run, except in the slow
# tests, where they are drawn anew; the full ones try half as many, the fast ones a tenth.
STEADY: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fast", derandomize=True, max_examples=10, **STEADY)
settings.register_profile("full", derandomize=True, max_examples=50, **STEADY)
settings.register_profile("random", max_examples=100, print_blob=True, **STEADY)
settings.load_profile("full")

SERVERS = {"postgres_server": "postgres", "local_spark": "spark"}
"""What starts a server, and its name."""

SHARED = ("spark",)
"""Servers that take long to start: one process has all of their tests.

A PostgreSQL is there in half a second, and its tests wait more than they work: each process has
its own.
"""

MANY, VERY_MANY = 4, 16
"""Cases of a test above which the fast tests run a quarter of them, and an eighth."""

LONGEST_ID = 60
"""Characters of a text that names a case of a test; a case may be a body of megabytes."""

FIRST = ("spark-written", "spark", "browser", "site", "postgres")
"""Groups that take longest for each of their tests: a run that begins one last ends with it."""

SEVERAL = 30
"""Tests of a file that a process takes at once in the full run; about half of them are of it."""

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
    # Before there is much to look through, Hypothesis registers the generators that it seeds.  It
    # looks for references to each, and warns where it sees none; since Python 3.14 the only one
    # is in a dict which it does not see once that is frozen.
    first_example()
    gc.disable()


@given(st.none())
@settings(max_examples=1, database=None)
def first_example(_: None) -> None:
    """Have Hypothesis make and register the generator of this thread, and that of NumPy."""


def pytest_collection_finish() -> None:
    """From here on look for garbage, but not among the tests themselves."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """Leave out the search for examples where there are none."""
    collected = yield
    if file_path.suffix == ".py" and b">>>" not in file_path.read_bytes():
        return [one for one in collected if not isinstance(one, DoctestModule)]
    return collected


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None, None, None]:
    """Mark the cases of a test that only the full run has, and do not make them in the fast one.

    Of a test that is marked ``few(n)`` these are all cases but every n-th, of one with more than
    four cases three in four, and of one with more than sixteen seven in eight.
    """
    yield
    cases, test = metafunc._calls, metafunc.definition
    few = test.get_closest_marker("few")
    for index, case in enumerate(cases):
        if few:
            left_out = index % few.args[0]
        else:  # by the name, not by the index: of a product of parameters each value has its turn
            share = 8 if len(cases) > VERY_MANY else 4 if len(cases) > MANY else 1
            left_out = crc32(f"{test.nodeid}[{case.id}]".encode()) % share
        if left_out:
            case.marks.append(pytest.mark.full.mark)
    if "not full" in test.config.option.markexpr:
        # Two of three cases are full: to make items and deselect them takes seconds.
        whole = test.get_closest_marker("full")
        fast = [] if whole else [c for c in cases if all(mark.name != "full" for mark in c.marks)]
        cases[:] = fast or cases[:1]  # pytest takes a test without cases for one without parameters


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test that asks for a server is one of the full run, and may share it with its like."""
    for item in items:
        for fixture, group in SERVERS.items():
            if fixture in getattr(item, "fixturenames", ()) or engine_of(item) == group:
                item.add_marker(pytest.mark.full)
                if group in SHARED and item.get_closest_marker("xdist_group") is None:
                    item.add_marker(pytest.mark.xdist_group(group))
    if config.getoption("loadgroup", default=False):
        take_several(items)


def take_several(items: list[pytest.Item]) -> None:
    """Have a process take several tests of a file at once, but the slow ones.

    One by one, every process starts what the file starts once, and for each test that ends the
    scheduler looks through all that it gave away.  The longest groups are run first.
    """
    seen: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    groups: dict[pytest.Item, str] = {}
    for item in items:
        if not (item.get_closest_marker("xdist_group") or item.get_closest_marker("slow")):
            file = item.nodeid.partition("::")[0]
            item.add_marker(pytest.mark.xdist_group(f"{item.path.stem} {seen[file] // SEVERAL}"))
            seen[file] += 1
        marker = item.get_closest_marker("xdist_group")
        groups[item] = marker.args[0] if marker else ""
        sizes[groups[item]] += 1
    rank = {group: place for place, group in enumerate(FIRST)}
    items.sort(key=lambda item: (rank.get(g := groups[item], len(rank)), -sizes[g]))


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

"""What breaks in Spark while a question runs: executors, whole workers, a disk that is full.

The question is asked by a process of its own, so that the Spark of the other tests goes on."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import duckdb
import pytest

from support.servers.keeper import Keeper
from support.servers.left_out import leave_out
from support.servers.spark_cluster import BUSY_TIMEOUT, cluster, until
from support.servers.spark_session import missing, tasks_of
from support.tables import tables_reference as reference
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables import privacy_unit as contributions
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Bins, Cells, Moments, People, Rows, Total

HERE = Path(__file__).parent


@pytest.fixture
def _spark_is_there():
    lacking = missing()
    if lacking is not None:
        leave_out(*lacking)


class Driver:
    """The process that asks, with a Spark driver of its own."""

    def __init__(self, folder, master, settings):
        command = [sys.executable, str(HERE / "spark_asker.py"), folder, master]
        self.errors, self._keeper = Path(folder, "errors"), Keeper(folder)
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command + [f"{name}={value}" for name, value in settings.items()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
                start_new_session=True,
                text=True,
            )
        self._keeper.add(self.process)
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.hear("ready")

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def silent(self, seconds):
        """Whether it says nothing for a while."""
        with contextlib.suppress(queue.Empty):
            self._lines.put(self._lines.get(timeout=seconds))
            return False
        return True

    def hear(self, what):
        """Return the next line that has something; the others before it are left out."""
        while True:
            try:
                said = json.loads(self._lines.get(timeout=BUSY_TIMEOUT))
            except (queue.Empty, ValueError):  # it is silent, or has ended
                pytest.fail(f"it never said {what!r}: {self.errors.read_text()[-2000:]}")
            if what in said:
                return said

    def begin(self, word):
        """Say a word, whose answer comes later."""
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def ask(self, word):
        """Say a word and return its answer."""
        self.begin(word)
        return self.hear("spent")

    def begin_and_wait(self, word):
        """Say a word, and return when the question is in its midst."""
        self.begin(word)
        self.hear("midst")

    def end(self):
        """Let it end by itself."""
        self.process.stdin.close()
        assert self.process.wait(BUSY_TIMEOUT) == 0, self.errors.read_text()[-2000:]
        assert "Zaphod" not in self.errors.read_text()

    def remove(self):
        """Kill it, and its Java."""
        self._keeper.end()
        self.process.wait()
        self._reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


@contextlib.contextmanager
def driver(master, **settings):
    """Run a driver for a block; ``a__b`` in a name stands for ``a.b``."""
    named = {name.replace("__", "."): value for name, value in settings.items()}
    with tempfile.TemporaryDirectory(prefix="tacit-driver-", ignore_cleanup_errors=True) as folder:
        made = Driver(folder, master, named)
        try:
            yield made
        finally:
            made.remove()


def on(made, **settings):
    """A driver whose executors are small enough for the workers."""
    return driver(made.address, spark__executor__memory="512m", **settings)


def refused(answer, words):
    """Check an error: our own words, and a release that was charged and stays open."""
    assert words in answer["error"]
    assert "charged for this release, and it stays open" in answer["error"]
    assert not answer["quotes"]
    assert answer["spent"] == "1000"


def answered(answer):
    """Check an answer whose noise is next to nothing, and what it cost."""
    assert sum(answer["answer"]) > 100_000
    assert answer["spent"] == "1000"


@pytest.mark.usefixtures("_spark_is_there")
@pytest.mark.slow
def test_a_lost_executor_changes_no_integer():
    with cluster(workers=2) as made:
        with on(made) as asker:
            exact = asker.ask("run")["exact"]
            before = made.executors()
            assert len(before) == 2
            asker.begin_and_wait("run")
            os.kill(before[0], signal.SIGKILL)
            found = asker.hear("spent")
            assert found["exact"] == exact
            assert found["failed"] > 0, "no task was lost with the executor"
            until(lambda: len(made.executors()) == 2, "another executor")
            assert before[0] not in made.executors()
            assert asker.ask("run")["exact"] == exact
            answered(asker.ask("release"))
            asker.end()
        until(lambda: not made.left(), "the removal of what moved between the tasks")


@pytest.mark.usefixtures("_spark_is_there")
@pytest.mark.slow
def test_an_executor_lost_beyond_the_retries_leaves_the_release_open():
    with cluster(workers=2) as made, on(made, spark__task__maxFailures="1") as asker:
        asker.begin_and_wait("release")
        os.kill(made.executors()[0], signal.SIGKILL)
        refused(asker.hear("spent"), "Spark lost executors more often than it retries")
        answered(asker.ask("release"))
        asker.end()


@pytest.mark.usefixtures("_spark_is_there")
@pytest.mark.slow
def test_without_any_worker_a_question_waits_and_can_be_interrupted():
    with cluster(workers=2) as made, on(made) as asker:
        exact = asker.ask("run")["exact"]
        asker.begin_and_wait("release")
        made.kill_workers()
        notice = "no executor takes the work"
        until(lambda: notice in asker.errors.read_text(), "a notice that nothing goes on")
        assert asker.silent(seconds=3)
        os.kill(asker.process.pid, signal.SIGINT)
        stopped = asker.hear("spent")
        assert stopped["error"].startswith("KeyboardInterrupt")
        assert stopped["spent"] == "1000"
        asker.begin("run")
        assert asker.silent(seconds=2)
        made.add_worker()
        assert asker.hear("spent")["exact"] == exact
        made.kill_workers()
        refused(asker.ask("timed"), "did not answer within timeout=")
        made.add_worker()
        answered(asker.ask("release"))
        asker.end()


def mount(*options):
    """Mount, or mount anew, and say whether that was done."""
    return subprocess.run(["mount", *options], capture_output=True, check=False).returncode == 0


@pytest.fixture(name="disk")
def _disk():
    """A disk of one megabyte."""
    with tempfile.TemporaryDirectory(prefix="tacit-disk-") as place:
        if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", place):
            leave_out("the right to mount a small disk", "run the tests as root")
        try:
            yield place
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.usefixtures("_spark_is_there")
@pytest.mark.slow
def test_a_full_disk_costs_once_and_tells_nothing(disk):
    with driver("local[2]", spark__local__dir=disk) as asker:
        refused(asker.ask("release"), "a disk of Spark is full (spark.local.dir")
        assert mount("-o", "remount,size=512m", disk)
        answered(asker.ask("release"))
        asker.end()
        left = [file for file in Path(disk).rglob("*") if file.is_file()]
        assert left == []


# A million people of a row each and one of a million rows, on Spark and in DuckDB.


PEOPLE = GIANT = 1_000_000
TASKS = 16
ASKED = [
    Rows(),
    Moments(col("age"), Grid.for_bounds(0, 100, bits=20)),
    Total(col("age"), Grid.for_bounds(-20, 60)),
    People(),
]
ROWS = """select cast(i * 7919 % 10007 as double) / 100 as age,
    concat('g ', cast(i % 13 as {text})) as g,
    case when i < {giant} then -1 else i end as person from {series}"""


@pytest.fixture(scope="module")
def in_duckdb():
    """The table in DuckDB."""
    with duckdb.connect() as connection:
        series = f"range({PEOPLE + GIANT}) as t(i)"
        rows = ROWS.format(text="varchar", series=series, giant=GIANT)
        connection.execute(f"create table data as {rows}")
        yield connection


@pytest.fixture
def on_spark(spark):
    """The same rows on Spark, in many tasks, whose shuffles have as many and are left so."""
    settings = {
        "spark.sql.shuffle.partitions": str(TASKS),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
    }
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    spark.range(0, PEOPLE + GIANT, 1, TASKS).toDF("i").createOrReplaceTempView("numbers")
    yield spark.sql(ROWS.format(text="string", series="numbers", giant=GIANT))
    spark.catalog.dropTempView("numbers")
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def most_read(spark, ask):
    """The most records that one task of ``ask`` read of what others handed on; what it returns."""
    last = max((task.stage for task in tasks_of(spark)), default=-1)
    answer = ask()
    return max(task.received for task in tasks_of(spark, last)), answer


def exact(source, unit, query):
    """The integers of every question."""
    with source:
        answer = IntegerQuery(source, unit, **query).run(ASKED)
        return [reference.plain(answer.of(request)) for request in ASKED]


@pytest.mark.slow
def test_records_read_tells_where_a_giant_is_gathered(spark, on_spark):
    gathered = on_spark.repartition("person").write.format("noop").mode("overwrite")
    most, _ = most_read(spark, gathered.save)
    assert most >= GIANT


@pytest.mark.slow
@pytest.mark.parametrize("rows", [None, 1, 10])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_giant_among_a_million_changes_no_bit_and_gathers_in_no_task(
    spark, on_spark, in_duckdb, monkeypatch, grouped, rows
):
    monkeypatch.setattr(contributions, "new_salt", lambda: "00" * 16)  # of the giant's five groups
    unit = OneRowEach() if rows is None else PersonUnit("person", rows=rows, most_groups=5)
    query = {"by": {"g": col("g")}, "keys": [f"g {i}" for i in range(13)]} if grouped else {}
    most, found = most_read(spark, lambda: exact(open_source(on_spark), unit, query))
    assert found == exact(open_source(in_duckdb, "data"), unit, query)
    giants = GIANT if rows is None else 5 if grouped else 1
    assert sum(found[-1]) == PEOPLE + giants
    assert 0 < most < GIANT // 4


@pytest.mark.slow
def test_sums_so_large_that_their_person_has_no_weight_need_not_be_right(spark):
    """Of 2^23 rows, half of them in each group, whose sums reach 2^64, and of 2^20 to 2^61."""
    giant, large = 1 << 23, 1 << 20
    rows = spark.range(giant + large).selectExpr(
        f"id < {giant} as p", "id % 2 = 0 as even", f"{1 << 41} - id % 3 as x", f"{1 << 20} as y"
    )
    points = Grid.for_bounds(1 << 40, 1 << 41, whole=True)
    moments, total = Moments(col("y"), Grid.for_bounds(0, 1 << 20)), Total(col("x"), points)
    with open_source(rows) as source:
        asked = {"by": {"even": col("even")}, "keys": [True, False]}
        found = IntegerQuery(source, PersonUnit("p", rows=1), **asked).run([Rows(), moments, total])
    half, cells = large // 2, moments.grid.cells
    assert found.of(Rows()).tolist() == [half, half]
    assert found.of(moments).tolist() == [[half, 0, half * cells, half * cells**2]] * 2
    kept = [points.first + points.offset((1 << 41) - i % 3) for i in range(giant, giant + large)]
    weight = (1 << 20) * (points.first + points.cells) // sum(kept)
    assert weight == 1
    assert found.of(total).tolist() == [sum(kept[0::2]), sum(kept[1::2])]


# A million people and a giant, in PostgreSQL and in DuckDB: the same integers.


POSTGRES_MILLION_PEOPLE, POSTGRES_MILLION_GIANT = 1_000_000, 500_000
POSTGRES_MILLION_ROWS = """
    select {double}(i * 7919 % 10007) / 100 as age, 'g ' || i % 13 as g, i % {people} as person
    from {series} as t(i)
    union all select {double}(i % 101), 'g ' || i % 13, 17 from {giant} as t(i)"""


def statement(double: str, series: str) -> str:
    """The rows, in the words of an engine."""
    ends = (2 * POSTGRES_MILLION_PEOPLE - 1, POSTGRES_MILLION_GIANT - 1)
    many, giant = (series.format(end=end) for end in ends)
    return POSTGRES_MILLION_ROWS.format(
        double=double, people=POSTGRES_MILLION_PEOPLE, series=many, giant=giant
    )


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
def test_a_million_people_give_the_same_integers_as_in_duckdb(postgres, grouped):
    pytest.importorskip("psycopg")
    postgres.run(
        "create table data as "
        + statement("1.0::double precision * ", "generate_series(0::bigint, {end})")
    )
    connection = duckdb.connect()
    connection.execute(
        "create table data as " + statement("1.0::double * ", "generate_series(0, {end})")
    )
    grid = Grid.for_bounds(0, 100)
    asked = [
        Rows(),
        Moments(col("age"), Grid.for_bounds(0, 100, bits=20)),
        Total(col("age"), Grid.for_bounds(-20, 60)),
        Bins(col("age"), grid, tuple(grid.offset(e) for e in range(0, 101, 5))),
        Cells(col("age"), Grid.for_bounds(0, 100, bits=10)),
        People(),
    ]
    by = {"by": {"g": col("g")}, "keys": [f"g {i}" for i in range(13)]} if grouped else {}
    found = []
    for source in (open_source(postgres.dsn(), "data"), open_source(connection, "data")):
        with source:
            exact = IntegerQuery(source, PersonUnit("person", rows=2, most_groups=20), **by).run(
                asked
            )
            found.append([reference.plain(exact.of(request)) for request in asked])
    assert found[0] == found[1]
    assert sum(found[0][-1]) >= POSTGRES_MILLION_PEOPLE

"""A Spark of the tests' own: in local mode, small, and without a page to look at.

It needs Java (``apt-get install default-jre-headless``) and pyspark (``make setup-engines``).
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss4m",
    "spark.log.level": "OFF",
    # Of 100 by default: the laws ask 600 questions of each file, and to compile one takes longer
    # than to answer it.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # What its parser learns from each statement is never forgotten otherwise, and those of all
    # tests are hundreds of megabytes.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushRatio": "20",
    "spark.sql.shuffle.partitions": "2",
    # Each query is described for the page that nobody looks at, by default in the longest form.
    "spark.sql.ui.explainMode": "simple",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def missing() -> tuple[str, str] | None:
    """Return what is missing and how to install it; None if Spark can be started."""
    home = os.environ.get("JAVA_HOME")
    if not (home and os.path.exists(f"{home}/bin/java")) and shutil.which("java") is None:
        return "Java", "apt-get install default-jre-headless"
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark", "make setup-engines"
    return None


def start(folder: str, master: str = "local[2]", **settings: str) -> SparkSession:
    """Start a Spark whose files are in ``folder``; the process has one at a time."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    places = {
        "spark.local.dir": f"{folder}/local",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.driver.defaultJavaOptions": f"-Dderby.system.home={folder}",
    }
    builder = SparkSession.builder.master(master).appName("tacit tests")
    for name, value in {**SETTINGS, **places, **settings}.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pyspark, about the versions of others
        return builder.getOrCreate()


class LocalSpark:
    """A session, begun again where it has ended."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="tacit-spark-")
        self._session: Any = None

    def session(self) -> SparkSession:
        """The session, which runs."""
        if self._session is None or self._session.sparkContext._jsc is None:
            self._session = start(self._folder)
        return self._session

    def remove(self) -> None:
        """Stop it, and remove its folder."""
        if self._session is not None:
            self._session.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


class Task(NamedTuple):
    """Rows of a task of Spark."""

    stage: int
    read: int
    """Of the table."""
    received: int
    """Of what other tasks made."""
    handed_on: int


def tasks_of(session: SparkSession, after: int = -1) -> list[Task]:
    """The tasks that have ended, of all stages with a number beyond ``after``."""
    context, gateway = session.sparkContext._jsc.sc(), session.sparkContext._gateway
    context.listenerBus().waitUntilEmpty()  # the store is told of tasks by and by
    store = context.statusStore()
    none = gateway.new_array(gateway.jvm.double, 0), gateway.jvm.java.util.ArrayList()
    stages, found = store.stageList(None, False, False, *none), []
    for stage in map(stages.apply, range(stages.size())):
        if stage.stageId() <= after:
            continue
        tasks = store.taskList(stage.stageId(), stage.attemptId(), 1 << 16)
        for done in (tasks.apply(number).taskMetrics() for number in range(tasks.size())):
            if done.isDefined():
                did = done.get()
                moved = did.shuffleReadMetrics(), did.shuffleWriteMetrics()
                rows = moved[0].recordsRead(), moved[1].recordsWritten()
                found.append(Task(stage.stageId(), did.inputMetrics().recordsRead(), *rows))
    return found

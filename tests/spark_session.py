"""A Spark of the tests' own: in local mode, small, and without a page to look at.

It needs Java (``apt-get install default-jre-headless``) and pyspark (``make setup-engines``).
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "768m",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss4m",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def missing() -> tuple[str, str] | None:
    """What is not on the machine, and what brings it; None where Spark can be started."""
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

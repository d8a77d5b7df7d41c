"""A standalone cluster of the tests' own: a master and workers on loopback, which may be killed.

All of it comes with pyspark.  Each process stands in a group of its own with what it begins, which
ends with the test, or with the process of the test where that is killed; their files are in a
folder of their own, which goes with them.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from support.servers.keeper import Keeper

BUSY_TIMEOUT = 120
EXECUTOR = "CoarseGrainedExecutorBackend"
SETTINGS = (
    "-Dspark.master.rest.enabled=false -Dspark.worker.cleanup.enabled=true -XX:+UseSerialGC "
    "-XX:TieredStopAtLevel=1"
)


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something to come about."""
    end = time.monotonic() + BUSY_TIMEOUT
    while not condition():
        assert time.monotonic() < end, f"it never came about: {what}"
        time.sleep(0.05)


def children(parent: int, word: str) -> list[int]:
    """The processes begun by ``parent`` whose command has a word in it."""
    processes = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(status[1]) == parent and word in (entry / "cmdline").read_text():
                processes.append(int(entry.name))
    return processes


class Cluster:
    """A master, and workers of one core each."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._keeper = Keeper(folder)
        self._all: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        master = self._begin("master", "master.Master", "--host", "127.0.0.1", "--port", "0")
        until(lambda: self._said(master, r"Starting Spark master at (\S+)"), "a master")
        self.address = self._said(master, r"Starting Spark master at (\S+)")

    def add_worker(self) -> None:
        """Start a worker, which the master knows when this returns."""
        name = f"worker{len(self._all)}"
        given = (self.address, "--host", "127.0.0.1", "-c", "1", "-m", "700m")
        log = self._begin(name, "worker.Worker", *given)
        self.workers.append(self._all[-1])
        until(lambda: self._said(log, "(Successfully registered)"), "a worker")

    def executors(self) -> list[int]:
        """The executors that live, of all workers."""
        return [pid for worker in self.workers for pid in children(worker.pid, EXECUTOR)]

    def kill_workers(self) -> None:
        """Kill every worker and every executor at once."""
        for pid in [worker.pid for worker in self.workers] + self.executors():
            os.kill(pid, signal.SIGKILL)
        for worker in self.workers:
            worker.wait()
        self.workers = []

    def left(self) -> list[str]:
        """The files that workers which live hold for their executors."""
        folders = [Path(self._folder, name) for name in os.listdir(self._folder)]
        files = [f for p in folders if p.is_dir() for f in (p / "local").rglob("*") if f.is_file()]
        return [str(file.relative_to(self._folder)) for file in files]

    def remove(self) -> None:
        """Kill all of it."""
        self._keeper.end()
        for process in self._all:
            process.wait()

    def _begin(self, name: str, part: str, *given: str) -> Path:
        import pyspark

        home, place = Path(pyspark.__file__).parent, Path(self._folder, name)
        (place / "local").mkdir(parents=True)
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(place / "local"),
            "SPARK_WORKER_DIR": str(place / "work"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": SETTINGS,
        }
        starter = str(home / "bin" / "spark-class")
        with (place / "log").open("wb") as log:
            process = subprocess.Popen(
                [starter, f"org.apache.spark.deploy.{part}", "--webui-port", "0", *given],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._keeper.add(process)
        self._all.append(process)
        return place / "log"

    @staticmethod
    def _said(log: Path, pattern: str) -> str:
        match = re.search(pattern, log.read_text(errors="replace"))
        return match[1] if match else ""


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    """Run a cluster for a block."""
    with tempfile.TemporaryDirectory(prefix="tacit-cluster-", ignore_cleanup_errors=True) as folder:
        made = Cluster(folder)
        try:
            for _ in range(workers):
                made.add_worker()
            yield made
        finally:
            made.remove()

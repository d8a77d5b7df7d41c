"""What breaks in Spark while a question runs: executors, whole workers, a disk that is full.

The question is asked by a process of its own, so that the Spark of the other tests goes on.
"""

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

import pytest

from support.servers.keeper import Keeper
from support.servers.left_out import leave_out
from support.servers.spark_cluster import PATIENCE, cluster, until
from support.servers.spark_session import missing

HERE = Path(__file__).parent
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
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
                said = json.loads(self._lines.get(timeout=PATIENCE))
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
        assert self.process.wait(PATIENCE) == 0, self.errors.read_text()[-2000:]
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


def test_an_executor_lost_beyond_the_retries_leaves_the_release_open():
    with cluster(workers=2) as made, on(made, spark__task__maxFailures="1") as asker:
        asker.begin_and_wait("release")
        os.kill(made.executors()[0], signal.SIGKILL)
        refused(asker.hear("spent"), "Spark lost executors more often than it retries")
        answered(asker.ask("release"))
        asker.end()


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


def test_a_full_disk_costs_once_and_tells_nothing(disk):
    with driver("local[2]", spark__local__dir=disk) as asker:
        refused(asker.ask("release"), "a disk of Spark is full (spark.local.dir")
        assert mount("-o", "remount,size=512m", disk)
        answered(asker.ask("release"))
        asker.end()
        left = [file for file in Path(disk).rglob("*") if file.is_file()]
        assert left == []

"""The harness's side of a library's process."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers import setup

from tacit.audit.attack_suite.run import end_group

ROOT = Path(__file__).resolve().parents[2]


class UnavailableError(Exception):
    """The library is not installed, did not start or could not take the data."""


class Peer:
    """One library in its own interpreter, started with the data and restarted after a timeout."""

    def __init__(self, name: str, folder: Path, timeout: float, load_timeout: float) -> None:
        self.name, self.folder = name, folder
        self.timeout, self.load_timeout = timeout, load_timeout
        self.refused: dict[str, str] = {}
        self._errors = (folder / f"{name}.log").open("w+b")
        self.about = self._start()

    def _start(self) -> dict[str, Any]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        interpreter = setup.interpreter(self.name)
        if interpreter is None:
            raise UnavailableError(f"not installed: python -m benchmarks.peers.setup {self.name}")
        if self.name not in setup.OURS:
            environment.update(PYSPARK_PYTHON=interpreter, PYSPARK_DRIVER_PYTHON=interpreter)
        self._process = subprocess.Popen(
            [interpreter, "-m", "benchmarks.peers.server", self.name],
            cwd=self.folder,  # some libraries write into the working directory
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        answer = self._request({"do": "load", "folder": str(self.folder)}, self.load_timeout)
        if "error" in answer:
            self.close()
            raise UnavailableError(answer["error"])
        return answer

    def _request(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write(json.dumps(request).encode() + b"\n")
            requests.flush()
            if not select.select([answers], [], [], timeout)[0]:
                return {"error": f"no answer in {timeout:g} s", "lost": True}
            line = answers.readline()
        except BrokenPipeError:
            line = b""
        return dict(json.loads(line)) if line else {"error": self._last_words(), "lost": True}

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"process ended: {lines[-1] if lines else 'no message'}"

    def ask(self, task: str, epsilon: float) -> dict[str, Any] | None:
        """One answer with its times, or None where the library offers or manages no such task."""
        if task not in self.about["tasks"] or task in self.refused:
            return None
        answer = self._request({"do": "task", "task": task, "epsilon": epsilon}, self.timeout)
        if "error" not in answer:
            return answer
        self.refused[task] = answer["error"]
        print(f"{self.name}: {task}: {answer['error']}", file=sys.stderr)
        if "lost" in answer:
            self._restart()
        return None

    def _restart(self) -> None:
        """Start again with the same data; where that fails, no task is asked any more."""
        self.close()
        try:
            self._start()
        except UnavailableError as reason:
            self.refused.update(dict.fromkeys(self.about["tasks"], str(reason)))

    def close(self) -> None:
        """End the process and what it started."""
        end_group(self._process)
        self._process.communicate()


def start_all(names: list[str], folder: Path, timeout: float, load_timeout: float) -> list[Peer]:
    """Start every library in turn; tell which ones are left out and why."""
    peers = []
    for name in names:
        try:
            peers.append(Peer(name, folder, timeout, load_timeout))
        except UnavailableError as reason:
            print(f"{name} left out: {reason}", file=sys.stderr)
            continue
        about = peers[-1].about
        print(f"{name} {about['version']} loaded in {about['load']:.2f} s", file=sys.stderr)
    return peers

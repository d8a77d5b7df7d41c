"""A process that answers for one bin at a time, and can be killed without harm to the others."""

# The parent writes messages to its standard input, each a length of 8 bytes and that many bytes; it
# answers on what was its standard output.  What the function prints goes nowhere.

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any, BinaryIO

from tacit.errors import UsageError, need


def packed(value: Any) -> bytes:
    """Write a function or the content of a bin as bytes, for a process of this machine."""
    return need("cloudpickle", "parallel").dumps(value)  # type: ignore[no-any-return]


class Worker:
    """One process with the function, started when it is made and again after it was killed."""

    def __init__(self, function: bytes, timeout: float | None) -> None:
        self._function, self._timeout = function, timeout
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", f"from {__name__} import serve; serve()"]
        paths = os.pathsep.join(path for path in sys.path if path)
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
        )
        try:
            _send(process.stdin, self._function)
            ready = _receive(process.stdout)
        except OSError:
            ready = None
        if ready is None:
            _end(process)
            raise UsageError(
                "a worker process could not load the function: define it in a module or notebook "
                "that other processes can import from, or leave out parallel and timeout"
            )
        return process

    def answer(self, content: Any) -> tuple[int, ...] | None:
        """Return what the function says of a bin, or None if it took too long or died."""
        deadline = _Deadline(self._process, self._timeout)
        try:
            message = packed(content)
            with deadline:
                _send(self._process.stdin, message)
                reply = _receive(self._process.stdout)
        except Exception:  # the pipe broke, or the records cannot be written as bytes
            reply = None
        if reply is None or deadline.passed:
            # A process that was killed as it answered must not fail the next bin.
            self.close()
            self._process = self._start()
            return None
        return tuple(json.loads(reply))

    def close(self) -> None:
        """End the process."""
        _end(self._process)


class _Deadline:
    """Kill a process that is still at work after so many seconds; ``passed`` says that it was."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float | None) -> None:
        self.passed = False
        self._process = process
        self._timer = None if seconds is None else threading.Timer(seconds, self._pass)

    def _pass(self) -> None:
        self.passed = True
        self._process.kill()

    def __enter__(self) -> None:
        if self._timer is not None:
            self._timer.start()

    def __exit__(self, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()


def serve() -> None:
    """Answer for bins until the input ends: what a worker process runs."""
    load = need("cloudpickle", "parallel").loads
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb") as answers:
        with open(os.devnull, "r+b") as nowhere:
            os.dup2(nowhere.fileno(), 0)
            os.dup2(nowhere.fileno(), 1)
        function = load(_receive(requests) or b"")
        _send(answers, b"ready")
        while (message := _receive(requests)) is not None:
            _send(answers, json.dumps(function(load(message))).encode())


def _send(pipe: Any, message: bytes) -> None:
    pipe.write(len(message).to_bytes(8, "little"))
    pipe.write(message)
    pipe.flush()


def _receive(pipe: BinaryIO | Any) -> bytes | None:
    """Return the next message, or None where the other side has gone."""
    head = pipe.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "little")
    body: bytes = pipe.read(size)
    return body if len(body) == size else None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        try:
            if pipe is not None:
                pipe.close()
        except OSError:
            continue  # what was still to be written to a process that has gone
    process.wait()

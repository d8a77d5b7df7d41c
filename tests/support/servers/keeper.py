"""Processes that end with the tests, however the tests end."""

from __future__ import annotations

import subprocess


class Keeper:
    """Waits at a pipe whose other end only this process holds, and kills when the pipe closes.

    What it kills is whole groups of processes, with SIGKILL; then it removes a folder.

    Args:
        folder: which goes too.
    """

    _SCRIPT = """cd /
        while read -r group; do groups="$groups $group"; done
        for group in $groups; do kill -s KILL -- "-$group"; done
        rm -rf "$0" """

    def __init__(self, folder: str) -> None:
        self._process = subprocess.Popen(
            ["sh", "-c", self._SCRIPT, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # the keyboard's interrupt is not for the keeper
        )

    def add(self, process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
        """Keep a process begun with ``start_new_session``, and all that it begins."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"%d\n" % process.pid)
        self._process.stdin.flush()

    def end(self) -> None:
        """Let it kill, and wait until it has."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

"""The private folder that an engine spills rows to: removed at the end, or at the next start.

A process that is killed cannot tidy up.  So each folder holds a file that its owner keeps locked
for as long as it lives, and whoever makes a folder first removes those that nobody holds.  A folder
of a living process is never touched, nor is one of another user.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["SpillFolder"]

_BEGINS, _LOCK = "tacit-spill-", "owner"


class SpillFolder:
    """A folder that only this user may enter, with the rows that did not fit into memory.

    >>> folder = SpillFolder()
    >>> folder.path.is_dir(), folder.remove(), folder.path.is_dir()
    (True, None, False)
    """

    def __init__(self) -> None:
        remove_forsaken()
        self.path = Path(tempfile.mkdtemp(prefix=_BEGINS))
        self._process = os.getpid()
        # Locked before it has its name, so that nobody sees it unlocked while this process lives.
        new = self.path / f"{_LOCK}.new"
        self._held = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
        _lock(self._held)
        new.rename(self.path / _LOCK)

    @property
    def holds_anything(self) -> bool:
        """Whether anything stands in it besides its lock."""
        with contextlib.suppress(OSError):
            return any(name != _LOCK for name in os.listdir(self.path))
        return False

    def remove(self) -> None:
        """Remove the folder, with all that is in it; a forked process leaves it to its parent."""
        if os.getpid() != self._process:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._held)


def remove_forsaken() -> None:
    """Remove the folders of this user whose owner has died."""
    with contextlib.suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{_BEGINS}*"):
            with contextlib.suppress(OSError):
                if _is_forsaken(path):
                    shutil.rmtree(path, ignore_errors=True)


def _is_forsaken(path: Path) -> bool:
    """Whether a folder is this user's own and nobody holds its lock; False where nobody can say."""
    if path.is_symlink() or path.stat().st_uid != _user():
        return False
    held = os.open(path / _LOCK, os.O_RDWR)  # one without it is about to be made: left alone
    try:
        return _lock(held)
    finally:
        os.close(held)


def _lock(held: int) -> bool:
    """Lock an open file; return whether that was possible.  Without such locks nothing is."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else -1

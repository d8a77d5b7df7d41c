"""Folders with spilled rows: of dead processes they are removed, of living ones never."""

import fcntl
import os
import signal
import subprocess
import sys

import pytest

from tacit.tables.engines.base import SpillFolder, remove_forsaken

OWNER = """
import sys
from tacit.tables.engines.base import SpillFolder
print(SpillFolder().path, flush=True)
sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.full
def test_a_living_owner_keeps_its_folder_and_a_dead_one_does_not(place):
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )  # fmt: skip
    path = place / process.stdout.readline().strip()
    (path / "rows").write_text("Zaphod")
    mine = SpillFolder()
    assert path.is_dir()  # its owner lives
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert path.is_dir()
    remove_forsaken()
    assert not path.exists()
    assert mine.path.is_dir()  # this process lives too
    mine.remove()
    assert list(place.iterdir()) == []


def test_the_folder_is_private():
    folder = SpillFolder()
    assert folder.path.stat().st_mode & 0o077 == 0
    folder.remove()


def test_what_is_not_ours_is_left_alone(place, monkeypatch):
    made = place / "tacit-spill-begun"  # without a lock: its owner is only making it
    made.mkdir()
    other = place / "else"
    other.mkdir()
    (other / "owner").touch()
    (place / "tacit-spill-link").symlink_to(other)
    remove_forsaken()
    assert made.is_dir()
    assert (other / "owner").exists()
    (made / "owner").touch()
    monkeypatch.setattr("tacit.tables.engines.base._user", lambda: os.getuid() + 1)
    remove_forsaken()
    assert made.is_dir()  # another user's
    monkeypatch.undo()


def test_a_forked_process_leaves_the_folder_to_its_parent():
    folder = SpillFolder()
    child = os.fork()
    if child == 0:
        folder.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.path.is_dir()
    held = os.open(folder.path / "owner", os.O_RDWR)
    with pytest.raises(OSError, match="temporarily"):
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(held)
    folder.remove()

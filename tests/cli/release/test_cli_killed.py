"""A release that is killed between its charge and its answer is spent once, and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.accounting import open_ledger
from tacit.accounting.ledger_sqlite import SqliteStore

KILLED = """
import os, signal
import tacit.tables.question as question
from tacit.cli import run
question.release_answer = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
run("release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1".split())
"""


@pytest.mark.full
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_killed_release_is_spent_once_and_goes_on(tacit, folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=folder, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with open_ledger(folder / "people.ledger") as ledger:
        assert str(ledger.spent) == "epsilon 0.5"
        assert [entry.state for entry in ledger.history()] == ["open"]
    shown = tacit("ledger show people.ledger")
    assert shown.code == 0
    assert " open " in shown.out
    assert "ask the same again, free" in shown.out
    previewed = tacit("preview people.csv --one-row-each --count --epsilon 0.5")
    assert "is open: it is answered at no further cost" in previewed.out
    again = tacit("release people.csv --one-row-each --count --epsilon 0.5 --json")
    assert again.json["remaining"]["exact"]["epsilon"] == "1/2"
    assert " open " not in tacit("ledger show people.ledger").out
    assert tacit("ledger verify people.ledger").code == 0


SLOW = """
import os, pathlib, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore them
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
import tacit.tables.engines.duckdb.engine as duck
from tacit.cli import run
from tacit.tables.release.release import Collector
real = Collector.collect
def collect(self, plan):
    ask = self._source.engine.rows
    spilled = pathlib.Path(ask("select current_setting('temp_directory')")[0][0])
    (spilled / "rows").write_text("Zaphod")
    print("reading", flush=True)
    ask("select sum(range % 7) from range(100000000000000)")
    raise AssertionError("nobody ended it")
Collector.collect = collect
sys.exit(run("release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1".split()))
"""


def spilled(folder: Path) -> list[Path]:
    return list((folder / "spill").iterdir())


@pytest.mark.few(4)
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="these signals are of Unix")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_query_that_is_ended_says_what_was_charged_and_leaves_no_row(
    tacit, folder: Path, name: str
) -> None:
    (folder / "spill").mkdir()
    number = getattr(signal, name)
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW],
        cwd=folder, env={**os.environ, "TMPDIR": str(folder / "spill")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "reading\n"
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    if name == "SIGKILL":
        assert len(spilled(folder)) == 1
        # the next start removes what nobody holds any more
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("tempfile.tempdir", str(folder / "spill"))
            tacit("release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1")
    else:
        assert process.returncode == 128 + number, err
        assert "Epsilon 0.5 was charged for this release, and it stays open" in err
    assert spilled(folder) == []
    again = tacit(
        "release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1 --json"
    )
    assert again.json["remaining"]["exact"]["epsilon"] == "1/2"


@pytest.mark.full
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is of Linux")
def test_an_output_that_cannot_be_written_is_told_and_paid_once(tacit, folder: Path) -> None:
    command = "release people.csv --one-row-each --count --epsilon 0.5 --budget-epsilon 1"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tacit", *command.split()],
            cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left on device while the output was written" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert tacit(f"{command} --json").json["releases"][0]["replayed"]


@pytest.mark.full
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is of Linux")
def test_an_output_that_nothing_was_paid_for_names_no_ledger(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tacit", "sensitivity", "mean", "--records", "1,2,3"],
            cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 2
    assert "while the output was written" in done.stderr
    assert "ledger" not in done.stderr


@pytest.mark.parametrize("headless", [False, True])
def test_a_ledger_whose_beginning_was_cut_short_begins_anew(
    tacit, folder: Path, headless: bool
) -> None:
    place = folder / "people.ledger"
    if headless:
        SqliteStore(place, create=True).close()
    else:
        place.touch()
    shown = tacit("ledger show people.ledger")
    assert (shown.code, "is empty" in shown.err) == (2, True)
    unsaid = tacit("release people.csv --one-row-each --count --epsilon 0.5")
    assert unsaid.code == 0
    assert "as its whole budget" in unsaid.err
    assert tacit("ledger verify people.ledger").code == 0


@pytest.mark.full
@pytest.mark.parametrize("start", [["-m", "tacit"], None])
def test_the_command_is_installed(folder: Path, start: list[str] | None) -> None:
    command = (
        [str(Path(sys.executable).with_name("tacit"))]
        if start is None
        else [sys.executable, *start]
    )
    env = {**os.environ, "COLUMNS": "100"}
    good = subprocess.run([*command, "--version"], capture_output=True, text=True, env=env)
    assert (good.returncode, good.stdout[:6]) == (0, "tacit ")
    bad = subprocess.run(
        [*command, "release", "nowhere.csv", "--one-row-each", "--count", "--epsilon", "1"],
        capture_output=True, text=True, env=env, cwd=folder,
    )  # fmt: skip
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("Error: nowhere.csv")

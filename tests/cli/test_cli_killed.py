"""A release that is killed between its charge and its answer is spent once, and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.accounting import open_ledger

KILLED = """
import os, signal
import tacit.tables.question as question
from tacit.cli import run
question.release_answer = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
run(["release", "people.csv", "--count", "--epsilon", "0.5", "--budget-epsilon", "1"])
"""


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
    previewed = tacit("preview people.csv --count --epsilon 0.5")
    assert "is open: it goes on at no further cost" in previewed.out
    again = tacit("release people.csv --count --epsilon 0.5 --json")
    assert again.json["remaining"]["epsilon"] == "1/2"
    assert " open " not in tacit("ledger show people.ledger").out
    assert tacit("ledger verify people.ledger").code == 0


@pytest.mark.few(2)
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
        [*command, "release", "nowhere.csv", "--count", "--epsilon", "1"],
        capture_output=True, text=True, env=env, cwd=folder,
    )  # fmt: skip
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("Error: nowhere.csv")

"""A command from outside: its exit code, and that no error shows the data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.cli import run
from tacit.errors import BudgetError, UsageError


def test_an_error_nobody_foresaw_tells_no_data(
    tacit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import tacit.tables.question as question

    def fails(*_: object) -> None:
        raise KeyError("the salary of p17 is 900")

    monkeypatch.setattr(question, "release_answer", fails)
    done = tacit("release people.csv --one-row-each --count --epsilon 1")
    assert done.code == 70
    assert "p17" not in done.err
    assert "KeyError" in done.err
    monkeypatch.setenv("TACIT_DEBUG", "1")
    with pytest.raises(KeyError):
        run(
            [
                "release",
                "people.csv",
                "--one-row-each",
                "--count",
                "--epsilon",
                "1",
                "--ledger",
                "b.ledger",
            ]
        )


def test_an_interrupt_is_told(tacit, monkeypatch: pytest.MonkeyPatch) -> None:
    import tacit.tables.question as question

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(question, "release_answer", stopped)
    done = tacit("release people.csv --one-row-each --count --epsilon 1")
    assert done.code not in (0, 1, 2)
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("a\0b", "argument 2 holds the character NUL"),
        ("caf\udce9.csv", r"shown here as \udc..: caf\udce9"),
    ],
)
def test_what_is_no_text_is_refused_by_its_place(
    capsys: pytest.CaptureFixture[str], argument: str, said: str
) -> None:
    assert run(["release", argument]) == 2
    assert said in capsys.readouterr().err


def test_each_way_to_end_has_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ends_with(error: BaseException) -> tuple[int, str]:
        def app(**_: object) -> None:
            raise error

        monkeypatch.setattr("tacit.cli.app.app", app)
        code = run(["release"])
        return code, capsys.readouterr().err

    assert ends_with(BudgetError("no more")) == (1, "Error: no more\n")
    assert ends_with(UsageError("not so")) == (2, "Error: not so\n")
    assert ends_with(SystemExit(3)) == (3, "")
    assert ends_with(SystemExit("a secret")) == (70, "")
    code, told = ends_with(KeyboardInterrupt())
    assert code == 130
    assert "stays charged" in told
    interrupt = KeyboardInterrupt()
    interrupt.add_note("nothing was charged")
    assert ends_with(interrupt) == (130, "Interrupted. Nothing was charged.\n")
    code, told = ends_with(ValueError("the pay of p17"))
    assert code == 70
    assert "p17" not in told


def test_an_interrupt_that_became_an_exit_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def app(**_: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemExit(130) from error

    monkeypatch.setattr("tacit.cli.app.app", app)
    assert run(["release"]) == 130
    assert "Interrupted." in capsys.readouterr().err


def test_a_file_that_cannot_be_written_says_that_the_answer_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def app(**_: object) -> None:
        raise PermissionError(13, "Permission denied", "out.csv")

    monkeypatch.setattr("tacit.cli.app.app", app)
    assert run(["release"]) == 2
    assert "Permission denied (out.csv). What was released is in" in capsys.readouterr().err
    assert run(["ledger", "show"]) == 2
    assert "What was released" not in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(("typed", "found"), [("re", "release"), ("release --hist", "--histogram")])
def test_a_shell_completes_commands_and_flags(shell: str, typed: str, found: str) -> None:
    given = {
        "_TACIT_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": f"tacit {typed}",
        "COMP_CWORD": str(len(typed.split())),
        "_TYPER_COMPLETE_ARGS": f"tacit {typed}",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": typed.split()[-1],
    }
    done = subprocess.run(
        [str(Path(sys.executable).with_name("tacit"))],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found in done.stdout
    assert done.stderr == ""


def test_the_version_names_the_engines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    first, engines = capsys.readouterr().out.splitlines()
    assert first.startswith("tacit ")
    for name in ("python 3", "duckdb ", "numpy ", "pyarrow "):
        assert name in engines


@pytest.mark.filterwarnings("default")
def test_a_warning_is_a_sentence_without_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age\n31\n45\n")
    asked = ["--one-row-each", "--epsilon", "1", "--types", "age=float"]
    for flag in ("--percentile", "--percentiles"):
        assert run(["preview", "people.csv", *asked, flag, "age:0.9:0:100"]) == 0
        noted = capsys.readouterr().err
        assert "a percentile is from 0 to 100" in noted
        assert "Warning" not in noted
        assert ".py" not in noted

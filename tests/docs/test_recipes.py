"""Each recipe runs from top to bottom, and prints what its page shows, but for the numbers."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import pytest

from docs.test_snippets import FENCE, blocks, folder, here, run_console, run_python
from tacit.cli import run as type_in

ROOT = Path(__file__).parents[2]
RECIPES = [p for p in sorted((ROOT / "docs" / "how-to").glob("*.md")) if p.name != "index.md"]
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?%?")
__all__ = ["folder"]


def shape(text: str) -> list[str]:
    """What is printed, without what differs from run to run: numbers, and how they are aligned.

    >>> shape("n    5,912 [5909.5, 5916]\\n")
    ['n', '#', '[#,', '#]']
    """
    return NUMBER.sub("#", text).split()


def run_recipe(text: str, page: str) -> int:
    """Run a page; compare what it printed at each block of text; return how many there were."""
    names: dict[str, object] = {"__name__": "__main__"}
    printed, compared = io.StringIO(), 0
    runnable = {block.line: block for block in blocks(text)}
    for fence in FENCE.finditer(text):
        block = runnable.get(text.count("\n", 0, fence.start(4)) + 1)
        if fence[2] == "text":
            assert shape(printed.getvalue()) == shape(fence[4]), f"{page}: {printed.getvalue()}"
            printed, compared = io.StringIO(), compared + 1
        elif block is not None:
            with contextlib.redirect_stdout(printed):
                if block.language == "python":
                    run_python(block, page, names)
                else:
                    run_console(block, f"{page}:{block.line}", here)
    return compared


@pytest.mark.full
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_recipe(page: Path) -> None:
    compared = run_recipe(page.read_text(encoding="utf-8"), page.name)
    assert compared or page.stem in {"budget-for-a-team", "r-and-the-command-line"}


@pytest.mark.full
@pytest.mark.usefixtures("folder")
def test_the_call_of_r_asks_what_the_shell_asks(capsys: pytest.CaptureFixture[str]) -> None:
    """Typed in a shell, the words of the call of R get the answer of the shell again, free."""
    text = (ROOT / "docs" / "how-to" / "r-and-the-command-line.md").read_text(encoding="utf-8")
    (shell,) = (block for block in blocks(text) if block.language == "console")
    (words,) = re.findall(r"words <- c\((.*?)\)\n", text, re.DOTALL)
    (last, _) = re.findall(r'system2\("tacit", c\(words, "(.*?)"\), stdout = TRUE\)', text)
    typed = [*re.findall(r'"([^"]*)"', words), last]
    said = shlex.split(shell.text.replace("\\\n", " ").removeprefix("$ tacit "))
    asked = []
    for words in (said, typed):
        assert type_in(words) == 0
        asked.append(json.loads(capsys.readouterr().out))
    first, second = (one["releases"][0] for one in asked)
    assert (first["replayed"], second["replayed"]) == (False, True)
    assert first["answers"] == second["answers"]


def test_every_recipe_has_its_parts() -> None:
    assert len(RECIPES) >= 25
    for page in RECIPES:
        text = page.read_text(encoding="utf-8")
        assert re.match(r"# .+\n\n\*\*Problem\.\*\* ", text), page.name
        assert "\n**Watch for**\n\n- " in text, page.name
        assert len(text.splitlines()) <= 100, page.name


def test_a_page_that_shows_something_else_is_found() -> None:
    page = "```python\nprint('n', 7)\n```\n```text\nn 123\n```\n"
    assert run_recipe(page, "good") == 1
    with pytest.raises(AssertionError, match="bad"):
        run_recipe(page.replace("n 123", "m 123"), "bad")

"""The README shows what its examples print, but for the numbers, and stays short."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path

import pytest

from docs.test_recipes import shape
from docs.test_snippets import FENCE, OPTIONS, blocks, commands, folder, here, run_python

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
__all__ = ["folder"]


def same(shown: str, printed: str) -> bool:
    """Whether a page shows what is printed: all but numbers, and what three dots stand for.

    >>> same("n 7\\n...\\nlast ───\\n", "n 123\\nmore\\nlast ─────\\n")
    True
    >>> same("n 7\\n", "m 7\\n")
    False
    """
    want, got = (re.sub("─+", "─", " ".join(shape(text))) + "\n" for text in (shown, printed))
    return doctest.OutputChecker().check_output(want, got, OPTIONS)


def check(page: str) -> int:
    """Run a page; compare each output with what stands under its example; return how many."""
    names: dict[str, object] = {"__name__": "__main__"}
    runnable = {block.line: block for block in blocks(page)}
    left, compared = "", 0  # what was printed by an example in Python, and is not shown yet
    for fence in FENCE.finditer(page):
        block = runnable.get(page.count("\n", 0, fence.start(4)) + 1)
        if fence[2] == "text":
            assert same(fence[4], left), f"shown:\n{fence[4]}\nprinted:\n{left}"
            left, compared = "", compared + 1
        elif block is not None and block.language == "python":
            assert left == "", f"printed and not shown:\n{left}"
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                run_python(block, "README.md", names)
            left = printed.getvalue()
        elif block is not None:
            compared += check_commands(block.text)
    assert left == "", f"printed and not shown:\n{left}"
    return compared


def check_commands(block: str) -> int:
    """Run the commands of Tacit of a block, and compare; return how many there were."""
    compared = 0
    for command, shown in commands(block):
        words = shlex.split(command, comments=True)
        if words[0] == "tacit":
            code, printed = here(words[1:])
            assert code == 0, printed
            assert same(shown, printed), f"$ {command}\nshown:\n{shown}\nprinted:\n{printed}"
            compared += 1
    return compared


@pytest.mark.usefixtures("folder")
def test_readme_shows_what_is_printed() -> None:
    assert check(README.read_text(encoding="utf-8")) >= 3


@pytest.mark.usefixtures("folder")
def test_an_output_that_differs_or_is_missing_is_found() -> None:
    page = "```python\nprint('n', 7)\n```\n```text\nn 123\n```\n"
    assert check(page) == 1
    with pytest.raises(AssertionError, match="shown"):
        check(page.replace("n 123", "m 123"))
    with pytest.raises(AssertionError, match="not shown"):
        check(page.replace("```text", "```toml"))
    with pytest.raises(AssertionError, match="shown"):
        check("```console\n$ tacit --version\n```\n")


def test_readme_is_short_and_its_pictures_are_small() -> None:
    page = README.read_text(encoding="utf-8")
    assert len(page.splitlines()) < 120
    pictures = re.findall(r'<img src="([^"]+)"', page)
    assert len(pictures) == 2
    assert all((ROOT / name).stat().st_size < 80_000 for name in pictures)

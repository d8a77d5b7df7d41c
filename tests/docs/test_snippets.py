"""Every example of the README and the docs runs.

A page is run from top to bottom in a folder of its own, in which lies ``health_insurance.parquet``:

- a ``python`` block is executed; the blocks of a page share their names.  A block with ``>>>`` is a
  doctest, so its answers are compared (``...`` stands for any text);
- a ``console`` block is a terminal: each line that starts with ``$ tacit`` is run and must end
  with exit code 0.  Other commands (``$ make``, ``$ pip``) are for the reader and are not run.
  A command that is meant to be refused has ``exit=1`` behind the word ``console``, and what is
  printed is compared, as in a doctest, if ``compare`` stands there;
- a block marked ``long`` takes seconds: only the full run has it;
- a block marked ``no-run`` is left alone.  Blocks of another language are left alone too.

The commands are typed in this process; the README's, and in the slow run those of the long pages,
are also run by the program that is installed.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tacit.cli import run as type_in
from tacit.data import health_insurance

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Pages of many seconds, and those in folders, run in the full run, and as a user would run them in
# the slow one.
LONG = [page for page in PAGES if page.parent.parent == ROOT / "docs"] + [
    ROOT / "docs" / "command-line.md"
]
# Their code runs as that of their notebooks, in tests/docs/test_tutorials.py.
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("[0-9]*.md"))
QUICK = [page for page in PAGES if page not in LONG]
FENCE = re.compile(r"^([ ]*)```(\w+)[ ]*([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
Run = Callable[[list[str]], tuple[int, str]]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the words behind it, its text, the line where it starts."""

    language: str
    marks: frozenset[str]
    text: str
    line: int


def blocks(markdown: str) -> list[Block]:
    """The fenced blocks of a page that are examples to run."""
    found = [
        Block(
            match[2],
            frozenset(match[3].split()),
            textwrap.dedent(match[4]),  # a block may stand in a list
            markdown.count("\n", 0, match.start(4)) + 1,
        )
        for match in FENCE.finditer(markdown)
    ]
    return [b for b in found if b.language in {"python", "console"} and "no-run" not in b.marks]


def run_python(block: Block, page: str, names: dict[str, object]) -> None:
    """Run a block of Python, as a doctest where it shows answers."""
    if ">>> " not in block.text:
        padding = "\n" * (block.line - 1)  # so that a traceback names the line of the page
        exec(compile(padding + block.text, page, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, {}, page, page, block.line)
    test.globs = names  # shared, not copied: later blocks see the names of this one
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test, out=report.append, clear_globs=False)
    assert runner.failures == 0, "".join(report)


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what the page shows that it prints.

    >>> commands("$ tacit a \\\\\\n    --b\\nprinted\\n$ make test\\n")
    [('tacit a     --b', 'printed\\n'), ('make test', '')]
    """
    joined = text.replace("\\\n", "")
    parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]
    return [(head, shown) for head, _, shown in (part.partition("\n") for part in parts)]


def here(words: list[str]) -> tuple[int, str]:
    """Run a command of Tacit in this process: its exit code, and what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = type_in(words)
    return code, printed.getvalue()


def installed(words: list[str]) -> tuple[int, str]:
    """Run the program that stands in the environment."""
    program = Path(sys.executable).with_name("tacit")
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def run_console(block: Block, where: str, run: Run) -> None:
    """Run the commands of Tacit in a console block."""
    wanted = next((int(m[5:]) for m in block.marks if m.startswith("exit=")), 0)
    for command, shown in commands(block.text):
        words = shlex.split(command, comments=True)
        if words[0] != "tacit":
            continue
        code, printed = run(words[1:])
        assert code == wanted, f"{where}: $ {command}\n{printed}"
        if "compare" in block.marks:
            same = doctest.OutputChecker().check_output(shown, printed, OPTIONS)
            assert same, f"{where}: $ {command}\nshown:\n{shown}\nprinted:\n{printed}"


def run_page(markdown: str, page: str, run: Run = here, leave: str = "") -> int:
    """Run every example of a page in the current folder; return how many there were.

    Args:
        markdown: the page.
        page: its name.
        run: what runs a command.
        leave: the mark of blocks to leave out.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    examples = [block for block in blocks(markdown) if leave not in block.marks]
    for block in examples:
        if block.language == "python":
            run_python(block, page, names)
        else:
            run_console(block, f"{page}:{block.line}", run)
    return len(examples)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a page, with the bundled table, as the current one."""
    shutil.copy(health_insurance(), tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", QUICK, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.usefixtures("folder")
def test_page(page: Path) -> None:
    run_page(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)), leave="long")


def named(page: Path) -> str:
    """The name of a page."""
    return str(page.relative_to(ROOT))


@pytest.mark.full
@pytest.mark.parametrize("page", [p for p in PAGES if p in LONG and p not in TUTORIALS], ids=named)
@pytest.mark.usefixtures("folder")
def test_long_page(page: Path) -> None:
    run_page(page.read_text(encoding="utf-8"), named(page))


@pytest.mark.full
@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.slow] * (p in LONG)) for p in PAGES if p not in QUICK[1:]],
    ids=named,
)
@pytest.mark.usefixtures("folder")
def test_page_with_what_is_installed(page: Path) -> None:
    run_page(page.read_text(encoding="utf-8"), named(page), installed)


@pytest.mark.usefixtures("folder")
def test_the_runner_shares_names_and_sees_a_wrong_answer() -> None:
    good = "```python\na = 1\n```\ntext\n```python\n>>> a + 1\n2\n```\n"
    assert run_page(good, "good.md") == 2
    assert run_page("- list\n\n" + textwrap.indent(good, "  "), "good.md") == 2
    with pytest.raises(AssertionError, match="Expected"):
        run_page(good.replace("\n2\n", "\n3\n"), "bad.md")
    with pytest.raises(ZeroDivisionError):
        run_page("```python\n1 / 0\n```\n", "bad.md")
    assert run_page("```python long\n1 / 0\n```\n", "none.md", leave="long") == 0
    assert run_page("```python no-run\n1 / 0\n```\n```console\n$ make test\n```\n", "none.md") == 1


@pytest.mark.few(2)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("run", [here, installed])
def test_the_runner_sees_a_command_that_fails(run: Run) -> None:
    with pytest.raises(AssertionError, match="no-such-command"):
        run_page("```console\n$ tacit no-such-command\n```\n", "bad.md", run)
    run_page("```console exit=2\n$ tacit no-such-command\n```\n", "good.md", run)

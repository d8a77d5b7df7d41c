"""Make what belongs to the tutorials: of each page a notebook, and its figures.

The page is the one source.  Its text becomes cells of text, its examples become cells of code (a
block with ``>>>`` one for each answer that it shows), and what a page saves as a figure a notebook
shows.  Before the solution of an exercise stands a cell to answer it in.  No outputs are kept.

Usage: ``python tools/make_tutorials.py`` (``--figures`` runs the pages and writes their figures,
too, and those of recipes; ``--figures 5-distances`` only those of one page).
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tacit.data import health_insurance

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "tutorials"
NOTEBOOKS = ROOT / "docs" / "notebooks"

_PART = re.compile(
    r"^<details>.*?^</details>$|^```(?P<language>\w+) *(?P<marks>[^\n]*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_IMAGE = re.compile(r"^!\[[^\]]*\]\(figures/([\w-]+\.svg)\)\n?", re.MULTILINE)
_DESCRIBED = re.compile(r"^!(?=\[[^]]*\]\(figures/([\w-]+\.svg)\))\[([^]]*)\]", re.MULTILINE)
_NAME = re.compile(r'learn\.check\("([\w-]+)"')
_SAVED = re.compile(r"^(.*)\.savefig\((.*)\)$")
_TABLE = """# The table that comes with Tacit, as a file of this folder.
import shutil
from tacit.data import health_insurance

shutil.copy(health_insurance(), "health_insurance.parquet")"""


class Cell(NamedTuple):
    """A cell of a notebook.

    Attributes:
        text: its text or code.
        code: whether it is code.
        fails: whether the code is meant to fail.
        shows: what the page says that it answers.
        figure: the file of the figure that it draws.
        alt: what the figure shows, in words.
    """

    text: str
    code: bool = False
    fails: bool = False
    shows: str = ""
    figure: str = ""
    alt: str = ""


def pages() -> list[Path]:
    """Return the pages of the tutorials, in their order."""
    return sorted(PAGES.glob("[0-9]*.md"))


def cells(page: str) -> list[Cell]:
    """Return a page as the cells of a notebook."""
    made: list[Cell] = []
    words = dict(_DESCRIBED.findall(page))
    end = 0
    for part in _PART.finditer(page):
        made.append(Cell(_text(page[end : part.start()])))
        made += _code_cells(part, words) if part["code"] is not None else _exercise(part[0])
        end = part.end()
    made.append(Cell(_text(page[end:])))
    if "'health_insurance.parquet'" in page:
        first = next(index for index, cell in enumerate(made) if cell.code)
        made.insert(first, Cell(_TABLE, code=True))
    return [cell for cell in made if cell.text]


def _text(markdown: str) -> str:
    """Return text with links as from the folder of the notebooks, without the page's figures."""
    own = re.sub(r"\]\((\d[\w-]*)\.md", r"](\1.ipynb", _IMAGE.sub("", markdown))
    return re.sub(r"\]\((index\.md)", r"](../tutorials/\1", own).strip()


def _code_cells(block: re.Match[str], words: Mapping[str, str]) -> Iterator[Cell]:
    """The cells of a block: of Python what runs, of anything else its text."""
    if block["language"] != "python" or "no-run" in block["marks"]:
        yield Cell(block[0])
    elif ">>> " in block["code"]:
        yield from _answered(block["code"], words)
    else:
        yield _drawn(block["code"], words)


def _drawn(code: str, words: Mapping[str, str], shows: str = "", fails: bool = False) -> Cell:
    """Return a cell of code, with the figure that its last line saves."""
    saved = _SAVED.match(code.strip().splitlines()[-1])
    figure = saved[2].strip("'\"") if saved else ""
    return Cell(_shown(code), True, fails, shows, figure, words.get(figure, ""))


def _answered(code: str, words: Mapping[str, str]) -> Iterator[Cell]:
    """The cells of a block with answers: each ends where an answer is shown."""
    lines: list[str] = []
    for example in doctest.DocTestParser().get_examples(code):
        lines.append(example.source.rstrip("\n"))
        if example.want or ".savefig(" in example.source:
            yield _drawn("\n".join(lines), words, example.want, example.exc_msg is not None)
            lines = []
    if lines:
        yield _drawn("\n".join(lines), words)


def _shown(code: str) -> str:
    """Return code whose last line shows a figure instead of saving it."""
    *before, last = re.sub(r" +# doctest:.*", "", code).strip().splitlines()
    saved = _SAVED.match(last)
    return "\n".join([*before, saved[1] if saved else last])


def _exercise(solution: str) -> list[Cell]:
    """Return a cell to answer an exercise in, and its solution."""
    (name,) = _NAME.findall(solution)
    plain = re.sub(r"(?<=^```python\n).*?(?=^```$)", _solved, solution, flags=re.M | re.S)
    return [Cell(f'answer = ...\nlearn.check("{name}", answer)', code=True), Cell(plain)]


def _solved(code: re.Match[str]) -> str:
    """Return the code of a solution; what it shows before the check is a comment."""
    lines: list[str] = []
    for example in doctest.DocTestParser().get_examples(code[0]):
        lines += example.source.splitlines()
        if "learn.check" not in example.source:
            lines += [f"# {line}" for line in example.want.splitlines()]
    return "\n".join(lines) + "\n" if lines else code[0]


def notebook(page: Path) -> str:
    """Return the notebook of a page, as the text of its file."""
    made = [
        _cell(cell, f"{page.stem}-{index}"[-60:])
        for index, cell in enumerate(cells(page.read_text(encoding="utf-8")))
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _cell(cell: Cell, name: str) -> dict[str, Any]:
    """Return a cell as a notebook's file has it."""
    source = cell.text.splitlines(keepends=True)
    if not cell.code:
        return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": name,
        "metadata": {"tags": ["raises-exception"]} if cell.fails else {},
        "outputs": [],
        "source": source,
    }


def notebooks() -> dict[Path, str]:
    """Return the text of every notebook, by its file."""
    return {NOTEBOOKS / f"{page.stem}.ipynb": notebook(page) for page in pages()}


def figures(page: Path, folder: Path) -> list[Path]:
    """Run a page in a folder, and return the figures that it shows, as files there."""
    import matplotlib

    matplotlib.rcParams.update({"svg.hashsalt": page.stem, "svg.fonttype": "none"})
    text = page.read_text(encoding="utf-8")
    shutil.copy(health_insurance(), folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in _PART.finditer(text):
        if block["language"] != "python" or "no-run" in block["marks"]:
            continue
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            for cell in _as_written(block["code"]):
                exec(compile(cell, page.name, "exec"), names)
    return [folder / name for name in _IMAGE.findall(text)]


def _as_written(code: str) -> list[str]:
    """Return the parts of a block that run, without those that are meant to fail."""
    if ">>> " not in code:
        return [code]
    examples = doctest.DocTestParser().get_examples(code)
    return [example.source for example in examples if example.exc_msg is None]


def illustrated() -> list[Path]:
    """Return the pages with figures: the tutorials, and some recipes."""
    recipes = sorted((ROOT / "docs" / "how-to").glob("*.md"))
    return [p for p in [*pages(), *recipes] if _IMAGE.search(p.read_text(encoding="utf-8"))]


def _write_figures(only: str) -> None:
    os.environ.setdefault("MPLBACKEND", "Agg")
    for page in illustrated():
        if only not in ("all", page.stem):
            continue
        (page.parent / "figures").mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            for figure in figures(page, Path(folder)):
                text = figure.read_text(encoding="utf-8")
                plain = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
                lines = [line.rstrip() for line in plain.splitlines()]
                (page.parent / "figures" / figure.name).write_text(
                    "\n".join(lines) + "\n", encoding="utf-8"
                )


def main() -> None:
    """Write the notebooks, and the figures where that is asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--figures", nargs="?", const="all", default="", help="run pages, too")
    only = parser.parse_args().figures
    if only:
        _write_figures(only)
    NOTEBOOKS.mkdir(exist_ok=True)
    for path, text in notebooks().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

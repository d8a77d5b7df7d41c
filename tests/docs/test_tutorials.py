"""Of each tutorial the notebook is what the tool makes and runs in a kernel; its figures exist."""

from __future__ import annotations

import doctest
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from docs.test_snippets import OPTIONS, blocks, here, run_console
from house.project import script
from support.servers.left_out import if_installed, needs

ROOT = Path(__file__).parents[2]
nbclient, nbformat = if_installed("nbclient"), if_installed("nbformat")


def tool() -> ModuleType:
    """The tool that makes notebooks of pages."""
    return script("tools/make_tutorials.py")


MADE = ("1-global-sensitivity", "2-local-sensitivity", "3-noise-that-follows-the-data")
MADE += ("4-local-model", "5-distances")


def sources(book: Any, kind: str) -> list[str]:
    """The texts of the cells of a kind."""
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == kind]


def test_notebooks_are_what_the_tool_makes_of_the_pages() -> None:
    made = tool().notebooks()
    assert sorted(path.stem for path in made) == sorted(MADE)
    assert sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")) == sorted(made)
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, "run tools/make_tutorials.py"


def test_cells_of_a_page() -> None:
    page = (
        '# Title\n\n![a picture](figures/a.svg)\n\n```python\nx = 1\nf.savefig("a.svg")\n```\n'
        "```python\n>>> y = 2\n>>> y\n2\n>>> 1 / 0\nTraceback (most recent call last):\n"
        "ZeroDivisionError: division by zero\n```\n```console\n$ tacit --help\n```\n"
        "<details><summary>S</summary>\n\n```python\n>>> answer = 3\n"
        '>>> learn.check("a-1", answer)\nRight: 3\n```\n\n</details>\n'
    )
    made = [(cell.text, cell.code, cell.fails) for cell in tool().cells(page)]
    assert made == [
        ("# Title", False, False),
        ("x = 1\nf", True, False),
        ("y = 2\ny", True, False),
        ("1 / 0", True, True),
        ("```console\n$ tacit --help\n```", False, False),
        ('answer = ...\nlearn.check("a-1", answer)', True, False),
        (
            "<details><summary>S</summary>\n\n```python\nanswer = 3\n"
            'learn.check("a-1", answer)\n```\n\n</details>',
            False,
            False,
        ),
    ]


@pytest.mark.parametrize("page", MADE)
def test_figures_are_drawings_that_the_page_makes_and_describes(page: str) -> None:
    folder = ROOT / "docs" / "tutorials"
    text = (folder / f"{page}.md").read_text(encoding="utf-8")
    shown = re.findall(r"^!\[([^\]]{20,})\]\(figures/([\w-]+\.svg)\)$", text, flags=re.MULTILINE)
    assert len(shown) >= 2
    for _, name in shown:
        assert f'.savefig("{name}")' in text
        drawing = ET.parse(folder / "figures" / name).getroot()
        assert drawing.tag.endswith("svg")
        assert "figures/" + name in text
    used = {name for _, name in shown}
    assert len(used) == len(shown)


def test_every_page_has_its_figures_and_no_figure_is_left_over() -> None:
    shown = {
        page.parent / "figures" / name
        for page in tool().illustrated()
        for name in re.findall(r"\]\(figures/([\w-]+\.svg)\)", page.read_text(encoding="utf-8"))
    }
    assert shown == set((ROOT / "docs").glob("*/figures/*"))


_SOLUTION = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def with_solutions(book: Any, page: list[Any]) -> list[str | None]:
    """Put a cell that runs it behind each solution; return what each cell of code must show."""
    wanted: list[str | None] = []
    cells = []
    for cell, said in zip(book["cells"], page, strict=True):
        cells.append(cell)
        if cell["cell_type"] == "code":
            wanted.append(None if said.fails or not said.shows else said.shows)
        elif said.text.startswith("<details>"):
            for code in _SOLUTION.findall(said.text):
                cells.append(nbformat.v4.new_code_cell(code))
                wanted.append("Right...")
    book["cells"] = cells
    return wanted


def told(cell: Any) -> str:
    """What a cell that ran shows as text."""
    return "".join(
        output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"]
        for output in cell["outputs"]
        if output["output_type"] != "error"
    )


@pytest.mark.full
@needs("nbclient", "pip install nbclient ipykernel")
@pytest.mark.parametrize("name", MADE)
def test_a_notebook_shows_in_a_kernel_what_its_page_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All code of a tutorial runs here once: the page's examples are those of the notebook."""
    path = ROOT / "docs" / "notebooks" / f"{name}.ipynb"
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    page = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    wanted = with_solutions(book, tool().cells(page))
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=400, resources=where).execute()
    ran = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    wrong = [
        (cell["source"], want, told(cell))
        for cell, want in zip(ran, wanted, strict=True)
        if want and not doctest.OutputChecker().check_output(want, told(cell), OPTIONS)
    ]
    assert wrong == []
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.language == "console":  # on the files that the notebook wrote
            run_console(block, f"{name}:{block.line}", here)
    shown = [cell["outputs"] for cell in ran]
    pictures = [o for outputs in shown for o in outputs if "image/png" in o.get("data", {})]
    assert len(pictures) >= page.count("](figures/")
    asked = json.dumps(shown).count("Not answered yet")
    assert asked == len(re.findall(r"^\*\*[\w]+-\d\.\*\*", page, flags=re.MULTILINE)) == 4
    assert wanted.count("Right...") == 4
    assert sum(want is not None for want in wanted) > 8


@needs("nbclient", "pip install nbclient ipykernel")
def test_a_cell_that_shows_something_else_is_found() -> None:
    page = tool().cells("# T\n\n```python\n>>> 1 + 1\n2\n```\n")
    book = nbformat.v4.new_notebook()
    book["cells"] = [nbformat.v4.new_markdown_cell("# T"), nbformat.v4.new_code_cell("1 + 1")]
    assert with_solutions(book, page) == ["2\n"]
    shows = {"output_type": "execute_result", "data": {"text/plain": "3"}}
    assert told({"outputs": [shows]}) == "3"
    assert not doctest.OutputChecker().check_output("2\n", "3", OPTIONS)

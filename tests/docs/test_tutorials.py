"""Of each tutorial the notebook is what the tool makes and runs in a kernel; its figures exist."""

from __future__ import annotations

import importlib.util
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.servers.left_out import if_installed, needs

ROOT = Path(__file__).parents[2]
nbclient, nbformat = if_installed("nbclient"), if_installed("nbformat")


def tool() -> ModuleType:
    """The tool that makes notebooks of pages."""
    spec = importlib.util.spec_from_file_location("tutorials", ROOT / "tools" / "make_tutorials.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


@pytest.mark.full
@needs("nbclient", "pip install nbclient ipykernel")
@pytest.mark.parametrize("name", MADE)
def test_a_notebook_runs_in_a_kernel(name: str, tmp_path: Path) -> None:
    path = ROOT / "docs" / "notebooks" / f"{name}.ipynb"
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=400, resources=where).execute()
    shown = [cell["outputs"] for cell in book["cells"] if cell["cell_type"] == "code"]
    pictures = [o for outputs in shown for o in outputs if "image/png" in o.get("data", {})]
    page = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    assert len(pictures) >= page.count("](figures/")
    asked = json.dumps(shown).count("Not answered yet")
    assert asked == len(re.findall(r"^\*\*[\w]+-\d\.\*\*", page, flags=re.MULTILINE)) == 4

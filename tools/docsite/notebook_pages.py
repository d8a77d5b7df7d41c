"""The notebooks of the tutorials as pages: their cells, with what each shows, and a download.

A notebook is kept without outputs.  What stands here under a cell is what its tutorial shows there,
which the tests compare with what the cell gives; the figures are those of the tutorial.
"""

from __future__ import annotations

import re
from pathlib import Path

from docsite.exercises import described
from make_tutorials import NOTEBOOKS, Cell, cells, pages

__all__ = ["notebook_pages"]

_CHECK = re.compile(r'^answer = \.\.\.\nlearn\.check\("([\w-]+)", answer\)$')
_UNANSWERED = "Not answered yet: write your answer in place of the dots."


def notebook_pages() -> dict[Path, str]:
    """Return the page of each notebook, in Markdown, by the file of the notebook."""
    return {NOTEBOOKS / f"{page.stem}.ipynb": _page(page) for page in pages()}


def _page(tutorial: Path) -> str:
    first, *rest = cells(tutorial.read_text(encoding="utf-8"))
    title, _, about = first.text.partition("\n")
    name = f"{tutorial.stem}.ipynb"
    note = (
        f"*This is the notebook of [a tutorial](../tutorials/{tutorial.name}), as it looks once "
        f"all of its cells have run. Download it: [{name}]({name}).*"
    )
    parts = [title.replace("# ", "# Notebook: ", 1), note, about.strip()]
    number = 0
    for cell in rest:
        number += cell.code
        parts.append(_shown(cell, number) if cell.code else _text(cell))
    return "\n\n".join(part for part in parts if part) + "\n"


def _text(cell: Cell) -> str:
    """Return a cell of text; a link to another notebook leads to its page."""
    return re.sub(r"\]\((\d[\w-]*)\.ipynb", r"](\1.md", cell.text)


def _shown(cell: Cell, number: int) -> str:
    """Return a cell of code with its number, and what it shows."""
    lines = [f"**In [{number}]**", f"```python\n{cell.text}\n```"]
    shows = cell.shows
    match = _CHECK.match(cell.text)
    if match:
        described(match[1])  # an exercise that does not exist fails here
        shows = _UNANSWERED
    if shows:
        lines += [f"**Out [{number}]**", f"```text\n{shows.rstrip()}\n```"]
    if cell.figure:
        lines.append(f"![{cell.alt}](../tutorials/figures/{cell.figure})")
    return "\n\n".join(lines)

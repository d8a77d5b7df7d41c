"""The figures of the gallery: the calls of its page run, and each picture stands under its call.

A call that fails fails the build.  Nothing of it is kept in the project.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from docsite.stage import Stage
from make_tutorials import figures

__all__ = ["draw_gallery", "illustrated"]

_CALL = re.compile(
    r'^(?P<said>[^\n`#][^\n]*):\n\n```python[^\n]*\n(?:(?!^```).)*?\.savefig\("(?P<name>[\w-]+\.svg)"\)\n```$',
    re.MULTILINE | re.DOTALL,
)
_FOLDER = "gallery-figures"


def illustrated(page: str) -> str:
    """Return the page with a picture under each call; what stands above the call describes it."""
    return _CALL.sub(lambda call: f"{call[0]}\n\n![{call['said']}](figures/{call['name']})", page)


def draw_gallery(staged: Stage) -> None:
    """Run the calls of the gallery, and put their pictures under them.

    Raises:
        Exception: a call failed.
    """
    page = illustrated(staged.pages["gallery.md"])
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "gallery.md"
        run.write_text(page, encoding="utf-8")
        for figure in figures(run, Path(folder)):
            staged.put(f"{_FOLDER}/{figure.name}", figure.read_bytes())
    staged.write("gallery.md", page.replace("](figures/", f"]({_FOLDER}/"))

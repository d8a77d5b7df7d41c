"""Copy the pages of the project to where the site has them, and turn their links with them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from docsite.exercises import with_boxes

__all__ = ["Stage"]

_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "src/tacit/data/README.md": "project/bundled-table.md",
}
"""Where pages stand on the site that are not below ``docs/``."""
_FILES = "files"
"""The folder of what pages link to and what is no page, each below its folder in the project."""


class Stage:
    """A folder of pages for Sphinx.

    Args:
        root: of the project.
        folder: what is written to; files in it that nothing writes any more are removed.
        instead: of files that are no pages, the pages that show them, which links lead to.
    """

    def __init__(self, root: Path, folder: Path, instead: Mapping[Path, str] | None = None) -> None:
        self.root = root
        self.folder = folder
        self.pages: dict[str, str] = {}
        self._kept: set[Path] = set()
        self._homes = {root / name: home for name, home in _ELSEWHERE.items()}
        docs = root / "docs"
        for path in sorted(docs.rglob("*.md")):
            self._homes[path] = path.relative_to(docs).as_posix()
        self._own = tuple(self._homes)
        self._homes |= instead or {}

    def add_pages(self) -> None:
        """Take over every Markdown page of the project, with what it links to."""
        for path in self._own:
            home = self._homes[path]
            if path.name == "README.md" and path.parent == self.root:
                continue  # the index of the docs is the first page
            text = path.read_text(encoding="utf-8")
            self.write(home, self.moved(with_boxes(text), path, home))

    def write(self, name: str, text: str) -> None:
        """Write a page, or write over it; one that is as it was keeps its date."""
        self.pages[name] = text
        self._put(self.folder / name, text.encode())

    def put(self, name: str, content: bytes) -> None:
        """Write a file that is no page."""
        self._put(self.folder / name, content)

    def finish(self) -> None:
        """Remove what was written by an earlier run alone."""
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.is_file() and path not in self._kept:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()

    def _put(self, path: Path, content: bytes) -> None:
        self._kept.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)

    def moved(self, text: str, path: Path, home: str) -> str:
        """Return a page with each link to a file of the project turned to the file's new place."""

        def turned(found: re.Match[str]) -> str:
            target = Path(os.path.normpath(path.parent / found[2]))
            if ":" in found[2] or not target.exists() or not target.is_relative_to(self.root):
                return found[0]
            new = os.path.relpath(self._home_of(target), Path(home).parent)
            return f"{found[1]}{Path(new).as_posix()}{found[3]}"

        return _LINK.sub(turned, text)

    def _home_of(self, target: Path) -> str:
        """Return where a file or folder of the project stands on the site."""
        if target in self._homes:
            return self._homes[target]
        if target.is_dir():
            return f"{target.relative_to(self.root / 'docs').as_posix()}/index.md"
        docs = self.root / "docs"
        inside = target.is_relative_to(docs)
        name = target.relative_to(docs if inside else self.root).as_posix()
        name = name if inside else f"{_FILES}/{name}"
        self._kept.add(self.folder / name)
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(target, self.folder / name)
        return name

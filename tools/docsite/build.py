"""Gather the pages, write those that come from the code, and run Sphinx over them."""

from __future__ import annotations

import sys
from pathlib import Path

from docsite.benchmark_page import draw_benchmarks
from docsite.commands import command_pages
from docsite.gallery import draw_gallery
from docsite.navigation import navigation
from docsite.notebook_pages import notebook_pages
from docsite.reference import reference_pages
from docsite.stage import Stage

__all__ = ["build", "stage"]

ROOT = Path(__file__).parents[2]


def stage(folder: Path) -> Stage:
    """Write every page into a folder as Sphinx reads them."""
    books = notebook_pages()
    homes = {book: f"notebooks/{book.stem}.md" for book in books}
    staged = Stage(ROOT, folder, homes)
    staged.add_pages()
    draw_gallery(staged)
    draw_benchmarks(staged)
    for book, text in books.items():
        staged.write(homes[book], staged.moved(text, ROOT / "docs" / homes[book], homes[book]))
        staged.put(f"notebooks/{book.name}", book.read_bytes())
    for name, text in {**reference_pages(), **command_pages()}.items():
        staged.write(name, text)
    navigation(staged)
    staged.finish()
    return staged


def build(out: Path) -> int:
    """Build the site into ``out/html``; return how many pages it has.

    Raises:
        SystemExit: Sphinx found something wrong, such as a link that leads nowhere.
    """
    from sphinx.cmd.build import build_main

    source = out / "source"
    staged = stage(source)
    conf = str(Path(__file__).parent)
    words = ["-q", "-W", "--keep-going", "-b", "html", "-c", conf, "-d", str(out / "cache")]
    code = build_main([*words, str(source), str(out / "html")])
    if code:
        sys.exit(code)
    return len(staged.pages)

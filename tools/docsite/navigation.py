"""The tree of pages: the headings of ``docs/index.md``, and the links under each.

A page in a folder of ``docs/`` stands below the first page of its folder, which is written here
where nobody wrote it.  What the index does not name is added to it, so no page can be missing.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from docsite.stage import Stage

__all__ = ["navigation"]

_FOLDERS = {
    "tutorials": ("Learn", "Tutorials", "five questions, each with figures and exercises."),
    "notebooks": ("Learn", "Notebooks", "the tutorials as notebooks, to read and to download."),
    "how-to": ("Work with it", "How to", "short recipes, each with code that runs."),
    "explanations": (
        "Understand",
        "Explanations",
        "what is guaranteed, to whom, and why it holds.",
    ),
    "reviewers": ("Understand", "For reviewers", "how to read a certificate and what to check."),
    "coming-from": ("Learn", "Coming from another library", "the same tasks in both."),
    "reference": ("Reference", "Reference", "made from the code itself."),
}
"""Of each folder the heading that it belongs under, its title, and what stands in it."""
_PAGES = {
    "faq.md": "Learn",
    "glossary.md": "Understand",
}
"""The headings of pages that may be new to the index."""
_ELSE = "More"
_LINK = re.compile(r"\]\(([^)\s#:]+\.(?:md|rst))(?:#[^)\s]*)?\)")


def navigation(staged: Stage) -> None:
    """Write the first pages of folders, and into the index what it lacks and the tree of pages."""
    index = staged.pages["index.md"]
    named = set(_LINK.findall(index))
    folders: dict[str, list[str]] = {}
    for page in sorted(staged.pages):
        folder = str(PurePosixPath(page).parent)
        if folder != "." and page not in named and page != f"{folder}/index.md":
            folders.setdefault(folder, []).append(page)
    for folder, pages in folders.items():
        _first_page(staged, folder, pages)
    for page in sorted(staged.pages):
        first = page.count("/") == 0 or page.endswith("/index.md")
        if first and page not in named and page != "index.md":
            index = _with_line(index, page, staged)
    trees = [_tree(pages, heading) for heading, pages in _sections(index).items() if pages]
    staged.write("index.md", "\n\n".join([index, *trees]) + "\n")


def _first_page(staged: Stage, folder: str, pages: list[str]) -> None:
    """Give a folder its first page, with the tree of its pages."""
    name = f"{folder}/index.md"
    if name in staged.pages:
        text = staged.pages[name]
        ordered = [f"{folder}/{link}" for link in _LINK.findall(text)]
        pages = [*dict.fromkeys(page for page in ordered if page in pages), *pages]
    else:
        _, title, about = _FOLDERS[folder]
        lines = [f"- [{_title(staged.pages[p])}]({PurePosixPath(p).name})" for p in pages]
        text = "\n".join([f"# {title}", "", about[0].upper() + about[1:], "", *lines])
    inside = [PurePosixPath(page).name for page in dict.fromkeys(pages)]
    staged.write(name, f"{text}\n\n{_tree(inside)}\n")


def _with_line(index: str, page: str, staged: Stage) -> str:
    """Return the index with a line for a page, at the end of the heading that it belongs under."""
    folder = str(PurePosixPath(page).parent)
    heading, title, about = _FOLDERS.get(folder, (_PAGES.get(page, _ELSE), "", ""))
    line = f"- [{title or _title(staged.pages[page])}]({page})" + (
        f": {about[:-1]}" if about else ""
    )
    if f"\n## {heading}\n" not in index:
        return f"{index.rstrip()}\n\n## {heading}\n\n{line}\n"
    before, mark, rest = index.partition(f"\n## {heading}\n")
    section, end, after = rest.partition("\n## ")
    return f"{before}{mark}{section.rstrip()}\n{line}\n{end}{after}"


def _sections(index: str) -> dict[str, list[str]]:
    """Return the pages under each heading of the index; each page once, where it stands first."""
    pages: dict[str, list[str]] = {}
    seen: set[str] = set()
    for part in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        links = [link for link in dict.fromkeys(_LINK.findall(text)) if link not in seen]
        pages[heading] = links
        seen.update(links)
    return pages


def _tree(pages: list[str], caption: str = "") -> str:
    """Return a tree of pages that the page itself does not show."""
    head = ["```{toctree}", ":hidden:", *([f":caption: {caption}"] if caption else []), ""]
    return "\n".join([*head, *(re.sub(r"\.(md|rst)$", "", page) for page in pages), "```"])


def _title(text: str) -> str:
    """Return the title of a page: of Markdown, or of reStructuredText."""
    match = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
    return match[1] if match else text.lstrip().splitlines()[0]

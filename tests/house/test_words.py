"""Plain words: what a reader of an introduction to differential privacy would have to guess.

Held to it are the pages, what the command line and the errors say, and the certificate; of what
the code says about itself, only the words that are never right.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from house.project import ROOT, sources

RATHER = {
    r"\brulers?\b": "metric",
    r"\bbags?\b": "multiset",
    r"\bcrafted reports?\b": "poisoned reports",
    r"\bweigh(s|ed)? (at most|more|down|no more)\b|\bweighted down\b": "at most k rows count",
    r"\bheld (between|within)\b": "clamped to [L, U]",
    r"\benough people\b": "groups above a threshold",
    r"\b(told|given) in ranks\b(?!: the answer)": "given in ranks: the answer may be off by r rows",
    r"\bthere is nothing;": "file not found",
    r"\banother (release|count) than\b": "a new, separately paid release",
    r"\b(may|can|would|to) (ever )?(lose|be lost)\b": "spend",
    r"\breckon\w*": "compute",
    r"\bbegun\b": "created, started",
    r"\bhand(s|ed|ing)? (over|in|out|on)\b": "pass",
    r"\blet(s|ting)? go\b": "close",
    r"\b(is|are|was|were) told\b": "stated, reported",
    r"\d+ in 100\b": "%",
    r"\bspelled\b": "parsed, written",
    r"\blikeli(er|est)\b": "more likely, most likely",
    r"\bbehind the point\b": "after the decimal point",
    r"\bin the midst of\b": "in the middle of",
    r"\bone in the number of\b": "one divided by the number of",
    r"\bparted by\b": "separated by",
    r"\bmade (small|capital)\b": "in lower case, in upper case",
}
"""What is not said, with what is said in its place."""

NEVER = {
    r"\bcrafted reports?\b": "poisoned reports",
    r"\brulers?\b": "metric",
    r"\bbags?\b": "multiset",
    r"\bweighted down\b": "down-weighted",
    r"\breckon\w*": "compute",
    r"\blikeli(er|est)\b": "more likely, most likely",
    r"\bbehind the point\b": "after the decimal point",
    r"\bin the midst of\b": "in the middle of",
    r"\bone in the number of\b": "one divided by the number of",
    r"\bTell whether\b": "Return whether",
    r"\bthe chance (of|that)\b": "the probability",
    r"\bwith a chance of\b": "with probability",
    r"\b(normal|Laplace|Gaussian|Cauchy|geometric|symmetric|exponential) laws?\b": "distribution",
    r"\blaw of (the|a|an|one|noise)\b": "distribution of",
    r"\btold apart\b": "distinguished",
}
"""What no docstring or comment says either."""

PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]


def prose(page: str) -> str:
    """A page without its examples: fenced blocks and what stands in backticks."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```", "", page, flags=re.S | re.M))


def docstrings(tree: ast.AST) -> set[int]:
    """The nodes that are docstrings, of modules, classes, functions or values."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def said(text: str) -> Iterator[str]:
    """The texts of a module that people may be shown: whole sentences, and the help of commands."""
    tree = ast.parse(text)
    silent = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and "typer" in ast.dump(node.args):
            yield ast.get_docstring(node) or ""
        if isinstance(node, ast.Constant) and id(node) not in silent and " " in str(node.value):
            yield str(node.value)


def found(text: str, words: dict[str, str]) -> list[str]:
    """What a text says that it should not, with what it should say."""
    return [
        f"{match[0]!r}: rather {better!r}"
        for word, better in words.items()
        for match in re.finditer(word, text, flags=re.I)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    assert found(prose(page.read_text(encoding="utf-8")), RATHER) == []


@pytest.mark.full
def test_what_people_are_shown() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in sources()
        for text in said(path.read_text(encoding="utf-8"))
        for word in found(text, RATHER)
    ]
    assert wrong == []


def test_what_the_code_says_of_itself() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in sources()
        for word in found(path.read_text(encoding="utf-8"), NEVER)
    ]
    assert wrong == []


def test_the_reader_finds_the_words() -> None:
    module = '"""Doc."""\nraise UsageError(f"say what it {x} may lose")\n'
    assert [w for text in said(module) for w in found(text, RATHER)] == [
        "'may lose': rather 'spend'"
    ]
    assert found(prose("a `ruler` is\n```python\nruler\n```\nno ruler"), RATHER) == [
        "'ruler': rather 'metric'"
    ]

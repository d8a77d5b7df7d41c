"""Laws that the source text itself can show."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from house.project import PACKAGE, sources

FORBIDDEN = {
    "random": "noise comes from tacit.noise only",
    "numpy.random": "noise comes from tacit.noise only",
    "pickle": "a file that is read must not run code",
    "shelve": "a file that is read must not run code",
    "marshal": "a file that is read must not run code",
}
BROAD = {"Exception", "BaseException"}


def used(tree: ast.Module) -> Iterator[str]:
    """Dotted names that a file imports from a module, or reaches through one."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            # the module random may be imported to say in a type that a caller hands a source in
            yield from (alias.name for alias in node.names if alias.name != "random")
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if name != "random.Random" or id(node) in called:
                yield "numpy" + name[2:] if name.startswith("np.") else name


def broken_laws(text: str) -> list[str]:
    """Return the violations in the text of a module."""
    tree = ast.parse(text)
    violations = [
        f"{name}: {reason}"
        for name in used(tree)
        for module, reason in FORBIDDEN.items()
        if f"{name}.".startswith(f"{module}.")
    ]
    for node in ast.walk(tree):
        broad = isinstance(node, ast.ExceptHandler) and (
            node.type is None or ast.unparse(node.type) in BROAD
        )
        if broad and all(isinstance(step, ast.Pass) for step in node.body):
            violations.append(f"line {node.lineno}: every error is swallowed")
    return violations


def test_sources() -> None:
    violations = {
        str(path.relative_to(PACKAGE)): found
        for path in sources()
        if (found := broken_laws(path.read_text(encoding="utf-8")))
    }
    assert violations == {}


@pytest.mark.parametrize(
    "text",
    [
        "from random import random",
        "import random\nrandom.gauss(0, 1)",
        "import random\nrandom.Random(1)",
        "from numpy import random",
        "import numpy.random",
        "import numpy as np\nnp.random.normal()",
        "import pickle",
        "from pickle import loads",
        "try:\n    f()\nexcept Exception:\n    pass\n",
        "try:\n    f()\nexcept:\n    pass\n",
    ],
)
def test_the_reader_sees_what_is_forbidden(text: str) -> None:
    assert broken_laws(text)


def test_the_reader_allows_a_source_of_chance_that_is_handed_in() -> None:
    assert broken_laws("import random\ndef draw(source: random.Random): ...") == []


def test_no_text_of_a_page_is_the_name_of_a_class() -> None:
    """A page of the service said "UserRequest by" after a class was renamed."""
    trees = [ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")]
    named = {n.name for tree in trees for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
    joined = {name for name in named if re.search("[a-z][A-Z]", name)}
    pages = PACKAGE / "service" / "pages"
    texts = [path.read_text("utf-8") for path in pages.rglob("*.html")]
    for path in pages.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        texts += [
            n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)
        ]
    assert len(joined) > 100
    assert len(texts) > 500
    shown = {word for text in texts for word in re.findall(r"\b[A-Z]\w+", text)}
    assert not shown & joined

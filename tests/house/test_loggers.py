"""The loggers of the package are those that the docs list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from house.project import PACKAGE, ROOT, sources


def loggers(path: Path) -> Iterator[str]:
    """The names that a module gives to ``getLogger``, where they are Tacit's own."""
    text = path.read_text(encoding="utf-8")
    if "getLogger" not in text:
        return
    tree = ast.parse(text)
    module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    known = {"__name__": module.removesuffix(".__init__")}
    for line in tree.body:
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant):
            known |= {t.id: str(line.value.value) for t in line.targets if isinstance(t, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("getLogger"):
            for given in node.args:
                name = known.get(given.id, "") if isinstance(given, ast.Name) else ""
                name = str(given.value) if isinstance(given, ast.Constant) else name
                if name.split(".")[0] == "tacit":
                    yield name


def test_the_docs_list_every_logger() -> None:
    page = (ROOT / "docs" / "service-seeing.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(tacit(?:\.\w+)*)` \|", page, re.MULTILINE))
    assert listed == {name for path in sources() for name in loggers(path)}


def test_a_logger_is_found_however_it_is_named() -> None:
    path = PACKAGE / "service" / "telemetry.py"
    assert set(loggers(path)) == {"tacit.service"}
    path = PACKAGE / "tables" / "engines" / "spark.py"
    assert set(loggers(path)) == {"tacit.tables.engines.spark"}

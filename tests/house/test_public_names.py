"""The public face is pinned, and every name of it explains itself."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import types
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

import tacit
from house.project import PACKAGE, ROOT, modules, sources
from tacit.errors import MissingExtraError


def pinned() -> dict[str, list[str]]:
    """The names of each namespace, from the file that pins them: ``[tacit]`` and so on."""
    found: dict[str, list[str]] = {}
    text = (Path(__file__).parent / "public_names.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            names = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            names.append(line)
    return found


BY_NAMESPACE = pinned()
PINNED = BY_NAMESPACE["tacit"]
NAMESPACES = [name for name in PINNED if isinstance(getattr(tacit, name), types.ModuleType)]


def test_public_names_are_pinned() -> None:
    assert sorted(tacit.__all__) == sorted(PINNED)
    for namespace, names in BY_NAMESPACE.items():
        assert sorted(importlib.import_module(namespace).__all__) == sorted(names), namespace


def test_what_a_user_has_to_know_is_at_most_ninety_names() -> None:
    assert len(tacit.__all__) <= 90


@pytest.mark.parametrize("namespace", ["", *NAMESPACES])
def test_no_two_names_differ_only_by_case(namespace: str) -> None:
    module = importlib.import_module(f"tacit.{namespace}".rstrip("."))
    folded = Counter(name.casefold() for name in module.__all__)
    assert [name for name, times in folded.items() if times > 1] == []


def test_no_module_takes_the_place_of_a_function() -> None:
    """A submodule, once it is imported, is an attribute of its package: it hides a namesake.

    So every module is imported, in the order that is worst: after each name was found.
    """
    modules = sorted(
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in sources()
        if path.stem != "__main__"
    )
    for namespace in ("tacit", *(f"tacit.{name}" for name in NAMESPACES)):
        siblings = {m.rpartition(".")[2] for m in modules if m.rpartition(".")[0] == namespace}
        module = importlib.import_module(namespace)
        eager = {name for name in module.__all__ if name in vars(module)}
        late = {name for name in module.__all__ if name in siblings} - eager
        wrong = [name for name in late if namespace != "tacit" or name not in NAMESPACES]
        assert wrong == [], f"{namespace}: loaded late, and there is a module of the name"
    for name in modules:
        with suppress(ModuleNotFoundError):  # what needs a package that is not installed
            importlib.import_module(name)
    for namespace in ("tacit", *(f"tacit.{name}" for name in NAMESPACES)):
        module = importlib.import_module(namespace)
        for name in module.__all__:
            with suppress(MissingExtraError):  # likewise
                is_module = isinstance(getattr(module, name), types.ModuleType)
                expected = namespace == "tacit" and name in NAMESPACES
                assert is_module == expected, f"{namespace}.{name}"


def test_names_that_moved_are_found_or_say_where_they_are() -> None:
    for name, now in vars(tacit)["_MOVED"].items():
        assert getattr(tacit, name) is getattr(tacit.framework, now)
        assert name not in (*tacit.__all__, *dir(tacit))
    for name, location in vars(tacit)["_IS_NOW"].items():
        package, _, inner = location.rpartition(".")
        assert inner in getattr(tacit, package).__all__
        with pytest.raises(AttributeError, match=rf"'{name}'; it is tc\.{package}\.{inner}$"):
            getattr(tacit, name)
    with pytest.raises(AttributeError, match=r"it is tc\.framework\.hockey_stick$"):
        tacit.hockey_stick  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean"):
        tacit.framework.hockey_sticks  # noqa: B018


def test_the_page_of_names_that_changed_lists_all() -> None:
    page = (ROOT / "docs" / "names-that-changed.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `tc\.(\w+)`(?: \*)? \| `([\w.]+)", page, flags=re.MULTILINE))
    starred = set(re.findall(r"^\| `tc\.(\w+)` \* \|", page, flags=re.MULTILINE))
    moved, elsewhere = vars(tacit)["_MOVED"], vars(tacit)["_IS_NOW"]
    assert starred == set(moved)
    for name, location in elsewhere.items():
        assert rows[name].replace("fw.", "framework.").removeprefix("tc.") == location
    for name, now in rows.items():
        spaces = {"tc": tacit, "fw": tacit.framework}
        first, *others = now.split(".")
        assert functools.reduce(getattr, others, spaces[first]) is not None
        assert name not in tacit.__all__ or name in ("quantile", "percentile")


def test_methods_of_expressions_that_changed_say_what_they_are_called() -> None:
    page = (ROOT / "docs" / "names-that-changed.md").read_text(encoding="utf-8")
    section = page.split("## On expressions and questions")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)\(.*?\)` \| `(.*?)` \|$", section, flags=re.MULTILINE))
    age = tacit.col("age")
    assert len(rows) > 30
    for old, new in rows.items():
        name = new.partition("(")[0]
        asked = tacit.tables.Question if old == "with_column" else age
        assert old not in dir(asked)
        if old != "with_column":
            with pytest.raises(AttributeError, match=re.escape(name.removesuffix("n"))):
                getattr(age, old)
        if name != "% n":
            assert callable(functools.reduce(getattr, name.split("."), asked))
    assert (age % 7).to_json() == ["modulo", [["col", [], ["age"]]], [7]]


def test_what_the_service_does_with_a_question_is_not_public() -> None:
    internal = {"is_charged", "pay", "recorded", "rehearse", "release_key"}
    assert not internal & set(dir(tacit.tables.Question))
    assert not internal & set(dir(tacit.tables.QuestionPlan))


def test_the_framework_shares_only_what_is_one_function() -> None:
    shared = set(tacit.framework.__all__) & set(tacit.__all__)
    assert shared == {"count", "count_distinct", "histogram", "mean", "sum", "var"}
    for name in shared:
        assert getattr(tacit.framework, name) is getattr(tacit, name)


def test_dir_shows_every_public_name() -> None:
    assert set(PINNED) <= set(dir(tacit))


EVERY = [f"{namespace}.{name}" for namespace, names in BY_NAMESPACE.items() for name in names]


@pytest.mark.parametrize("name", EVERY)
def test_public_name_has_docstring_and_example(name: str) -> None:
    namespace, _, inner = name.rpartition(".")
    value = getattr(importlib.import_module(namespace), inner)
    if isinstance(value, str):  # __version__
        return
    text = inspect.getdoc(value) or ""
    assert len(text) > 20, f"{name} has no docstring"
    of_results = namespace not in ("tacit", "tacit.framework")  # nobody makes an answer by hand
    no_example = isinstance(value, types.ModuleType) or of_results
    assert no_example or ">>>" in text, f"the docstring of {name} has no example"


def exported(tree: ast.Module) -> set[str]:
    """The names in a module's ``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            strings = (n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant))
            return {name for name in strings if isinstance(name, str)}
    return set()


@pytest.mark.full
def test_every_exported_name_of_a_room_has_a_docstring() -> None:
    silent = []
    for path in sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = exported(tree)
        silent += [
            f"{path.relative_to(PACKAGE)}: {node.name}"
            for node in tree.body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            and node.name in names
            and "overload" not in map(ast.unparse, node.decorator_list)
            and not ast.get_docstring(node)
        ]
    assert silent == []


WITHOUT_DOCSTRINGS = re.compile(
    "arithmetic|cli|display|expressions|service|sql|audit.attack_suite|calls|outside|plotting|postgres"
    "|tables.(derived|engines|joint|joint_plans|plan|query|release)|__main__"
)
"""The packages without public objects, as in the configuration of ruff."""


def undescribed(kind: type) -> list[str]:
    """The public methods of a class that have no docstring, own or of what they override."""
    return [
        f"{kind.__module__}.{kind.__name__}.{name}"
        for name, member in vars(kind).items()
        if not name.startswith("_")
        and isinstance(member, (types.FunctionType, property, classmethod, staticmethod))
        and not any(getattr(vars(base).get(name), "__doc__", None) for base in kind.__mro__)
    ]


def test_undescribed_methods_are_found() -> None:
    class Base:
        def run(self) -> None:
            """Run."""

    class Derived(Base):
        def run(self) -> None: ...

        def stop(self) -> None: ...

    Derived.__module__ = "m"
    assert undescribed(Derived) == ["m.Derived.stop"]


@pytest.mark.full
def test_every_public_method_has_a_docstring_of_its_own_or_inherited() -> None:
    """Ruff (D102) asks for one in each class; what overrides a method may leave it out."""
    bare = [
        method
        for name in modules()
        if not WITHOUT_DOCSTRINGS.match(name.removeprefix("tacit."))
        for kind in vars(importlib.import_module(name)).values()
        if inspect.isclass(kind) and kind.__module__ == name and not kind.__name__.startswith("_")
        for method in undescribed(kind)
    ]
    assert bare == []

"""The reference of every public name, from its signature and its docstring."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

import tacit
from docsite.groups import GROUPS, PACKAGES

__all__ = ["reference_pages"]

_NAPOLEON: Any = Config(napoleon_use_rtype=False, napoleon_use_ivar=True)
_SPECIAL = ("__call__", "__rshift__", "__add__", "__iter__", "__getitem__")


def reference_pages() -> dict[str, str]:
    """Return the pages of the reference, by name, in reStructuredText."""
    seen: set[int] = set()
    pages = {}
    for group in GROUPS:
        parts = [_described(f"tacit.{n}", _named(n), seen) for n in group.names.split()]
        for name, home in group.given.items():
            thing = getattr(importlib.import_module(home), name)
            parts.append(_described(f"{home}.{name}", thing, seen))
        pages[f"reference/{group.page}.rst"] = _page(group.title, group.about, parts)
    for package, title in PACKAGES.items():
        module = importlib.import_module(f"tacit.{package}")
        names = getattr(module, "__all__", [])
        parts = [_described(f"tacit.{package}.{n}", getattr(module, n), seen) for n in names]
        pages[f"reference/{package}.rst"] = _page(title, _text(module, "module"), parts, module)
    return {**pages, "reference/index.md": _first_page()}


def _named(name: str) -> Any:
    """Return what a name of ``tacit``, or of one of its namespaces, is."""
    package, _, inner = name.rpartition(".")
    return getattr(importlib.import_module(f"tacit.{package}") if package else tacit, inner)


def _first_page() -> str:
    """Return the list of all pages, with what stands on each, in the order of need."""
    lines = ["# Reference", "", "Every public name, from the code itself.", ""]
    for group in GROUPS:
        names = ", ".join(f"`{name}`" for name in [*group.names.split(), *group.given])
        lines.append(f"- [{group.title}]({group.page}.rst): {_sentence(group.about)}. {names}")
    for package, title in PACKAGES.items():
        module = importlib.import_module(f"tacit.{package}")
        about = _sentence((inspect.getdoc(module) or "").splitlines()[0])
        lines.append(f"- [{title}]({package}.rst), `tacit.{package}`: {about}.")
    lines.append("- [Commands and flags](commands.rst): what each command of `tacit` takes.")
    return "\n".join(lines)


def _sentence(text: str) -> str:
    """Return a sentence as it goes on behind a colon."""
    plain = text.replace("``", "`").rstrip(".")
    return plain[0].lower() + plain[1:]


def _page(title: str, about: str, parts: list[str], module: ModuleType | None = None) -> str:
    named = [] if module is None else [f"Import it as ``{module.__name__}``."]
    head = [title, "=" * len(title), "", about, "", *named, ""]
    return "\n".join([*head, "", *parts])


def _described(name: str, thing: Any, seen: set[int]) -> str:
    """Return the directive of one name; what was described under another name is named again."""
    shown = name if name.count(".") < 3 and not name.startswith("tacit.tables") else ""
    directive = _directive(thing, name)
    title = shown or name.rpartition(".")[2]
    lines = [f".. py:{directive}:: {title}{_signature(thing, directive)}"]
    canonical = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"
    if id(thing) not in seen and directive != "data" and canonical != title:
        lines.append(f"   :canonical: {canonical}")
    seen.add(id(thing))
    named = f"{name.rpartition('.')[0]}.{getattr(thing, '__name__', '')}"
    if directive == "class" and named != name and _classes().get(thing) == named:
        return "\n".join([*lines, "", f"   Another name of :class:`~{named}`.", ""])
    body = [_text(thing, directive), *_members(thing, directive)]
    return "\n".join([*lines, "", *(_indented(part) for part in body), ""])


def _directive(thing: Any, name: str) -> str:
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return "exception"
    if inspect.isclass(thing) and name.rpartition(".")[2][0].isupper():
        return "class"
    return "function" if callable(thing) and not hasattr(thing, "value") else "data"


def _signature(thing: Any, directive: str) -> str:
    """Return a signature as it is written in the source, without the marks of a method."""
    if directive in ("data", "exception"):
        return ""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    returns = signature.return_annotation
    if inspect.isclass(thing):
        returns = inspect.Signature.empty
    return str(signature.replace(parameters=parameters, return_annotation=returns)).replace("'", "")


def _text(thing: Any, what: Any) -> str:
    """Return a docstring in reStructuredText."""
    text = inspect.getdoc(thing) or ""
    plain = not callable(thing) and not inspect.ismodule(thing)
    if plain and type(thing).__module__ == "builtins":  # told is that of its type
        text = f"A ``{type(thing).__name__}``."
    return str(GoogleDocstring(text, _NAPOLEON, what=what))


@functools.cache
def _classes() -> dict[type, str]:
    """Return the classes that have an entry of their own in a package, with their names."""
    packages = [importlib.import_module(f"tacit.{package}") for package in PACKAGES]
    for package in packages:
        _ = [getattr(package, name) for name in package.__all__]  # those that are loaded late
    return {
        thing: f"{package.__name__}.{name}"
        for package in reversed(packages)
        for name, thing in vars(package).items()
        if inspect.isclass(thing) and name == thing.__name__ and name in package.__all__
    }


def _bases(thing: type) -> list[type]:
    """Return the classes with an entry of their own that a class derives from, nearest first."""
    return [base for base in thing.__mro__[1:] if base in _classes()]


def _members(thing: Any, directive: str) -> Iterator[str]:
    """Yield the public methods and properties of a class.

    What it inherits is among them, but for what stands in the entry of a base; those are named.
    """
    if directive != "class":
        return
    bases = _bases(thing)
    for name, member in inspect.getmembers_static(thing):
        if name.startswith("_") and name not in _SPECIAL:
            continue
        inner = getattr(member, "__func__", member)
        if not inspect.getdoc(inner) or not _ours(inner, thing) or _only_refuses(inner):
            continue
        above = [inspect.getattr_static(base, name, None) for base in bases]
        if any(one is member for one in above) or (any(above) and not _says_more(inner)):
            continue
        if isinstance(member, property):
            yield f".. py:property:: {name}\n\n{_indented(_text(member.fget, 'property'))}\n"
        elif inspect.isfunction(inner):
            marks = "   :classmethod:\n" if isinstance(member, classmethod) else ""
            marks += "   :staticmethod:\n" if isinstance(member, staticmethod) else ""
            text = _text(inner, "method")
            head = f".. py:method:: {name}{_signature(inner, 'method')}"
            yield f"{head}\n{marks}\n{_indented(text)}\n"
    if bases:
        named = ", ".join(f":class:`~{_classes()[base]}`" for base in bases)
        yield f"Inherits the methods and properties of {named}.\n"


def _says_more(member: Any) -> bool:
    """Return True if a member says more than what it overrides: it has a text, not a reference."""
    return bool(member.__doc__) and not member.__doc__.startswith("See ")


def _only_refuses(member: Any) -> bool:
    """Return True if a method only raises an error with a suggestion."""
    return getattr(member, "__annotations__", {}).get("return") == "NoReturn"


def _ours(member: Any, owner: type) -> bool:
    """Return whether a member was written in Tacit, and is not that of ``object`` or of a base."""
    inner = member.fget if isinstance(member, property) else member
    return str(getattr(inner, "__module__", "")).startswith("tacit")


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" if line.strip() else "" for line in text.splitlines()) + "\n"

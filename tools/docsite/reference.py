"""The reference of every public name, from its signature and its docstring."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

import tacit
from docsite.groups import GROUPS, ROOMS

__all__ = ["reference_pages"]

_NAPOLEON: Any = Config(napoleon_use_rtype=False, napoleon_use_ivar=True)
_SPECIAL = ("__call__", "__rshift__", "__add__", "__iter__", "__getitem__")


def reference_pages() -> dict[str, str]:
    """Return the pages of the reference, by name, in reStructuredText."""
    seen: set[int] = set()
    pages = {}
    for group in GROUPS:
        parts = [_described(f"tacit.{n}", getattr(tacit, n), seen) for n in group.names.split()]
        for name, home in group.given.items():
            thing = getattr(importlib.import_module(home), name)
            parts.append(_described(f"{home}.{name}", thing, seen))
        pages[f"reference/{group.page}.rst"] = _page(group.title, group.about, parts)
    for room, title in ROOMS.items():
        module = importlib.import_module(f"tacit.{room}")
        names = getattr(module, "__all__", [])
        parts = [_described(f"tacit.{room}.{n}", getattr(module, n), seen) for n in names]
        pages[f"reference/{room}.rst"] = _page(title, _text(module, "module"), parts, module)
    return pages


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
    kept = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    returns = signature.return_annotation
    if inspect.isclass(thing):
        returns = inspect.Signature.empty
    return str(signature.replace(parameters=kept, return_annotation=returns)).replace("'", "")


def _text(thing: Any, what: Any) -> str:
    """Return a docstring in reStructuredText."""
    told = inspect.getdoc(thing) or ""
    if not callable(thing) and type(thing).__module__ == "builtins":  # told is that of its type
        told = f"A ``{type(thing).__name__}``."
    return str(GoogleDocstring(told, _NAPOLEON, what=what))


def _members(thing: Any, directive: str) -> Iterator[str]:
    """Yield the public methods and properties of a class, those that it inherits among them."""
    if directive != "class":
        return
    for name, member in inspect.getmembers_static(thing):
        if name.startswith("_") and name not in _SPECIAL:
            continue
        inner = getattr(member, "__func__", member)
        if not inspect.getdoc(inner) or not _ours(inner, thing) or _only_refuses(inner):
            continue
        if isinstance(member, property):
            yield f".. py:property:: {name}\n\n{_indented(_text(member.fget, 'property'))}\n"
        elif inspect.isfunction(inner):
            marks = "   :classmethod:\n" if isinstance(member, classmethod) else ""
            marks += "   :staticmethod:\n" if isinstance(member, staticmethod) else ""
            told = _text(inner, "method")
            head = f".. py:method:: {name}{_signature(inner, 'method')}"
            yield f"{head}\n{marks}\n{_indented(told)}\n"


def _only_refuses(member: Any) -> bool:
    """Whether all that a method does is to say what to write instead."""
    return getattr(member, "__annotations__", {}).get("return") == "NoReturn"


def _ours(member: Any, owner: type) -> bool:
    """Return whether a member was written in Tacit, and is not that of ``object`` or of a base."""
    inner = member.fget if isinstance(member, property) else member
    return str(getattr(inner, "__module__", "")).startswith("tacit")


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" if line.strip() else "" for line in text.splitlines()) + "\n"

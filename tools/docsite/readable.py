"""Output of Sphinx, corrected for keyboards and screen readers."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["make_readable", "readable"]

_LINES = re.compile(r"<dl>\n((?:<dd>.*</dd>\n)+)</dl>")


def readable(body: str) -> str:
    """Return the body of a page: what scrolls can be reached by keyboard, a list is a list.

    Sphinx writes the lines of a long signature as a list of definitions without terms.
    """
    body = body.replace("<pre>", '<pre tabindex="0">').replace("</strong> -- ", "</strong> – ")
    body = body.replace("</a> -- ", "</a> – ").replace("<p><img", '<p tabindex="0"><img')
    body = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
    return _LINES.sub(_as_lines, body)


def _as_lines(match: re.Match[str]) -> str:
    lines = match[1].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")
    return f'<span class="sig-lines">{lines}</span>'


def make_readable(app: Any) -> None:
    """Have every page corrected before it is written."""
    app.connect("html-page-context", _correct)


def _correct(_app: Any, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    if "body" in context:
        context["body"] = readable(context["body"])

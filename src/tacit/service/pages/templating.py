"""Templates of the pages: text becomes HTML with everything in it escaped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from tacit.errors import need

__all__ = ["STATIC", "render", "static_file"]

STATIC = {
    "tacit.css": "text/css; charset=utf-8",
    "tacit.js": "text/javascript; charset=utf-8",
    "explorer.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files that pages ask for, and what they are."""


@cache
def _templates() -> Any:
    """Return the templates beside this module, and the parts that certificates show answers with.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    jinja2 = need("jinja2", "serve")
    places = [jinja2.PackageLoader(f"tacit.{room}") for room in ("service.pages", "report.page")]
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(places),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(name: str, given: Mapping[str, Any]) -> str:
    """Return a template filled in.

    >>> given = {"service": "Tacit", "caller": None, "message": "", "remedy": ""}
    >>> "<h1>No page &lt;b&gt;</h1>" in render("error.html", {**given, "heading": "No page <b>"})
    True
    """
    return str(_templates().get_template(name).render(given))


@cache
def static_file(name: str) -> bytes | None:
    """Return a file of :data:`STATIC`, or None: no other name is looked up.

    >>> static_file("../templating.py") is None, static_file("tacit.css") is None
    (True, False)
    """
    if name not in STATIC:
        return None
    return files("tacit.service.pages").joinpath("static", name).read_bytes()

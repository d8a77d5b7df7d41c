"""Templates of pages: text becomes HTML with everything in it escaped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tacit.errors import need

__all__ = ["drawing", "render"]


@cache
def _templates() -> Any:
    """Return the templates beside this module, with escaping on and nothing undefined in silence.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    jinja2 = need("jinja2", "page")
    return jinja2.Environment(
        loader=jinja2.PackageLoader("tacit.report.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )


def render(name: str, given: Mapping[str, Any]) -> str:
    """Return a template filled in.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    return str(_templates().get_template(name).render(given))


def drawing(svg: str) -> Any:
    """Mark a drawing of ours, whose texts are escaped already, as one to be put in as it is."""
    return need("markupsafe", "page").Markup(svg)

"""Templates of pages and of notebooks: text becomes HTML with everything in it escaped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tacit.errors import need

__all__ = ["drawing", "render"]


@cache
def _templates(package: str) -> Any:
    """Return the templates of a package, with escaping on and nothing undefined in silence.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    jinja2 = need("jinja2", "page")
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )


def render(package: str, name: str, given: Mapping[str, Any]) -> str:
    """Return a template of the folder ``templates`` of a package, filled in.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    return str(_templates(package).get_template(name).render(given))


def drawing(svg: str) -> Any:
    """Mark a drawing of ours, whose texts are escaped already, as one to be put in as it is."""
    return need("markupsafe", "page").Markup(svg)

"""Formulas as MathML, which browsers draw by themselves: no script and no font is needed.

docutils translates LaTeX; what it does not know is a warning, and so an error of the build.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

__all__ = ["draw_formulas"]

_SHORT = 40
"""A formula in a line of more characters of LaTeX than this may be wider than a phone."""
_log = logging.getLogger(__name__)


def _mathml(node: Any, block: bool) -> str:
    tex = node.astext()
    try:
        return str(tex2mathml(tex, as_block=block))
    except MathError as error:
        _log.warning("formula %r: %s", tex, error, location=node)
        return f"<code>{tex}</code>"


def _inline(self: Any, node: Any) -> None:
    drawn = _mathml(node, block=False)
    long = len(node.astext()) > _SHORT  # wider than a phone: it scrolls by itself
    self.body.append(f'<span class="formula" tabindex="0">{drawn}</span>' if long else drawn)
    raise nodes.SkipNode


def _block(self: Any, node: Any) -> None:
    self.body.append(f'<div class="math" tabindex="0">{_mathml(node, block=True)}</div>')
    raise nodes.SkipNode


def draw_formulas(app: Any) -> None:
    """Have Sphinx draw formulas so."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))

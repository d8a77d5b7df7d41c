"""Configuration of Sphinx, read from the folder of ``tools/docsite``."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import tacit
from docsite.mathml import draw_formulas
from docsite.readable import make_readable

project = "Tacit"
author = "The Tacit developers"
release = version = tacit.__version__
project_copyright = "The Tacit developers"

extensions = ["myst_parser", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
language = "en"
smartquotes = False  # a flag stays --flag

myst_enable_extensions = ["dollarmath", "amsmath", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

html_theme = "furo"
html_title = f"Tacit {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("exercises.js", {"defer": "defer"})]
html_favicon = "static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
html_math_renderer = "mathml"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

python_maximum_signature_line_length = 72
toc_object_entries_show_parents = "hide"
suppress_warnings = ["misc.highlighting_failure"]


def setup(app: Any) -> None:
    """Have formulas drawn, and what Sphinx writes made readable for everyone."""
    draw_formulas(app)
    make_readable(app)

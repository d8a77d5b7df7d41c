"""A small drawing kit over matplotlib: figures, axes and marks that read without colour."""

# matplotlib is imported when something is drawn, never before, and never through ``pyplot``: a
# figure belongs to who asked for it, and nothing global changes.  Every series differs from the
# others in colour, in dash and in marker, so that a figure survives a black-and-white printer; the
# colours are those of Okabe and Ito (2008), which the colour-blind can distinguish.

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from tacit.errors import need

INK = "#1a1a1a"
MUTED = "#5f6368"
FAINT = "#d9dce0"
ACCENT = "#0072b2"
SECOND = "#d55e00"

_COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#1a1a1a",
    "#e69f00",
    "#56b4e9",
    "#7a5195",
    "#8c6d31",
    "#5f6368",
)
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h")

# The pixels of an inch on the screen; a notebook gets twice as many, for fine screens.
_NOTEBOOK_DPI = 84
# How JupyterLab, VS Code, Colab and marimo say that their page is dark.
_DARK = (
    'body[data-jp-theme-light="false"]',
    "body.vscode-dark",
    "body.vscode-high-contrast:not(.vscode-high-contrast-light)",
    'html[theme="dark"]',
    "body.dark",
    "html.dark",
)
_FONTS = {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "svg.fonttype": "none",
    "axes.unicode_minus": True,
}


class Style(NamedTuple):
    """Style of one series; every part alone distinguishes it from its neighbours."""

    colour: str
    dash: Any
    marker: str
    filled: bool

    def line(self) -> dict[str, Any]:
        """Keyword arguments for ``Axes.plot``."""
        return {
            "color": self.colour,
            "linestyle": self.dash,
            "marker": self.marker,
            "markerfacecolor": self.colour if self.filled else "white",
            "markeredgecolor": self.colour,
            "markeredgewidth": 1.4,
            "markersize": 6.5,
            "linewidth": 1.7,
        }


def series(index: int) -> Style:
    """The look of the ``index``-th series of a figure.

    >>> series(0).marker, series(1).marker
    ('o', 's')
    """
    return Style(
        _COLOURS[index % len(_COLOURS)],
        _DASHES[index % len(_DASHES)],
        _MARKERS[index % len(_MARKERS)],
        index // 2 % 2 == 0,
    )


def figure(width: float, height: float) -> Any:
    """A new figure, in inches, that belongs to no window."""
    need("matplotlib", "plot")
    figures = need("matplotlib.figure", "plot")
    made = figures.Figure(figsize=(width, height), dpi=150, layout="constrained")
    made.patch.set_facecolor("white")
    shows: dict[str, Callable[..., Any]] = {"png": _png, "html": _html, "mimebundle": _both}
    vars(made).update({f"_repr_{how}_": partial(draw, made) for how, draw in shows.items()})
    return made


def _png(made: Any) -> tuple[bytes, dict[str, int]]:
    """Return a figure as a notebook shows it: once, where the last line of a cell is it."""
    # A figure of pyplot would be shown when it is made and once more as the value of the line.
    out = io.BytesIO()
    made.savefig(out, format="png", dpi=2 * _NOTEBOOK_DPI)
    width, height = (round(inches * _NOTEBOOK_DPI) for inches in made.get_size_inches())
    return out.getvalue(), {"width": width, "height": height}


def _html(made: Any) -> str:
    """Return the same picture for notebooks that may be dark: there it is light ink on dark."""
    # Jupyter, VS Code, Colab and marimo each say in their own way that they are dark.  Where styles
    # are left out (GitHub does that), the picture is ink on white, as it is saved.
    return str(_both(made)[0]["text/html"])


def _both(made: Any, **_: Any) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    """Return the picture as PNG and as HTML, drawn once, as a kernel asks for it."""
    png, size = _png(made)
    image = base64.b64encode(png).decode()
    named = (one.get_title(loc="left") for one in made.axes)
    label = html.escape("; ".join(name for name in named if name), quote=True)
    shown = (
        f"<style>{', '.join(f'{dark} .tacit-figure' for dark in _DARK)} "
        "{ filter: invert(0.92) hue-rotate(180deg); }</style>"
        f'<img class="tacit-figure" width="{size["width"]}" height="{size["height"]}" '
        f'style="max-width: 100%; height: auto" alt="{label}" src="data:image/png;base64,{image}">'
    )
    return {"image/png": image, "text/html": shown}, {"image/png": size}


def axes(
    parent: Any, rows: int, columns: int, *, share_y: Any = False, heights: Any = None
) -> list[list[Any]]:
    """A grid of axes as nested lists, in the house style."""
    with _fonts():
        grid = parent.subplots(rows, columns, squeeze=False, sharey=share_y, height_ratios=heights)
    for row in grid:
        for one in row:
            quiet(one)
    return [list(row) for row in grid]


def quiet(one: Any) -> None:
    """Draw only the axes that carry something: left and bottom, thin, with a faint grid."""
    for side in ("top", "right"):
        one.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        one.spines[side].set_color(MUTED)
    one.tick_params(colors=INK, labelsize=9, length=3)
    one.grid(visible=True, axis="y", color=FAINT, linewidth=0.7)
    one.set_axisbelow(True)


def title(one: Any, text: str, detail: str = "") -> None:
    """A left-aligned title, with a quieter second line."""
    one.set_title(
        text, loc="left", fontsize=10.5, color=INK, fontweight="bold", pad=18 if detail else 8
    )
    if detail:
        one.annotate(
            detail,
            xy=(0, 1),
            xycoords="axes fraction",
            xytext=(0, 5),
            textcoords="offset points",
            fontsize=8.5,
            color=MUTED,
        )


def legend_below(
    made: Any, handles: Sequence[Any], names: Sequence[str], max_columns: int = 6
) -> Any:
    """Draw one legend under all panels, in as many columns as the figure is wide."""
    # The figure grows with the lines of its legend, and where one name alone is wider than it.
    agg = need("matplotlib.backends.backend_agg", "plot")
    renderer = agg.FigureCanvasAgg(made).get_renderer()
    style = {"loc": "outside lower center", "frameon": False, "fontsize": 9}
    for columns in range(min(len(names), max_columns), 0, -1):
        legend = made.legend(handles, names, ncols=columns, **style)
        size = legend.get_window_extent(renderer)
        if size.width <= made.bbox.width or columns == 1:
            break
        legend.remove()
    width, height = made.get_size_inches()
    lines = -(-len(names) // columns)
    wide = max(width, size.width / made.dpi)
    made.set_size_inches(wide, height + (lines - 1) * size.height / lines / made.dpi)
    return legend


def integer_ticks(one: Any, values: Sequence[int]) -> None:
    """Tick the horizontal axis at whole numbers only, and not at too many of them."""
    distinct = sorted(set(values))
    step = -(-len(distinct) // 12)
    one.set_xticks(distinct[::step], [str(v) for v in distinct[::step]])
    one.margins(x=0.06)


def number(value: Fraction | float | int) -> str:
    """A number as a label: at most four significant digits.

    >>> number(Fraction(9, 2)), number(Fraction(1, 3)), number(1234567)
    ('4.5', '0.3333', '1.235e+06')
    """
    shown = f"{float(value):.4g}"
    return shown if "e" in shown else shown.replace("-", "\N{MINUS SIGN}")


def _fonts() -> Any:
    return need("matplotlib", "plot").rc_context(_FONTS)

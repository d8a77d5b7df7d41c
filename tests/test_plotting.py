"""The drawing kit: series that differ without colour, figures that a notebook shows once."""

from __future__ import annotations

import base64
import html
import io
import re
from fractions import Fraction
from itertools import pairwise

import pytest

from tacit import plotting

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def drawn():
    figure = plotting.figure(4, 3)
    ((one,),) = plotting.axes(figure, 1, 1)
    one.plot([1, 2, 3], [4, 5, 6], **plotting.series(0).line())
    plotting.title(one, 'age < 30 & "other"', "5 rows")
    return figure


def test_neighbouring_series_differ_in_more_than_colour():
    looks = [plotting.series(n) for n in range(40)]
    for one, other in pairwise(looks):
        assert one.colour != other.colour
        assert one.marker != other.marker
        assert one.dash != other.dash
    assert len({(look.marker, look.dash, look.filled) for look in looks}) == 20


def test_a_notebook_gets_the_picture_as_png_and_as_html_of_one_drawing(drawn):
    shown, sizes = drawn._repr_mimebundle_(include=None, exclude=None)
    assert base64.b64decode(shown["image/png"]).startswith(PNG)
    inside = re.search(r'src="data:image/png;base64,([^"]+)"', shown["text/html"])
    assert inside is not None
    assert inside[1] == shown["image/png"]
    assert sizes["image/png"] == {"width": 336, "height": 252}
    assert drawn._repr_png_()[0].startswith(PNG)


def test_html_names_the_picture_and_no_title_is_markup(drawn):
    shown = drawn._repr_html_()
    described = re.search(r'alt="([^"]*)"', shown)
    assert described is not None
    assert html.unescape(described[1]) == 'age < 30 & "other"'


def test_html_is_light_on_dark_where_the_page_is_dark(drawn):
    style = re.search(r"<style>(.*?)</style>", drawn._repr_html_(), flags=re.DOTALL)
    assert style is not None
    selectors = style[1].partition("{")[0].split(", ")
    assert all(each.strip().endswith(".tacit-figure") for each in selectors)  # nothing else changes
    assert any("data-jp-theme-light" in each for each in selectors)
    assert any("vscode-dark" in each for each in selectors)


def test_a_saved_figure_is_ink_on_white(drawn):
    from matplotlib.image import imread

    file = io.BytesIO()
    drawn.savefig(file, format="png")
    pixels = imread(io.BytesIO(file.getvalue()))
    assert pixels[0, 0, :3].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("values", [[3, 1, 2, 2], list(range(100)), [7]])
def test_ticks_are_whole_numbers_and_few(values):
    figure = plotting.figure(4, 3)
    ((one,),) = plotting.axes(figure, 1, 1)
    plotting.integer_ticks(one, values)
    ticks = one.get_xticks().tolist()
    assert set(ticks) <= set(values)
    assert 1 <= len(ticks) <= 12


@pytest.mark.parametrize(
    ("value", "label"),
    [(0, "0"), (Fraction(-9, 2), "\N{MINUS SIGN}4.5"), (1e-9, "1e-09"), (123456, "1.235e+05")],
)
def test_numbers_are_short(value, label):
    assert plotting.number(value) == label

"""The pictures of a page: marks where their values are, ticks that enclose, odd values."""

from __future__ import annotations

import itertools
import re

import pytest

from support.page_reader import Page
from tacit.display.svg_chart import PHONE_WIDTH, Mark, budget_bar, chart, ticks


def test_marks_lie_where_their_values_are() -> None:
    drawn = chart(
        [Mark("a", 50.0, 40.0, 60.0, "50"), Mark("b", 100.0, 100.0, 100.0, "100")], True, "t"
    )
    bars = [float(x) for x in re.findall(r'class="bar".*?width="([\d.]+)"', drawn)]
    assert bars[0] == pytest.approx(bars[1] / 2, abs=0.2)
    start, end = map(float, re.findall(r"M([\d.]+) [\d.]+v8M([\d.]+)", drawn)[0])
    left = float(re.findall(r'class="bar" x="([\d.]+)"', drawn)[0])
    assert (start + end) / 2 == pytest.approx(left + bars[0], abs=0.2)


@pytest.mark.parametrize(
    "mark",
    [
        Mark("x", None, None, None, "–"),
        Mark("x", 0.0, 0.0, 0.0, "0"),
        Mark("x", -5.0, -9.0, 0.0, "−5"),
        Mark("x" * 200, 1e300, -1e300, 1e300, "1"),
        Mark("x", 1e-300, 0.0, 2e-300, "0"),
    ],
)
@pytest.mark.parametrize("bars", [True, False])
def test_odd_values_are_drawn(mark: Mark, bars: bool) -> None:
    Page(chart([mark], bars, "odd"))


def test_ticks_enclose_what_is_shown() -> None:
    for low, high in [(0, 1), (-3, 17), (0, 4583), (2.51, 2.52), (7, 7), (0, 0), (-1e9, -1)]:
        found = ticks(low, high)
        assert found[0] <= low
        assert found[-1] >= high
        assert 2 <= len(found) <= 12


def test_the_budget_bar_is_whole() -> None:
    drawn = budget_bar(0.25, 0.5, 0.25)
    widths = [float(x) for x in re.findall(r'class="\w+" x="[\d.]+" y="1" width="([\d.]+)"', drawn)]
    assert sum(widths) == pytest.approx(718, abs=0.2)
    assert 'class="before"' not in budget_bar(0, 1, 0)


@pytest.mark.parametrize("width", [720, PHONE_WIDTH])
@pytest.mark.parametrize("ends", [(0.0, 1.7e9), (-1.9e9, -2.0), (485_000.0, 510_000.0), (0.0, 4.0)])
def test_the_labels_of_ticks_do_not_touch_and_are_not_cut(
    width: int, ends: tuple[float, float]
) -> None:
    low, high = ends
    drawn = chart([Mark("a" * 20, high, low, high, f"{high:,.0f}")], False, "t", width)
    found = re.findall(r'class="tick" x="([-\d.]+)"[^>]*>([^<]*)<', drawn)
    parts = [(float(x) - 3 * len(text), float(x) + 3 * len(text)) for x, text in found]
    assert len(parts) >= 2
    assert all(a[1] < b[0] for a, b in itertools.pairwise(parts))
    assert parts[0][0] >= 0
    assert parts[-1][1] <= width

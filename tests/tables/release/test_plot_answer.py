"""Figures of answers: what is drawn is what was released."""

from __future__ import annotations

import base64
import io
import itertools
from typing import Any

import pytest

import tacit as tc
from tacit.data import health_insurance
from tacit.errors import UsageError

LONG = "a name so long that it would never fit beside an axis without being wrapped somewhere"


@pytest.fixture(scope="module")
def session() -> Any:
    return tc.Session(
        health_insurance(), unit=tc.unit("person", rows=5, groups=1), budget=tc.epsilon(50)
    )


def drawn(figure: Any) -> list[Any]:
    return [place for place in figure.axes if place.axison]


def test_one_panel_a_label_with_values_and_intervals(session: Any) -> None:
    answer = (
        session.group_by("health", keys=["good", "poor", LONG])
        .agg(n=tc.count(), visits=tc.mean("visits", 0, 20), middle=tc.median("spending", 0, 5000))
        .release(epsilon=1)
    )
    figure = answer.plot()
    panels = drawn(figure)
    assert [p.get_title("left") for p in panels] == ["n", "visits", "middle"]
    for panel, label in zip(panels, answer.labels, strict=True):
        column = answer.column(label)
        lines = [line.get_xydata().tolist() for line in panel.lines]
        for place in range(3):
            ends = [[column["low"][place], place], [column["high"][place], place]]
            assert ends in lines
        names = [text.get_text() for text in panel.get_yticklabels()]
        assert names[:2] == ["good", "poor"]
        assert names[2].count("\n") == 2
        assert panel.yaxis_inverted()
    assert [bar.get_width() for bar in panels[0].patches] == answer.column("n")["value"]
    points = next(line for line in panels[1].lines if line.get_marker() == "o")
    assert list(points.get_xdata()) == answer.column("visits")["value"]


def test_a_histogram_is_a_panel_of_bins_for_every_group(session: Any) -> None:
    answer = (
        session.group_by("site", keys=[1, 2, 3])
        .agg(ages=tc.histogram("age", [0, 18, 40, 65]))
        .release(epsilon=1)
    )
    panels = drawn(answer.plot())
    assert [p.get_title("left") for p in panels] == [f"ages: site {s}" for s in (1, 2, 3)]
    for place, panel in enumerate(panels):
        values = [bar.get_width() for bar in panel.patches]
        assert values == answer.column("ages")["value"][place]
    assert len({panel.get_xlim() for panel in panels}) == 1


def test_a_histogram_without_groups(session: Any) -> None:
    answer = session.agg(ages=tc.histogram("age", [0, 18, 65])).release(epsilon=1)
    (panel,) = drawn(answer.plot())
    assert [t.get_text() for t in panel.get_yticklabels()] == ["[0, 18)", "[18, 65]"]


@pytest.mark.few(3)
@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_it_can_be_saved(session: Any, form: str) -> None:
    figure = session.agg(n=tc.count(), total=tc.sum("spending", 0, 5000)).release(epsilon=1).plot()
    out = io.BytesIO()
    figure.savefig(out, format=form)
    assert len(out.getvalue()) > 2000


def test_names_do_not_overlap(session: Any) -> None:
    keys = ["good", LONG, "fair", LONG.upper()]
    figure = session.group_by("health", keys=keys).agg(n=tc.count()).release(epsilon=1).plot()
    figure.savefig(io.BytesIO(), format="png")
    (panel,) = drawn(figure)
    boxes = [text.get_window_extent() for text in panel.get_yticklabels()]
    boxes.sort(key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in itertools.pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0


def test_too_many_groups_are_refused(session: Any) -> None:
    answer = session.group_by("plan", keys=list(range(200))).agg(n=tc.count()).release(epsilon=1)
    with pytest.raises(UsageError, match="200"):
        answer.plot()


def test_a_panel_names_its_column_and_the_released_size_of_each_group(session: Any) -> None:
    question = session.group_by("health", keys=["poor", "good", "excellent"])
    answer = question.agg(n=tc.count(), visits=tc.mean("visits", 0, 20)).release(epsilon="1/2")
    counts, means = drawn(answer.plot())
    assert means.get_xlabel() == "visits"
    assert [t.get_text() for t in means.texts if t.get_text().startswith("n ")] == [
        f"n {n:,}" for n in answer.column("n")["value"]
    ]
    assert not [t for t in counts.texts if t.get_text().startswith("n ")]
    assert "mean of visits by health" in [t.get_text().partition(",")[0] for t in means.texts]
    assert [t.get_text() for t in means.get_yticklabels()] == ["poor", "good", "excellent"]
    alone = question.agg(visits=tc.mean("visits", 0, 20)).release(epsilon="1/4").plot()
    assert not [t for t in drawn(alone)[0].texts if t.get_text().startswith("n ")]


def test_a_notebook_is_given_the_picture_once_and_at_its_size(session: Any) -> None:
    figure = session.agg(n=tc.count()).release(epsilon="1/8").plot()
    image, size = figure._repr_png_()
    assert image.startswith(b"\x89PNG")
    assert size["width"] / size["height"] == pytest.approx(
        figure.get_size_inches()[0] / figure.get_size_inches()[1], rel=0.02
    )


def test_a_dark_notebook_is_given_the_same_picture_in_light_ink(session: Any) -> None:
    figure = session.agg(n=tc.count()).release(epsilon="1/8").plot()
    shown = figure._repr_html_()
    image, size = figure._repr_png_()
    assert f'base64,{base64.b64encode(image).decode()}"' in shown
    assert f'width="{size["width"]}" height="{size["height"]}"' in shown
    assert 'alt="n"' in shown
    bundle, metadata = figure._repr_mimebundle_(include=None, exclude=None)
    assert bundle == {"image/png": base64.b64encode(image).decode(), "text/html": shown}
    assert metadata == {"image/png": size}
    rule = shown[: shown.index("</style>")]
    assert 'body[data-jp-theme-light="false"] .tacit-figure' in rule
    assert all(part.rstrip().endswith(".tacit-figure") for part in rule.split("{")[0].split(","))

"""A released answer: values by label and group, what is not there, and what it says of itself."""

from __future__ import annotations

import base64
import io
import itertools
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tacit as tc
from tacit.data import health_insurance
from tacit.errors import UsageError
from tacit.tables.release.answer import Answer
from tacit.tables.session import History

FRAME = pd.DataFrame({"g": ["a", "b", None] * 40, "x": [1, 2, 3] * 40})


@pytest.fixture(scope="module")
def session() -> tc.Session:
    return tc.Session(FRAME, unit=tc.one_row_each, budget=tc.epsilon(10**9), name="visits")


@pytest.fixture(scope="module")
def answer(session: tc.Session) -> Answer:
    question = session.group_by("g", keys=["a", "b", None])
    asked = question.agg(n=tc.count(), s=tc.sum("x", 0, 9), h=tc.histogram("x", [0, 2, 4]))
    return asked.release(epsilon=10**6)


def test_values_and_intervals_are_named_by_label_and_group(answer: Answer) -> None:
    assert (answer.by, answer.labels, len(answer)) == (("g",), ("n", "s", "h"), 3)
    assert answer.value("n", "a") == 40
    assert answer.value("n", None) == 40
    assert answer.value("s", "b") == pytest.approx(80, abs=0.1)
    assert answer.value("h", "a") == [40, 0]
    low, high = answer.interval("n", "a")
    assert low <= 40 <= high
    assert not answer.refused("n", "a")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda a: a.value("m", "a"), "no answer 'm'"),
        (lambda a: a.value("n", "z"), "no group"),
        (lambda a: a.value("n"), "name one by g"),
        (lambda a: a.column("N"), "'n'"),
        (lambda a: a.interval("n", "a", "b"), "no group"),
    ],
)
def test_what_is_not_there_is_told(answer: Answer, ask: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ask(answer)


def test_an_answer_without_groups_has_one_row(session: tc.Session) -> None:
    answer = session.agg(n=tc.count()).release(epsilon=10**6)
    assert (answer.by, answer.keys, answer.value("n")) == ((), [()], 120)
    with pytest.raises(UsageError, match="name one by nothing"):
        answer.value("n", "a")


def test_what_it_says_of_itself_begins_with_whom_it_protects(answer: Answer) -> None:
    text = str(answer)
    assert answer.protects == "protects: each row, which stands for one person"
    assert answer.protects in text
    assert "missing" in text
    assert "3 groups" in text
    assert "95% intervals" in text
    assert repr(answer) == text
    about = dict(answer.about_lines())
    assert about["data set"].startswith("visits (")
    assert about["certificate"] == answer.certificate.body["digest"]


def test_the_same_again_is_replayed_and_says_so(session: tc.Session, answer: Answer) -> None:
    question = session.group_by("g", keys=["a", "b", None])
    asked = question.agg(n=tc.count(), s=tc.sum("x", 0, 9), h=tc.histogram("x", [0, 2, 4]))
    again = asked.release(epsilon=10**6)
    assert (again.replayed, answer.replayed) == (True, False)
    assert again.column("n") == answer.column("n")
    assert "replayed from the ledger, at no cost" in str(again)


def test_histograms_have_their_edges_as_numbers(answer: Answer) -> None:
    edges = {one.label: one.edges for one in answer.statistics()}
    assert edges["h"] == [0, 2, 4]
    assert not edges["n"]


# Figures of answers: what is drawn is what was released.


LONG = "a name so long that it would never fit beside an axis without being wrapped somewhere"


@pytest.fixture(scope="module")
def plot_answer_session() -> Any:
    return tc.Session(
        health_insurance(), unit=tc.unit("person", rows=5, groups=1), budget=tc.epsilon(50)
    )


def drawn(figure: Any) -> list[Any]:
    return [place for place in figure.axes if place.axison]


def test_one_panel_a_label_with_values_and_intervals(plot_answer_session: Any) -> None:
    answer = (
        plot_answer_session.group_by("health", keys=["good", "poor", LONG])
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


def test_a_histogram_is_a_panel_of_bins_for_every_group(plot_answer_session: Any) -> None:
    answer = (
        plot_answer_session.group_by("site", keys=[1, 2, 3])
        .agg(ages=tc.histogram("age", [0, 18, 40, 65]))
        .release(epsilon=1)
    )
    panels = drawn(answer.plot())
    assert [p.get_title("left") for p in panels] == [f"ages: site {s}" for s in (1, 2, 3)]
    for place, panel in enumerate(panels):
        values = [bar.get_width() for bar in panel.patches]
        assert values == answer.column("ages")["value"][place]
    assert len({panel.get_xlim() for panel in panels}) == 1


def test_a_histogram_without_groups(plot_answer_session: Any) -> None:
    answer = plot_answer_session.agg(ages=tc.histogram("age", [0, 18, 65])).release(epsilon=1)
    (panel,) = drawn(answer.plot())
    assert [t.get_text() for t in panel.get_yticklabels()] == ["[0, 18)", "[18, 65]"]


@pytest.mark.few(3)
@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_it_can_be_saved(plot_answer_session: Any, form: str) -> None:
    figure = (
        plot_answer_session.agg(n=tc.count(), total=tc.sum("spending", 0, 5000))
        .release(epsilon=1)
        .plot()
    )
    out = io.BytesIO()
    figure.savefig(out, format=form)
    assert len(out.getvalue()) > 2000


def test_names_do_not_overlap(plot_answer_session: Any) -> None:
    keys = ["good", LONG, "fair", LONG.upper()]
    figure = (
        plot_answer_session.group_by("health", keys=keys)
        .agg(n=tc.count())
        .release(epsilon=1)
        .plot()
    )
    figure.savefig(io.BytesIO(), format="png")
    (panel,) = drawn(figure)
    boxes = [text.get_window_extent() for text in panel.get_yticklabels()]
    boxes.sort(key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in itertools.pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0


def test_too_many_groups_are_refused(plot_answer_session: Any) -> None:
    answer = (
        plot_answer_session.group_by("plan", keys=list(range(200)))
        .agg(n=tc.count())
        .release(epsilon=1)
    )
    with pytest.raises(UsageError, match="200"):
        answer.plot()


def test_a_panel_names_its_column_and_the_released_size_of_each_group(
    plot_answer_session: Any,
) -> None:
    question = plot_answer_session.group_by("health", keys=["poor", "good", "excellent"])
    answer = question.agg(n=tc.count(), visits=tc.mean("visits", 0, 20)).release(epsilon="1/2")
    counts, means = drawn(answer.plot())
    assert means.get_xlabel() == "visits"
    assert [t.get_text() for t in means.texts if t.get_text().startswith("n ")] == [
        f"n {n:,}" for n in answer.column("n")["value"]
    ]
    assert not [t for t in counts.texts if t.get_text().startswith("n ")]
    assert "mean of visits by health" in [t.get_text().partition(",")[0] for t in means.texts]
    assert [t.get_text() for t in means.get_yticklabels()] == ["poor", "good", "excellent"]
    of_two = question.agg(
        r=tc.correlation("visits", "age", bounds={"visits": (0, 20), "age": (0, 99)})
    )
    (panel,) = drawn(of_two.release(epsilon="1/2").plot())
    titles = [t.get_text().partition(",")[0] for t in panel.texts]
    assert "correlation of visits and age by health" in titles
    assert not panel.get_xlabel()  # it is in the unit of neither
    alone = question.agg(visits=tc.mean("visits", 0, 20)).release(epsilon="1/4").plot()
    assert not [t for t in drawn(alone)[0].texts if t.get_text().startswith("n ")]


def test_a_notebook_is_given_the_picture_once_and_at_its_size(plot_answer_session: Any) -> None:
    figure = plot_answer_session.agg(n=tc.count()).release(epsilon="1/8").plot()
    image, size = figure._repr_png_()
    assert image.startswith(b"\x89PNG")
    assert size["width"] / size["height"] == pytest.approx(
        figure.get_size_inches()[0] / figure.get_size_inches()[1], rel=0.02
    )
    shown = figure._repr_html_()  # for a dark notebook the same picture in light ink
    assert f'base64,{base64.b64encode(image).decode()}"' in shown
    assert f'width="{size["width"]}" height="{size["height"]}"' in shown
    assert 'alt="n"' in shown
    bundle, metadata = figure._repr_mimebundle_(include=None, exclude=None)
    assert bundle == {"image/png": base64.b64encode(image).decode(), "text/html": shown}
    assert metadata == {"image/png": size}
    rule = shown[: shown.index("</style>")]
    assert 'body[data-jp-theme-light="false"] .tacit-figure' in rule
    assert all(part.rstrip().endswith(".tacit-figure") for part in rule.split("{")[0].split(","))


# The budget as a bar of its charges.


AGES = pa.table({"age": [31, 45, 52]})


def widths(figure):
    return [patch.get_width() for patch in figure.axes[0].patches]


def texts(figure):
    return " ".join(text.get_text() for text in figure.axes[1].texts)


def test_each_charge_has_its_share_and_its_line():
    with tc.Session(AGES, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="p") as session:
        assert widths(session.history().plot()) == [1.0]
        assert "nothing was released" in texts(session.history().plot())
        session.agg(n=tc.count()).release(epsilon="1/4")
        session.agg(age=tc.mean("age", 0, 100)).release(epsilon="1/2")
        figure = session.history().plot()
        assert widths(figure) == pytest.approx([0.25, 0.5, 0.25])
        told = texts(figure)
        for entry in session.history():
            assert entry.when[:16].replace("T", " ") in told
        assert "epsilon 0.25: The number of rows" in told
        assert "epsilon 0.5: The mean of age" in told


def test_many_charges_are_joined_and_share_what_is_gone():
    with tc.Session(AGES, tc.one_row_each, tc.rho(1), tc.in_memory, name="p") as session:
        for n in range(15):
            session.agg(n=tc.count()).release(rho="1/20", tag=str(n))
        figure = session.history().plot()
        assert widths(figure) == pytest.approx([3 / 20, *[1 / 20] * 12, 1 / 4])
        assert "3 earlier charges" in texts(figure)


def test_charges_that_cost_less_together_fill_what_is_gone():
    with tc.Session(
        AGES, tc.one_row_each, tc.epsilon_delta(1, "1e-6"), tc.in_memory, name="p"
    ) as session:
        for n in range(4):
            session.agg(n=tc.count()).release(epsilon="1/20", tag=str(n))
        *gone, left = widths(session.history().plot())
        share = float(session.remaining.amount / session.budget.amount)
        assert left == pytest.approx(share)
        assert gone == pytest.approx([(1 - share) / 4] * 4)


def test_a_history_without_its_budget_is_refused():
    with pytest.raises(UsageError, match=r"session\.history"):
        History([]).plot()

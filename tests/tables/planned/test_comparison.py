"""A plan beside asking one by one: errors, and the picture."""

import pyarrow as pa
import pytest

import tacit as tc
from tacit.tables.planned.comparison import compared, plan_figure
from tacit.workload.cells import loss_of

PEOPLE = pa.table({"sex": ["f", "m"] * 50, "site": [1, 2] * 50, "age": [31, 67] * 50})
EDGES = range(0, 100, 10)


def plan_of(budget):
    session = tc.Session(PEOPLE, tc.one_row_each, budget, tc.in_memory, name="people")
    keys = {"sex": ["f", "m"], "site": [1, 2]}
    return session.plan(
        [
            session.agg(n=tc.count(), below=tc.cdf("age", EDGES)),
            session.group_by("sex", "site", keys=keys).agg(cells=tc.count()),
            session.group_by("sex", keys=["f", "m"]).agg(
                ages=tc.ranges("age", EDGES), age=tc.mean("age", 0, 100)
            ),
            session.filter(tc.col("age") >= 65).agg(old=tc.count()),
            session.agg(mid=tc.median("age", 0, 100)),
        ]
    )


@pytest.mark.full
@pytest.mark.parametrize("price", [{"rho": "1/10"}, {"epsilon": 1}], ids=str)
def test_the_counts_have_no_more_error_than_with_the_best_split(price):
    plan = plan_of(tc.rho(1) if "rho" in price else tc.epsilon(2))
    loss = loss_of(price.get("epsilon"), price.get("rho"))
    found = plan._compared(loss, 1000)
    assert [one.label for one in found.answers] == list(plan.labels)
    assert sum(one.share for one in found.answers) == 1
    preview = plan.preview(**price, rows=[1000])
    for one in found.answers:
        assert one.planned == pytest.approx(preview.errors[one.label][0], rel=1e-6)
        assert one.unit == preview.units[one.label]
    counts = [one for one in found.answers if one.label in ("n", "cells", "ages", "old")]
    assert [one.numbers for one in counts] == [1, 4, 90, 1]
    totals = [sum(one.numbers * e**2 for one, e in _pairs(counts, name)) for name in _NAMES]
    assert totals[0] <= totals[1] * (1 + 1e-4)
    # and that split is the best one: moving loss between two of them does not help
    for a in counts:
        for b in counts:
            if a is not b:
                assert moved(counts, a, b, loss) >= totals[1] * (1 - 1e-3)


_NAMES = ("planned", "alone")


def _pairs(counts, name):
    return [(one, getattr(one, name)) for one in counts]


def moved(counts, a, b, loss):
    """The total where a tenth of the loss of b goes to a; errors go with a power of the loss."""
    power = 1 / 2 if loss.kind == "concentrated" else 1
    given = b.share / 10
    shares = {one.label: one.share for one in counts}
    shares[a.label] += given
    shares[b.label] -= given
    return sum(
        one.numbers * (one.alone * float(one.share / shares[one.label]) ** power) ** 2
        for one in counts
    )


@pytest.mark.full
def test_the_picture_has_a_panel_for_each_answer_with_both_lines():
    plan = plan_of(tc.epsilon(1))
    figure = plan.plot(epsilon="1/2", rows=500)
    shown = [one for one in figure.axes if one.get_visible()]
    assert [one.get_title(loc="left") for one in shown] == list(plan.labels)
    found = plan._compared(loss_of("1/2", None), 500)
    for one, answer in zip(shown, found.answers, strict=True):
        planned, alone, _ = one.get_lines()
        assert planned.get_xdata()[3] == 0.5
        assert planned.get_ydata()[3] == pytest.approx(answer.planned)
        assert alone.get_ydata()[3] == pytest.approx(answer.alone)


@pytest.mark.full
def test_more_answers_than_fit_are_counted():
    session = tc.Session(PEOPLE, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people")
    many = [session.filter(tc.col("age") >= n).agg(**{f"n{n}": tc.count()}) for n in range(14)]
    plan = session.plan(many)
    figure = plan_figure(
        lambda loss, rows: compared(plan._plan, [m.query for m in plan._plan.members], loss, rows),
        loss_of(1, None),
        100,
    )
    assert len(figure.axes) == 12
    assert "2 more answers" in figure.get_suptitle()


@pytest.mark.full
def test_no_word_of_the_picture_is_cut_off():
    session = tc.Session(PEOPLE, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    long = {"the_number_of_people_of_each_age_in_bins": tc.ranges("age", range(0, 81, 10))}
    few = {f"n{n}": tc.count() for n in range(2)}
    figure = session.plan([session.agg(**few), session.agg(**long)]).plot(epsilon=1)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for one in figure.axes:
        box = one.get_tightbbox(canvas.get_renderer())
        assert 0 <= box.x0 <= box.x1 <= figure.bbox.x1
        assert 0 <= box.y0 <= box.y1 <= figure.bbox.y1
    assert figure.axes[2].get_title(loc="left") == "the_number_of_people_of_each_…"

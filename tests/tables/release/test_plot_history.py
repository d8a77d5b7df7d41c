"""The budget as a bar of its charges."""

import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.session import History

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

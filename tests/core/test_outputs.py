"""Pictures of a release: outputs, losses, trade-offs, accuracy."""

import pytest

import tacit as tc
from tacit.core import (
    ApproximateDP,
    L1Distance,
    Space,
    SymmetricDistance,
    Vector,
    convert,
)
from tacit.core.outputs import shown
from tacit.errors import UsageError
from tacit.mechanisms import plot_accuracy
from tacit.transformations import Count

PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
COUNT = PEOPLE >> Count()


@pytest.mark.full
class TestPictures:
    def bars(self, figure):
        return [len(one.patches) + len(one.collections) for one in figure.axes]

    @pytest.mark.full
    def test_outputs_with_an_event(self):
        m = COUNT >> tc.laplace(2)
        figure = m.plot([1, 2], [1], event=(2, 4))
        assert "0.5" in figure.get_suptitle()
        assert len(figure.axes) == 2
        assert all(self.bars(figure))
        wide = (COUNT >> tc.laplace(500)).plot([1, 2], [1], event={1, 2})
        assert all(self.bars(wide))

    @pytest.mark.full
    def test_labels_and_other_measures(self):
        labels = Space(tc.Category(("a", "b")), tc.DiscreteDistance())
        m = labels >> tc.randomized_response(("a", "b"), p="2/3")
        assert m.plot("a", "b", event=lambda x: x == "a").axes
        pair = convert(m, ApproximateDP())
        assert "delta" in pair.plot("a", "b").get_suptitle()
        assert m.plot_privacy_loss("a", "b").axes
        assert m.plot_tradeoff("a", "b").axes

    def test_losses_and_trade_off(self):
        m = COUNT >> tc.laplace(2)
        losses = m.plot_privacy_loss([1, 2], [1])
        heights = losses.axes[0].lines[0].get_ydata()
        assert max(heights) == pytest.approx(0.5, rel=1e-9)
        curve = m.plot_tradeoff([1, 2], [1]).axes[0].lines
        for x, y in zip(curve[0].get_xdata(), curve[0].get_ydata(), strict=True):
            allowed = max(0.0, 1 - 2.718281828**0.5 * x, (1 - x) / 2.718281828**0.5)
            assert y >= allowed - 2e-3  # the picture leaves out a thousandth

    def test_accuracy(self):
        chains = {"laplace": COUNT >> tc.laplace, "gaussian": COUNT >> tc.gaussian}
        figure = plot_accuracy(chains, [1], losses=[1, 2], loss=lambda e: (e, "1e-6"))
        widths = [line.get_ydata().tolist() for line in figure.axes[0].lines]
        assert widths[0][0] > widths[0][1]
        assert widths[1][0] > widths[0][0]

    def test_what_cannot_be_drawn(self):
        m = COUNT >> tc.laplace(2)
        with pytest.raises(UsageError):
            m.plot([1], [2], event=3)
        vector = Space(Vector(int, size=2), L1Distance()) >> tc.laplace(1)
        with pytest.raises(UsageError):
            vector.plot([1, 2], [1, 3])
        with pytest.raises(UsageError):
            tc.measurement(PEOPLE, len, lambda d: d).plot([1], [2])


@pytest.mark.full
def test_pictures_on_a_fine_grid_hold_nearly_all_probability():
    column = tc.Space(tc.Vector(float), tc.SymmetricDistance())
    m = column >> tc.clamp(0, 12) >> tc.sum() >> tc.laplace(scale=25)
    _, left, right = shown(m.distribution([12.0, 8.0]), m.distribution([8.0]))
    assert sum(left) == pytest.approx(1, abs=0.005)
    assert sum(right) == pytest.approx(1, abs=0.005)
    best = m.plot_tradeoff([12.0, 8.0], [8.0]).axes[0].lines[0]
    assert best.get_xdata()[-1] == pytest.approx(1, abs=0.005)
    assert best.get_ydata()[-1] == pytest.approx(0, abs=0.005)

"""Continual counting, adaptive composition, sampling and selection, and the pictures."""

import copy
import itertools
import pickle
from fractions import Fraction

import pytest

import tacit as tc
from tacit.audit import verify
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    Frame,
    HammingDistance,
    L1Distance,
    Number,
    RenyiDP,
    Space,
    SymmetricDistance,
    Vector,
    ZeroConcentratedDP,
    convert,
)
from tacit.core.measures.plot_outputs import shown
from tacit.errors import BudgetError, MismatchError, UsageError
from tacit.mechanisms import ContinualCount, plot_accuracy
from tacit.mechanisms.additive.continual_counting import roots
from tacit.transformations import Count, Select

TINY = Fraction(1, 1000)
"""Noise of this scale is zero but with probability e^-1000."""

METHODS = ["tree", "tree_gaussian", "factorisation"]
PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
COUNT = PEOPLE >> Count()


class TestContinual:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("horizon", [1, 2, 7, 8, 33])
    def test_totals_are_the_running_sums(self, method, horizon):
        stream = [(7 * i) % 5 for i in range(horizon)]
        scale = TINY / 10**7  # rows are on a grid of 2^-24
        counter = tc.continual_counter(horizon, scale, method)
        released = [counter.next(x) for x in stream]
        assert released == pytest.approx(list(itertools.accumulate(stream)), abs=1e-6)
        space = Space(Vector(int, size=horizon), L1Distance())
        at_once = (space >> ContinualCount(scale, method))(stream)
        assert at_once == pytest.approx(list(itertools.accumulate(stream)), abs=1e-6)

    def test_a_step_is_in_as_many_blocks_as_the_map_says(self):
        for horizon in range(1, 40):
            blocks = [range(t - (t & -t) + 1, t + 1) for t in range(1, horizon + 1)]
            most = max(sum(s in block for block in blocks) for s in range(1, horizon + 1))
            m = Space(Vector(int, size=horizon), L1Distance()) >> ContinualCount(1)
            assert m.map(1) == most == horizon.bit_length()

    def test_the_factor_is_near_the_square_root(self):
        b = [Fraction(f, 1 << 24) for f in roots(12)]
        for k in range(12):
            squared = sum(b[i] * b[k - i] for i in range(k + 1))
            assert abs(squared - 1) < Fraction(1, 1 << 20)
        m = Space(Vector(int, size=12), L1Distance()) >> ContinualCount(1, "factorisation")
        assert m.map(1) == sum(f * f for f in b) / 2
        assert m.map(2) == 4 * m.map(1)
        tree = Space(Vector(int, size=12), L1Distance()) >> ContinualCount(1, "tree_gaussian")
        assert m.map(1) < tree.map(1)

    def test_rows_of_the_factor_are_what_the_map_says(self):
        """The transformation inside: x to B x moves by at most the first column of B."""
        b = [Fraction(f, 1 << 24) for f in roots(5)]
        length = sum(f * f for f in b)
        for place, change in itertools.product(range(5), (-1, 1)):
            moved = [change * b[t - place] for t in range(place, 5)]
            assert sum(x * x for x in moved) <= length

    @pytest.mark.full
    def test_the_tree_keeps_its_map_on_every_stream(self):
        space = Space(Vector(Number("int", 0, 1), size=3), L1Distance())
        assert verify(space >> ContinualCount(2), d_in=2)
        assert verify(space >> ContinualCount(2, "tree_gaussian"))

    def test_a_counter_hides_its_state(self):
        counter = tc.continual_counter(10, 1)
        counter.next(123456)
        assert "123456" not in repr(counter)
        with pytest.raises(TypeError):
            pickle.dumps(counter)
        with pytest.raises(TypeError):
            copy.copy(counter)

    def test_a_counter_is_charged_once(self):
        counter = tc.continual_counter(8, 4)
        before = counter.map(1)
        counter.next(1)
        assert counter.map(1) == before == 1
        assert counter.map(0) == 0
        assert tc.continual_counter(8, 4, "factorisation").measure == ZeroConcentratedDP()

    def test_data_never_raises(self):
        counter = tc.continual_counter(5, 1)
        for odd in ("text", None, float("nan"), 10**30, 2.5):
            assert isinstance(counter.next(odd), int)

    @pytest.mark.parametrize(
        "build",
        [
            lambda: tc.continual_counter(0, 1),
            lambda: tc.continual_counter(2**21, 1),
            lambda: tc.continual_counter(2**13, 1, "factorisation"),
            lambda: tc.continual_counter(5, 0),
            lambda: tc.continual_counter(5, 1, "magic"),
            lambda: tc.continual_counter(1, 1).map(-1),
        ],
    )
    def test_bad_input(self, build):
        with pytest.raises(UsageError):
            build()

    def test_the_horizon_is_the_end(self):
        counter = tc.continual_counter(1, 1)
        counter.next(1)
        with pytest.raises(UsageError, match="over"):
            counter.next(1)


class TestAdaptive:
    def test_a_filter_refuses_what_would_pass_it(self):
        questions = tc.adaptive(PEOPLE, tc.epsilon(1))
        questions.ask(COUNT >> tc.laplace(2), [1, 2])
        with pytest.raises(BudgetError):
            questions.ask(COUNT >> tc.laplace(1), [1, 2])
        questions.ask(COUNT >> tc.laplace(2), [1, 2])
        assert questions.remaining.is_nothing
        assert "spent" in repr(questions)

    def test_an_odometer_only_counts(self):
        questions = tc.adaptive(PEOPLE, "concentrated", d_in=2)
        questions.ask(COUNT >> tc.gaussian(1), [1])
        assert questions.spent == tc.rho(2)
        assert questions.remaining is None

    def test_pairs_are_counted_as_pairs(self):
        questions = tc.adaptive(PEOPLE, tc.epsilon_delta(2, "1e-5"))
        questions.ask(tc.calibrate(COUNT >> tc.gaussian, 1, (1, "1e-6")), [1])
        assert questions.spent == tc.epsilon_delta(1, "1e-6")

    def test_it_is_charged_before_it_speaks(self):
        questions = tc.adaptive(PEOPLE, tc.epsilon(1))

        def die(released):
            raise RuntimeError("lost")

        with pytest.raises(RuntimeError):
            questions.ask((COUNT >> tc.laplace(1)) >> die, [1])
        assert questions.remaining.is_nothing

    def test_data_that_cannot_be_read_costs_nothing(self):
        questions = tc.adaptive(PEOPLE, tc.epsilon(1))
        with pytest.raises(UsageError):
            questions.ask(COUNT >> tc.laplace(1), 5)
        assert questions.spent.is_nothing

    def test_other_spaces_and_measures_are_refused(self):
        questions = tc.adaptive(PEOPLE, tc.epsilon(1))
        number = Space(Number("int"), AbsoluteDistance())
        with pytest.raises(MismatchError):
            questions.ask(number >> tc.laplace(1), 5)
        with pytest.raises(MismatchError):
            questions.ask(convert(COUNT >> tc.laplace(1), RenyiDP(2)), [1])


class TestSampling:
    def test_rate_one_changes_nothing(self):
        m = tc.poisson_sample(COUNT >> tc.laplace(TINY), 1)
        assert m([1, 2, 3]) == 3
        assert m.map(2) == 2000

    def test_about_the_share_is_sampled(self):
        m = tc.poisson_sample(COUNT >> tc.laplace(TINY), "1/4")
        assert 400 < m([1] * 2000) < 600
        table = Space(Frame({"x": Number("int", 0, 9), "y": Number("int")}), SymmetricDistance())
        framed = tc.poisson_sample(table >> Select("x") >> Count() >> tc.laplace(TINY), "1/2")
        assert 100 < framed({"x": [1] * 400, "y": [2] * 400}) < 300
        labels = Space(Vector(str), SymmetricDistance())
        assert tc.poisson_sample(labels >> Count() >> tc.laplace(TINY), "1/2")(["a"] * 400) < 300

    @pytest.mark.parametrize("rate", [0, -1, "3/2", float("nan")])
    def test_bad_rates(self, rate):
        with pytest.raises(UsageError):
            tc.poisson_sample(COUNT >> tc.laplace(1), rate)

    def test_only_where_it_is_proven(self):
        sized = Space(Vector(int, size=3), SymmetricDistance()) >> tc.clamp(0, 1)
        ordered = Space(Vector(int, bounds=(0, 1)), HammingDistance()) >> Count() >> tc.laplace(1)
        for m in (ordered, COUNT >> tc.gaussian(1), sized >> Count() >> tc.laplace(1)):
            with pytest.raises(MismatchError):
                tc.poisson_sample(m, "1/2")
        with pytest.raises(UsageError, match="too many"):
            tc.poisson_sample(COUNT >> tc.laplace(1), "1/2").distribution([1] * 20)


class TestSelection:
    def test_it_keeps_the_best(self):
        number = Space(Number("int"), AbsoluteDistance())
        best = tc.select_best(number >> tc.laplace(10), score=lambda y: y, stop="1/50")
        once = number >> tc.laplace(10)
        assert sum(best(0) for _ in range(40)) > sum(once(0) for _ in range(40)) + 200
        assert best.map(1) == Fraction(3, 10)
        assert tc.select_best(once, score=lambda y: y, stop=1).map(1) == Fraction(1, 10)

    def test_bad_input(self):
        m = COUNT >> tc.laplace(1)
        with pytest.raises(UsageError):
            tc.select_best(m, score=3, stop="1/2")
        with pytest.raises(UsageError):
            tc.select_best(m, score=abs, stop=0)
        with pytest.raises(MismatchError):
            tc.select_best(convert(m, ApproximateDP()), score=abs, stop="1/2")
        with pytest.raises(UsageError, match="finite"):
            tc.select_best(m, score=abs, stop="1/2").distribution([1])


class TestPictures:
    def bars(self, figure):
        return [len(one.patches) + len(one.collections) for one in figure.axes]

    def test_outputs_with_an_event(self):
        m = COUNT >> tc.laplace(2)
        figure = m.plot([1, 2], [1], event=(2, 4))
        assert "0.5" in figure.get_suptitle()
        assert len(figure.axes) == 2
        assert all(self.bars(figure))
        wide = (COUNT >> tc.laplace(500)).plot([1, 2], [1], event={1, 2})
        assert all(self.bars(wide))

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


def test_noise_is_drawn_afresh():
    m = COUNT >> tc.laplace(1000)
    assert len({m([1, 2]) for _ in range(20)}) > 10


def test_pictures_on_a_fine_grid_hold_nearly_all_probability():
    column = tc.Space(tc.Vector(float), tc.SymmetricDistance())
    m = column >> tc.clamp(0, 12) >> tc.sum() >> tc.laplace(scale=25)
    _, left, right = shown(m.distribution([12.0, 8.0]), m.distribution([8.0]))
    assert sum(left) == pytest.approx(1, abs=0.005)
    assert sum(right) == pytest.approx(1, abs=0.005)
    best = m.plot_tradeoff([12.0, 8.0], [8.0]).axes[0].lines[0]
    assert best.get_xdata()[-1] == pytest.approx(1, abs=0.005)
    assert best.get_ydata()[-1] == pytest.approx(0, abs=0.005)

"""tc.verify: what is right passes and is called tight, what is wrong is caught with its event."""

import math
from fractions import Fraction

import pytest

import tacit as tc
from support.by_hand import broken_mechanisms as broken
from tacit import noise
from tacit.audit import verify
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    Category,
    DiscreteDistance,
    Number,
    PureDP,
    RenyiDP,
    Space,
    SymmetricDistance,
    Vector,
    ZeroConcentratedDP,
    convert,
)
from tacit.errors import UsageError, VerificationError
from tacit.mechanisms import Gaussian, Laplace, measurement, user_transformation
from tacit.transformations import Clamp, Count, Sum

NUMBER = Space(Number("int", 0, 3), AbsoluteDistance())
BIT = Space(Number("int", 0, 1), AbsoluteDistance())
WRONG = {
    "wrong scale": broken.noise_at_wrong_scale,
    "scale is epsilon": broken.noise_scaled_by_epsilon,
    "noisy max gives the value": broken.noisy_max_value,
    "prefix sums": broken.prefix_sums,
    "float Laplace": broken.float_laplace,
    "clamped noise": broken.clamped_noise,
    "SVT3": lambda: broken.sparse_vector(3),
    "SVT4": lambda: broken.sparse_vector(4, answers=2),
    "SVT5": lambda: broken.sparse_vector(5),
    "SVT6": lambda: broken.sparse_vector(6),
}

PAIRS = {"SVT3": [([0, 0, 1], [1, 1, 0]), ([1, 1, 0], [0, 0, 1])]}


@pytest.mark.few(8)
@pytest.mark.parametrize("name", WRONG)
def test_mechanisms_known_to_be_wrong_are_caught(name):
    verdict = verify(WRONG[name](), pairs=PAIRS.get(name))
    assert not verdict
    assert verdict.broken
    assert verdict.event
    assert verdict.found > verdict.claim
    with pytest.raises(VerificationError, match="BROKEN"):
        verdict.or_raise()


def test_the_loss_of_noise_at_scale_epsilon_is_its_inverse():
    verdict = verify(broken.noise_scaled_by_epsilon())
    assert float(verdict.found) == pytest.approx(10)


@pytest.mark.few(4)
@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(999, 1000)])
@pytest.mark.parametrize("step", [Laplace(2), Gaussian(2)], ids=str)
def test_a_map_that_is_too_small_is_caught(factor, step):
    right = NUMBER >> step
    wrong = measurement(
        NUMBER,
        right.function,
        lambda d: right.map(d) * factor,
        measure=right.measure,
        distribution=right.law,
    )
    assert verify(right).tight
    assert verify(wrong).broken


@pytest.mark.parametrize(
    "measure", [PureDP(), ApproximateDP(), ZeroConcentratedDP(), RenyiDP(2), RenyiDP("3/2")]
)
def test_every_measure_is_verified_and_a_halved_scale_breaks_each(measure):
    right = convert(NUMBER >> Laplace(2), measure)
    assert verify(right, d_in=2)
    narrow = NUMBER >> Laplace(1)
    wrong = measurement(NUMBER, right.function, right.map, measure=measure, distribution=narrow.law)
    assert verify(wrong).broken


def test_transformations_are_held_to_their_maps():
    column = Space(Vector(Number("int", 0, 3)), SymmetricDistance())
    assert verify(column >> Sum()).tight
    number = Space(Number("int"), AbsoluteDistance())
    wrong = user_transformation(column, number, lambda x: int(x.sum()), lambda d: 2 * d)
    verdict = verify(wrong)
    assert verdict.broken
    assert verdict.found == 3
    assert verdict.claim == 2


def test_chains_are_verified_from_their_data_on():
    column = Space(Vector(Number("int", -2, 9)), SymmetricDistance())
    m = column >> Clamp(0, 3) >> Sum() >> Laplace(4)
    verdict = verify(m, [[], [1], [9], [9, 1], [-2]])
    assert verdict.tight
    assert verdict.claim == Fraction(3, 4)


def test_public_face_has_it():
    assert tc.verify is verify
    verdict = tc.verify(NUMBER >> Laplace(25))
    assert str(verdict).startswith("holds on all 6 pairs, and is tight")


@pytest.mark.full
def test_parallel_and_compose_are_verified_exactly():
    column = Space(Vector(Number("int", 0, 3)), SymmetricDistance())
    m = column >> Count() >> Laplace(1)
    data = [[], [0], [1], [0, 1]]
    for whole in (tc.parallel({0: m, 1: m}, by=lambda x: x % 2), tc.compose([m, m])):
        verdict = verify(whole, data, d_in=2)
        assert verdict.kind == "exact"
        assert verdict.tight
        plain = measurement(column, whole.function, whole.map)
        assert verify(plain, pairs=[([0], [])], samples=1000).kind == "estimate"


class TestBadInput:
    def test_nothing_to_verify(self):
        with pytest.raises(UsageError, match="takes a Measurement"):
            verify(abs, pairs=[])

    def test_no_pair_near_enough(self):
        with pytest.raises(UsageError, match="no pair"):
            verify(NUMBER >> Laplace(1), [0, 2])

    @pytest.mark.full
    def test_too_many_pairs(self):
        with pytest.raises(UsageError, match="more than"):
            verify(NUMBER >> Laplace(1), range(300), d_in=300)

    def test_noise_too_wide_to_list(self):
        with pytest.raises(UsageError, match="smaller scale"):
            verify(NUMBER >> Gaussian(10**6))

    def test_probabilities_that_do_not_sum_to_one(self):
        m = measurement(BIT, int, lambda d: d, distribution=lambda bit: {bit: "1/2"})
        with pytest.raises(UsageError, match="sum"):
            verify(m)

    def test_a_distribution_that_is_none(self):
        m = measurement(BIT, int, lambda d: d, distribution=lambda bit: object())
        with pytest.raises(UsageError, match="mapping"):
            verify(m)

    def test_few_samples(self):
        with pytest.raises(UsageError, match="100"):
            verify(measurement(BIT, int, lambda d: d), samples=10)

    @pytest.mark.parametrize("given", [{"function": 3}, {"map": "x"}, {"distribution": 1}])
    def test_what_cannot_be_called(self, given):
        parts = {"function": int, "map": lambda d: d, **given}
        with pytest.raises(UsageError, match="must be a function"):
            measurement(BIT, **parts)


def test_labels_under_the_discrete_distance():
    space = Space(Category(("a", "b")), DiscreteDistance())
    m = measurement(
        space,
        lambda label: "ab"[int(noise.bernoulli("1/2"))],
        lambda d: 1,
        distribution=lambda x: {"a": "1/2", "b": "1/2"},
        name="noise alone",
    )
    verdict = verify(m)
    assert verdict
    assert not verdict.tight
    count = Space(Vector(str), SymmetricDistance()) >> Count() >> Laplace(2)
    assert verify(count, [["a"], ["a", "b"], []]).tight


def test_a_domain_without_neighbours_proves_nothing():
    """Under the symmetric distance two data sets of one public size differ by two at least."""
    space = tc.Space(tc.Vector(int, bounds=(0, 1), size=2), tc.SymmetricDistance())
    m = space >> tc.sum() >> tc.laplace(scale=2)
    with pytest.raises(UsageError, match="nothing would be checked"):
        tc.verify(m, d_in=1)
    assert tc.verify(m, d_in=2).holds


@pytest.mark.full
@pytest.mark.parametrize("name", ["float Laplace", "clamped noise", "SVT5"])
def test_events_that_one_input_cannot_give_are_an_infinite_loss(name):
    verdict = verify(WRONG[name]())
    assert verdict.found == math.inf


@pytest.mark.parametrize("nothing", [None, [1], 5], ids=str)
def test_what_is_no_distribution_is_refused_where_it_is_the_same_on_all_inputs(nothing):
    """A function that forgot its return: nothing equals nothing, and the claim held."""
    bit = tc.Space(tc.Category((0, 1)), tc.DiscreteDistance())
    claim = tc.measurement(bit, lambda b: b, lambda d: d, distribution=lambda b: nothing)
    with pytest.raises(UsageError, match="a distribution is a mapping"):
        tc.verify(claim, draws=0)

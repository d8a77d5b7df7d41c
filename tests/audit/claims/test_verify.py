"""tc.verify: what is right passes and is called tight, what is wrong is caught with its event."""

import math
from fractions import Fraction

import pytest

import tacit as tc
from support.by_hand import broken_mechanisms as broken
from tacit import noise
from tacit.audit import verify
from tacit.audit.claims.from_samples import binomial_limits
from tacit.audit.claims.small_domain import members
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    Category,
    DiscreteDistance,
    Frame,
    L1Distance,
    Number,
    PureDP,
    RenyiDP,
    Space,
    SymmetricDistance,
    Vector,
    ZeroConcentratedDP,
    convert,
)
from tacit.core.chain.measurement import TwoParts
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


@pytest.mark.full
@pytest.mark.parametrize("name", ["float Laplace", "clamped noise", "SVT5"])
def test_events_that_one_input_cannot_give_are_an_infinite_loss(name):
    verdict = verify(WRONG[name]())
    assert verdict.found == math.inf


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


def test_renyi_divergence_of_randomized_response_is_its_closed_form():
    p = Fraction(3, 4)
    order = 3
    closed = math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / 2

    def coin(bit):
        return {bit: p, 1 - bit: 1 - p}

    tight = measurement(
        BIT, int, lambda d: closed * 1.000001 * d, measure=RenyiDP(order), distribution=coin
    )
    assert verify(tight, draws=0).tight
    wrong = measurement(
        BIT, int, lambda d: closed * 0.999 * d, measure=RenyiDP(order), distribution=coin
    )
    assert verify(wrong).broken


def test_the_concentrated_bound_of_a_pure_pair_is_found():
    """Randomized response at epsilon is ``epsilon tanh(epsilon / 2)``-zCDP, and no less."""
    epsilon = 1.0
    share = 1 / (1 + math.exp(-epsilon))
    rho = epsilon * math.tanh(epsilon / 2)

    def claimed(factor):
        return measurement(
            BIT,
            int,
            lambda d: rho * factor * d,
            measure=ZeroConcentratedDP(),
            distribution=lambda bit: {bit: Fraction(share), 1 - bit: 1 - Fraction(share)},
        )

    assert verify(claimed(1.0001), draws=0).holds
    assert verify(claimed(0.999)).broken


def test_delta_of_an_approximate_claim_is_exact():
    def leaky(bit):
        return {bit: "1/2", "secret" if bit else "nothing": "1/100", 1 - bit: "49/100"}

    def claimed(delta):
        return measurement(
            BIT,
            int,
            lambda d: ("1/25", delta) if d else (0, 0),
            measure=ApproximateDP(),
            distribution=leaky,
        )

    assert verify(claimed("1/100"), draws=0).tight
    verdict = verify(claimed("1/101"))
    assert verdict.broken
    assert verdict.event in (("secret",), ("nothing",))


@pytest.mark.parametrize("gap", [0, 1, 3])
def test_gaussian_profile_of_the_verification_is_the_closed_form(gap):
    m = NUMBER >> Gaussian(2)
    epsilon = Fraction(1, 3)
    delta = m.losses(Fraction(gap)).delta(epsilon) if gap else None

    def claimed(factor):
        return measurement(
            NUMBER,
            int,
            lambda d: (epsilon, delta.upper * factor) if d else (0, 0),
            measure=ApproximateDP(),
            distribution=m.law,
        )

    if not gap:
        assert verify(m, pairs=[(1, 1)], d_in=1)
        return
    assert verify(claimed(Fraction(1001, 1000)), pairs=[(0, gap)], d_in=gap, draws=0).holds
    assert verify(claimed(Fraction(999, 1000)), pairs=[(0, gap)], d_in=gap).broken


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


class TestRuns:
    """A stated distribution is a claim too: the function is run beside it."""

    def raw(self, value):
        """A mechanism that releases the number itself, beside the distribution of Laplace noise."""
        right = NUMBER >> Laplace(2)
        return measurement(NUMBER, value, right.map, distribution=right.law)

    def test_a_function_that_releases_the_raw_number_is_refuted(self):
        verdict = verify(self.raw(lambda x: x))
        assert verdict.broken
        assert not verdict
        assert not verdict.tight
        assert str(verdict).startswith("BROKEN: the function does not follow its distribution: ")
        with pytest.raises(VerificationError, match="does not follow"):
            verdict.or_raise()

    @pytest.mark.few(4)
    @pytest.mark.parametrize(
        "value",
        [
            lambda x: x + noise.discrete_laplace(1),  # at half the scale
            lambda x: x + noise.discrete_laplace(4),
            lambda x: x + noise.discrete_laplace(2) + 1,
            lambda x: x + abs(noise.discrete_laplace(2)),
            lambda x: x + noise.discrete_laplace(2) / 3,  # off the grid
            lambda x: "a text",
            lambda x: None,
            lambda x: math.nan,
        ],
    )
    def test_wrong_noise_is_refuted(self, value):
        assert verify(self.raw(value), draws=2000).refuted

    def test_a_function_that_is_wrong_on_one_data_set_only_is_refuted_there(self):
        def leaky(x):
            return x + (0 if x == 3 else noise.discrete_laplace(2))

        assert verify(self.raw(leaky), draws=400).refuted.startswith("on 3, ")

    def test_noise_that_parts_share_is_refuted(self):
        pairs = Space(Vector(Number("int", 0, 1), size=2), L1Distance())
        right = pairs >> Laplace(2)

        def shared(x):
            e = int(noise.discrete_laplace(2))
            return [int(v) + e for v in x]

        wrong = measurement(pairs, shared, right.map, distribution=right.law)
        assert verify(right, draws=1000)
        assert "part 1" in verify(wrong, draws=1000).refuted

    def test_an_output_that_is_not_listed_is_refuted_at_once(self):
        m = measurement(BIT, lambda bit: 2, lambda d: d, distribution=lambda bit: {0: 1})
        assert verify(m, draws=1).refuted == ("on 0, 2 came, which the distribution does not have")

    def test_the_words_say_how_many_draws_stand_behind_them(self):
        assert "400 draws of the function on 4 data sets agree" in str(verify(NUMBER >> Laplace(2)))
        unseen = verify(self.raw(lambda x: x), draws=0)
        assert unseen.tight
        assert unseen.draws == 0
        assert "the function was not run" in str(unseen)

    def test_each_law_and_each_preparation_is_worked_out_once(self):
        right, read, listed = NUMBER >> Laplace(2), [], []

        def prepare(x):
            read.append(x)
            return lambda: right(x)

        def law(x):
            listed.append(x)
            return right.distribution(x)

        m = measurement(NUMBER, TwoParts(prepare), right.map, distribution=law)
        assert verify(m, draws=400).draws == 400
        assert sorted(read) == sorted(listed) == [0, 1, 2, 3]
        assert isinstance(m(1), int)

    def test_noise_that_is_drawn_while_preparing_is_refuted(self):
        """It would be shared by all draws; a release of its own would show nothing wrong."""
        right = NUMBER >> Laplace(2)

        def prepare(x):
            once = right(x)
            return lambda: once

        m = measurement(NUMBER, TwoParts(prepare), right.map, distribution=right.law)
        assert verify(m, draws=2000).refuted

    def test_where_the_distribution_breaks_the_claim_that_is_said(self):
        right = NUMBER >> Laplace(2)
        m = measurement(NUMBER, int, lambda d: d / 3, distribution=right.law)
        assert verify(m).broken
        assert not verify(m).refuted

    def test_draws_are_counted_in_whole_numbers(self):
        with pytest.raises(UsageError, match="draws"):
            verify(NUMBER >> Laplace(2), draws=-1)


@pytest.mark.full
@pytest.mark.parametrize("output", [set, lambda x: {"a": [x]}, lambda x: [{x}, [x]]])
def test_outputs_that_no_dict_takes_are_compared_all_the_same(output):
    """verify(tc.parallel(...)) raised a TypeError where nothing listed its outputs."""

    def release(bit):
        kept = noise.bernoulli("9/10")
        return output(
            [bit if kept else 1 - bit] if output is set else int(bit if kept else 1 - bit)
        )

    assert verify(measurement(BIT, release, lambda d: d / 10), samples=2000).broken
    assert not verify(measurement(BIT, release, lambda d: 3 * d), samples=2000).broken


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


class TestSamples:
    def fair(self, wrong_by=1):
        scale = Fraction(1, wrong_by)
        return measurement(
            BIT, lambda bit: bit + noise.discrete_laplace(scale), lambda d: d, name="noisy"
        )

    @pytest.mark.full
    def test_without_a_distribution_it_is_an_estimate_that_says_so(self):
        verdict = verify(self.fair(), samples=4000)
        assert verdict.kind == "estimate"
        assert "estimate" in str(verdict)
        assert not verdict.tight
        assert not verdict.broken

    @pytest.mark.full
    def test_a_gross_error_is_seen_in_samples(self):
        verdict = verify(self.fair(wrong_by=4), samples=4000)
        assert verdict.broken
        assert verdict.event

    @pytest.mark.full
    def test_samples_speak_in_other_measures(self):
        def claimed(measure, loss):
            return measurement(
                BIT, lambda bit: bit + noise.discrete_laplace("1/4"), loss, measure=measure
            )

        rho = claimed(ZeroConcentratedDP(), lambda d: d / Fraction(10))
        assert verify(rho, samples=4000).broken
        pair = claimed(ApproximateDP(), lambda d: (1, "1/100") if d else (0, 0))
        assert verify(pair, samples=4000).broken

    def test_continuous_outputs_are_binned(self):
        def shown(bit):
            return bit * 3 + noise.uniform(10**9) / 10**9

        verdict = verify(measurement(BIT, shown, lambda d: d), samples=2000)
        assert verdict.broken

    @pytest.mark.parametrize(("count", "runs"), [(0, 50), (3, 50), (25, 50), (50, 50), (700, 999)])
    def test_limits_are_those_of_clopper_and_pearson(self, count, runs):
        scipy = pytest.importorskip("scipy.stats")
        low, high = binomial_limits(count, runs, 0.95)
        want_low = scipy.beta.ppf(0.025, count, runs - count + 1) if count else 0.0
        want_high = scipy.beta.ppf(0.975, count + 1, runs - count) if count < runs else 1.0
        assert low == pytest.approx(want_low, abs=1e-7)
        assert high == pytest.approx(want_high, abs=1e-7)


class TestMembers:
    def test_small_domains_are_listed_whole(self):
        assert members(Number("int", 1, 3)) == [1, 2, 3]
        assert members(Number("int", grid=Fraction(1))) == [-2, -1, 0, 1, 2]
        assert members(Category(("a", "b"))) == ["a", "b"]
        assert len(members(Vector(Number("int", 0, 1)))) == 1 + 2 + 4 + 8
        assert len(members(Frame({"x": Number("int", 0, 1)}))) == 1 + 2 + 3
        assert members(Number("int", None, 0)) == [-4, -3, -2, -1, 0]

    def test_floats_are_listed_by_their_ends(self):
        found = members(Number("float", 0, 1, nullable=True))
        assert found[:3] == [0.0, 0.5, 1.0]
        assert math.isnan(found[3])

    def test_a_large_domain_is_refused(self):
        with pytest.raises(UsageError, match="more than"):
            members(Number("int", 0, 10**6))


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

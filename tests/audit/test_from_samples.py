"""Without a distribution what is found is an estimate, and says so."""

from fractions import Fraction

import pytest

from tacit import noise
from tacit.audit import verify
from tacit.audit.verify import binomial_limits
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    Number,
    Space,
    ZeroConcentratedDP,
)
from tacit.mechanisms import measurement

BIT = Space(Number("int", 0, 1), AbsoluteDistance())


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

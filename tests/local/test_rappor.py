"""RAPPOR perturbs ones too, and finds frequent words."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from local.local_laws import reproducible
from tacit.errors import BudgetError
from tacit.local import (
    CountMeanSketch,
    Device,
    HadamardCountMeanSketch,
    Rappor,
)


def test_rappor_perturbs_ones_too():
    """A client that sent true bits unchanged would have probability 1 there."""
    law = Rappor(bloom_bits=8, hashes=2, cohorts=2, f="1/2", p="1/4", q="3/4").distribution("red")
    assert len(law) == 2**9
    assert max(law.values()) < Fraction(1, 4)


@pytest.mark.full
def test_rappor_and_sketches_find_frequent_words():
    words = [f"word {i}" for i in range(20)]
    answers = [words[i] for i in range(5) for _ in range(3000 * (5 - i))]
    expected = np.array([3000 * (5 - i) for i in range(5)] + [0] * 15)
    rappor = Rappor(bloom_bits=64, hashes=2, cohorts=16, f="1/4", p="1/8", q="7/8")
    sketches = [
        CountMeanSketch(epsilon=2, functions=64, buckets=512),
        HadamardCountMeanSketch(epsilon=2, functions=64, buckets=512),
    ]
    with reproducible(9):
        plain = rappor.estimate(rappor.perturb_many(answers), words, nonnegative=False)
        assert np.abs((plain.counts - expected) / plain.standard_error).max() < 5
        best = rappor.estimate(rappor.perturb_many(answers), words)
        assert best.counts.min() >= 0
        assert best.method == "non-negative least squares"
        assert np.abs(best.counts - expected).max() < 2500
        for sketch in sketches:
            e = sketch.estimate(sketch.perturb_many(answers), words)
            squares = sum((c / 45_000) ** 2 for c in expected.tolist())
            spread = math.sqrt(sketch.variance(len(answers), squares=squares))
            assert np.abs(e.counts - expected).max() < 5 * spread


RAPPOR = Rappor(bloom_bits=32, hashes=2, cohorts=8, f="1/2", p="1/4", q="3/4")
BARE = Rappor(bloom_bits=32, hashes=2, cohorts=8, f="1/2", p=0, q=1)


def unpacked(reports: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The filter bits and the cohort bits of reports."""
    bits = np.unpackbits(np.array(reports), axis=1, bitorder="little")
    return bits[:, :32], bits[:, 32:35]


def test_a_year_of_rappor_reports_shows_the_kept_row_and_no_more() -> None:
    device = Device(budget=10)
    bits, cohorts = unpacked([device.report(RAPPOR, "red") for _ in range(365)])
    assert len({row.tobytes() for row in bits}) > 300  # every report has noise of its own
    assert len({row.tobytes() for row in cohorts}) == 1  # a device stays in its cohort
    assert device.spent == device.cost(RAPPOR)
    assert float(device.cost(RAPPOR)) == pytest.approx(float(RAPPOR.permanent_epsilon))  # type: ignore[arg-type]
    vote = (bits.mean(axis=0) > 0.5).astype(np.uint8)
    number = cohorts[0] @ (1 << np.arange(3))
    true = RAPPOR.filters(RAPPOR.read(["red"]), np.array([number]))[0]
    assert (vote != true).any()  # true bits without a permanent stage would come out, all 32
    means = bits.mean(axis=0)
    assert np.all(np.abs(means - np.where(vote, 0.75, 0.25)) < 6 * (0.1875 / 365) ** 0.5)


def test_kept_rows_have_exactly_the_law_of_the_permanent_stage() -> None:
    n = 1500
    secrets = [Device(budget=10) for _ in range(n)]
    bits, cohorts = unpacked([device.report(BARE, "red") for device in secrets])
    numbers = cohorts @ (1 << np.arange(3))
    true = BARE.filters(np.repeat(BARE.read(["red"]), n), numbers.astype(np.int64))
    for value, share in ((0, 0.25), (1, 0.75)):
        seen = bits[true == value]
        assert abs(seen.mean() - share) < 6 * (share * (1 - share) / seen.size) ** 0.5
    assert np.all(np.abs(np.bincount(numbers, minlength=8) - n / 8) < 6 * (n / 8) ** 0.5)


def test_a_change_of_the_true_answer_keeps_the_cohort_and_is_charged() -> None:
    device = Device(budget=15)  # a new answer costs 4 ln 3 = 4.39
    first, second = (unpacked([device.report(RAPPOR, w)]) for w in ("red", "blue"))
    assert np.array_equal(first[1], second[1])
    assert device.spent == 2 * device.cost(RAPPOR)
    device.report(RAPPOR, "red")
    device.report(RAPPOR, "green")
    assert device.left(RAPPOR) == 0
    with pytest.raises(BudgetError):
        device.report(RAPPOR, "white")
    device.report(RAPPOR, "blue")
    assert device.spent == 3 * device.cost(RAPPOR)


def test_a_held_answer_stands_for_the_period() -> None:
    device = Device(budget=5)
    told = [device.report(BARE, w, period="1", changes="hold").tolist() for w in ("red", "blue")]
    assert told[0] == told[1]
    assert device.spent == device.cost(BARE)
    with pytest.raises(BudgetError):
        device.report(BARE, "red", period="2", changes="hold")


def test_without_a_permanent_stage_the_same_report_is_sent_again() -> None:
    once = Rappor(bloom_bits=32, hashes=2, cohorts=8, f=0, p="1/4", q="3/4")
    device = Device(budget=6)
    told = {device.report(once, "red").tobytes() for _ in range(50)}
    assert len(told) == 1
    assert float(device.spent) == pytest.approx(float(once.epsilon))


@pytest.mark.full
def test_reports_of_devices_are_estimated() -> None:
    words = ["red"] * 1500 + ["blue"] * 500
    reports = np.array([Device(budget=5).report(RAPPOR, word) for word in words])
    found = RAPPOR.estimate(reports, ["red", "blue", "green"], nonnegative=False)
    assert np.all(np.abs(found.counts - [1500, 500, 0]) < 5 * found.standard_error)


def coverage(held: list, level: float) -> None:
    """Intervals hold as often as told, but for chance beyond five standard deviations."""
    share, n = np.mean(held), np.size(held)
    assert share > level - 5 * math.sqrt(level * (1 - level) / n), share


@pytest.mark.full
def test_plain_regression_of_rappor_has_errors_that_hold():
    oracle = Rappor(bloom_bits=64, hashes=2, cohorts=16, f="1/4", p="1/4", q="3/4")
    words = [f"word {i}" for i in range(8)]
    true = np.array([900, 500, 300, 200, 100, 0, 0, 0])
    places = np.repeat(oracle.read(words), true)
    z, held = [], []
    with reproducible(36):
        for _ in range(120):
            e = oracle.estimate(oracle._draw(places), words, nonnegative=False)
            low, high = e.interval("0.9")
            z.append((e.counts - true) / e.standard_error)
            held.append((low <= true) & (true <= high))
    assert np.abs(np.mean(z, axis=0)).max() < 5 / math.sqrt(120)
    coverage(held, 0.9)

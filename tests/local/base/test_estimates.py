"""Estimates: bias, intervals and their coverage, merging, missing answers, bad reports."""

import csv
import math
import os
import ssl
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from local.local_laws import reproducible
from support.tables.shared_data import shared_file
from tacit.errors import MismatchError, RefusedError, UsageError
from tacit.local import (
    CountMeanSketch,
    DirectEncoding,
    Duchi,
    Estimate,
    HadamardCountMeanSketch,
    HadamardResponse,
    Items,
    LaplaceMean,
    OptimizedLocalHashing,
    Piecewise,
    RandomizedResponse,
    Rappor,
    SquareWave,
    SubsetSelection,
    SummationHistogram,
    UnaryEncoding,
    choose,
    nonnegative,
    norm_sub,
    normalised,
    simplex,
)
from tacit.local.kernels.bit_counting import count_bits, count_ones, count_values
from tacit.local.kernels.hash_family import bucket, count_matches
from tacit.local.kernels.least_squares import nonnegative_least_squares
from tacit.noise import bits

ORACLES = [
    DirectEncoding(12, epsilon=1),
    UnaryEncoding(12, epsilon=1),
    OptimizedLocalHashing(12, epsilon=1),
    HadamardResponse(12, epsilon=1),
    HadamardResponse(12, epsilon=3, blocks=4),
    SubsetSelection(12, epsilon=1),
    SummationHistogram(12, epsilon=1),
]
NAMES = [type(o).__name__ for o in ORACLES]


def truth(k, n):
    """Answers in falling numbers, one item that nobody has."""
    return np.sort((np.arange(n) * np.arange(n)) % (k - 1))


@pytest.mark.few(9)
@pytest.mark.parametrize("oracle", ORACLES, ids=NAMES)
def test_intervals_cover_as_often_as_they_say(oracle):
    answers = truth(12, 2000)
    counts = np.bincount(answers, minlength=12)
    runs, inside, together, errors = 60, 0, 0, []
    with reproducible(11):
        for _ in range(runs):
            e = oracle.estimate(oracle.perturb_many(answers))
            low, high = e.interval("0.9")
            inside += int(((low <= counts) & (counts <= high)).sum())
            low, high = e.simultaneous("0.9")
            together += bool(((low <= counts) & (counts <= high)).all())
            errors.append((e.counts - counts) / e.standard_error)
    assert 0.9 - 0.05 < inside / (12 * runs) < 0.9 + 0.045
    assert together / runs >= 0.78
    assert abs(np.mean(errors)) < 5 / math.sqrt(12 * runs)
    assert 0.85 < np.std(errors) < 1.15


@pytest.mark.parametrize("oracle", ORACLES, ids=NAMES)
def test_states_merge_in_any_order_and_stay_small(oracle):
    reports = oracle.perturb_many(truth(12, 5000))
    whole = oracle.aggregate(reports)
    cuts = [0, 1, 1, 700, 3001, 5000]
    parts = [oracle.aggregate(reports[a:b]) for a, b in pairwise(cuts)]
    merged = oracle.empty()
    for part in reversed(parts):
        merged = merged + part
    assert merged == whole
    assert merged.sums.nbytes <= 8 * max(64, 12)
    assert merged.sums.dtype == np.int64
    estimate = oracle.estimate(whole)
    exact = [float(c) for c in oracle.exact_counts(whole)]
    assert estimate.counts == pytest.approx(exact, abs=1e-9)


def test_states_of_other_questions_do_not_add_up():
    a, b = DirectEncoding(4, epsilon=1), DirectEncoding(4, epsilon=2)
    with pytest.raises(MismatchError):
        a.empty() + b.empty()
    with pytest.raises(MismatchError):
        a.estimate(b.empty())


@pytest.mark.parametrize("oracle", ORACLES, ids=NAMES)
def test_one_report_is_as_one_of_many(oracle):
    report = oracle.perturb(3)
    batch = oracle.perturb_many([3])
    assert np.asarray(report).shape == batch[0].shape
    assert oracle.aggregate([report]).n == 1


@pytest.mark.parametrize("oracle", ORACLES, ids=NAMES)
@pytest.mark.parametrize(
    "bad",
    [
        [10**9],
        [-1],
        [float("nan")],
        [[[1]]],
        ["report"],
        [10**30],
        [None],
    ],
    ids=str,
)
def test_impossible_reports_are_refused(oracle, bad):
    rows = [[bad[0]] * oracle.layout.columns] if oracle.layout.columns else bad
    if isinstance(oracle, OptimizedLocalHashing) and bad == [10**9]:
        rows = [1 << 34]
    with pytest.raises(UsageError):
        oracle.aggregate(rows)


def test_stray_bits_and_wrong_weights_are_refused_and_told():
    unary, subset = UnaryEncoding(12, epsilon=1), SubsetSelection(12, p="3/4", size=3)
    rows = np.array([[7, 0], [0, 16], [255, 15]], np.uint8)
    assert unary.valid(rows).tolist() == [True, False, True]
    assert subset.valid(rows).tolist() == [True, False, False]
    with pytest.raises(UsageError, match="1 of 3"):
        unary.aggregate(rows)


def test_subset_reports_have_no_order():
    """Bits in a row tell no order; each position is as likely whatever the true item is not."""
    oracle = SubsetSelection(8, p="1/2", size=3)
    law = oracle.distribution(5)
    assert len(set(law.values())) == 2
    assert len(law) == 56


def test_rappor_perturbs_ones_too():
    """A client that sent true bits unchanged would have probability 1 there."""
    law = Rappor(bloom_bits=8, hashes=2, cohorts=2, f="1/2", p="1/4", q="3/4").distribution("red")
    assert len(law) == 2**9
    assert max(law.values()) < Fraction(1, 4)


def test_missing_and_other_answers_are_items_and_stay_counted():
    items = Items(["a", "b"], other="other", missing="missing")
    grr = DirectEncoding(items, epsilon=4)
    answers = ["a", "b", None, float("nan"), np.nan, "c", 3, object(), [1], ("a",)]
    assert items.indices(answers).tolist() == [0, 1, 3, 3, 3, 2, 2, 2, 2, 2]
    assert grr.aggregate(grr.perturb_many(answers)).n == len(answers)
    plain = DirectEncoding(["a", "b"], epsilon=1)
    for odd in ("c", None, [1]):
        with pytest.raises(UsageError, match="not one of the listed items") as caught:
            plain.perturb(odd)
        assert repr(odd) not in str(caught.value)


def test_whole_numbers_outside_a_range_are_refused_or_other():
    with pytest.raises(UsageError):
        DirectEncoding(4, epsilon=1).perturb_many(np.array([0, 4]))
    with pytest.raises(UsageError):
        DirectEncoding(4, epsilon=1).perturb_many(np.array([0, -1]))
    items = Items(range(4), other=9)
    assert items.indices(np.array([0, 7, 3])).tolist() == [0, 4, 3]


def test_estimates_are_not_clipped():
    """Clipping would bias: the mean of the counts of an item nobody has stays near zero."""
    oracle = UnaryEncoding(4, epsilon="1/2")
    with reproducible(3):
        found = [oracle.estimate(oracle.perturb_many([0] * 200)).counts[3] for _ in range(200)]
    assert min(found) < 0
    assert abs(np.mean(found)) < 5 * math.sqrt(oracle.variance(200) / 200)


def test_dropping_missing_answers_would_bias():
    """Counting only those who answered, as some code does, is off by far more than chance."""
    n, yes, missing = 30_000, 3_000, 10_000
    oracle = RandomizedResponse(p="3/4")
    answers = np.arange(n) < yes  # the missing answer "no": they are reports as well
    with reproducible(4):
        state = oracle.aggregate(oracle.perturb_many(answers))
    spread = math.sqrt(oracle.variance(n))
    assert abs(oracle.estimate(state)[True] - yes) < 5 * spread
    wrong = (state.sums[1] - (n - missing) / 4) * 2
    assert abs(wrong - yes) > 20 * spread


def test_every_answer_draws_its_own_bits():
    """Reports of forked or repeated calls do not repeat: bits come from the system alone."""
    oracle = UnaryEncoding(256, p="1/2", q="1/4")
    one, two = oracle.perturb_many([0] * 50), oracle.perturb_many([0] * 50)
    assert len({row.tobytes() for row in np.concatenate((one, two))}) == 100
    assert bits._generator.get() in (ssl.RAND_bytes, os.urandom)


@pytest.mark.few(4)
@pytest.mark.parametrize("width", [1, 7, 8, 63, 64, 65, 1024, 8200])
@pytest.mark.parametrize("n", [0, 1, 255, 256, 1000, 2047, 2048, 2049, 4224, 9001])
def test_bits_are_counted_place_by_place(width, n):
    rows = np.random.default_rng(n + width).integers(0, 256, (n, (width + 7) // 8), np.uint8)
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    plain = bits[:, :width].sum(axis=0)
    assert count_bits(rows, width).tolist() == plain.tolist()
    assert count_bits(np.full_like(rows, 255), width).tolist() == [n] * width
    assert count_ones(rows).tolist() == bits.sum(axis=1).tolist()
    assert count_ones(np.full((3, 9000), 255, np.uint8)).tolist() == [72_000] * 3
    apart = np.repeat(rows, 2, axis=1)[:, ::2]
    assert count_bits(apart, width).tolist() == plain.tolist()
    values = rows[:, 0]
    assert count_values(values, 256).tolist() == np.bincount(values, minlength=256).tolist()


@pytest.mark.parametrize("g", [2, 4, 7, 4096])
@pytest.mark.parametrize(
    ("n", "items"), [(0, 5), (1, 1), (2, 300), (1007, 129), (1008, 2), (1009, 129), (4100, 65)]
)
def test_matches_are_counted_as_the_hash_says(g, n, items):
    generator = np.random.default_rng(n + g)
    seeds, sent = generator.integers(0, 2**32, n, np.uint32), generator.integers(0, g, n)
    plain = [
        int(np.count_nonzero(bucket(seeds, np.full(n, item, np.uint32), g) == sent))
        for item in range(items)
    ]
    assert count_matches(seeds, sent.astype(np.uint32), g, items).tolist() == plain


def test_postprocessing_is_asked_for_and_labelled():
    e = UnaryEncoding(6, epsilon="1/4").estimate(UnaryEncoding(6, epsilon="1/4").empty())
    e = Estimate(e.items, 100, np.array([90.0, -20, 30, -5, 2, 1]), 10.0)
    for function in (nonnegative, norm_sub, normalised, simplex):
        done = function(e)
        assert done.method != "unbiased"
        with pytest.raises(RefusedError, match="biased"):
            done.interval()
        with pytest.raises(RefusedError):
            _ = done.standard_error
    for function in (norm_sub, simplex, normalised):
        assert function(e).counts.sum() == pytest.approx(100)
    assert norm_sub(e).counts == pytest.approx(simplex(e).counts)
    assert norm_sub(e).counts.min() >= 0


def test_nonnegative_least_squares_is_optimal():
    scipy_nnls = pytest.importorskip("scipy.optimize").nnls
    source = np.random.default_rng(2)
    for rows, columns in ((5, 3), (30, 12), (60, 40)):
        for _ in range(20):
            design = source.integers(0, 3, (rows, columns)).astype(float)
            target = source.normal(size=rows)
            ours = nonnegative_least_squares(design, target)
            _, length = scipy_nnls(design, target)
            assert ours.min() >= 0
            assert np.linalg.norm(design @ ours - target) <= length + 1e-9


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


def test_means_and_square_waves_recover_what_was_sent():
    source = np.random.default_rng(6)
    values = np.clip(source.normal(30, 10, 20_000), 0, 100)
    with reproducible(8):
        for oracle in (Duchi(0, 100, epsilon=1), Piecewise(0, 100, epsilon=1),
                       LaplaceMean(0, 100, epsilon=1)):  # fmt: skip
            e = oracle.estimate(oracle.perturb_many(values))
            assert abs(e.mean - values.mean()) < 5 * e.standard_error
            low, high = e.interval("0.999999")
            assert low < values.mean() < high
        wave = SquareWave(0, 100, epsilon=2, bins=50)
        found = wave.estimate(wave.perturb_many(values))
    real = np.histogram(values, 50, (0, 100))[0] / len(values)
    assert np.abs(np.cumsum(found.frequencies) - np.cumsum(real)).max() < 0.08
    assert "smoothed" in found.method


def test_missing_numbers_are_read_as_declared_or_refused():
    for kind in (Duchi, Piecewise, LaplaceMean, SquareWave):
        with pytest.raises(UsageError, match="missing"):
            kind(0, 1, epsilon=1).perturb(None)
        oracle = kind(0, 1, epsilon=1, missing="1/2")
        odd = [None, float("nan"), math.inf, -math.inf, 10**400, -5, 0.25]
        assert oracle.aggregate(oracle.perturb_many(odd)).n == len(odd)
        whole = oracle.read(odd).tolist()
        assert whole[0] == whole[1] == oracle.read([0.5])[0]
        assert whole[2] == whole[4] == oracle.read([1])[0]


def test_choosing_ranks_by_exact_variance():
    choice = choose(1024, n=1000, epsilon=1)
    variances = [o.variance for o in choice.options]
    assert variances == sorted(variances)
    assert len(choice.options) == 9
    assert isinstance(choice.best, OptimizedLocalHashing)
    by_name = {o.name: o for o in choice.options}
    poisoned = {"direct encoding (GRR)": 596, "optimised local hashing": 3.3,
               "unary encoding, optimised": 3.2, "Hadamard response": 2.2}  # fmt: skip
    for name, people in poisoned.items():
        assert float(by_name[name].influence) == pytest.approx(people, abs=0.5)
    assert "error of a count" in str(choice)
    with pytest.raises(UsageError):
        choose(1024, n=1000, epsilon=-1)


def test_figures_are_drawn():
    pytest.importorskip("matplotlib")
    oracle = DirectEncoding([f"item {i}" for i in range(60)], epsilon=3)
    e = oracle.estimate(oracle.perturb_many(["item 3"] * 500))
    for figure in (e.plot(), norm_sub(e).plot(), choose(4, n=10, epsilon=1).plot()):
        assert figure.axes


@pytest.mark.full
def test_two_coins_on_the_census():
    path = shared_file("adult.csv")
    if path is None:
        pytest.skip("the shared adult.csv is not beside this checkout")
    with path.open(newline="") as file:
        jobs = [row["occupation"] for row in csv.DictReader(file)]
    check_occupations(jobs, missing=1843, sales=3650)


@pytest.mark.full
def test_two_coins_on_generated_answers():
    counts = [3770, 4066, 1370, 4140, 3295, 3650, 4099, 1597, 994, 2002, 928, 649, 9, 149]
    jobs = [f"job {i}" for i, c in enumerate(counts) for _ in range(c)]
    check_occupations([*jobs, *[""] * 1843], missing=1843, sales=3650, name="job 5")


def check_occupations(jobs, missing, sales, name="Sales"):
    """Randomized response on one job, and unary encoding of all 14, with the missing as an item."""
    n = len(jobs)
    named = [None if job in ("", "?") else job for job in jobs]
    labels = sorted({job for job in named if job is not None})
    assert (n, len(labels), named.count(None)) == (32_561, 14, missing)
    coins = RandomizedResponse(p="3/4")
    assert round(math.sqrt(coins.variance(n))) == 156
    unary = UnaryEncoding(Items(labels, missing="missing"), p="3/4", q="1/4")
    assert unary.ratio == 9
    asked = np.array([job == name for job in named])
    places = unary.domain.indices(named)
    counts = np.bincount(places, minlength=15)
    with reproducible(12):
        yes = [coins.estimate(coins.perturb_many(asked))[True] for _ in range(60)]
        rows = [unary.estimate(unary.perturb_many(named)) for _ in range(25)]
    assert abs(np.mean(yes) - sales) < 4 * 156 / math.sqrt(60)
    assert 156 * 0.7 < np.std(yes) < 156 * 1.3
    z = np.array([(e.counts - counts) / e.standard_error for e in rows])
    assert np.abs(z.mean(axis=0)).max() < 4.5 / math.sqrt(25)
    assert 0.85 < z.std() < 1.15

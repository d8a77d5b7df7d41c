"""What every mechanism of the local model does alike: reports, states, sums, refusals."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import random
import ssl
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit.local
from local.every_mechanism import ALIKE, CASES, NAMES, ORACLES, truth
from tacit.arithmetic.enclosure import exp
from tacit.errors import MismatchError, TacitError, UsageError
from tacit.local import (
    DirectEncoding,
    OptimizedLocalHashing,
    SubsetSelection,
    UnaryEncoding,
    oracle_from,
)
from tacit.local.batch_file import Header
from tacit.local.oracle import MODULES, Layout, Oracle
from tacit.local.random_bits import (
    coins,
    count_bits,
    count_ones,
    count_values,
    dyadic_down,
    dyadic_near,
    dyadic_up,
    exp_at_most,
    fineness,
    max_exp,
    min_exp,
    probability,
    read_loss,
    truth_probability,
    uniform_below,
)
from tacit.noise import bits
from tacit.noise.bits import injected


@pytest.mark.parametrize("oracle", ALIKE, ids=NAMES)
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


@pytest.mark.parametrize("oracle", ALIKE, ids=NAMES)
def test_one_report_is_as_one_of_many(oracle):
    report = oracle.perturb(3)
    batch = oracle.perturb_many([3])
    assert np.asarray(report).shape == batch[0].shape
    assert oracle.aggregate([report]).n == 1


@pytest.mark.parametrize("oracle", ALIKE, ids=NAMES)
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


def test_every_answer_draws_its_own_bits():
    """Reports of forked or repeated calls do not repeat: bits come from the system alone."""
    oracle = UnaryEncoding(256, p="1/2", q="1/4")
    one, two = oracle.perturb_many([0] * 50), oracle.perturb_many([0] * 50)
    assert len({row.tobytes() for row in np.concatenate((one, two))}) == 100
    assert bits._generator.get() in (ssl.RAND_bytes, os.urandom)


# Each local mechanism is found by the name that its description carries.


def kinds(base: type) -> set[type]:
    """All subclasses."""
    return {base}.union(*(kinds(kind) for kind in base.__subclasses__()))


def test_every_mechanism_stands_in_the_registry() -> None:
    for module in pkgutil.walk_packages(tacit.local.__path__, "tacit.local."):
        importlib.import_module(module.name)
    ours = {
        kind.__name__: kind.__module__
        for kind in kinds(Oracle)
        if kind.__module__.startswith("tacit.local.")
        and not inspect.isabstract(kind)
        and not kind.__name__.startswith("_")
    }
    assert ours == MODULES


def changed(value: Any, chance: random.Random) -> Any:
    """Return a description with something in it exchanged."""
    odd = [None, -1, 0, 1e308, float("nan"), "x", "1e999999", "1/0", [], {}, [[]], 2**70, True,
           "9" * 5000, "1e-999", 2**40]  # fmt: skip
    if chance.random() < 0.25:
        return chance.choice(odd)
    if isinstance(value, dict) and value:
        key, copy = chance.choice(list(value)), dict(value)
        if chance.random() < 0.15:
            del copy[key]
        else:
            copy[key] = changed(value[key], chance)
        return copy
    if isinstance(value, list) and value:
        place, listed = chance.randrange(len(value)), list(value)
        listed[place] = changed(value[place], chance)
        return listed
    return chance.choice(odd)


@pytest.mark.parametrize("name", ORACLES)
def test_a_forged_description_is_refused_in_words(name: str) -> None:
    chance = random.Random(name)
    for _ in range(150):
        with suppress(TacitError):  # what it still describes is a mechanism
            assert oracle_from(changed(ORACLES[name].describe(), chance)).layout.bits > 0


def test_deep_descriptions_are_refused() -> None:
    nested: dict[str, Any] = DirectEncoding(5, epsilon=1).describe()
    for _ in range(3000):
        nested = {"mechanism": "PaddedSets", "oracle": nested, "length": 1}
    with pytest.raises(UsageError):
        oracle_from(nested)
    for text in (b"[" * 200_000, b"\xff", b"[]", b"9" * 9999):
        with pytest.raises(UsageError, match="does not describe a local mechanism"):
            Header(bytes(32), b"ab", True, 8, text).oracle()


# Batches of reports: their shapes, and the range of each value.


INTEGER = Layout("integer", 1, 1000)
BITS = Layout("bits", 14, 2)
ROWS = Layout("integers", 3, 5)


def test_a_batch_has_the_smallest_type_and_shape_that_hold_the_reports():
    shapes = [(layout.empty(7).shape, layout.empty(7).dtype) for layout in (INTEGER, BITS, ROWS)]
    assert shapes == [((7,), np.uint16), ((7, 2), np.uint8), ((7, 3), np.uint8)]


def test_lists_objects_and_truth_values_are_read_as_whole_numbers():
    assert INTEGER.check([1, 2]).tolist() == [1, 2]
    assert INTEGER.check(np.array([1, 2], object)).tolist() == [1, 2]
    assert INTEGER.check(np.array([True, False])).tolist() == [1, 0]
    assert ROWS.check([(1, 2, 3), (4, 0, 1)]).tolist() == [[1, 2, 3], [4, 0, 1]]
    assert BITS.check(np.asfortranarray([[255, 63], [0, 1]])).flags.c_contiguous


@pytest.mark.parametrize(
    ("layout", "reports", "problem"),
    [
        (INTEGER, [[1]], "shape"),
        (BITS, [1, 2], "shape"),
        (ROWS, [[1, 2]], "shape"),
        (ROWS, [[1, 2, 3], [1]], "one length"),
        (INTEGER, [0.5], "whole numbers"),
        (INTEGER, ["1"], "whole numbers"),
        (INTEGER, np.ma.masked_array([1, 2], [False, True]), "missing"),
    ],
)
def test_what_is_no_batch_is_refused(layout, reports, problem):
    with pytest.raises(UsageError, match=problem):
        layout.check(reports)


def test_values_out_of_range_and_bits_behind_the_last_are_invalid():
    assert INTEGER.valid(INTEGER.check([0, 999, 1000, -1])).tolist() == [True, True, False, False]
    assert ROWS.valid(ROWS.check([[0, 4, 2], [0, 5, 2]])).tolist() == [True, False]
    assert BITS.valid(BITS.check([[255, 63], [0, 64]])).tolist() == [True, False]


# Nothing that can be seen from outside a draw depends on the answer: its bits, or its work.


def requests(oracle, places, seed: int) -> list[int]:
    """Return how many random bytes a draw asks for, request by request, from one stream."""
    generator, asked = np.random.default_rng(seed), []

    def take(n: int) -> bytes:
        asked.append(n)
        return generator.bytes(n)

    with injected(take):
        oracle._draw(places)
    return asked


@pytest.mark.few(24)
@pytest.mark.parametrize("name", CASES)
def test_a_draw_asks_for_the_same_bits_whatever_the_answer(name):
    """Also where draws are rejected and made again: what is rejected does not depend on it."""
    oracle = ORACLES[name]
    answers = [oracle.read([answer]) for answer in CASES[name].answers]
    for seed in range(100):
        told = [requests(oracle, place, seed) for place in answers]
        assert all(one == told[0] for one in told), (name, seed)


# Probabilities of whole multiples of 2^-b: rounded to the safe side, and drawn exactly.


SHARES = st.fractions(Fraction(1, 10**9), 1 - Fraction(1, 10**9))


@given(SHARES)
def test_a_probability_is_rounded_to_either_side_by_less_than_a_millionth_of_it(p):
    low, near, high = dyadic_down(p), dyadic_near(p), dyadic_up(p)
    assert 0 < low <= p <= high < 1
    assert low <= near <= high
    assert high - low <= min(p, 1 - p) / 2**19
    for found in (low, near, high):
        assert found.denominator & (found.denominator - 1) == 0
        assert dyadic_down(found) == dyadic_up(found) == found  # one that is dyadic is kept


def test_no_probability_becomes_certain():
    for p in (Fraction(1, 10**40), 1 - Fraction(1, 10**40)):
        for found in (dyadic_down(p), dyadic_near(p), dyadic_up(p)):
            assert 0 < found < 1
    assert fineness(Fraction(1, 10**40)) == 62


@given(st.fractions(Fraction(1, 2**20), 24))
def test_exponentials_are_on_the_safe_side_and_near(loss):
    low, high, truth = min_exp(loss), max_exp(loss), exp(loss, 200)
    assert low <= truth.lower
    assert truth.upper <= high
    assert high - low <= low / 2**80
    assert exp_at_most(loss) == low


@pytest.mark.parametrize("epsilon", [0, -1, "nan", 25, Fraction(1, 2**21), "x", None])
def test_a_loss_that_no_report_has_is_refused(epsilon):
    with pytest.raises(UsageError, match="epsilon"):
        read_loss(epsilon)
    with pytest.raises(UsageError, match="above 0 and below 1"):
        probability(1, "p")


@given(st.fractions(Fraction(1, 1000), 20), st.integers(1, 1000))
def test_the_truth_is_no_likelier_than_epsilon_allows_and_hardly_less(epsilon, others):
    p = truth_probability(None, epsilon, others)
    odds = p * others / (1 - p)
    assert odds <= max_exp(epsilon)
    assert odds >= 1 + (min_exp(epsilon) - 1) * Fraction(999, 1000)


def every_word(width):
    """Serve each word of so many bits once, and then words of ones for ever."""
    words = np.arange(1 << width, dtype=f"<u{width // 8}").tobytes()
    served = [0]

    def feed(n):
        given = words[served[0] : served[0] + n]
        served[0] += n
        return given + bytes([255]) * (n - len(given))

    return bits.injected(feed)


@pytest.mark.parametrize(
    ("p", "width"), [(Fraction(3, 4), 8), (Fraction(77, 256), 8), (Fraction(1, 2**12), 16)]
)
def test_coins_come_up_exactly_as_often_as_they_say(p, width):
    """Fed every word once, a coin is True as often as its numerator says."""
    with every_word(width):
        assert int(coins(p, 1 << width).sum()) == p * (1 << width)


@pytest.mark.parametrize(
    ("k", "width"), [(1, 8), (2, 8), (256, 8), (3, 16), (1000, 16), (4096, 16)]
)
def test_each_number_is_that_of_as_many_words_as_the_others(k, width):
    """Of all words each number has the same share; what is left over is drawn again, as ones."""
    with every_word(width):
        found = uniform_below(k, 1 << width)
    counts = Counter(found.tolist())
    assert set(counts) == set(range(k))
    share, again = divmod(1 << width, k)
    counts[k - 1] -= again
    assert set(counts.values()) == {share}


@pytest.mark.parametrize("k", [5, 1 << 20, (1 << 32) - 5, 1 << 32, (1 << 40) + 1])
def test_uniform_numbers_stay_below_their_bound(k):
    found = uniform_below(k, 2000)
    assert found.dtype in (np.uint32, np.uint64)
    assert int(found.max()) < k
    assert abs(float(found.astype(float).mean()) / k - 0.4999) < 0.05 + 1 / k


# Bits are counted place by place, in any number of rows.


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

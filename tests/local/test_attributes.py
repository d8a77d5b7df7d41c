"""Several attributes of a person at once."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import prod
from pathlib import Path

import numpy as np
import pytest

import tacit as tc
from local.every_mechanism import CASES, ORACLES
from local.local_laws import coverage, holds_epsilon, key, reproducible
from tacit import local
from tacit.arithmetic.enclosure import exp
from tacit.errors import BudgetError, TacitError, UsageError
from tacit.local import (
    AttributeSampling,
    AttributeSplitting,
    CountMeanSketch,
    DirectEncoding,
    Duchi,
    HadamardCountMeanSketch,
    HadamardResponse,
    HierarchicalRanges,
    Items,
    KeyValue,
    LaplaceMean,
    LocalHashing,
    PaddedSets,
    Piecewise,
    PrefixExtending,
    RandomizedResponse,
    Rappor,
    SquareWave,
    SubsetSelection,
    TwoStage,
    UnaryEncoding,
    Wire,
    oracle_from,
)
from tacit.local.hashing import digest
from tacit.noise.bits import injected

PARTS = {"smokes": RandomizedResponse(p="3/4"), "home": UnaryEncoding(3, p="1/2", q="1/4")}


def test_attributes_are_estimated():
    n = 2_000
    people = [(i % 4 == 0, i % 3 if i % 2 else 0) for i in range(n)]
    for kind in (AttributeSplitting, AttributeSampling):
        oracle = kind(PARTS)
        with reproducible(22):
            found = oracle.estimate(oracle.perturb_many(people))
        for j, (name, e) in enumerate(found.items()):
            true = Counter(person[j] for person in people)
            for item, share in zip(e.items, e.frequencies, strict=True):
                spread = math.sqrt(e.base + e.slope * e.counts.max() + e.n / 4) / e.n
                assert abs(share - true[item] / n) < 5 * spread, (name, item)


# Output distributions worked out a second time, from the papers' definitions alone.
#
# Nothing here calls ``distribution``'s helpers: each law is written from the description of the
# mechanism and its public numbers, and must be the one that the library tells, and the one of which
# every sampler's draws are, whose random bytes are listed in full.


def bits(number: int, width: int) -> list[int]:
    return [number >> i & 1 for i in range(width)]


def as_bytes(row: list[int]) -> tuple[int, ...]:
    padded = [*row, *[0] * (-len(row) % 8)]
    return tuple(
        sum(b << i for i, b in enumerate(padded[j : j + 8])) for j in range(0, len(padded), 8)
    )


def direct(k: int, p: Fraction, x: int) -> dict:
    return {y: p if y == x else (1 - p) / (k - 1) for y in range(k)}


def unary(k: int, p: Fraction, q: Fraction, x: int) -> dict:
    law = {}
    for row in product((0, 1), repeat=k):
        ones = [p if i == x else q for i in range(k)]
        law[as_bytes(list(row))] = prod(o if b else 1 - o for o, b in zip(ones, row, strict=True))
    return law


def subset(k: int, p: Fraction, w: int, x: int) -> dict:
    """Draw whether x is inside, then the rest of the set uniformly."""
    law: dict = {}
    others = [i for i in range(k) if i != x]
    for inside, chance in ((1, p), (0, 1 - p)):
        rests = list(combinations(others, w - inside))
        for rest in rests:
            chosen = {*rest, *([x] if inside else [])}
            law[as_bytes([int(i in chosen) for i in range(k)])] = chance / len(rests)
    return law


def murmur(h: int) -> int:
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h = (h ^ h >> shift) * factor & 0xFFFFFFFF
    return h ^ h >> 16


def hashing(p: Fraction, g: int, seed_bits: int, x: int) -> dict:
    law = {}
    for seed in range(1 << seed_bits):
        h = murmur((seed + x // 2 * 0x9E3779B1) & 0xFFFFFFFF)
        own = (h >> 16 if x % 2 else h & 0xFFFF) * g >> 16
        for y in range(g):
            law[seed * g + y] = (p if y == own else (1 - p) / (g - 1)) / (1 << seed_bits)
    return law


def hadamard(k: int, keep: Fraction, blocks: int, x: int) -> dict:
    """Sylvester's matrix, built by doubling: the report is of the row's ones, or any."""
    rows = -(-k // blocks) + 1
    matrix = [[1]]
    while len(matrix) < rows:
        matrix = [r + r for r in matrix] + [r + [-v for v in r] for r in matrix]
    size, row = len(matrix), matrix[x // blocks + 1]
    law = dict.fromkeys(range(size * blocks), (1 - keep) / (size * blocks))
    for column, sign in enumerate(row):
        if sign == 1:
            law[x % blocks * size + column] += keep * 2 / size
    return law


def window(total: int, width: int, keep: Fraction, start: int) -> dict:
    law = dict.fromkeys(range(total), (1 - keep) / total)
    for y in range(start, start + width):
        law[y] += keep / width
    return law


def mixed(parts: list[tuple[Fraction, dict]]) -> dict:
    law: dict = {}
    for share, one in parts:
        for y, p in one.items():
            law[y] = law.get(y, Fraction(0)) + share * p
    return {y: p for y, p in law.items() if p}


def splitmix(word: int, function: int, size: int) -> int:
    whole = (1 << 64) - 1
    z = word + (function + 1) * 0x9E3779B97F4A7C15 & whole
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & whole
    z = (z ^ z >> 27) * 0x94D049BB133111EB & whole
    return (z ^ z >> 31) & size - 1


def bloom(oracle: Rappor, word: str, cohort: int) -> list[int]:
    row = [0] * oracle.bloom_bits
    for i in range(oracle.hashes):
        wide = splitmix(digest(word), cohort * oracle.hashes + i, 1 << 32)
        row[wide * oracle.bloom_bits >> 32] = 1
    return row


def rappor(oracle: Rappor, word: str) -> dict:
    """Every cohort, every kept row, every report: summed as the two stages are drawn."""
    law: dict = {}
    m, f, p, q = oracle.bloom_bits, oracle.f, oracle.p, oracle.q
    number_bits = oracle.cohorts.bit_length() - 1
    for cohort in range(oracle.cohorts):
        true = bloom(oracle, word, cohort)
        for kept in product((0, 1), repeat=m):
            keeping = prod(
                (f / 2 if k != t else 1 - f / 2) for k, t in zip(kept, true, strict=True)
            )
            for sent in product((0, 1), repeat=m):
                sending = prod(
                    (q if k else p) if s else 1 - (q if k else p)
                    for k, s in zip(kept, sent, strict=True)
                )
                y = as_bytes([*sent, *bits(cohort, number_bits)])
                law[y] = law.get(y, Fraction(0)) + keeping * sending / oracle.cohorts
    return law


def sketch(oracle: CountMeanSketch, word: str) -> dict:
    law, b, p = {}, oracle.buckets, oracle.p
    for j in range(oracle.functions):
        own = splitmix(digest(word), j, b)
        for row in product((0, 1), repeat=b):
            kept = prod(p if s == (i == own) else 1 - p for i, s in enumerate(row))
            law[as_bytes([*row, *bits(j, oracle.functions.bit_length() - 1)])] = (
                kept / oracle.functions
            )
    return law


def hadamard_sketch(oracle: HadamardCountMeanSketch, word: str) -> dict:
    law, b = {}, oracle.buckets
    for j in range(oracle.functions):
        own = splitmix(digest(word), j, b)
        for entry in range(b):
            sign = (own & entry).bit_count() % 2
            for y in (0, 1):
                p = oracle.p if y == sign else 1 - oracle.p
                law[2 * (j * b + entry) + y] = p / (oracle.functions * b)
    return law


HALF, EIGHTH, QUARTER, MOST = (Fraction(v) for v in ("1/2", "1/8", "1/4", "3/4"))
GOODS = Items(["milk", "bread"], other="none")
COINS, THREE, ROWS = RandomizedResponse(p="3/4"), DirectEncoding(3, p="1/2"), UnaryEncoding(
    3, p="1/2", q="1/8"
)  # fmt: skip
BASKET = PaddedSets(DirectEncoding(GOODS, p="1/2"), 2)
WAVE = SquareWave(0, 1, keep="3/4", bins=6, reach=2)
PIECES = Piecewise(0, 1, keep="5/8", total=9, width=4)
TWO = TwoStage(DirectEncoding(3, p="3/4"), ROWS)
CHAIN = mixed([(MOST, unary(3, HALF, EIGHTH, 1)), (EIGHTH, unary(3, HALF, EIGHTH, 0)),
               (EIGHTH, unary(3, HALF, EIGHTH, 2))])  # fmt: skip
HASHED = LocalHashing(7, p="3/8", buckets=3, seed_bits=4)
MATRIX = HadamardResponse(11, keep="5/16", blocks=2)
FILTER = Rappor(bloom_bits=4, hashes=2, cohorts=2, f="1/2", p="1/8", q="3/4")
TABLE = CountMeanSketch(p="3/4", functions=2, buckets=8)
SIGNS = HadamardCountMeanSketch(p="3/4", functions=2, buckets=8)

LAWS = {
    "two coins": (COINS, True, direct(2, MOST, 1)),
    "direct": (THREE, 2, direct(3, HALF, 2)),
    "unary": (ROWS, 1, unary(3, HALF, EIGHTH, 1)),
    "unary that lies": (UnaryEncoding(9, p="1/8", q="1/2"), 8, unary(9, EIGHTH, HALF, 8)),
    "subset": (SubsetSelection(6, p="5/8", size=2), 3, subset(6, Fraction(5, 8), 2, 3)),
    "hashing": (HASHED, 5, hashing(Fraction(3, 8), 3, 4, 5)),
    "hashing, even": (HASHED, 6, hashing(Fraction(3, 8), 3, 4, 6)),
    "hadamard": (HadamardResponse(6, keep="1/2", blocks=1), 4, hadamard(6, HALF, 1, 4)),
    "hadamard, blocks": (MATRIX, 9, hadamard(11, Fraction(5, 16), 2, 9)),
    "two stages": (TWO, 1, CHAIN),
    "rappor": (FILTER, "red", rappor(FILTER, "red")),
    "sketch": (TABLE, "red", sketch(TABLE, "red")),
    "hadamard sketch": (SIGNS, "red", hadamard_sketch(SIGNS, "red")),
    "square wave": (WAVE, HALF, window(10, 5, MOST, 3)),
    "piecewise": (PIECES, Fraction(2, 5), window(9, 4, Fraction(5, 8), 2)),
    "duchi": (Duchi(0, 1, p="3/4"), QUARTER, {0: Fraction(5, 8), 1: Fraction(3, 8)}),
    "sets": (BASKET, {"milk"}, mixed([(HALF, direct(3, HALF, 0)),
                                      (HALF, direct(3, HALF, 2))])),
    "long sets": (BASKET, {"milk", "bread"}, mixed([(HALF, direct(3, HALF, 0)),
                                                    (HALF, direct(3, HALF, 1))])),
    "splitting": (
        AttributeSplitting({"a": COINS, "b": THREE}),
        (True, 0),
        {(y | z << 1,): a * b for y, a in direct(2, MOST, 1).items()
         for z, b in direct(3, HALF, 0).items()},
    ),
    "sampling": (
        AttributeSampling({"a": COINS, "b": THREE}),
        (True, 0),
        {(y,): p / 2 for y, p in direct(2, MOST, 1).items()}
        | {(z | 4,): p / 2 for z, p in direct(3, HALF, 0).items()},
    ),
    "key-value": (
        KeyValue(["a", "b"], 0, 1, p="1/2"),
        {"a": MOST},
        mixed([(HALF, {(0,): QUARTER, (1,): Fraction(5, 16), (2,): Fraction(7, 16)}),
               (HALF, {(4,): HALF, (5,): QUARTER, (6,): QUARTER})]),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("oracle", "answer", "law"), LAWS.values(), ids=LAWS)
def test_a_second_derivation_finds_the_same_law(oracle, answer, law):
    assert sum(law.values()) == 1
    found = oracle.distribution(answer)
    near = (
        Fraction(1, 1 << 30) if isinstance(oracle, Piecewise) else 0
    )  # answers are read to 32 bits
    assert set(found) == set(law)
    assert all(abs(found[y] - law[y]) <= near for y in law)


def listed(oracle, answer, sources: list[np.ndarray]) -> dict:
    """Return how often each report comes, over every combination of what a draw reads.

    ``sources`` are, in the order in which a draw asks, all values of the words that it reads.
    """
    grid = np.meshgrid(*[np.arange(len(s)) for s in sources], indexing="ij")
    stream = b"".join(s[g.ravel()].tobytes() for s, g in zip(sources, grid, strict=True))
    n, read = grid[0].size, 0

    def take(size: int) -> bytes:
        nonlocal read
        read += size
        return stream[read - size : read]

    with injected(take):
        reports = oracle._draw(np.repeat(oracle.read([answer]), n, axis=0))
    assert read == len(stream)
    values, times = np.unique(reports, axis=0, return_counts=True)
    keys = [tuple(v.tolist()) if v.ndim else int(v) for v in values]
    return {y: Fraction(int(t), n) for y, t in zip(keys, times, strict=True)}


def low(values: int) -> np.ndarray:
    """All that a draw below a power of two reads of a byte: the rest is masked."""
    return np.arange(values, dtype=np.uint8)


BYTE, NOTHING = low(256), np.zeros(1, np.uint32)
TOP = (np.arange(16, dtype=np.uint64) << 28).astype(np.uint32)
DRAWN = {
    "two coins": (COINS, True, [BYTE, low(1)]),
    "direct": (DirectEncoding(3, p="5/8"), 2, [BYTE, low(2)]),
    "direct that lies": (DirectEncoding(5, p="1/16"), 3, [BYTE, low(4)]),
    "unary": (UnaryEncoding(3, p="5/8", q="1/4"), 1, [low(8), low(8), BYTE]),
    "unary reversed": (UnaryEncoding(3, p="1/8", q="3/4"), 2, [low(8), low(8), BYTE]),
    "hashing": (HASHED, 5, [TOP, low(2), BYTE]),
    "hadamard": (HadamardResponse(6, keep="1/2", blocks=1), 4, [low(8), BYTE]),
    "hadamard, blocks": (MATRIX, 9, [low(16), BYTE]),
    "hadamard sketch": (SIGNS, "red", [low(16), BYTE]),
    "duchi": (Duchi(0, 1, p="3/4"), 0.25, [TOP, BYTE]),
    "piecewise": (Piecewise(0, 1, keep="5/8", total=8, width=4), 0.5,
                  [NOTHING, low(8), low(4), BYTE]),
    "two stages": (
        TwoStage(DirectEncoding(3, p="3/4"), UnaryEncoding(3, p="1/2", q="1/4")),
        1,
        [BYTE[[0, 99, 190, 255]], low(2), low(8), low(8), BYTE[[0, 255]]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_all_random_bytes_together_give_exactly_the_law(name):
    """No sampling: every byte that a draw can read is fed to it once, and reports are counted."""
    oracle, answer, sources = DRAWN[name]
    assert listed(oracle, answer, sources) == oracle.distribution(answer)


# Whatever can be wrong: refused in words, on the device or at construction, and never told on.


FROM_EPSILON = [name for name in CASES if name != "rappor"]
BAD_EPSILONS = [0, -1, "-1e-9", math.nan, math.inf, -math.inf, 1e308, 25, 10**400, "1e999", "x",
                True, [1], 1j, "1e-7", 1e-300]  # fmt: skip
ODD = [None, math.nan, "secretword", 10**400, -1, math.inf, -math.inf, [1], {"a": "secretword"},
       {"a": math.inf}, object(), 2.5, True, b"secretword", np.float32(0.5), {"q": 1}, {}, set(),
       ("a", "secretword"), 1j, np.array([1, 2])]  # fmt: skip


def test_every_mechanism_is_tried() -> None:
    tried = {type(oracle) for oracle in ORACLES.values()}
    assert tried == {kind for kind in vars(local).values() if _is_mechanism(kind)}


def _is_mechanism(kind: object) -> bool:
    return (
        isinstance(kind, type)
        and issubclass(kind, local.Oracle)
        and not getattr(kind, "__abstractmethods__", None)
    )


@pytest.mark.few(6)
@pytest.mark.parametrize("epsilon", BAD_EPSILONS, ids=lambda e: str(e)[:12])
@pytest.mark.parametrize("name", FROM_EPSILON)
def test_every_bad_epsilon_is_refused_by_every_mechanism(name, epsilon):
    with pytest.raises(UsageError):
        CASES[name].make(epsilon)


@pytest.mark.few(4)
@pytest.mark.parametrize("epsilon", ["0.000001", "1e-4", "0.01", 1, 7, 24])
@pytest.mark.parametrize("name", [n for n in FROM_EPSILON if n not in ("splitting", "two stages")])
def test_no_mechanism_loses_more_than_it_was_allowed(name, epsilon):
    """Also where epsilon is smaller than the usual fineness of a probability."""
    try:
        oracle = CASES[name].make(epsilon)
    except UsageError as refusal:
        assert "does not fit 32 bits" in str(refusal)  # noqa: PT017  (very wide noise alone)
        assert Fraction(epsilon) < Fraction(1, 10**5)
        return
    allowed = exp(Fraction(epsilon), 400).upper
    assert 1 < oracle.ratio <= allowed * (1 + Fraction(1, 1 << 80))
    reports = oracle.perturb_many(CASES[name].answers)
    assert oracle.aggregate(reports).n == len(reports)
    assert Wire(oracle).pack(reports).shape[0] == len(reports)


@pytest.mark.parametrize("name", CASES)
def test_an_odd_answer_makes_a_report_or_is_refused_and_is_never_repeated(name):
    oracle = ORACLES[name]
    for odd in ODD:
        try:
            report = oracle.perturb(odd)
        except TacitError as refusal:
            assert "secretword" not in str(refusal)  # noqa: PT017
            assert "2.5" not in str(refusal)  # noqa: PT017
        else:
            assert oracle.valid(np.asarray(report)[None]).all()


@pytest.mark.few(6)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("odd", [5, None, "ab", b"ab", object()], ids=lambda v: type(v).__name__)
def test_many_answers_are_a_list(name, odd):
    with pytest.raises(UsageError, match="list of answers"):
        ORACLES[name].perturb_many(odd)


@pytest.mark.parametrize(
    "labels",
    [1, 0, -3, (1 << 32) + 1, 1 << 70, math.nan, "abc", [], ["a"], ["a", "a"], {"a", "b"},
     frozenset("ab"), range(1, 1 << 36), range(1 << 80), range(-9), None, [["a"], ["b"]],
     ["a", None], ["a", math.nan], [b"a", b"b"], np.zeros((2, 2))],
    # a set is written in an order that differs between two processes of one run of tests
    ids=lambda v: f"a {type(v).__name__}" if isinstance(v, (set, frozenset)) else str(v)[:12],
)  # fmt: skip
def test_bad_domains(labels):
    with pytest.raises(UsageError):
        Items(labels)


@pytest.mark.parametrize(
    ("p", "q"), [("1/2", "1/2"), ("1/3", "1/3"), (0, "1/2"), (1, "1/2"), (2, "1/2"), (-1, "1/2"),
                 (math.nan, "1/2"), ("1/2", math.inf)]
)  # fmt: skip
def test_bad_chances(p, q):
    with pytest.raises(UsageError):
        UnaryEncoding(3, p=p, q=q)


def test_p_below_q_is_allowed_and_epsilon_is_an_absolute_value():
    """The lying form has the same epsilon and the same error, and its estimate is unbiased."""
    straight, lying = UnaryEncoding(4, p="3/4", q="1/4"), UnaryEncoding(4, p="1/4", q="3/4")
    assert straight.ratio == lying.ratio == 9
    assert float(lying.epsilon) == pytest.approx(math.log(9))
    n = 20_000
    estimate = lying.estimate(lying.perturb_many([2] * n))
    assert np.all(np.abs(estimate.counts - [0, 0, n, 0]) < 6 * estimate.standard_error)


@pytest.mark.parametrize("kind", [Duchi, Piecewise, LaplaceMean, SquareWave])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [(1, 1), (2, 1), (0, math.nan), (0, math.inf), ("a", 1), (-(10**400), 10**400)],
    ids=str,
)
def test_bad_bounds(kind, lower, upper):
    with pytest.raises(UsageError):
        kind(lower, upper, epsilon=1)


@pytest.mark.parametrize("kind", [Duchi, Piecewise, LaplaceMean])
@pytest.mark.parametrize(
    ("lower", "upper"), [(-1.7e300, 1.7e300), (10**16, 10**16 + 2), (-3, "1/3"), (0, 1e-300)],
    ids=str,
)  # fmt: skip
def test_arrays_and_lists_of_numbers_are_read_alike(kind, lower, upper):
    oracle = kind(lower, upper, epsilon=1)
    values = [float(lower), -2.0, 1e16 + 1.0, 1e16 + 2.0, 1e299, 3e-301, math.inf, -math.inf]
    fast, exact = oracle.read(np.array(values)), oracle.read(values)
    assert np.abs(fast - exact).max() <= 1
    assert int(exact.min()) >= 0


def test_missing_people_are_counted():
    """A missing set, mapping or row is reported like any other."""
    sets = PaddedSets(DirectEncoding(Items(["a", "b"], other="none"), epsilon=1), 2)
    assert sets.aggregate(sets.perturb_many([None, {"a"}, math.nan])).n == 3
    assert sets.distribution(None) == sets.distribution(set())
    keys = KeyValue(["a", "b"], 0, 1, epsilon=1)
    assert keys.distribution(None) == keys.distribution({})
    jobs = DirectEncoding(Items(["a", "b"], missing="none"), epsilon=1)
    both = AttributeSampling({"x": jobs, "y": jobs})
    assert both.distribution(None) == both.distribution({})
    plain = AttributeSampling({"x": jobs, "y": DirectEncoding(2, epsilon=1)})
    with pytest.raises(UsageError, match="not one of the listed items"):
        plain.perturb(None)


def test_attributes_do_not_nest():
    inner = ORACLES["sampling"]
    with pytest.raises(UsageError, match="no attributes of their own"):
        AttributeSampling({"x": inner, "y": inner})


def test_what_is_no_mechanism_is_refused():
    for use in (Wire, local.Collector, lambda oracle: local.Device(1).report(oracle, 1)):
        with pytest.raises(UsageError, match="give a local mechanism"):
            use("unary")


# Mechanisms made of others: attributes, keys and values, sets, ranges, heavy hitters.


COMPOSITES_PARTS = {
    "smokes": RandomizedResponse(p="3/4"),
    "home": UnaryEncoding(3, p="1/2", q="1/4"),
}
PEOPLE = [(False, 0), (True, 2), {"smokes": True, "home": 1}]
COMPOSITES_GOODS = Items(["milk", "bread", "tea"], other="nothing")
BASKETS = [set(), {"milk"}, {"milk", "tea"}, {"milk", "bread", "tea"}, ["tea", "salt", None]]
COMPOSITES_CASES = {
    "splitting": (AttributeSplitting(COMPOSITES_PARTS), PEOPLE, True),
    "sampling": (AttributeSampling(COMPOSITES_PARTS), PEOPLE, True),
    "key-value": (
        KeyValue(["a", "b", "c"], 0, 1, epsilon=1),
        [{}, {"a": 1}, {"a": 0, "b": 0.3}],
        True,
    ),
    "sets": (PaddedSets(DirectEncoding(COMPOSITES_GOODS, epsilon=1), 2), BASKETS, False),
    "sets of one": (PaddedSets(DirectEncoding(COMPOSITES_GOODS, epsilon=1), 1), BASKETS[:2], True),
    "ranges": (HierarchicalRanges(16, epsilon=1), [0, 7, 15], True),
    "prefixes": (
        PrefixExtending(4, epsilon=1, step=2, functions=2, buckets=8),
        [0, 5, 9, 15, None],
        True,
    ),
}


@pytest.mark.parametrize(
    ("oracle", "people", "tight"), COMPOSITES_CASES.values(), ids=COMPOSITES_CASES
)
def test_the_whole_distribution_keeps_epsilon(oracle, people, tight):
    holds_epsilon(oracle, people, tight=tight)


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("oracle", "people", "tight"), COMPOSITES_CASES.values(), ids=COMPOSITES_CASES
)
def test_draws_have_the_listed_distribution(oracle, people, tight, chi_square):
    n = 5000
    for person in people:
        with reproducible(21):
            reports = oracle.perturb_many([person] * n)
        assert oracle.valid(reports).all()
        law = oracle.distribution(person)
        seen = Counter(key(report) for report in reports)
        assert set(seen) <= set(law)
        assert chi_square([seen[y] for y in law], [float(p) * n for p in law.values()]) > 1e-5


@pytest.mark.parametrize(
    ("oracle", "people", "tight"), COMPOSITES_CASES.values(), ids=COMPOSITES_CASES
)
def test_descriptions_and_states(oracle, people, tight):
    again = oracle_from(json.loads(json.dumps(oracle.describe())))
    assert again.fingerprint == oracle.fingerprint
    assert again == oracle
    reports = oracle.perturb_many(people * 20)
    parts = oracle.aggregate(reports[:7]) + oracle.aggregate(reports[7:])
    assert parts == again.aggregate(reports)
    assert parts.n == len(reports)


def test_impossible_composite_reports_are_refused():
    sampling = AttributeSampling(COMPOSITES_PARTS)
    assert sampling.layout.width == 4
    rows = np.arange(16, dtype=np.uint8)[:, None]
    expected = [y >> 3 == 1 or y < 2 for y in range(16)]  # one bit for the first attribute
    assert sampling.valid(rows).tolist() == expected
    with pytest.raises(UsageError):
        sampling.aggregate(rows)
    with pytest.raises(UsageError):
        AttributeSampling({"one": COMPOSITES_PARTS["home"]})
    with pytest.raises(UsageError):
        sampling.perturb((True,))


# Keys and values: estimated, with errors that hold.


@pytest.mark.full
def test_keys_and_values_have_errors_that_hold():
    oracle = KeyValue(["film", "book", "game"], 1, 5, epsilon=2)
    people = [{"film": 5}, {"film": 2, "book": 4}, {}, {"film": 2, "book": 4.5}] * 1500
    frequency = {"film": 0.75, "book": 0.5, "game": 0}
    mean = {"film": 3, "book": 4.25}
    places = oracle.read(people)
    z, shares, means = [], [], []
    with reproducible(33):
        for _ in range(120):
            found = oracle.estimate(oracle._draw(places))
            for name, e in found.items():
                low, high = e.interval("0.9")
                shares.append(low <= frequency[name] <= high)
                z.append((e.frequency - frequency[name]) / e.frequency_error)
                if name in mean:
                    low, high = e.mean_interval("0.9")
                    means.append(low <= mean[name] <= high)
    assert abs(np.mean(z)) < 5 / math.sqrt(len(z))
    coverage(shares, 0.9)
    coverage(means, 0.9)
    assert np.mean(shares) < 0.96
    assert np.mean(means) < 0.97
    nothing = oracle.estimate(oracle.empty())["film"]
    assert math.isnan(nothing.mean)


@pytest.mark.full
def test_keys_and_values_are_estimated():
    oracle = KeyValue(["film", "book"], 1, 5, epsilon=2)
    people = [{"film": 5}, {"film": 2, "book": 4}, {}, {"film": 2, "book": 99}] * 10_000
    with reproducible(23):
        found = oracle.estimate(oracle.perturb_many(people))
    assert found["film"].frequency == pytest.approx(0.75, abs=0.03)
    assert found["book"].frequency == pytest.approx(0.5, abs=0.03)
    assert found["film"].mean == pytest.approx(3, abs=0.15)
    assert found["book"].mean == pytest.approx(4.5, abs=0.2)


# Reports, states of collectors and files of devices that an earlier version wrote still read.


KEPT = Path(__file__).parent / "written_before"
SPORT = tc.local.UnaryEncoding(["swim", "run", "rest"], 1)
ESTIMATED = [-7.6090344736494515, 14.031435741645753, 5.375247655527671]


def test_reports_are_collected():
    collector = tc.local.Collector(SPORT, replay="exact")
    assert collector.add_file(KEPT / "day.reports") == 40
    assert collector.add_file(KEPT / "day.reports") == 0
    assert collector.estimate().counts.tolist() == pytest.approx(ESTIMATED, rel=1e-12)


def test_a_collector_goes_on():
    collector = tc.local.Collector.load(KEPT / "day.state")
    assert (collector.n, collector.refused) == (40, {})
    assert collector.estimate().counts.tolist() == pytest.approx(ESTIMATED, rel=1e-12)
    assert collector.add_file(KEPT / "day.reports") == 0  # it knows each of these reports


def test_a_device_gives_its_permanent_answer_and_pays_for_another(tmp_path):
    shutil.copy(KEPT / "device.json", tmp_path)
    device = tc.local.Device(budget=10, path=tmp_path / "device.json")
    spent = device.spent
    assert device.report(SPORT, "run").tolist() == [2]
    assert device.spent == spent
    device.report(SPORT, "swim")
    assert device.spent == 2 * spent


def test_a_device_keeps_its_budget(tmp_path):
    shutil.copy(KEPT / "device.json", tmp_path)
    device = tc.local.Device(budget=10, path=tmp_path / "device.json")
    left = device.left(SPORT)
    for period in range(left):
        device.report(SPORT, "run", period=str(period))
    with pytest.raises(BudgetError):
        device.report(SPORT, "run", period=str(left))

"""Output distributions worked out a second time, from the papers' definitions alone.

Nothing here calls ``distribution``'s helpers: each law is written from the description of the
mechanism and its public numbers, and must be the one that the library tells, and the one of which
every sampler's draws are, whose random bytes are listed in full.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from tacit.local import (
    AttributeSampling,
    AttributeSplitting,
    CountMeanSketch,
    DirectEncoding,
    Duchi,
    HadamardCountMeanSketch,
    HadamardResponse,
    Items,
    KeyValue,
    LocalHashing,
    PaddedSets,
    Piecewise,
    RandomizedResponse,
    Rappor,
    SquareWave,
    SubsetSelection,
    TwoStage,
    UnaryEncoding,
)
from tacit.local.hashing import digest
from tacit.noise.bits import injected


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

"""The truth about variances by listing every pair, in exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement

import numpy as np

from tacit.arithmetic.roots_and_bisection import Root, gap

RELATIONS = ["unbounded", "add", "remove", "bounded"]


def exact_variance(values, ddof):
    n, total = len(values), sum(values)
    return Fraction(sum(v * v for v in values) - Fraction(total * total, n)) / (n - ddof)


def asked_moves(relation, k, within, n):
    if relation == "bounded":
        return {(d, d) for d in (range(1, k + 1) if within else [k])}
    if not within:
        return {"add": {(0, k)}, "remove": {(k, 0)}}.get(relation, {(0, k), (k, 0)})
    every = {(r, a) for r in range(n + 1) for a in range(k + 1) if 1 <= r + a <= k}
    if relation == "unbounded":
        return every
    return {(r, a) for r, a in every if (r if relation == "add" else a) == 0}


@lru_cache(maxsize=16)
def masks_of(size):
    masks = np.arange(1 << size)
    bits = (masks[:, None] >> np.arange(size)) & 1
    return masks, bits, bits.sum(axis=1)


def largest_gap(pairs, root):
    """The largest gap between paired variances, floats first, exact among the closest."""
    if not root:
        return max(abs(v - w) for v, w in pairs)
    rough = [abs(math.sqrt(v) - math.sqrt(w)) for v, w in pairs]
    least = max(rough) - 1e-9 * math.sqrt(max(max(p) for p in pairs))
    close = {p for p, value in zip(pairs, rough, strict=True) if value >= least}
    v, w = max(close, key=lambda pair: far_apart(*pair))
    return gap(Root(v), Root(w))


def far_apart(v, w):
    """The gap of two roots to 300 bits: rounding one gap up must not make it beat another."""
    return abs(Root(v).enclose(300)[0] - Root(w).enclose(300)[0])


def over_records(population, n, relation, k, within, ddof, root, at=None):
    """The truth by listing every pair of sets of people, or None where there is none."""
    masks, bits, sizes = masks_of(len(population))
    wanted = asked_moves(relation, k, within, n)
    xs = masks[sizes == n] if at is None else [at]
    variances = {}

    def variance(mask):
        if mask not in variances:
            chosen = [v for v, b in zip(population, bits[mask], strict=True) if b]
            variances[mask] = exact_variance(chosen, ddof)
        return variances[mask]

    pairs = set()
    for x in xs:
        removed, added = sizes[x & ~masks], sizes[masks & ~x]
        for r, a in wanted:
            for y in masks[(removed == r) & (added == a) & (sizes > ddof)].tolist():
                pairs.add((variance(int(x)), variance(y)))
    return largest_gap(pairs, root) if pairs else None


def over_values(values, n, relation, k, within, ddof, root, at=None):
    """The truth by listing every pair of multisets (an equal value may replace a value)."""
    pairs, seen = set(), {}

    def variance(items):
        if items not in seen:
            seen[items] = exact_variance(items, ddof)
        return seen[items]

    for r, a in asked_moves(relation, k, within, n):
        if r > n or n - r + a <= ddof:
            continue
        cores = combinations_with_replacement(values, n - r)
        if at is not None:
            cores = {tuple(sorted(c)) for c in combinations(at, n - r)}
        for core in cores:
            new = combinations_with_replacement(values, a)
            ys = [variance(tuple(sorted(core + extra))) for extra in new]
            old = combinations_with_replacement(values, r)
            xs = [variance(tuple(sorted(core + extra))) for extra in old]
            if at is not None:
                xs = [variance(tuple(sorted(at)))]
            pairs.update((x, y) for x in xs for y in ys)
    return largest_gap(pairs, root) if pairs else None

"""The exact plan in pure Python, in rationals: what every engine must agree with, bit by bit."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from hashlib import md5
from typing import Any

import numpy as np

from tacit.tables.privacy_unit import PersonUnit
from tacit.tables.query.requests import (
    Bins,
    Cells,
    Distinct,
    Moments,
    People,
    Products,
    Rows,
    Total,
)


def offset(value: Any, grid: Any) -> int | None:
    """The offset of a value on a grid, by the definition: clip, round half up, clip."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and math.isinf(value):
        return grid.cells if value > 0 else 0
    number = Fraction(value) if not isinstance(value, bool) else Fraction(int(value))
    q = math.floor(number / grid.step + Fraction(1, 2))
    return min(max(q, grid.first), grid.last) - grid.first


def binned(value: Any, grid: Any) -> int | None:
    """The offset of a value within the bounds; a double compares with the doubles of the bounds."""
    if isinstance(value, float):
        inside = float(grid.lower) <= value <= float(grid.upper)
    else:
        inside = value is not None and grid.lower <= value <= grid.upper
    return offset(value, grid) if inside else None


def _person(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def spelled(person: Any) -> str:
    """A person as it enters a digest: a double by the whole numbers that it is made of."""
    if not isinstance(person, float):
        return str(person)
    sign, size = "minus " if person < 0 else "", abs(person)
    if math.isinf(size):
        return f"{sign}infinite"
    exact, block = Fraction(size), -18
    while block < 17 and exact >= Fraction(2) ** (60 * (block + 1)):
        block += 1
    scaled = exact / Fraction(2) ** (60 * block)
    rest = (scaled - math.floor(scaled)) * 2**52
    assert rest.denominator == 1
    return f"{sign}{block}.{math.floor(scaled)}.{rest}"


def kept(rows: list[dict[str, Any]], query: dict[str, Any]) -> list[tuple[Any, int, dict]]:
    """The rows that count: person, code, row."""
    out = []
    codes = {key: i for i, key in enumerate(query["keys"])}
    for number, row in enumerate(rows):
        if query["where"] is not None and not query["where"].evaluate(row):
            continue
        key = tuple(e.evaluate(row) for e in query["by"].values())
        unit = query["unit"]
        person = _person(row[unit.column]) if isinstance(unit, PersonUnit) else number
        if person is not None and key in codes:
            out.append((person, codes[key], row))
    return out


def weights(chosen: list, masses: list[int], limit: int, one: int) -> list[int]:
    """The weight of each row from the total mass of its person."""
    totals: dict[Any, int] = defaultdict(int)
    for (person, _, _), mass in zip(chosen, masses, strict=True):
        totals[person] += mass
    return [one if totals[p] <= limit else one * limit // totals[p] for p, _, _ in chosen]


def answer(rows: list[dict[str, Any]], query: dict[str, Any], request: Any) -> Any:
    """The exact answer to a request."""
    chosen, unit, size = kept(rows, query), query["unit"], len(query["keys"])
    by_row = weights(chosen, [1] * len(chosen), unit.rows, unit.one)
    if isinstance(request, People):
        return _people(chosen, unit, size, query["salt"])
    if isinstance(request, Distinct):
        return _distinct(chosen, request.value, unit, size, query["salt"])
    if isinstance(request, Rows):
        found = [0] * size
        for (_, code, _), w in zip(chosen, by_row, strict=True):
            found[code] += w
        return found
    if isinstance(request, Products):
        return _products(chosen, by_row, request, size)
    place = binned if isinstance(request, Bins) else offset
    offsets = [place(request.value.evaluate(row), request.grid) for _, _, row in chosen]
    if isinstance(request, Moments):
        table = [[0] * 4 for _ in range(size)]
        for (_, code, _), w, z in zip(chosen, by_row, offsets, strict=True):
            table[code][0] += w * (z is not None)
            table[code][1] += w * (z is None)
            table[code][2] += w * (z or 0)
            table[code][3] += w * (z or 0) ** 2 * request.squares
        return table
    if isinstance(request, Total):
        return _total(chosen, offsets, request, unit, size, grouped=bool(query["by"]))
    if isinstance(request, Bins):
        bins = [[0] * (len(request.edges) - 1) for _ in range(size)]
        for (_, code, _), w, z in zip(chosen, by_row, offsets, strict=True):
            if z is not None:
                place = sum(z >= e for e in request.edges) - 1
                bins[code][min(max(place, 0), len(request.edges) - 2)] += w
        return bins
    assert isinstance(request, Cells)
    cells: list[dict[int, int]] = [defaultdict(int) for _ in range(size)]
    for (_, code, _), w, z in zip(chosen, by_row, offsets, strict=True):
        if z is not None:
            cells[code][z >> request.shift] += w
    return [([c for c, _ in sorted(g.items())], [w for _, w in sorted(g.items())]) for g in cells]


def _distinct(chosen: list, value: Any, unit: Any, size: int, salt: str) -> list[int]:
    """Distinct values of each group, of the first pairs of each person by a salted digest."""
    own: dict[Any, set[tuple[int, Any]]] = defaultdict(set)
    for person, code, row in chosen:
        found = value.evaluate(row)
        if found is not None:
            own[person].add((code, found + 0.0 if isinstance(found, float) else found))
    pairs: set[tuple[int, Any]] = set()
    for person, seen in own.items():

        def draw(pair: tuple[int, Any], person: Any = person) -> str:
            code, found = pair
            text = str(found).lower() if isinstance(found, bool) else spelled(found)
            return md5(f"{salt}/v{spelled(person)}/v{code}/v{text}".encode()).hexdigest()

        most = unit.rows if isinstance(unit, PersonUnit) else 1
        pairs |= set(sorted(seen, key=draw)[:most])
    return [sum(code == group for code, _ in pairs) for group in range(size)]


def _products(chosen: list, by_row: list[int], request: Products, size: int) -> list[list[int]]:
    """The weight of the rows that have every value, and their weighted products of offsets."""
    table = [[0] * (1 + len(request.products)) for _ in range(size)]
    for (_, code, row), w in zip(chosen, by_row, strict=True):
        z = [offset(value.evaluate(row), grid) for value, grid in request.columns]
        if None not in z:
            for i, factors in enumerate([(), *request.products]):
                table[code][i] += w * math.prod(z[k] for k in factors)
    return table


def _people(chosen: list, unit: Any, size: int, salt: str) -> list[int]:
    """Distinct people of each group, each in the first of their groups by a salted digest."""
    own: dict[Any, set[int]] = defaultdict(set)
    for person, code, _ in chosen:
        own[person].add(code)
    found = [0] * size
    if not isinstance(unit, PersonUnit):
        for _, code, _ in chosen:
            found[code] += 1
        return found
    for person, codes in own.items():
        drawn = sorted(
            codes, key=lambda c: md5(f"{salt}/v{spelled(person)}/v{c}".encode()).hexdigest()
        )
        for code in drawn[: min(unit.groups, size)]:
            found[code] += 1
    return found


def _total(
    chosen: list, offsets: list, request: Total, unit: Any, size: int, *, grouped: bool
) -> list[int]:
    first, last = request.grid.first, request.grid.last
    points = [0 if z is None else z + first for z in offsets]
    limit = unit.rows * max(abs(first), abs(last))
    by_mass = weights(chosen, [abs(q) for q in points], limit, unit.one)
    if not isinstance(unit, PersonUnit):
        by_mass = [1] * len(points)
    elif not grouped:
        own: dict[Any, int] = defaultdict(int)
        for (person, _, _), q in zip(chosen, points, strict=True):
            own[person] += q
        return [unit.one * sum(min(max(q, -limit), limit) for q in own.values())]
    found = [0] * size
    for (_, code, _), w, q in zip(chosen, by_mass, points, strict=True):
        found[code] += w * q
    return found


def plain(value: Any) -> Any:
    """An answer as nested lists of Python integers."""
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, (list, tuple)):
        return type(value)(plain(v) for v in value)
    return int(value)

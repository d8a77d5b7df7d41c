"""Random questions to neighbouring tables of hostile values: both meet the same fate.

A table has columns of random types, with the extremes of each; its neighbour lacks one person, with
all their rows.  A question is answered on both, or refused on both while it is made, in the same
words; and the exact answers are no further apart than the unit of privacy allows.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from support.tables.extreme_values import Pair, open_rows, with_far_times
from support.tables.number_operations import of_date, of_one, of_text, of_two
from tacit.errors import UsageError
from tacit.expressions.expression import Expression, col
from tacit.expressions.grid import Grid
from tacit.expressions.timeline import Timeline
from tacit.tables.open_source import Source
from tacit.tables.plan.query import Query as Asked
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Bins, Cells, Moments, People, Rows, Total
from tacit.tables.streaming.periods import CountsOverTime, counts_of_periods

NUMBERS = ["0", "1", "-1", "0.5", "7", "1e-10", "100", "1e-300", "1e18", "1e37", "9.2e18", "-1e20"]
NUMBERS += [str((1 << 63) - 1), str(-(1 << 62)), str(1 << 124), "1e150", "2e-100", "-1e149", "3.25"]


def try_questions(engine: str, request: pytest.FixtureRequest, seed: int, questions: int) -> int:
    """Ask random questions of one pair of neighbours; return how many were answered.

    One salt draws everybody's groups on both sides: a bound holds for each salt.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "5a17")
        return _questions(engine, request, seed, questions)


def _questions(engine: str, request: pytest.FixtureRequest, seed: int, questions: int) -> int:
    draw = random.Random(seed)
    types = with_far_times(engine)
    names = draw.sample(list(types), 4)
    people = [draw.choice([None, 0, 0, 1, 2, 3]) for _ in range(14)]
    rows: list[list[Pair]] = [
        [(None if p is None else str(p), p), *(draw.choice(types[name]) for name in names)]
        for p in people
    ]
    victim = draw.choice([p for p in people if p is not None])
    lone = people.index(victim)
    fewer = [row for row, p in zip(rows, people, strict=True) if p != victim]
    one_less = rows[:lone] + rows[lone + 1 :]
    answered = 0
    for unit, other in (
        (PersonUnit("c0", rows=draw.choice([1, 2, 1 << 40])), fewer),
        (OneRowEach(), one_less),
    ):
        asked = [draw.randrange(1 << 30) for _ in range(questions)]
        with open_rows(engine, request, ["bigint", *names], rows) as source:
            ours = [fate(source, unit, rows, s) for s in asked]
        with open_rows(engine, request, ["bigint", *names], other) as source:
            theirs = [fate(source, unit, rows, s) for s in asked]
        for number, mine, yours in zip(asked, ours, theirs, strict=True):
            where = (engine, seed, names, unit, number)
            assert isinstance(mine, str) == isinstance(yours, str), (where, mine, yours)
            if isinstance(mine, str):
                assert mine == yours, where
                continue
            answered += 1
            for (some, limit), (less, _) in zip(mine, yours, strict=True):
                assert apart(some, less) <= limit, (where, some, less, limit)
    return answered


def fate(source: Source, unit: Any, rows: list[list[Pair]], seed: int) -> Any:
    """Ask one random question: its exact answers with what one person may move them, or why not."""
    draw = random.Random(seed)
    try:
        query, requests = question(source, unit, rows, draw)
        counted = periods(source, unit, draw)
        for request in requests:
            query.check(request)
    except UsageError as refused:
        return str(refused)
    found = query.run(requests)  # from here on nothing may fail
    limit = unit.rows * unit.one
    answers = [(list(counted()), unit.rows)] if counted else []
    for request in requests:
        exact = found.of(request)
        if isinstance(request, Moments):
            present, absent, low, squares = exact.T
            cells = request.grid.cells
            answers.append(([*present, *absent], limit))
            answers.append(([*low, *(present * cells - low)], limit * cells))
            answers.append((squares.tolist(), limit * cells**2))
        elif isinstance(request, Cells):
            answers.append(([dict(zip(*map(list, pair), strict=True)) for pair in exact], limit))
        elif isinstance(request, Total):
            answers.append((exact.tolist(), limit * request.grid.most))
        else:
            most = min(unit.groups, len(query.keys or ())) if isinstance(request, People) else limit
            answers.append((exact.ravel().tolist(), most))
    return answers


def periods(source: Source, unit: Any, draw: random.Random) -> Callable[[], Sequence[int]] | None:
    """Return how to count a random column by random periods, if one has times or whole numbers."""
    schema = source.schema
    named = [n for n in list(schema)[1:] if schema[n].kind in ("integer", "date")]
    if not named:
        return None
    name, last = draw.choice(named), draw.randrange(1, 9)
    if schema[name].kind == "date":
        start: Any = draw.choice(["0001-01-01", "1969-12-31", "1970-01-01", "9999-12-20"])
        every: Any = draw.choice(["1d", "52w", "99999d"])
    else:
        start = draw.choice([0, -5, -(1 << 60), 1 << 53, (1 << 60) - 99])
        every = draw.choice([1, 7, 1 << 40, 1 << 57])
    line = Timeline.of(schema, name, start, every, last)
    step = CountsOverTime(**line.to_json(), branching=2, rows=unit.rows, norm="L1")
    first = draw.randrange(last)
    return lambda: counts_of_periods(source, Asked(schema, unit), step, first, last)


def question(
    source: Source, unit: Any, rows: list[list[Pair]], draw: random.Random
) -> tuple[IntegerQuery, list[Any]]:
    """Return a random question that the schema and the seed decide."""
    schema = source.schema
    columns = {name: col(name).kind(schema) for name in list(schema)[1:]}
    numbers = [col(n) for n, k in columns.items() if k in ("integer", "float")]
    made: list[Expression] = [e for x in numbers for e in of_one(x)]
    made += [e for x in numbers for e in of_two(x, draw.choice(numbers))]
    made += [e for n, k in columns.items() if k == "text" for e in of_text(col(n))]
    made += [e for n, k in columns.items() if k == "date" for e in of_date(col(n))]
    made += [col(n) for n in columns]
    kinds = [(e, e.kind(schema)) for e in made]
    values = [e for e, k in kinds if k in ("integer", "float", "boolean")]
    tests = [e for e, k in kinds if k == "boolean"]
    if numbers:  # operations within operations
        values += [e for x in draw.sample(values, 2) for e in arithmetic(x, draw)]
    where = draw.choice([None, draw.choice(tests)]) if tests else None
    if where is not None and draw.random() < 0.5:
        where = draw.choice([where & ~draw.choice(tests), where | draw.choice(tests)])
    by, keys = {}, None
    if draw.random() < 0.5:
        place = draw.randrange(len(columns))
        name = list(columns)[place]
        by = {name: col(name)}
        keys = list(dict.fromkeys(key_of(row[place + 1][1]) for row in rows))[:4]
    requests: list[Any] = [Rows(), People()]
    for value in draw.sample(values, min(3, len(values))):
        kind = value.kind(schema)
        low, high = sorted(draw.sample(NUMBERS, 2), key=lambda n: float(n))
        bits = draw.choice([31, 20, 16])
        grid = Grid.for_bounds(low, high, bits=bits, whole=kind in ("integer", "boolean"))
        middle = sorted({0, grid.cells // 3, grid.cells})
        requests += [Moments(value, grid, squares=draw.random() < 0.5), Total(value, grid)]
        requests += [Cells(value, grid), Bins(value, grid, tuple(middle))]
    return IntegerQuery(source, unit, where=where, by=by, keys=keys), requests


def key_of(value: Any) -> Any:
    return value.date() if isinstance(value, datetime.datetime) else value


def arithmetic(x: Expression, draw: random.Random) -> list[Expression]:
    if x.operation in ("==", "!=", "<", "<=", ">", ">=", "is_in", "is_null", "&", "|", "~"):
        return []
    try:
        return of_one(draw.choice([x * 3, x + 1, -x, x / 7]))
    except UsageError:
        return []


def apart(some: list[Any], less: list[Any]) -> int:
    """The sum of the differences, of cells too."""
    total = 0
    for a, b in zip(some, less, strict=True):
        if isinstance(a, dict):
            total += sum(abs(int(a.get(k, 0)) - int(b.get(k, 0))) for k in {*a, *b})
        else:
            total += abs(int(a) - int(b))
    return total

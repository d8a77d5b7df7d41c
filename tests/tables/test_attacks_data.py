"""Attacks through the data: hostile values, orders, giants; secrets in errors and pickles."""

from __future__ import annotations

import copy
import functools
import io
import json
import logging
import math
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import special

import tacit as tc
from support.threads import at_once
from tacit import noise
from tacit.cli import run as ledger_place_run
from tacit.data import health_insurance
from tacit.errors import (
    BudgetError,
    DataSourceError,
    LedgerError,
    TacitError,
    UsageError,
    WeakGuaranteeWarning,
)
from tacit.mechanisms import private_quantile
from tacit.noise.exponential import choices_within
from tacit.tables.plan.plan import Plan
from tacit.tables.question import charge_of
from tacit.tables.release.release import PlanRunner
from tacit.tables.session import ledger_beside
from tacit.tables.statistics.counted_quantiles import SumOfCountChanges

SECRET = 48_151_623
NAME = "Zebulon Quartermaine"
HOSTILE = [math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, -0.0, None]

ASKED = {
    "n": lambda: tc.count(),
    "people": lambda: tc.count_people(),
    "total": lambda: tc.sum("x", -5, 50),
    "average": lambda: tc.mean("x", 0, 50),
    "spread": lambda: tc.std("x", 0, 50),
    "middle": lambda: tc.median("x", 0, 50),
    "most": lambda: tc.max("x", 0, 50),
    "bars": lambda: tc.histogram("x", [0, 10, 50]),
}
UNITS = {"rows": tc.one_row_each, "people": tc.unit("person", rows=4, groups=2)}


def ask_all(data, unit, keys=("a", "b", "absent"), **price):
    with tc.Session(data, unit=unit, budget=tc.epsilon(100)) as s:
        question = s.group_by("g", keys=list(keys)).agg(**{k: make() for k, make in ASKED.items()})
        return question.release(**(price or {"epsilon": 50}))


def frame(rows=200, **columns):
    place = np.arange(rows)
    made = {"x": place % 50 + 0.5, "g": np.where(place % 2, "a", "b"), "person": place // 4}
    return pd.DataFrame({**made, **columns})


def exact_of(data, unit=tc.one_row_each, keys=("a", "b"), asked=ASKED, **options):
    """The exact vectors of all parts, through the private door, in whole units."""
    with tc.Session(data, unit=unit, budget=tc.epsilon(1), **options) as s:
        question = s.group_by("g", keys=list(keys)).agg(**{k: make() for k, make in asked.items()})
        plan = Plan(question._query, tc.epsilon(1))
        exact = PlanRunner(s.source).collect(plan)
        chains = plan.chains(len(keys))
        vectors = exact.vectors(chains, plan.query.keys)
        return plan, chains, {step: v for part in vectors for step, v in part.items()}


def plain(vector):
    """A vector or a list of histograms as plain numbers, to compare bit by bit."""
    if vector and isinstance(vector[0], tuple):
        return [(list(map(int, cells)), list(map(int, counts))) for cells, counts in vector]
    assert all(type(v) is int for v in vector)
    return list(vector)


@functools.cache
def calm_answer(unit):
    return ask_all(frame(), unit).to_dict()


@pytest.mark.few(12)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("hostile", HOSTILE, ids=repr)
def test_hostile_values_raise_nothing_and_warn_of_nothing(unit, hostile):
    data = frame()
    data["x"] = data["x"].astype(object)
    data.loc[:20, "x"] = hostile
    data["x"] = data["x"].astype(float)
    calm = calm_answer(unit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", WeakGuaranteeWarning)  # of the price, which is public
        answer = ask_all(data, unit)
    found = answer.to_dict()
    assert list(found) == list(calm)
    assert {k: len(v) for k, v in found.items()} == {k: len(v) for k, v in calm.items()}
    json.dumps(found, allow_nan=False)
    for g in ("a", "b", "absent"):
        assert 0 <= answer.value("average", g) <= 50
        assert 0 <= answer.value("middle", g) <= 50


@pytest.mark.few(2)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_one_hostile_row_moves_exact_sums_by_no_more_than_one_row(unit):
    base = frame()
    before = exact_of(base, unit)
    for hostile in HOSTILE:
        more = pd.concat(
            [base, pd.DataFrame({"x": [hostile], "g": ["a"], "person": [9_999]})],
            ignore_index=True,
        ).astype({"x": float})
        assert moved(before, more, unit) <= 1


def moved(exact, right, unit):
    """The largest share of its sensitivity that any vector moves to those of another data set."""
    plan, chains, before = exact
    _, _, after = exact_of(right, unit)
    shares = []
    for part, ends in zip(plan.parts, chains, strict=True):
        for step, mechanism in ends:
            reach = plan.measurement((step, mechanism), part.on_people).links[-2].map
            allowed = reach(Fraction(1 if part.on_people else plan.query.unit.rows))
            shares.append(distance(step, before[step], after[step]) / allowed)
    return max(shares)


def distance(step, u, v):
    """How far two exact vectors are from each other, in the metric that the step claims."""
    if step.name == "quantile_costs":
        from tacit.mechanisms.private_quantile import quantile_costs

        q, worst = Fraction(step.q), Fraction(0)
        for left, right in zip(u, v, strict=True):
            costs = []
            for histogram in (left, right):
                _, lengths, cost = quantile_costs(histogram, step.cells, q, 0)
                costs.append(np.repeat(cost, lengths))
            worst += int(np.abs(costs[0] - costs[1]).max())
        return worst
    if step.name == "counted_cells":
        return SumOfCountChanges().distance(u, v)
    grid = unit_of(step)
    gaps = [abs(a - b) for a, b in zip(plain(u), plain(v), strict=True)]
    return sum(gaps) * grid


def unit_of(step):
    """The unit of a step's vector, by its definition."""
    if step.name == "moments":
        return Fraction(1, step.one * step.cells**step.degree)
    if step.name == "sum_by_group":
        return (Fraction(step.upper) - Fraction(step.lower)) / step.cells / step.one
    return Fraction(1, getattr(step, "one", 1))


@pytest.mark.few(12)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_replay_audit_no_noise_call_is_fed_with_more_than_was_declared(unit, seed):
    """One person, with any rows, comes or goes: every input of noise moves within its map."""
    source = np.random.default_rng(seed)
    base = frame(120)
    base["x"] = source.choice([*HOSTILE[:-1], 3.25, 49.9, 17.0], size=120)
    rows = 1 if unit is tc.one_row_each else int(source.integers(1, 12))
    one = pd.DataFrame(
        {
            "x": source.choice([math.inf, -1e300, 12.5, math.nan, 50.0, 0.0], size=rows),
            "g": source.choice(["a", "b", "absent"], size=rows),
            "person": 77_777,
        }
    )
    assert moved(exact_of(base, unit), pd.concat([base, one], ignore_index=True), unit) <= 1


@pytest.mark.full
def test_noise_is_asked_for_the_same_whatever_the_data(monkeypatch):
    """The calls of noise - kind, scale, size - are the same on any two data sets."""
    calls = []

    def recorded(name):
        genuine = getattr(noise, name)

        def call(scale, size=None, **more):
            if name == "exponential_choice":
                calls.append(name)
                return genuine(scale, size, **more)
            calls.append((name, Fraction(scale), size))
            return genuine(scale, size)

        return call

    def choices(groups, costs, factor, weights):
        calls.append(("choices", len(groups), factor))
        return choices_within(groups, costs, factor, weights)

    for name in ("discrete_laplace", "discrete_gaussian", "exponential_choice"):
        monkeypatch.setattr(noise, name, recorded(name))
    monkeypatch.setattr(private_quantile, "choices_within", choices)
    seen = []
    for data in (frame(), frame(1), frame(40, x=math.nan), frame(500, person=1)):
        for unit in UNITS.values():
            ask_all(data, unit)
            seen.append((unit is tc.one_row_each, tuple(calls)))
            calls.clear()
    assert len(set(seen)) == 2


@pytest.mark.few(2)
@pytest.mark.parametrize("threads", [1, 2])
def test_exact_vectors_do_not_depend_on_order_or_threads(threads):
    source = np.random.default_rng(3)
    data = frame(1000, x=source.normal(20, 30, size=1000) * 1e3 ** source.integers(-2, 2, 1000))
    for unit in UNITS.values():
        _, _, first = exact_of(data, unit, threads=1)
        shuffled = data.sample(frac=1, random_state=4).reset_index(drop=True)
        _, _, second = exact_of(shuffled, unit, threads=threads)
        for step, vector in first.items():
            if step.name == "count_people" and unit is not tc.one_row_each:
                continue  # which groups of a person count is drawn afresh
            assert plain(vector) == plain(second[step]), step


def test_sums_beyond_64_bits_stay_exact():
    data = pd.DataFrame({"x": [2**61, -(2**61), 2**62, 2**62, 5] * 40, "g": "a", "person": 1})
    asked = {"total": lambda: tc.sum("x", -(2**40), 2**62), "m": lambda: tc.var("x", -1, 2**62)}
    _, chains, exact = exact_of(data, asked=asked)
    (total, _), *_ = chains[0]
    step = (Fraction(total.upper) - Fraction(total.lower)) / total.cells
    on_grid = [max(min(v, 2**62), -(2**40)) for v in data.x.tolist()]
    rounded = sum(math.floor(Fraction(v) / step + Fraction(1, 2)) for v in on_grid)
    assert plain(exact[total])[0] == rounded
    assert rounded * step > 2**68


def test_all_rows_of_one_person_weigh_as_one_person():
    data = frame(1000, person=7)
    answer = ask_all(data, UNITS["people"])
    assert answer.value("n", "a") + answer.value("n", "b") < 4 + 20
    assert answer.value("people", "a") < 10


def test_duplicated_people_under_other_spellings_are_what_the_column_says():
    data = frame(8, person=["a", "A", "a ", "a", None, None, "b", "b"])
    with tc.Session(data, unit=tc.unit("person", rows=8), budget=tc.epsilon(1000)) as s:
        assert s.agg(p=tc.count_people()).release(epsilon=500).value("p") == 4


class TestKeys:
    """Keys that nobody listed must not tell on a single person."""

    def test_the_rate_at_which_a_lone_key_passes_is_below_delta(self):
        delta, runs = Fraction(1, 50), 4000
        from tacit.tables.plan.plan import KeysPart
        from tacit.tables.steps import Answers, table_space

        with tc.Session(frame(), unit=tc.one_row_each, budget=tc.epsilon_delta(1, "1e-3")) as s:
            plan = Plan(s.group_by("g").agg(n=tc.count())._query, tc.epsilon_delta(2, delta))
        assert isinstance(plan.keys, KeysPart)
        step, release = plan.keys.chain(("g",))
        measurement = table_space({"g": "text"}, None) >> step >> release
        passed = sum(v is not None for v in measurement(Answers({step: [1] * runs})))
        assert passed <= math.ceil(special.bdtrik(1 - 1e-7, runs, float(delta)))
        assert passed > 0  # the threshold is no higher than it must be
        assert measurement.map(1)[1] <= delta
        assert all(v is None for v in measurement(Answers({step: [0] * runs})))

    def test_keys_come_in_an_order_of_their_own(self):
        data = frame(300, g=["z", "a", "m"] * 100)
        orders = set()
        for seed in range(3):
            with tc.Session(
                data.sample(frac=1, random_state=seed),
                unit=tc.one_row_each,
                budget=tc.epsilon_delta(100, "1e-3"),
            ) as s:
                answer = s.group_by("g").agg(n=tc.count()).release(epsilon=50, delta="1e-4")
                orders.add(tuple(answer.keys))
        assert orders == {(("a",), ("m",), ("z",))}

    def test_hostile_keys_of_the_data_raise_nothing(self):
        strange = ["'; drop table x; --", '"', "\x00", "🦊", "", "%s{}", "a" * 5000, None, "NULL"]
        data = frame(900, g=strange * 100)
        with tc.Session(data, unit=tc.one_row_each, budget=tc.epsilon_delta(100, "1e-3")) as s:
            answer = s.group_by("g").agg(n=tc.count()).release(epsilon=50, delta="1e-4")
            assert {key[0] for key in answer.keys} == set(strange)
            assert all(abs(v - 100) < 5 for v in answer.column("n")["value"])
            assert answer.certificate.verify(s.ledger)

    def test_hostile_keys_of_a_caller_are_plain_values(self):
        class Text(str):
            def __eq__(self, other):
                return True

            __hash__ = str.__hash__

            def __str__(self):
                return "b"

        class Whole(int):
            def __str__(self):
                return "7"

        with tc.Session(frame(h=1), unit=tc.one_row_each, budget=tc.epsilon(1000)) as s:
            question = s.group_by("g", "h", keys=[(Text("a"), Whole(1)), (None, pd.NaT)])
            for value in question._query.keys[0]:
                assert type(value) in (str, int)
            assert question._query.keys[1] == (None, None)
            answer = question.agg(n=tc.count()).release(epsilon=500)
            assert answer.keys[0] == ("a", 1)
            assert abs(answer.value("n", "a", 1) - 100) < 3

    @pytest.mark.full
    def test_thousands_of_keys(self):
        keys = list(range(20_000))
        with tc.Session(
            frame(g=np.arange(200)), unit=tc.one_row_each, budget=tc.epsilon(1000)
        ) as s:
            question = s.group_by("g", keys=keys).agg(n=tc.count(), x=tc.mean("x", 0, 50))
            answer = question.release(epsilon=500)
            assert len(answer) == 20_000
            assert sum(answer.column("n")["value"][:200]) == pytest.approx(200, abs=40)

    def test_a_caller_who_changes_a_list_of_keys_later_changes_nothing(self):
        keys = ["a", "b"]
        with tc.Session(frame(), unit=tc.one_row_each, budget=tc.epsilon(100)) as s:
            question = s.group_by("g", keys=keys).agg(n=tc.count())
            keys += ["c", 3.5]
            assert len(question.release(epsilon=1)) == 2


class TestGrid:
    """Outputs lie on a public grid: no bits of a float tell what was added to what."""

    @pytest.mark.full
    def test_sums_are_whole_multiples_of_the_grid(self):
        for offset in (0.0, 1e-7, 1 / 3):
            data = frame(50, x=offset)
            with tc.Session(data, unit=tc.one_row_each, budget=tc.epsilon(1000)) as s:
                for i in range(20):
                    answer = s.agg(x=tc.sum("x", 0, 1)).release(epsilon=1, tag=str(i))
                    assert (Fraction(answer.value("x")) * 2**31).denominator == 1

    def test_noise_has_no_precision_event(self):
        """The event "not on the grid" has probability zero on every neighbour."""
        with tc.Session(frame(1, x=0.1), unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
            plan = Plan(s.agg(x=tc.sum("x", 0, 1))._query, tc.epsilon(1))
            measurement = plan.measurement(plan.chains(1)[0][0], people=False)
        from tacit.tables.steps import Answers

        step = plan.chains(1)[0][0][0]
        for exact in (0, 1, 214_748_365, 2**31):
            out = measurement(Answers({step: [exact] * 1000}))
            assert all((Fraction(v) * 2**31).denominator == 1 for v in out.tolist())


def planted():
    data = frame(60)
    data["x"] = data["x"].astype(float)
    data.loc[3, "x"] = float(SECRET)
    data["name"] = NAME
    return data


def told(thing):
    text = str(thing)
    return str(SECRET) in text or NAME in text or "4.8151623" in text


def walk(thing, seen, depth=0):
    """Yield all that can be reached through vars(), containers and closures of public objects."""
    if id(thing) in seen or depth > 8 or isinstance(thing, (type, type(math))):
        return
    seen.add(id(thing))
    yield thing
    inner = []
    if isinstance(thing, dict):
        inner = [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set, frozenset)):
        inner = list(thing)
    elif type(thing).__module__.startswith("tacit"):
        inner = list(getattr(thing, "__dict__", {}).values())
    for one in inner:
        yield from walk(one, seen, depth + 1)


class TestSecrets:
    """What an error, a log, a repr or a pickle carries."""

    def test_no_repr_str_or_attribute_tells(self, caplog, capsys):
        caplog.set_level(logging.DEBUG)
        for unit in UNITS.values():
            with tc.Session(planted(), unit=unit, budget=tc.epsilon_delta(10, "1e-3")) as s:
                question = s.filter(tc.col("x") > 1).agg(x=tc.max("x", 0, 10), n=tc.count())
                answer = question.release(epsilon="1/10")
                keyed = s.group_by("name").agg(n=tc.count())
                keyed.release(epsilon="1/10", delta="1e-6", tag="keys")
                collected = s._table.collector.collect(Plan(question._query, tc.epsilon(1)))
                public = [s, question, answer, answer.certificate, s.ledger, s.history(), s.columns]
                public += [question.preview(epsilon=1), str(answer), answer.to_dict(), collected]
                for thing in [*public, *(s._table.collector._queries.values())]:
                    assert not told(repr(thing))
                    assert not told(thing)
                exacts = 0
                for thing in walk([s, question, answer], set()):
                    exacts += type(thing).__name__ in ("Exact", "ExactAggregates", "Answers")
                    assert not isinstance(thing, (str, int)) or not told(thing)
                assert exacts == 0  # no exact aggregate outlives its release
        assert not told(caplog.text)
        out = capsys.readouterr()
        assert not told(out.out + out.err)

    @pytest.mark.parametrize("door", ["pickle", "copy", "deepcopy"])
    def test_what_holds_data_is_not_copied(self, door):
        doors = {"pickle": pickle.dumps, "copy": copy.copy, "deepcopy": copy.deepcopy}
        with tc.Session(planted(), unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
            question = s.agg(x=tc.mean("x", 0, 1))
            exact = s._table.collector.collect(Plan(question._query, tc.epsilon(1)))
            for thing in (s, s.ledger, exact):
                with pytest.raises((TacitError, TypeError)) as caught:
                    doors[door](thing)
                assert not told(caught.value)

    def test_errors_of_the_engine_carry_no_value(self, tmp_path):
        path = tmp_path / "people.parquet"
        planted().to_parquet(path)
        with tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
            question = s.agg(x=tc.sum("x", 0, 1))
            path.write_text(f"{SECRET},{NAME}" * 50, encoding="utf-8")
            with pytest.raises(DataSourceError) as caught:
                question.release(epsilon=1)
            assert not any(map(told, everything_of(caught.value)))
            assert s.spent.is_nothing

    def test_a_broken_file_is_refused_without_its_text(self, tmp_path):
        for name, text in {
            "empty.csv": "",
            "header.csv": "",
            "broken.parquet": f"{SECRET},{NAME}",
            "binary.csv": "\x00\x01" * 50,
        }.items():
            path = tmp_path / name
            path.write_text(text, encoding="utf-8")
            with pytest.raises(UsageError) as caught:
                tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(1))
            assert not any(map(told, everything_of(caught.value)))
        with pytest.raises(DataSourceError, match="file not found"):
            tc.Session(tmp_path / "none.csv", unit=tc.one_row_each, budget=tc.epsilon(1))

    def test_a_failure_in_the_release_tells_nothing_in_its_words(self, monkeypatch):
        import tacit.tables.release.release as room

        def fail(*_):
            raise RuntimeError("no noise today")

        with tc.Session(planted(), unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
            monkeypatch.setattr(room, "Answers", fail)
            with pytest.raises(RuntimeError) as caught:
                s.agg(x=tc.sum("x", 0, 10**9)).release(epsilon=1)
            assert not any(map(told, everything_of(caught.value)))


def everything_of(error):
    """The words of an error, of its causes and contexts, and its traceback as printed."""
    stream = io.StringIO()
    traceback.print_exception(error, file=stream)
    yield stream.getvalue()
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield repr(error)
        yield from map(repr, error.args)
        yield from map(repr, getattr(error, "__notes__", []))
        yield repr(vars(error))
        error = error.__cause__ or error.__context__


class TestCallers:
    """What a caller can hand in, or change afterwards."""

    @pytest.mark.full
    def test_columns_named_like_sql(self):
        strange = ['x"; drop table "y', "select", "a b", "count(*)", "'", "group by", "é"]
        data = pd.DataFrame({name: np.arange(50) for name in strange})
        data["person"] = np.arange(50) // 2
        for unit in UNITS.values():
            with tc.Session(data, unit=unit, budget=tc.epsilon(10_000)) as s:
                for name in strange:
                    answer = s.filter(tc.col(name) >= 0).agg(x=tc.mean(name, 0, 49), n=tc.count())
                    released = answer.release(epsilon=500)
                    assert released.value("x") == pytest.approx(24.5, abs=0.5)
                    assert released.certificate.verify(s.ledger)
                grouped = s.group_by(strange[0], keys=[1, 2]).agg(**{strange[0] + "'": tc.count()})
                assert len(grouped.release(epsilon=500)) == 2

    def test_budgets_as_floats_are_exact(self):
        with tc.Session(frame(), unit=tc.one_row_each, budget=tc.epsilon(0.3)) as s:
            s.agg(n=tc.count()).release(epsilon=0.1)
            s.agg(n=tc.count()).release(epsilon=0.2, tag="2")
            assert s.remaining.is_nothing or s.remaining.amount < Fraction(1, 2**40)
            assert s.spent.amount <= Fraction(0.3)

    def test_a_plan_that_is_changed_is_another_object(self):
        with tc.Session(frame(), unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
            question = s.agg(n=tc.count())
            plan = Plan(question._query, tc.epsilon(1))
            for target, name in ((plan, "noise"), (plan, "request"), (question._query, "unit")):
                with pytest.raises(AttributeError):
                    setattr(target, name, None)
            with pytest.raises((AttributeError, TypeError)):
                tc.epsilon(1).epsilon = Fraction(100)
            answer = question.release(epsilon=1)
            answer.certificate.body["spent"] = {}
            answer.to_dict()["n"][0] = 10**9
            again = question.release(epsilon=1)
            assert again.certificate.verify(s.ledger)
            assert again.value("n") < 10**8

    def test_a_changed_column_of_an_answer_does_not_reach_the_ledger(self):
        with tc.Session(frame(), unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
            answer = s.agg(n=tc.count()).release(epsilon=1)
            before = answer.value("n")
            answer.column("n")["value"][0] = 10**9
            answer.keys.append(("forged",))
            answer.certificate.body["answer"]["columns"][0]["value"][0] = 10**9
            again = s.agg(n=tc.count()).release(epsilon=1)
            assert again.value("n") == before
            assert again.keys == [()]
            assert again.certificate.verify(s.ledger)

    def test_a_data_frame_changed_after_opening_is_still_one_person_a_row(self):
        data = frame()
        with tc.Session(data, unit=tc.one_row_each, budget=tc.epsilon(100)) as s:
            s.agg(n=tc.count()).release(epsilon=1)
            data.loc[0, "x"] = math.inf
            s.agg(x=tc.mean("x", 0, 50)).release(epsilon=1)

    def test_no_seed_no_unit_and_no_kind_can_be_smuggled_in(self):
        with tc.Session(frame(), unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
            with pytest.raises(TypeError):
                s.agg(n=tc.count()).release(epsilon=1, seed=3)
            with pytest.raises(UsageError):
                tc.Session(frame(), unit=tc.unit("person", rows=0), budget=tc.epsilon(1))
            with pytest.raises(UsageError):
                tc.Session(frame(), unit=tc.unit("person", rows=2.5), budget=tc.epsilon(1))


def test_the_files_of_a_release_hold_no_row(tmp_path):
    path = tmp_path / "people.csv"
    planted().to_csv(path, index=False)
    ledger = tmp_path / "people.ledger"
    with tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=ledger) as s:
        answer = s.agg(x=tc.median("x", 0, 10)).release(epsilon=1)
        answer.certificate.save(tmp_path / "c.json")
    for file in Path(tmp_path).iterdir():
        if file != path:
            assert NAME.encode() not in file.read_bytes()
            assert str(SECRET).encode() not in file.read_bytes()


def test_keys_of_the_data_that_cannot_be_written_are_missing():
    """Dates beyond the years 1..9999 and giant numbers: none merges with, or is, another key."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(
        "create table t as select case i % 5 when 0 then date 'infinity' when 1 then "
        "date '9999-12-31' when 2 then date '0044-03-15 (BC)' when 3 then date '-infinity' "
        "else date '2020-01-01' end as d, case i % 4 when 0 then "
        "170141183460469231731687303715884105727::hugeint when 1 then (-1)::hugeint * "
        "170141183460469231731687303715884105727::hugeint else i % 4 end as h, i % 2 as x "
        "from range(2000) r(i)"
    )
    with tc.Session(
        connection, unit=tc.one_row_each, table="t", budget=tc.epsilon_delta(1000, "1e-3")
    ) as s:
        dates = s.group_by("d").agg(n=tc.count()).release(epsilon=100, delta="1e-4")
        assert dates.keys == [("2020-01-01",), ("9999-12-31",), (None,)]
        assert dates.column("n")["value"] == pytest.approx([400, 400, 1200], abs=3)
        giants = s.group_by("h").agg(n=tc.count()).release(epsilon=100, delta="1e-4")
        assert giants.keys == [(2,), (3,), (None,)]
        assert giants.column("n")["value"] == pytest.approx([500, 500, 1000], abs=3)


# Attacks on the budget: twice, two at once, killed between charge and answer, a copied ledger.


WORKER = Path(__file__).with_name("release_worker.py")


@pytest.fixture(name="files")
def _files(tmp_path):
    source, ledger = tmp_path / "people.csv", tmp_path / "people.ledger"
    pd.DataFrame({"x": range(100)}).to_csv(source, index=False)
    tc.Session(source, unit=tc.one_row_each, budget=tc.epsilon("1/2"), ledger=ledger).close()
    return source, ledger


def run(files, way="live", tag="a"):
    return subprocess.Popen(
        [sys.executable, str(WORKER), *map(str, files), way, tag],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def shown_value(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.strip()


def reopened(files):
    return tc.Session(files[0], unit=tc.one_row_each, ledger=files[1])


@pytest.mark.full
@pytest.mark.parametrize("way", ["die", "die before noise"])
def test_a_killed_release_is_spent_and_never_told(files, way):
    process = run(files, way)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert out == ""
    with reopened(files) as s:
        assert s.spent == tc.epsilon("1/10")
        (entry,) = s.history()
        assert entry.state == "open"
        assert entry.answer is None
        # asking again goes on under its charge
        assert charge_of(s.agg(n=tc.count()), epsilon="1/10", tag="a").look().is_charged
        assert not s.agg(n=tc.count()).is_answered(epsilon="1/10", tag="a")
        answer = s.agg(n=tc.count()).release(epsilon="1/10", tag="a")
        assert not answer.replayed
        assert s.spent == tc.epsilon("1/10")
        assert answer.certificate.verify(s.ledger)
        assert s.agg(n=tc.count()).release(epsilon="1/10", tag="a").replayed


@pytest.mark.full
def test_processes_at_once_never_overdraw_nor_tell_two_answers(files):
    processes = [run(files, tag=tag) for tag in ("a", "a", "b", "c")]
    told = [shown_value(p) for p in processes]
    assert told[0].split()[0] == told[1].split()[0]
    with reopened(files) as s:
        assert s.spent.amount <= s.budget.amount
        answered = {e.question["tag"]: e.answer for e in s.history() if e.answer is not None}
        assert set(answered) == {"a", "b", "c"}
        answers = {s.agg(n=tc.count()).release(epsilon="1/10", tag=t).value("n") for t in "abc"}
        assert {int(line.split()[0]) for line in told} == answers


def test_threads_at_once_pay_once_for_one_question_and_never_overdraw():
    data = pd.DataFrame({"x": np.arange(1000)})
    with tc.Session(data, unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
        found, refused = [], []
        gate = threading.Barrier(12)

        def ask(tag):
            gate.wait()
            try:
                found.append((tag, s.agg(n=tc.count()).release(epsilon="1/4", tag=tag).value("n")))
            except BudgetError:
                refused.append(tag)

        at_once(ask, (str(i // 2) for i in range(12)))
        assert len(s.history()) == 4
        assert s.remaining.is_nothing
        assert len(dict(found)) == 4
        assert len(set(found)) == 4  # both askers of a question have the same answer
        assert len(found) + len(refused) == 12


def test_the_same_release_twice_is_one_release(files):
    with reopened(files) as s:
        first = s.agg(n=tc.count()).release(epsilon="1/2")
    with reopened(files) as s:
        again = s.agg(n=tc.count()).release(epsilon=0.5)
        assert again.replayed
        assert again.to_dict() == first.to_dict()
        assert again.certificate == first.certificate
        with pytest.raises(BudgetError):
            s.agg(n=tc.count()).release(epsilon="1/2", tag="again")


def test_a_copied_ledger_is_refused(files, tmp_path):
    copy = tmp_path / "copy.ledger"
    shutil.copy(files[1], copy)
    with pytest.raises(LedgerError, match="copied or moved"):
        reopened((files[0], copy))


def test_a_ledger_put_back_is_refused_and_the_certificate_tells(files, tmp_path):
    old = files[1].read_bytes()
    with reopened(files) as s:
        certificate = s.agg(n=tc.count()).release(epsilon="1/4").certificate
    for beside in files[1].parent.glob("people.ledger-*"):
        beside.unlink()
    files[1].write_bytes(old)
    with pytest.raises(LedgerError, match=r"shows less than was already spent|older|copied"):
        reopened(files).agg(n=tc.count()).release(epsilon="1/4")
    from tacit.accounting import restore_ledger

    with restore_ledger(files[1]) as ledger:
        assert "not in this ledger" in str(certificate.verify(ledger))


def test_a_ledger_in_a_folder_that_cannot_be_written_is_refused(files):
    folder = files[1].parent / "none" / "deeper"
    with pytest.raises(LedgerError):
        tc.Session(files[0], unit=tc.one_row_each, budget=tc.epsilon(1), ledger=folder / "a")


def test_an_answer_that_fails_is_paid_once_and_goes_on(monkeypatch):
    import tacit.tables.question as room

    data = pd.DataFrame({"x": np.arange(1000)})
    with tc.Session(data, unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
        with monkeypatch.context() as patched:
            patched.setattr(room, "release_answer", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError) as caught:
                s.agg(n=tc.count()).release(epsilon="1/2")
        assert (
            "epsilon 0.5 was charged for this release, and it stays open"
            in (caught.value.__notes__[0])
        )
        assert s.remaining == tc.epsilon("1/2")
        s.agg(n=tc.count()).release(epsilon="1/2")
        assert s.remaining == tc.epsilon("1/2")


# A file has its ledger beside it; what has no place says that its budget is in memory.


FORGETS = "in memory: nothing stops another session from spending it again"


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("person,cost\n1,20\n2,35\n")
    return path


def opened(source, **given):
    return tc.Session(source, **{"unit": tc.one_row_each, "budget": tc.epsilon(1)} | given)


def test_a_file_keeps_its_budget_beside_it(visits):
    with opened(visits) as session:
        first = session.agg(n=tc.count()).release(epsilon="3/4")
        assert f"left, in the ledger '{visits.with_suffix('.ledger')}'" in repr(session)
    with opened(visits, budget=None) as session:
        again = session.agg(n=tc.count()).release(epsilon="3/4")
        assert again.replayed
        assert again.to_dict() == first.to_dict()
        with pytest.raises(BudgetError):
            session.agg(cost=tc.sum("cost", 0, 99)).release(epsilon="1/2")


def test_the_place_is_that_of_the_command_line(visits, monkeypatch):
    monkeypatch.chdir(visits.parent)
    words = "release visits.csv --one-row-each --count --epsilon 0.75 --budget-epsilon 1"
    assert ledger_place_run(words.split()) == 0
    with opened("visits.csv") as session:
        assert session.remaining == tc.epsilon("1/4")
        assert session.agg(count=tc.count()).release(epsilon="3/4").replayed


def test_in_memory_asks_for_no_file(visits):
    with opened(visits, ledger=tc.in_memory) as session:
        session.agg(n=tc.count()).release(epsilon=1)
        assert FORGETS in repr(session)
        assert FORGETS in str(session.agg(n=tc.count()).preview(epsilon=1))
    assert [f.name for f in visits.parent.iterdir()] == ["visits.csv"]


def test_another_unit_or_budget_than_the_ledger_counts_in_is_refused(visits):
    opened(visits).close()
    for other in ({"budget": tc.epsilon(2)}, {"unit": tc.unit("person", rows=1)}):
        with pytest.raises(LedgerError, match=r"default ledger of visits\.csv.*tc\.in_memory"):
            opened(visits, **other)


def test_a_place_that_cannot_be_written_names_the_remedies(visits):
    visits.with_suffix(".ledger").mkdir()
    with pytest.raises(LedgerError, match=r"ledger='\.\.\.', or .* ledger=tc\.in_memory"):
        opened(visits)
    opened(visits, ledger=tc.in_memory).close()


@pytest.mark.skipif(os.geteuid() == 0, reason="this user may write everywhere")
def test_a_folder_without_the_right_to_write_names_the_remedies(visits):
    visits.parent.chmod(0o500)
    try:
        with pytest.raises(LedgerError, match=r"tc\.in_memory"):
            opened(visits)
    finally:
        visits.parent.chmod(0o700)


def test_what_has_no_place_is_in_memory_and_says_so(visits, monkeypatch):
    monkeypatch.chdir(visits.parent)
    pyarrow = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    for source in (pyarrow.table({"cost": [1]}), "vis*.csv", health_insurance()):
        with opened(source) as session:
            assert FORGETS in repr(session)
        with pytest.raises(UsageError, match="how much may be spent"):
            opened(source, budget=None)
    assert [f.name for f in visits.parent.iterdir()] == ["visits.csv"]
    assert not health_insurance().with_suffix(".ledger").exists()


def test_places(visits, tmp_path):
    assert ledger_beside(str(tmp_path)) == tmp_path.with_name(f"{tmp_path.name}.ledger")
    assert ledger_beside(visits, "main.t") == visits.with_name("visits.main.t.ledger")
    for source in ("", "s3://b/visits.csv", "postgresql://h/d", visits.with_name("gone.csv"), 5):
        assert ledger_beside(source) is None


def test_a_pattern_of_files_does_not_see_their_ledger(visits):
    opened(visits).close()
    with opened(visits.parent / "visits*") as session:
        assert list(session.columns) == ["person", "cost"]


def test_the_first_snippet_of_the_readme_runs_twice(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    page = (request.config.rootpath / "README.md").read_text(encoding="utf-8")
    snippet = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    runs = [{}, {}]
    for names in runs:
        exec(snippet, names)
    first, again = (names["answer"] for names in runs)
    assert (first.replayed, again.replayed) == (False, True)
    assert first.to_dict() == again.to_dict()
    assert (tmp_path / "visits.ledger").exists()
    assert again.certificate.body["ledger"]["sequence"] == 2
    for names in runs:
        names["session"].close()

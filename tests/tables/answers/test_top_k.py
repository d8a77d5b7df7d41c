"""The most frequent categories: what they lose, who is shown, and intervals that hold together."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tables.answers.released import enough
from tacit.errors import UsageError
from tacit.tables.answers.base import LEVEL, Noise
from tacit.tables.answers.top_k import TopKPart
from tacit.tables.plan.plan import Plan
from tacit.tables.release.release import Collector
from tacit.tables.steps import Answers, BoundContributions, table_space

RUNS = 400
COUNTS = [500, 480, 60, 55, 50, 5, 0, 0]
PART = TopKPart("x", 3, tuple("abcdefgh"))


def counts_of(frame, unit, keys, by=()):
    """The exact counts of a question, through the private door."""
    with tc.Session(frame, unit=unit, budget=tc.epsilon(1), name="t") as session:
        question = session.agg(top=tc.top_k("x", 1, keys))
        plan = Plan(question._query, tc.epsilon(1))
        chains = plan.chains(1)
        (found,) = Collector(session.source).collect(plan).vectors(chains, [()])
        (vector,) = found.values()
        return vector, plan


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_whole_answer_spends_what_was_granted_for_every_k(kind, k):
    spent = Noise(kind, Fraction(1, 3), 2, 1 << 20)
    ((step, mechanism),) = TopKPart("x", k, PART.categories).chains(1, (), spent)
    chain = table_space({"x": "text"}, "p") >> BoundContributions(2, 2) >> step >> mechanism
    assert Fraction(333_333, 10**6) < chain.map(1) <= Fraction(1, 3)


@pytest.mark.full
def test_a_row_moves_the_counts_by_one_in_all_and_other_values_by_none():
    keys = ["a", "b", None]
    for values in itertools.product(["a", "b", "z", None], repeat=2):
        frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
        both, _ = counts_of(frame, tc.one_row_each, keys)
        assert both == [values.count(key) for key in keys]
        less, _ = counts_of(frame.iloc[:1], tc.one_row_each, keys)
        assert 0 <= sum(abs(u - v) for u, v in zip(both, less, strict=True)) <= 1


def test_a_person_has_at_most_the_weight_of_their_rows():
    frame = pd.DataFrame({"p": [1] * 9 + [2], "x": ["a"] * 6 + ["b"] * 3 + ["c"]})
    unit = tc.unit("p", rows=2)
    counts, _ = counts_of(frame, unit, ["a", "b", "c"])
    assert sum(counts[:2]) <= 2 * unit.one
    assert counts[2] == unit.one


@pytest.mark.parametrize(
    ("keys", "values"),
    [
        ([3, 1, 2], [1, 2, 2, 9]),
        ([True, False], [True, False, False]),
        (["2024-01-01", "2024-01-02"], pd.to_datetime(["2024-01-01", "2024-03-01"])),
        (list(range(75)), [0, 19, 20, 21, 40, 74, 75, -1]),
    ],
    ids=["integers", "booleans", "dates", "many"],
)
def test_categories_of_every_kind_are_counted(keys, values):
    frame = pd.DataFrame({"x": values})
    counts, _ = counts_of(frame, tc.one_row_each, keys)
    seen = [str(v)[:10] if isinstance(v, pd.Timestamp) else v for v in list(values)]
    assert counts == [seen.count(key) for key in keys]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_intervals_of_all_that_is_shown_hold_together(kind):
    spent = Noise(kind, Fraction(1, 4), 1)
    ((step, mechanism),) = PART.chains(RUNS, (), spent)
    chain = table_space({"x": "text"}, None) >> BoundContributions(1, 1) >> step >> mechanism
    noisy = chain(Answers({step: COUNTS * RUNS}))
    found = PART.estimates([noisy], spent)["top_k"]
    shown = ~np.isnan(found.value)
    assert (shown.sum(axis=1) == 3).all()
    exact = np.array(COUNTS)[None, :]
    held = ((found.lower <= exact) & (exact <= found.upper)) | ~shown
    assert held.all(axis=1).sum() >= enough(RUNS)
    far = 2 * PART.half_width("top_k", spent, 0, LEVEL)
    most_left_out = np.where(shown, -1, exact).max(axis=1)
    least_shown = np.where(shown, exact, 10**9).min(axis=1)
    assert (most_left_out - least_shown <= far).sum() >= enough(RUNS)
    assert shown[:, :2].all()  # far ahead of the others


def test_a_release_by_group_replays_and_verifies():
    frame = pd.DataFrame(
        {"g": ["u", "v"] * 300, "x": (["a"] * 200 + ["b"] * 100 + ["c"] * 300), "p": range(600)}
    )
    with tc.Session(frame, unit=tc.unit("p", rows=1), budget=tc.epsilon(20), name="t") as session:
        question = session.group_by("g", keys=["u", "v"]).agg(
            top=tc.top_k("x", 2, ["a", "b", "c"]), n=tc.count_people()
        )
        expected = question.preview(epsilon=8)
        assert expected.units["top"] == "standard error"
        answer = question.release(epsilon=8)
        assert question.release(epsilon=8).replayed
        least = question.epsilon_for({"top": 9})
        seen = question.preview(least, confidence="0.95").intervals
        assert seen["top"][0] <= 9
    column = answer.column("top")
    assert column["bins"] == ["a", "b", "c"]
    assert [[value is None for value in row] for row in column["value"]] == [
        [False, True, False]
    ] * 2
    assert answer.to_dict()["top c"][0] == pytest.approx(150, abs=15)
    assert answer.certificate.verify()
    assert "the 2 most frequent of 3 categories of x" in answer.certificate.to_html()
    assert str(answer)
    forged = dict(answer.certificate.body)
    first, *rest = forged["answer"]["columns"]
    wrong = [[row[0], 1, row[2]] for row in first["value"]]
    forged["answer"] = {**forged["answer"], "columns": [{**first, "value": wrong}, *rest]}
    assert not tc.Certificate(forged).verify()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((3, 1, ["a", "b"]), "named by text"),
        (("x", 0, ["a", "b"]), "k"),
        (("x", 3, ["a", "b"]), "k=3 of 2"),
        (("x", 1, ["a"]), "k=1 of 1"),
        (("x", 1, "ab"), "list of categories"),
        (("x", 1, ["a", "a"]), "given twice"),
        (("x", 1, [0.5, 1]), "cut numbers with a fraction"),
        (("x", 1, range(401)), "2 to 400"),
    ],
)
def test_what_cannot_be_asked(given, message):
    with pytest.raises(UsageError, match=message):
        tc.top_k(*given)


def test_without_categories_both_remedies_are_told():
    frame = pd.DataFrame({"x": ["a"]})
    options = {"unit": tc.one_row_each, "budget": tc.epsilon(1), "name": "t"}
    with tc.Session(frame, **options) as session:
        question = session.agg(top=tc.top_k("x", 1))
        with pytest.raises(UsageError, match="declare keys for the column in a data set"):
            question.preview(epsilon=1)


@pytest.mark.parametrize("keys", [["a", "b"], [1, "a"], [1, True], ["2024-01-31", "2024-02-01"]])
def test_categories_of_another_kind_are_refused_as_soon_as_they_are_asked(keys):
    frame = pd.DataFrame({"x": [1, 2]})
    options = {"unit": tc.one_row_each, "budget": tc.epsilon(1), "name": "t"}
    with tc.Session(frame, **options) as session:
        with pytest.raises(
            UsageError, match=r"'x' holds integer, and the category .* is of another kind"
        ):
            session.agg(top=tc.top_k("x", 1, keys))
        assert session.agg(top=tc.top_k("x", 1, [1, None])).preview(epsilon=1)

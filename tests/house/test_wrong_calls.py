"""Wrong calls of newcomers, and their error messages.

No call of these ends in an error of Python alone: each is told what was wrong and what to write.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import tacit as tc
from support.public_face import callables, face
from tacit import framework as fw
from tacit.data import health_insurance

pd = pytest.importorskip("pandas")


def session() -> tc.Session:
    return tc.Session(health_insurance(), unit=tc.unit("person", rows=5), budget=tc.epsilon(1))


TWO = pd.DataFrame({"age": [31, 45], "sex": ["f", "m"]})
S = session
ONE = tc.one_row_each
HALF = tc.epsilon("1/2")
FIVE = tc.Interval(0, 1, size=5)


def q() -> Any:
    return session().agg(n=tc.count())


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    # grouping
    "group_by of an expression": (lambda: S().group_by(tc.col("site")), "group by columns, named"),
    "group_by with key=": (lambda: S().group_by("site", key=[1]), "did you mean 'keys'"),
    "group_by of a slip": (lambda: S().group_by("sight"), "did you mean 'site'"),
    "keys that are a number": (lambda: S().group_by("site", keys=5), "keys are a list"),
    "keys that are a text": (lambda: S().group_by("site", keys="abc"), "keys are a list"),
    "keys of another kind": (
        lambda: S().group_by("site", keys=["a"]),
        "'site' holds whole numbers, and the key 'a' does not fit",
    ),
    "keys of numbers as text": (
        lambda: S().group_by("site", "year", keys=[(1, "2")]),
        "'year' holds whole numbers, and the key '2' does not fit: write it without quotes, 2",
    ),
    "keys of text as numbers": (
        lambda: S().group_by("health", keys=[5]),
        "the key 5 does not fit: write it as text, '5'",
    ),
    # statistics
    "a list of statistics": (lambda: S().agg([tc.count()]), "must be an aggregate"),
    "a mapping of statistics": (lambda: S().agg({"n": tc.count()}), "must be an aggregate"),
    "a statistic by its name": (lambda: S().agg("count"), "must be an aggregate"),
    "count without brackets": (lambda: S().agg(n=tc.count), r"call it: tc.count\("),
    "mean without brackets": (lambda: S().agg(age=tc.mean), r"call it: tc.mean\("),
    "one label twice": (lambda: S().agg(tc.count(), tc.count()), "a label of its own"),
    "bounds as a pair": (lambda: tc.mean("age", (0, 80)), r"tc.mean\('age', 0, 80\)"),
    "bounds as a list": (lambda: tc.median("age", [0, 80]), r"tc.median\('age', 0, 80\)"),
    "bounds by that name": (
        lambda: tc.mean("age", bounds=(0, 80)),
        r"signature is mean\(column=None, l",
    ),
    "a bound with a slip": (lambda: tc.mean("age", lower=0, uper=80), "did you mean 'upper'"),
    "bounds that fall": (lambda: tc.mean("age", 80, 0), "must be in order"),
    "bounds of text": (lambda: tc.mean("age", "a", "b"), "must be a number"),
    "no bounds": (lambda: S().agg(m=tc.mean("age")), r"such as tc.mean\('age', 0, 100\)"),
    "no column": (lambda: tc.mean(0, 80), "named by text"),
    "a column as an expression": (lambda: tc.mean(tc.col("age"), 0, 80), "named by text"),
    "a column with a slip": (lambda: S().agg(m=tc.mean("agee", 0, 80)), "did you mean 'age'"),
    "count of a column": (lambda: tc.count("age"), "too many positional arguments"),
    "a number of bins": (lambda: tc.histogram("age", 10), "increasing edges"),
    "bins of a histogram": (lambda: tc.histogram("age", bins=10), r"histogram\(.*edges"),
    "a method with a slip": (lambda: tc.median("a", 0, 9, method="smoth"), "did you mean 'smooth'"),
    "scores of a column": (lambda: fw.quantile_scores("age", 0.5, 0, 80), "is QuantileScores"),
    "scores of a column from 0 to 100": (
        lambda: fw.quantile_scores("age", 50, 0, 80),
        r"ask tc.percentile\('age'",
    ),
    "scores from 0 to 100": (lambda: fw.quantile_scores(90, [0, 5]), "did you mean 0.9"),
    "the quantile of a chain": (lambda: tc.quantile("1/2", [0, 5]), "framework.quantile_scores"),
    "several quantiles": (lambda: tc.quantile("age", [0.25, 0.5], 0, 80), "tc.percentiles"),
    "a quantile from 0 to 100": (lambda: tc.quantile("age", 90, 0, 80), "write '0.9'"),
    "a percentile from 0 to 1": (lambda: tc.percentile("age", 0.9, 0, 80), "write 90"),
    "a grid of a variance": (lambda: tc.variance(grid=1), "argument 'grid'"),
    # what newcomers tried
    "a number of bins to cut": (
        lambda: tc.col("age").cut(10),
        r"the edges of the bins.*cut\(\[0, 18",
    ),
    "conditions without brackets": (
        lambda: tc.col("age") > 5 & tc.col("age"),
        "put each condition in brackets",
    ),
    "conditions without brackets, or": (
        lambda: tc.col("age") < 5 | tc.col("age"),
        "meet a int: put each condition in brackets",
    ),
    "a ledger of True": (
        lambda: tc.Session(TWO, ONE, HALF, ledger=True),
        "a ledger is the path of a file.*not a bool",
    ),
    "a certificate's path for verify": (
        lambda: tc.audit.verify("visits.json"),
        r"tc.Certificate.load\('visits.json'\).verify",
    ),
    "a page of a certificate by path": (
        lambda: q().release(epsilon=1).certificate.to_html("visits.html"),
        r"certificate.save\('visits.html'\) writes it",
    ),
    "a figure by path": (
        lambda: q().release(epsilon=1).plot("x.png"),
        r"answer.plot\(\).savefig\('answer.png'\) writes it",
    ),
    "an answer saved": (lambda: q().release(epsilon=1).savefig("x"), r"plot\(\).savefig"),
    "an answer as JSON": (lambda: q().release(epsilon=1).to_json(), r"to_dict\(\)"),
    "read_csv": (lambda: tc.read_csv("a.csv"), r"tc.Session\(path, unit="),
    "avg": (lambda: tc.avg("age", 0, 80), r"tc.mean\('age', 0, 100\)"),
    "quantiles": (lambda: tc.quantiles("age", [25]), "tc.percentile"),
    "nunique": (lambda: tc.nunique("age"), "tc.count_distinct"),
    "a unit that is called": (
        lambda: tc.one_row_each(),
        "not a function: write unit=tc.one_row_each",
    ),
    # release
    "no loss": (lambda: q().release(), "say what this release may spend"),
    "a loss of nothing": (lambda: q().release(epsilon=0), "above zero"),
    "a loss in words": (lambda: q().release(epsilon="lots"), "must be a number"),
    "a loss that is a budget": (lambda: q().release(tc.epsilon(1)), "must be a number"),
    "epsilons": (lambda: q().release(epsilons=1), "did you mean 'epsilon'"),
    "an answer as a dictionary": (
        lambda: S().group_by("site", keys=[1]).agg(n=tc.count()).release(epsilon=1)["n"],
        r"answer.value\('n', site\) with a value of each",
    ),
    "a release of a session": (lambda: S().release(epsilon=1), "say first what is asked"),
    # filters and columns
    "a filter in words": (lambda: S().filter("age > 18"), r'tc.col\("age"\) >= 18'),
    "a filter for None": (lambda: S().filter(tc.col("age") == None), "is_null"),  # noqa: E711
    "a filter with =": (lambda: S().filter(age=18), r"signature is filter\(\*conditions\)"),
    "a filter by pandas": (lambda: S().filter(TWO["age"] > 1), r'tc.col\("age"\) >= 18'),
    "a filter with and": (
        lambda: S().filter(tc.col("age") > 1 and tc.col("age") < 9),
        "join conditions with &",
    ),
    "is_in of one value": (lambda: tc.col("age").is_in(5), r"is_in\(\[5\]\)"),
    "isin": (lambda: tc.col("age").isin([5]), "it is called is_in"),
    "a column of a number": (lambda: S().with_columns(old=5), "a column is an expression"),
    "a column by name": (
        lambda: S().with_columns("old", tc.col("age")),
        r"signature is with_columns\(",
    ),
    # names of other libraries
    "groupby": (lambda: S().groupby("site"), "it is called group_by"),
    "where": (lambda: S().where(tc.col("age") > 1), "keep rows with filter"),
    "a mean of a session": (lambda: S().mean("age"), "ask for statistics in agg"),
    "a histogram of a session": (lambda: S().histogram("age"), "ask for statistics in agg"),
    "a column in brackets": (lambda: S()["age"], r'agg\(age=tc.mean\("age", 0, 100\)\)'),
    "a column of a question": (lambda: S().filter()["age"], r'tc.col\("age"\)'),
    "a loop over rows": (lambda: list(S()), "no column can be read out"),
    "head": (lambda: S().head(), "no row can be seen"),
    # sources
    "a Series": (lambda: tc.Session(TWO["age"], ONE, HALF), "a Series is one column"),
    "a frame of nothing": (lambda: tc.Session(pd.DataFrame(), ONE, HALF), "has no columns"),
    "columns without names": (
        lambda: tc.Session(pd.DataFrame([[1, 2]]), ONE, HALF),
        "is named by int, not by text",
    ),
    "complex numbers": (
        lambda: tc.Session(pd.DataFrame({"z": [1j]}), ONE, HALF).filter(tc.col("z") > 1),
        "no place in a private statistic",
    ),
    "a list": (lambda: tc.Session([1, 2], ONE, HALF), "is not a table"),
    "a mapping": (lambda: tc.Session({"age": 1}, ONE, HALF), "'age' of the dict is a int"),
    "a file that is not there": (lambda: tc.Session("none.csv", ONE, HALF), "file not found"),
    "the unit last": (lambda: tc.Session(TWO, HALF, ONE), "say whom an answer protects"),
    "a budget of a number": (lambda: tc.Session(TWO, ONE, 1), "a budget is tc.epsilon"),
    "no budget": (lambda: tc.Session(TWO, ONE), "say how much may be spent"),
    "an option with a slip": (
        lambda: tc.Session(TWO, ONE, HALF, ledgr="x"),
        "argument 'ledgr'; did you mean 'ledger'",
    ),
    "row=5": (lambda: tc.unit("person", row=5), "did you mean 'rows'"),
    "no person": (lambda: tc.unit(rows=5), "missing a required argument: 'column'"),
    "a budget of nothing": (lambda: tc.epsilon(), "missing a required argument: 'value'"),
    "no delta": (lambda: tc.epsilon_delta(1), "missing a required argument: 'delta'"),
    # sensitivities
    "a statistic with a slip": (lambda: tc.sensitivity("men", over=FIVE), "did you mean 'mean'"),
    "a list as a domain": (lambda: tc.sensitivity("mean", over=[1, 2]), "over must be Records"),
    "relations": (lambda: tc.sensitivity("mean", FIVE, relations="add"), "did you mean 'relation'"),
    "an interval of a pair": (
        lambda: tc.Interval((0, 1)),
        r"missing a required argument: 'upper'.*Interval\(lower, upper",
    ),
    "eps": (
        lambda: tc.propose_test_release("median", (0, 9), bound=1, eps=1, delta=1e-6),
        "did you mean 'epsilon'",
    ),
    # chains
    "clamp of one bound": (lambda: tc.clamp(0), "missing a required argument: 'upper'"),
    "epsilon of Laplace noise": (lambda: tc.laplace(epsilon=1), r"signature is Laplace\(scale"),
    "a metric's class": (lambda: tc.Space(tc.Vector(float), tc.SymmetricDistance), r"Distance\(\)"),
    "a number behind >>": (
        lambda: tc.Space(tc.Vector(float), tc.SymmetricDistance()) >> 5,
        "after >> there must be a step",
    ),
    "sum without brackets": (lambda: tc.clamp(0, 1) >> tc.sum, r"call it: sum\("),
    # the rest
    "a seed": (
        lambda: tc.noise.discrete_laplace(2, seed=1),
        r"signature is discrete_laplace\(scale",
    ),
    "eps of a device": (lambda: tc.local.UnaryEncoding(["a"], eps=1), "did you mean 'epsilon'"),
    "period=": (
        lambda: S().count_over_time("year", start=0, every=1, period=5, epsilon=1),
        "did you mean 'periods'",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_call_is_answered_in_a_sentence(what: str) -> None:
    call, sentence = WRONG[what]
    with pytest.raises((tc.errors.TacitError, AttributeError), match=sentence) as caught:
        call()
    message = str(caught.value)
    assert "NoneType" not in message
    if re.search("positional|keyword argument|required argument|multiple values", message):
        assert "Its signature is" in message  # more than Python says by itself


def test_there_are_enough_of_them() -> None:
    assert len(WRONG) >= 40


def test_what_reads_as_it_should_works() -> None:
    grouped = session().group_by(["site", "year"]).agg(tc.count(), tc.mean("age", 0, 80))
    assert str(grouped) == "<Question count=count(), mean_age=mean(age, 0, 80) by site, year>"
    old = tc.sensitivity_profile("mean", FIVE, [1], relations="bounded")
    new = tc.sensitivity_profile("mean", FIVE, [1], relation="bounded")
    assert [row.value for row in old.rows] == [row.value for row in new.rows]


def can_be_wrong(signature: inspect.Signature) -> bool:
    """Return True if a function takes some arguments, and not all."""
    taken = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    return bool(taken) and not any(p.kind is p.VAR_KEYWORD for p in taken)


def called() -> dict[str, Any]:
    """Every function that a user calls by a public name, and every method of a public class."""
    return {
        inner: function
        for name, thing in face().items()
        if name.startswith("tc.") and not (isinstance(thing, type) and issubclass(thing, Exception))
        for inner, function in callables(name, thing)
        if not inner.endswith("__rshift__") and can_be_wrong(inspect.signature(function))
    }


def test_every_public_call_answers_an_argument_that_it_does_not_take() -> None:
    silent = []
    for name, function in called().items():
        answer = ""
        try:
            function(no_such_argument=1)
        except tc.errors.CallError as error:
            answer = str(error)
        except Exception as error:
            answer = f"{type(error).__name__} of Python"
        if "Its signature is" not in answer:
            silent.append(f"{name}: {answer}")
    assert silent == []

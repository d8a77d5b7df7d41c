"""Forged certificates that contradict their own question: each is refused, however it is sealed."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.certificates.certificate_changes import FIRST, OPEN, changed, changes, named, sealed
from support.certificates.certificate_kinds import KINDS, Made
from tacit.accounting import open_ledger
from tacit.core import compose, space_from, step_from

FIRST_FORMAT = sorted((Path(__file__).parents[0] / "fixtures").glob("*.json"))
SAMPLED = 5
"""Changes of each kind of certificate that the fast tests make; the slow ones make all."""


@pytest.fixture(scope="module", name="made")
def _made() -> Callable[[str], Made]:
    """Certificates by kind, each released once."""
    kept: dict[str, Made] = {}

    def made(kind: str) -> Made:
        if kind not in kept:
            kept[kind] = KINDS[kind]()
        return kept[kind]

    return made


def rebuilt(chain: dict[str, Any]) -> Any:
    """Return the chain that a certificate shows, with maps of its own."""
    built: Any = space_from(chain["space"])
    for step in chain["steps"]:
        built = built >> step_from({k: v for k, v in step.items() if k != "distance"})
    return built


def made_again(body: dict[str, Any]) -> None:
    """Write every distance, and the loss, as the maps of the chains on the page say."""
    chains = [rebuilt(chain) for chain in body["chains"]]
    for shown, chain in zip(body["chains"], chains, strict=True):
        shown.update(chain.describe(1))
    loss = compose(chains).map(1)
    body["composition"]["loss"] = list(map(str, loss)) if isinstance(loss, tuple) else str(loss)


def forged(certificate: tc.Certificate, change: Callable[[dict[str, Any]], Any]) -> tc.Certificate:
    body = copy.deepcopy(certificate.body)
    change(body)
    made_again(body)
    assert body != certificate.body
    return sealed(body)


def steps(body: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    for chain in body["chains"]:
        yield from (step for step in chain["steps"] if step["step"] == name)


def set_all(body: dict[str, Any], name: str, **fields: Any) -> None:
    found = list(steps(body, name))
    assert found
    for step in found:
        step.update(fields)


OTHER_KEYS: dict[str, dict[str, dict[str, Any]]] = {
    "release_keys": {
        "number": {"threshold": 10**3},
        "step": {"step": "select_keys", "epsilon": "3/4", "delta": "1/20000000"},
    },
    "select_keys": {
        "number": {"delta": "1/1000"},
        "step": {"step": "gaussian_keys", "scale": "40", "threshold": 500, "epsilon": "3/2"},
    },
}


def other_keys(body: dict[str, Any], what: str) -> None:
    """Change a number of the mechanism that found the keys, or the mechanism."""
    (step,) = (step for name in OTHER_KEYS for step in steps(body, name))
    change = OTHER_KEYS[step["step"]][what]
    if what == "step":
        distance = step["distance"]
        step.clear()
        step["distance"] = distance
    step.update(change)


def queries_mean(steps_in: list[dict[str, Any]]) -> None:
    """Put a step before the noise that makes everything a million times smaller."""
    steps_in.insert(-1, {"step": "linear_queries", "matrix": [["1/1000000"]]})


def swap_chains_of_quantiles(body: dict[str, Any]) -> None:
    """Give the 99.99th percentile the chains of a median."""
    for step in steps(body, "quantile_costs"):
        if step["q"] == "9999/10000":
            step["q"] = "1/2"
    for step in steps(body, "choose_quantile"):
        if step["q"] == "9999/10000":
            step["q"] = "1/2"


FORGERIES: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "the chain's bounds are 0..1 and the question's 0..150": (
        "mean_by",
        lambda b: set_all(b, "moments", lower="0", upper="1"),
    ),
    "the bounds of a sum are narrower than those asked for": (
        "sum",
        lambda b: set_all(b, "sum_by_group", lower="0", upper="1"),
    ),
    "a linear step before the noise makes the sum a millionth": (
        "sum",
        lambda b: queries_mean(b["chains"][0]["steps"]),
    ),
    "the chain of a median under the question of a 99.99th percentile": (
        "quantiles",
        swap_chains_of_quantiles,
    ),
    "other edges of a histogram": (
        "histogram",
        lambda b: set_all(b, "histogram", edges=["0", "10", "20", "150"]),
    ),
    "a variance from a chain of degree 1": (
        "variance",
        lambda b: set_all(b, "moments", degree=1, size=2),
    ),
    "two coordinates for four": ("mean_by", lambda b: set_all(b, "moments", size=2)),
    "more noise than the request takes": ("count", lambda b: set_all(b, "laplace", scale="1000")),
    "a finer grid": ("mean_by", lambda b: set_all(b, "moments", cells=10)),
    "weights that are whole": ("mean_by", lambda b: set_all(b, "moments", one=1)),
    "missing rows are left out": (
        "mean_by",
        lambda b: set_all(b, "moments", missing=False, size=6),
    ),
    "another column": ("mean", lambda b: set_all(b, "moments", column="pay")),
    "another threshold of keys": (
        "unknown_keys",
        lambda b: other_keys(b, "number"),
    ),
    "another mechanism for keys": ("unknown_keys", lambda b: other_keys(b, "step")),
    "other bins of people": ("sample_people", lambda b: set_all(b, "people_in_bins", bins=11)),
    "another bound to test": (
        "ptr",
        lambda b: [s["inner"].update(bound="1/3") for s in steps(b, "each_group")],
    ),
    "longer periods": ("over_time", lambda b: set_all(b, "counts_over_time", every=2)),
    "more periods": ("over_time", lambda b: set_all(b, "counts_over_time", periods=31)),
    "another title": ("mean", lambda b: b["chains"][0].update(title="sum of age")),
}
"""Chains that are whole, with distances of their own, and that are not those of their question."""


@pytest.mark.few(8)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_chain_that_is_not_the_questions_is_refused(
    name: str, made: Callable[[str], Made]
) -> None:
    kind, change = FORGERIES[name]
    certificate, ledger = made(kind)
    for page in (certificate, tc.Certificate(_fixture(kind))):
        report = forged(page, change).verify()
        assert not report, name
        assert report.failures
    assert not forged(certificate, change).verify(ledger)


def _fixture(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = tc.Certificate.load(
        Path(__file__).parents[0] / "fixtures" / f"{kind}.json"
    ).body
    return found


@pytest.mark.few(9)
@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("count", ("answer", "columns", 0, "standard_error", 0)),
        ("mean_by", ("answer", "columns", 1, "standard_error", 2)),
        ("variance", ("answer", "columns", 0, "standard_error", 0)),
        ("sample", ("answer", "columns", 0, "standard_error", 0)),
        ("ptr_search", ("answer", "columns", 0, "standard_error", 0)),
        ("over_time", ("answer", "columns", 1, "standard_error", 3)),
        ("median", ("answer", "columns", 0, "low", 0)),
        ("mean_by", ("answer", "columns", 1, "high", 0)),
    ],
)
def test_an_error_that_the_chain_does_not_give_is_refused(
    kind: str, path: tuple[Any, ...], made: Callable[[str], Made]
) -> None:
    certificate, _ = made(kind)
    value: Any = certificate.body
    for step in path:
        value = value[step]
    report = changed(certificate.body, path, value / 2).verify()
    assert any("follow from it" in failure for failure in report.failures), str(report)


@pytest.mark.parametrize("kind", ["count", "people", "sum", "histogram", "over_time"])
def test_a_constant_error_is_refused_in_the_first_format_too(kind: str) -> None:
    body = _fixture(kind)
    found = body["answer"]["columns"][0]["standard_error"]
    smaller = json.loads(json.dumps(found), parse_float=lambda text: float(text) / 2)
    path = ("answer", "columns", 0, "standard_error")
    assert not changed(body, path, smaller).verify()


@pytest.mark.few(12)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_true_verifies_with_the_ledger_and_without(
    kind: str, made: Callable[[str], Made]
) -> None:
    certificate, ledger = made(kind)
    assert certificate.verify(), str(certificate.verify())
    assert certificate.verify(ledger), str(certificate.verify(ledger))


@pytest.mark.few(4)
@pytest.mark.parametrize("path", FIRST_FORMAT, ids=lambda path: path.stem)
def test_certificates_of_the_first_format_still_verify(path: Path) -> None:
    certificate = tc.Certificate.load(path)
    assert certificate.body["format"] == "tacit certificate 1"
    report = certificate.verify()
    assert report, str(report)
    assert any("first format" in text for text in report.unchecked)
    assert "<html" in certificate.to_html()


def test_every_kind_has_a_certificate_of_the_first_format() -> None:
    assert {path.stem for path in FIRST_FORMAT} == set(KINDS)


@pytest.mark.few(18)
@pytest.mark.parametrize("kind", KINDS)
def test_changes_are_refused_or_named(kind: str, made: Callable[[str], Made]) -> None:
    """A few of all changes, the same in every run; ``slow`` makes all of them."""
    certificate, ledger = made(kind)
    for body, patterns in ((certificate.body, OPEN), (_fixture(kind), FIRST)):
        picked = random.Random(kind).sample(list(changes(body)), SAMPLED)
        for path, value in picked:
            report = changed(body, path, value).verify()
            assert not report or named(path, report.unchecked, patterns), (path, value)
    for path, value in itertools.islice(picked_with_ledger(certificate.body, kind), 4):
        assert not changed(certificate.body, path, value).verify(ledger), (path, value)


def picked_with_ledger(body: dict[str, Any], kind: str) -> Iterator[tuple[Any, Any]]:
    """Yield changes that only a ledger can tell, the same in every run."""
    only = [(p, v) for p, v in changes(body) if named(p, list(OPEN.values()), OPEN)]
    yield from random.Random(kind).sample(only, 4)


def test_a_ledger_of_before_holds_certificates_of_the_first_format(
    made: Callable[[str], Made],
) -> None:
    """What an earlier version recorded is issued, and looked up, in the first format."""
    certificate, paid = made("mean_by")
    entry = paid.history()[-1]
    old = open_ledger(None, dataset=paid.dataset, budget=paid.total, terms=paid.terms)
    charge = old.charge(entry.key, entry.cost, entry.question)
    lacking = ("table", "released", "versions", "budget")
    answer = {k: v for k, v in (entry.answer or {}).items() if k not in lacking}
    from tacit.report import issue

    issued = issue(old.record(charge, answer), old)
    assert issued.body["format"] == "tacit certificate 1"
    assert issued.verify(old), str(issued.verify(old))
    path = ("answer", "columns", 1, "low", 0)
    assert not changed(issued.body, path, 5.0).verify(old)
    assert not changed(certificate.body, ("format",), "tacit certificate 1").verify(paid)

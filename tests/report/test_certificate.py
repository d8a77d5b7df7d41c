"""A certificate and the answers that are computed from it."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import tacit as tc
from house.project import ROOT
from support.certificates.certificate_changes import FIRST, OPEN, changed, changes, named, sealed
from support.certificates.certificate_kinds import KINDS, Made
from support.servers.left_out import if_installed, needs
from tacit.accounting import open_ledger
from tacit.cli.app import app
from tacit.core import compose, space_from, step_from
from tacit.errors import TacitError, UsageError
from tacit.outside import read_json
from tacit.report import certificate, issued
from tacit.report.certificate import deriving
from tacit.report.issued import FIRST_FORMAT as CERTIFICATE_SCHEMA_FIRST_FORMAT
from tacit.report.issued import FORMAT, digest, fields_of


def test_a_certificate_states_what_is_computed_and_keeps_the_rest() -> None:
    table = pd.DataFrame({"x": range(50)})
    with tc.Session(table, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="r") as session:
        plain = session.agg(n=tc.count()).release(epsilon=1).certificate
        made = deriving(plain, [("half", tc.col("n") / 2)])
        assert made.verify(session.ledger)
    assert made.body["digest"] != plain.body["digest"]
    assert {n: p for n, p in made.body.items() if n not in ("derived", "digest")} == {
        n: p for n, p in plain.body.items() if n != "digest"
    }


# Forged certificates that contradict their own question: each is refused, however it is sealed.


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
    for step in steps(body, "count_near_quantiles"):
        if step["qs"] == ["9999/10000"]:
            step["qs"] = ["1/2"]


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


# Certificates that do not name the rules of their intervals have the first: these were made before.
FIRST_INTERVALS = sorted((Path(__file__).parent / "fixtures" / "first_intervals").glob("*.json"))


@pytest.mark.parametrize("path", FIRST_INTERVALS, ids=lambda path: path.stem)
def test_certificates_that_name_no_rules_of_intervals_verify_by_the_first(path: Path) -> None:
    certificate = tc.Certificate.load(path)
    assert "intervals" not in certificate.body
    assert certificate.verify(), str(certificate.verify())


# The second rules do not count the rows near a quantile.
SECOND_INTERVALS = sorted((Path(__file__).parent / "fixtures" / "second_intervals").glob("*.json"))


@pytest.mark.parametrize("path", SECOND_INTERVALS, ids=lambda path: path.stem)
def test_certificates_of_the_second_rules_verify_by_them(path: Path) -> None:
    certificate = tc.Certificate.load(path)
    assert certificate.body["intervals"] == 2
    assert certificate.verify(), str(certificate.verify())
    assert not sealed({**certificate.body, "intervals": 3}).verify()


@pytest.mark.parametrize("rules", [2, 1, 3, 4, 2.0, True, "2", None])
def test_other_rules_of_intervals_than_its_own_are_refused(rules: Any) -> None:
    (path,) = (path for path in FIRST_INTERVALS if path.stem == "gaussian")
    body = tc.Certificate.load(path).body
    assert not sealed({**body, "intervals": rules}).verify()


def test_a_new_certificate_names_its_rules_and_a_recorded_answer_keeps_them() -> None:
    frame = pd.DataFrame({"x": range(50)})
    with tc.Session(frame, tc.one_row_each, tc.rho(1), ledger=tc.in_memory) as session:
        asked = session.agg(h=tc.histogram("x", range(0, 51, 10)))
        made, ledger = asked.release(rho="1/2").certificate, session.ledger
    assert made.body["intervals"] == 4
    unnamed = {name: value for name, value in made.body.items() if name != "intervals"}
    assert not sealed(unnamed).verify()
    # as a version before the second rules recorded it
    entry = ledger.history()[-1]
    wide = copy.deepcopy({k: v for k, v in (entry.answer or {}).items() if k != "intervals"})
    for end, moved in (("low", -1), ("high", 1)):
        column = wide["columns"][0]
        column[end] = [[max(each + moved, 0) for each in row] for row in column[end]]
    old = open_ledger(None, dataset=ledger.dataset, budget=ledger.total, terms=ledger.terms)
    old.record(old.charge(entry.key, entry.cost, entry.question), wide)
    with tc.Session(frame, tc.one_row_each, tc.rho(1), ledger=old) as session:
        replayed = session.agg(h=tc.histogram("x", range(0, 51, 10))).release(rho="1/2")
        assert replayed.certificate.body["answer"]["columns"] == wide["columns"]
        assert "intervals" not in replayed.certificate.body
        assert replayed.certificate.verify(old), str(replayed.certificate.verify(old))


# The schema in the docs: every certificate fits it, and what is no certificate does not.


jsonschema = if_installed("jsonschema")

SCHEMA: dict[str, Any] = json.loads((ROOT / "docs" / "certificate.schema.json").read_text("utf-8"))
FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.json"))
Body = dict[str, Any]
OBJECTS = ("protects", "question", "composition", "spent", "answer", "ledger")
"""The parts that have no other names than those of the schema."""


def trouble(body: object) -> list[str]:
    """Where a certificate does not fit, in words."""
    found = jsonschema.Draft202012Validator(SCHEMA).iter_errors(body)
    return [f"{error.json_path}: {error.message[:200]}" for error in found]


def read(name: str) -> Body:
    body = json.loads((Path(__file__).parent / "fixtures" / f"{name}.json").read_text("utf-8"))
    assert isinstance(body, dict)
    return body


@pytest.fixture(scope="module")
def fresh() -> Body:
    """A certificate of the second format, as JSON has it."""
    return written(KINDS["mean_by"]()[0])


def written(certificate: tc.Certificate) -> Body:
    body = json.loads(certificate.to_json())
    assert isinstance(body, dict)
    return body


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_it_has_the_formats_that_are_read_and_their_fields() -> None:
    assert SCHEMA["properties"]["format"]["enum"] == [CERTIFICATE_SCHEMA_FIRST_FORMAT, FORMAT]
    for part, format in (("1", CERTIFICATE_SCHEMA_FIRST_FORMAT), ("2", FORMAT)):
        described = SCHEMA["$defs"][f"format{part}"]
        fields = fields_of(format)
        assert set(described["required"]) == set(fields[""])
        optional = {"declared", "derived", *(["intervals"] if part == "2" else [])}
        assert set(described["properties"]) == {*fields[""], *optional}
        assert set(SCHEMA["$defs"][f"answer{part}"]["required"]) == set(fields["answer"])
        assert set(SCHEMA["$defs"]["ledger"]["required"]) == set(fields["ledger"])


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_the_page_names_every_field() -> None:
    page = (ROOT / "docs" / "certificate-format.md").read_text("utf-8")
    for field in SCHEMA["$defs"]["format2"]["properties"]:
        assert f"\n| `{field}` |" in page


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: str(path.stem))
def test_certificates_of_before_fit(path: Path) -> None:
    assert trouble(read(path.stem)) == []


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
@pytest.mark.parametrize("name", KINDS)
def test_a_new_certificate_of_every_kind_fits(name: str) -> None:
    body = written(KINDS[name]()[0])
    assert body["format"] == FORMAT
    assert trouble(body) == []


DECLARED = """
name = "visits"
unit = { person = "person", rows = 5, groups = 2 }
budget = { epsilon = 100 }
[tables.visits]
path = "visits.csv"
[tables.visits.columns]
person = { kind = "integer" }
site = { kind = "integer", keys = [1, 2] }
cost = { kind = "integer", bounds = [0, 1000], unit = "euro" }
[tables.sites]
path = "sites.csv"
public = true
key = "site"
columns.region = { keys = ["north", "south"] }
"""
JOINED = """
select region, count(*) as n, avg(cost) as m from visits join sites using (site) group by region
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[tc.Session]:
    (tmp_path / "visits.csv").write_text("person,site,cost\n1,1,20\n2,2,35\n2,1,7\n")
    (tmp_path / "sites.csv").write_text("site,region\n1,north\n2,south\n")
    (tmp_path / "visits.toml").write_text(DECLARED)
    with tc.open(tmp_path / "visits.toml") as opened:
        yield opened


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_a_join_in_sql_fits(session: tc.Session) -> None:
    body = written(session.sql(JOINED).release(epsilon=1).certificate)
    assert body["question"]["query"]["joins"]
    assert body["declared"]
    assert trouble(body) == []


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_answers_that_are_computed_fit(session: tc.Session) -> None:
    text = "select sum(cost) / count(*) as m, median(cost) / count(*) as q from visits"
    body = written(session.sql(text).release(epsilon=1).certificate)
    assert [one["label"] for one in body["derived"]] == ["m", "q"]
    assert trouble(body) == []


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_statistics_of_several_columns_shares_and_tables_of_people_fit() -> None:
    table = pd.DataFrame({"p": [1, 1, 2, 3], "x": [1, 2, 3, 4], "y": [2, 1, 4, 3]})
    unit = tc.unit("p", rows=2, groups=1)
    with tc.Session(table, unit=unit, budget=tc.epsilon(9), name="t") as session:
        several = session.agg(c=tc.covariance("x", "y", {"x": (0, 5), "y": (0, 5)}), n=tc.count())
        people = session.per_person(total=tc.sum("x", 0, 5)).agg(m=tc.mean("total", 0, 10))
        bodies = [
            written(several.release(epsilon={"n": 1, "c": 3}, total=1).certificate),
            written(people.release(epsilon=1, tag="monday").certificate),
        ]
    assert bodies[0]["question"]["query"]["weights"]
    assert bodies[1]["question"]["query"]["inner"]
    assert [trouble(body) for body in bodies] == [[], []]


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_groups_found_in_rounds_and_different_values_of_people_fit() -> None:
    table = pd.DataFrame({"p": [1, 1, 2, 3], "x": [1, 2, 3, 4]})
    unit = tc.unit("p", rows=2, groups=3)
    with tc.Session(table, unit=unit, budget=tc.epsilon_delta(9, "1e-5"), name="t") as session:
        found = session.group_by("x", rounds=2).agg(n=tc.count())
        people = session.per_person(kinds=tc.count_distinct("x")).agg(
            n=tc.histogram("kinds", [1, 9])
        )
        bodies = [
            written(found.release(epsilon=1, delta="1e-6").certificate),
            written(people.release(epsilon=1).certificate),
        ]
    assert bodies[0]["question"]["query"]["rounds"] == 2
    assert [trouble(body) for body in bodies] == [[], []]


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_a_charge_on_an_account_has_no_place(fresh: Body) -> None:
    charge = fresh["ledger"]
    assert trouble({**fresh, "ledger": {**charge, "sequence": None, "hash": None}}) == []
    assert trouble({**fresh, "ledger": {**charge, "sequence": None}})
    assert trouble({**fresh, "ledger": {**charge, "hash": None}})


def both(check: Callable[[Body], None], fresh: Body) -> None:
    for body in (fresh, read("mean_by")):
        assert trouble(body) == []
        check(body)


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_a_required_field_that_is_missing_is_refused(fresh: Body) -> None:
    def check(body: Body) -> None:
        for name in {*body} - {"intervals"}:  # without it they are the first
            assert trouble({k: v for k, v in body.items() if k != name}), name
        for part in OBJECTS:
            for name in body[part]:
                less = {k: v for k, v in body[part].items() if k != name}
                assert trouble({**body, part: less}), (part, name)

    both(check, fresh)


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_a_field_that_is_not_known_is_refused(fresh: Body) -> None:
    def check(body: Body) -> None:
        assert trouble({**body, "signature": "0"})
        for part in OBJECTS:
            assert trouble({**body, part: {**body[part], "more": 1}}), part

    both(check, fresh)


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_another_type_is_refused(fresh: Body) -> None:
    """Each value at the top and one below, as another kind of JSON."""

    def check(body: Body) -> None:
        for name in body:
            for other in (7, True, None, [], {}, "?"):
                assert trouble({**body, name: other}), (name, other)
        for part in OBJECTS:
            for name in body[part]:
                for other in (True, 1.5):
                    assert trouble({**body, part: {**body[part], name: other}}), (part, name)

    both(check, fresh)


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("format",), "tacit certificate 3"),
        (("digest",), "0" * 63),
        (("protects", "unit", "rows"), 0),
        (("protects", "unit", "rows"), "4"),
        (("spent", "cost", "epsilon"), 1),
        (("spent", "cost", "epsilon"), "-1"),
        (("spent", "cost", "epsilon"), "1/0"),
        (("spent", "cost", "kind"), "concentrated"),
        (("chains", 0, "steps"), []),
        (("chains", 0, "steps", 0, "distance"), 4),
        (("chains", 0, "steps", 0, "step"), None),
        (("question", "query", "aggregates", 0, 1, "kind"), None),
        (("answer", "columns", 0, "value", 0), "135"),
        (("answer", "keys", 0, 0), 1.5),
        (("ledger", "sequence"), 0),
        (("versions", "tacit"), None),
    ],
    ids=str,
)
def test_a_value_that_none_has_is_refused(place: Any, value: Any, fresh: Body) -> None:
    def check(body: Body) -> None:
        changed = copy.deepcopy(body)
        part: Any = changed
        for step in place[:-1]:
            part = part[step]
        assert part[place[-1]] != value
        part[place[-1]] = value
        assert trouble(changed)

    both(check, fresh)


@pytest.mark.full
@needs("jsonschema", "make setup-engines")
def test_the_two_formats_are_not_mixed(fresh: Body) -> None:
    assert trouble({**fresh, "format": CERTIFICATE_SCHEMA_FIRST_FORMAT})
    assert trouble({**read("mean_by"), "format": FORMAT})
    for other in (None, [], "tacit certificate 2", {}, {"format": FORMAT}):
        assert trouble(other)


# A certificate of any content is answered within seconds: refused, and never with a traceback.


CERTIFICATE_GIANTS_FIXTURES = Path(__file__).parents[0] / "fixtures"
SECONDS = 20
"""On a machine that does much else; alone each takes a part of a second."""


def fixture(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (CERTIFICATE_GIANTS_FIXTURES / f"{kind}.json").read_text(encoding="utf-8")
    )
    return found


def answered(path: Path) -> None:
    """Verify a file from the command line: a clear no, in time."""
    began = time.monotonic()
    done = CliRunner().invoke(app, ["verify", str(path)])
    assert time.monotonic() - began < SECONDS
    assert done.exit_code in (1, 2) or isinstance(done.exception, TacitError), done.exception


GIANTS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("count", ("composition", "loss"), "1e-999999999"),
    ("count", ("composition", "loss"), "1e5000000"),
    ("count", ("spent", "cost", "epsilon"), "1e999999999"),
    ("count", ("question", "request", "epsilon"), "1e-999999999"),
    ("count", ("chains", 0, "steps", -1, "scale"), "1e-999999999"),
    ("mean", ("question", "query", "aggregates", 0, 1, "upper"), "1e999999999"),
    ("unknown_keys", ("chains", 0, "steps", -1, "threshold"), 10**30),
    ("unknown_keys", ("question", "query", "unit", "groups"), 10**30),
    ("unknown_keys", ("question", "query", "unit", "rows"), 10**30),
    ("over_time", ("question", "query", "aggregates", 0, 1, "periods"), 10**30),
    ("over_time", ("question", "query", "aggregates", 0, 1, "branching"), 10**30),
    ("over_time", ("question", "noise", "scale"), "1e999999999"),
    ("sample", ("question", "query", "aggregates", 0, 1, "method", "bins"), 10**30),
    ("auto", ("question", "query", "aggregates", 0, 1, "method", "rows"), 10**7),
    ("auto", ("question", "query", "aggregates", 0, 1, "method", "rows"), 10**30),
    ("quantiles", ("question", "query", "aggregates", 2, 1, "q"), "1e-999999999"),
]


@pytest.mark.few(4)
@pytest.mark.parametrize("number", range(len(GIANTS)))
def test_a_giant_is_refused_before_it_is_built(number: int, tmp_path: Path) -> None:
    kind, path, value = GIANTS[number]
    page = changed(fixture(kind), path, value)
    page.save(tmp_path / "a.json")
    answered(tmp_path / "a.json")
    began = time.monotonic()
    with contextlib.suppress(UsageError):  # what is not whole has no page
        page.to_html()
    assert time.monotonic() - began < SECONDS


TEXTS = {
    "deep lists": "[" * 200_000 + "]" * 200_000,
    "a deep certificate": '{"format": "tacit certificate 2", "a": ' + "[" * 900 + "]" * 900 + "}",
    "half of a character": '{"format": "tacit certificate 2", "dataset": "\\ud800"}',
    "a name twice": '{"format": "tacit certificate 2", "format": "tacit certificate 2"}',
    "a long number": '{"format": "tacit certificate 2", "chains": ' + "9" * 5000 + "}",
    "no JSON": "{]",
    "nothing": "",
    "a text": '"tacit certificate 2"',
    "no parts": '{"format": "tacit certificate 2"}',
    "a format that is no text": '{"format": ["tacit certificate 2"]}',
    "infinity": '{"format": "tacit certificate 2", "spent": Infinity, "chains": NaN}',
}  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("name", TEXTS)
def test_what_is_no_certificate_gets_a_clear_no(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(TEXTS[name], encoding="utf-8")
    answered(tmp_path / "a.json")


@pytest.mark.full
def test_random_bytes_and_broken_certificates_get_a_clear_no(tmp_path: Path) -> None:
    draw = random.Random(13)
    whole = (CERTIFICATE_GIANTS_FIXTURES / "derived.json").read_bytes()
    for _ in range(10):
        text = bytearray(whole)
        for _ in range(draw.choice((1, 5, 100))):
            text[draw.randrange(len(text))] = draw.randrange(256)
        (tmp_path / "a.json").write_bytes(bytes(text))
        answered(tmp_path / "a.json")
        (tmp_path / "a.json").write_bytes(draw.randbytes(200))
        answered(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXTS["deep lists"], "levels"),
        (TEXTS["a deep certificate"], "levels"),
        (TEXTS["half of a character"], "half of a character"),
        (TEXTS["a name twice"], "is given twice"),
        (TEXTS["a long number"], "digits"),
        (b"\xff", "not JSON"),
    ],
)
def test_reading_says_what_is_wrong(text: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_json(text)


def test_pairs_of_halves_are_whole_characters() -> None:
    assert read_json('"\\ud83d\\ude00"') == "\U0001f600"
    assert tc.Certificate({"format": "tacit certificate 2"}).verify().failures


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 1e308])
def test_released_numbers_that_nobody_drew_get_a_clear_no_without_a_warning(number: float) -> None:
    table = pa.table({"x": [1.0, 2.0, 9.0]})
    with tc.Session(table, tc.one_row_each, tc.epsilon(1), ledger=tc.in_memory) as session:
        answer = session.agg(m=tc.mean("x", 0, 10), v=tc.var("x", 0, 10)).release(epsilon=1)
    body = copy.deepcopy(answer.certificate.body)
    body["answer"]["released"][0][0] = number
    assert not tc.Certificate({**body, "digest": digest(body)}).verify()


# What stands in every certificate.


def test_versions_are_read_once_and_are_the_callers_own(monkeypatch):
    known = issued.versions()
    assert known["duckdb"] == version("duckdb")
    monkeypatch.setattr(issued, "version", None)
    issued.versions()["duckdb"] = "another"
    assert issued.versions() == known


def test_the_digest_is_worked_out_once_when_it_is_read(monkeypatch):
    asked = []
    sealed = issued.sealed
    monkeypatch.setattr(certificate, "sealed", lambda body: asked.append(body) or sealed(body))
    session = tc.Session(pyarrow.table({"a": [1]}), tc.one_row_each, tc.epsilon(1))
    answer = session.agg(n=tc.count()).release(epsilon=1)
    answer.to_dict()["n"].clear()
    assert not asked
    twin = copy.deepcopy(answer.certificate)
    body = answer.certificate.body
    assert body["digest"] == issued.digest(body)
    assert answer.certificate.body is body
    assert len(asked) == 1
    assert twin == answer.certificate
    assert answer.certificate.verify(session.ledger)


# Certificates of answers that follow from releases: each way to change one is caught.


@pytest.fixture(scope="module", name="certificate")
def _certificate():
    people = pa.table({"sex": ["f", "m", "f"], "age": [31, 45, 67]})
    session = tc.Session(people, tc.one_row_each, tc.epsilon(1), name="p")
    session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/4")
    question = session.filter(tc.col("sex").is_in(["f", "m"])).agg(n=tc.count())
    return question.free_answer().certificate


def changed_value(body):
    body["answer"]["columns"][0]["value"][0] += 1


def changed_error(body):
    body["answer"]["columns"][0]["standard_error"][0] /= 2


def changed_source(body):
    body["sources"][0]["answer"]["released"][0][0] += 1


def changed_and_sealed_source(body):
    changed_source(body)
    body["sources"][0]["digest"] = digest(body["sources"][0])


def another_question(body):
    body["question"]["query"]["where"] = []


def another_tag(body):
    body["question"]["tag"] = "later"


def a_cost(body):
    body["spent"]["cost"]["epsilon"] = "1/4"


def no_source(body):
    body["sources"] = []


def another_unit(body):
    body["protects"]["unit"]["rows"] = 7


def a_part_more(body):
    body["more"] = 1


@pytest.mark.parametrize(
    "change",
    [
        *(changed_value, changed_error, changed_source, changed_and_sealed_source, another_tag),
        *(another_question, a_cost, no_source, another_unit, a_part_more),
    ],
)
def test_whatever_is_changed_is_found(certificate, change) -> None:
    body = copy.deepcopy(certificate.body)
    change(body)
    assert not tc.Certificate(body).verify()
    body["digest"] = digest(body)
    assert not tc.Certificate(body).verify()


def test_what_is_broken_is_said_and_not_raised(certificate) -> None:
    for name in certificate.body:
        body = copy.deepcopy(certificate.body)
        del body[name]
        assert not tc.Certificate(body).verify(), name
        body[name] = None
        assert not tc.Certificate(body).verify(), name


@needs("jsonschema", "make setup-engines")
def test_every_option_of_a_reading_fits(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("title\nx;y\n1,5;2\n9;refused\n", encoding="utf-8")
    session = tc.Session(
        path,
        tc.one_row_each,
        tc.epsilon(1),
        tc.in_memory,
        delimiter=";",
        decimal=",",
        thousands=".",
        skip=1,
        comment="#",
        types={"x": "float"},
        missing={"x": [9, 98.5, (-9, -1)], "y": ["refused"]},
    )
    asked = session.filter(tc.col("y").is_not_null()).agg(m=tc.mean("x", 0, 9))
    body = json.loads(asked.release(epsilon=1).certificate.to_json())
    read = body["question"]["query"]["reading"]
    assert read["missing"] == {"x": [9, 98.5, [-9, -1]], "y": ["refused"]}
    assert {*read} == {"delimiter", "decimal", "thousands", "skip", "comment", "columns", "missing"}
    assert trouble(body) == []
    read["missing"]["x"] = [[1]]
    assert trouble(body)

"""The schema in the docs: every certificate fits it, and what is no certificate does not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from house.project import ROOT
from support.certificates.certificate_kinds import KINDS
from support.servers.left_out import if_installed, needs
from tacit.report.issued import FIRST_FORMAT, FORMAT, fields_of

jsonschema = if_installed("jsonschema")
pytestmark = [pytest.mark.full, needs("jsonschema", "make setup-engines")]

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


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_it_has_the_formats_that_are_read_and_their_fields() -> None:
    assert SCHEMA["properties"]["format"]["enum"] == [FIRST_FORMAT, FORMAT]
    for part, format in (("1", FIRST_FORMAT), ("2", FORMAT)):
        described = SCHEMA["$defs"][f"format{part}"]
        fields = fields_of(format)
        assert set(described["required"]) == set(fields[""])
        assert set(described["properties"]) == {*fields[""], "declared", "derived"}
        assert set(SCHEMA["$defs"][f"answer{part}"]["required"]) == set(fields["answer"])
        assert set(SCHEMA["$defs"]["ledger"]["required"]) == set(fields["ledger"])


def test_the_page_names_every_field() -> None:
    page = (ROOT / "docs" / "certificate-format.md").read_text("utf-8")
    for field in SCHEMA["$defs"]["format2"]["properties"]:
        assert f"\n| `{field}` |" in page


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: str(path.stem))
def test_certificates_of_before_fit(path: Path) -> None:
    assert trouble(read(path.stem)) == []


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


def test_a_join_in_sql_fits(session: tc.Session) -> None:
    body = written(session.sql(JOINED).release(epsilon=1).certificate)
    assert body["question"]["query"]["joins"]
    assert body["declared"]
    assert trouble(body) == []


def test_answers_that_are_computed_fit(session: tc.Session) -> None:
    text = "select sum(cost) / count(*) as m, median(cost) / count(*) as q from visits"
    body = written(session.sql(text).release(epsilon=1).certificate)
    assert [one["label"] for one in body["derived"]] == ["m", "q"]
    assert trouble(body) == []


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


def test_a_charge_on_an_account_has_no_place(fresh: Body) -> None:
    charge = fresh["ledger"]
    assert trouble({**fresh, "ledger": {**charge, "sequence": None, "hash": None}}) == []
    assert trouble({**fresh, "ledger": {**charge, "sequence": None}})
    assert trouble({**fresh, "ledger": {**charge, "hash": None}})


def both(check: Callable[[Body], None], fresh: Body) -> None:
    for body in (fresh, read("mean_by")):
        assert trouble(body) == []
        check(body)


def test_a_required_field_that_is_missing_is_refused(fresh: Body) -> None:
    def check(body: Body) -> None:
        for name in body:
            assert trouble({k: v for k, v in body.items() if k != name}), name
        for part in OBJECTS:
            for name in body[part]:
                less = {k: v for k, v in body[part].items() if k != name}
                assert trouble({**body, part: less}), (part, name)

    both(check, fresh)


def test_a_field_that_is_not_known_is_refused(fresh: Body) -> None:
    def check(body: Body) -> None:
        assert trouble({**body, "signature": "0"})
        for part in OBJECTS:
            assert trouble({**body, part: {**body[part], "more": 1}}), part

    both(check, fresh)


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


def test_the_two_formats_are_not_mixed(fresh: Body) -> None:
    assert trouble({**fresh, "format": FIRST_FORMAT})
    assert trouble({**read("mean_by"), "format": FORMAT})
    for other in (None, [], "tacit certificate 2", {}, {"format": FORMAT}):
        assert trouble(other)

"""A question read back from its description is the question, and nothing is left over."""

from __future__ import annotations

import copy
import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.core import L1Distance
from tacit.errors import MismatchError, UsageError
from tacit.report import Certificate
from tacit.report.issued import digest
from tacit.report.text import question_words
from tacit.tables.open_source import open_source
from tacit.tables.plan.parse_question import people_schema, query_from, schema_from
from tacit.tables.plan.plan import Plan
from tacit.tables.release.release import PlanRunner
from tacit.tables.steps import PerPerson, table_space

SCHEMA = schema_from([["age", "integer"], ["job", "text"], ["who", "text"]])


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """The description of a question that has one of everything."""
    path = tmp_path_factory.mktemp("asked") / "people.csv"
    path.write_text("age,job,who\n3,a,x\n", encoding="utf-8")
    kinds = {"age": "integer", "job": "text", "who": "text"}
    with tc.Session(
        path, unit=tc.unit("who", rows=2, groups=1), budget=tc.epsilon(1), types=kinds
    ) as session:
        question = (
            session.filter(tc.col("age") > 2)
            .group_by("job", keys=["a", "b"])
            .agg(n=tc.count(), m=tc.mean("age", 0, 9), h=tc.histogram("age", [0, 5, 9]))
        )
        return json.loads(json.dumps(question.release(epsilon=1).certificate.body["question"]))[
            "query"
        ]


def test_a_question_comes_back(described):
    assert json.loads(json.dumps(query_from(described, SCHEMA).describe())) == described


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"by": ["job", "job"]},
        {"keys": [["a"], ["a"]]},
        {"keys": [["a", "b"]]},
        {"keys": []},
        {"where": [{"op": "col", "parameters": ["age"]}]},
    ],
    ids=str,
)
def test_what_nobody_can_ask_is_refused(described, change):
    with pytest.raises((UsageError, LookupError, TypeError, ValueError)):
        query_from({**described, **change}, SCHEMA)


def test_columns_have_names_of_their_own_and_known_kinds():
    for table in ([["a", "text"], ["a", "float"]], [["a", "number"]], [[1, "text"]]):
        with pytest.raises(UsageError):
            schema_from(table)


# Questions about people: what is asked, what it costs, what its certificate says.


ROWS = {
    "person": [1, 1, 1, 2, 2, 3, None],
    "cost": [10.25, 20.5, -0.75, 3000.0, 4000.0, float("nan"), 9.0],
    "day": [1, 2, 3, 4, 5, 6, 7],
    "site": ["a", "b", "a", "a", "a", "c", "z"],
    "when": pd.to_datetime(["2024-01-01"] * 7),
}


def session(budget: Any = None) -> tc.Session:
    table = pd.DataFrame(ROWS).astype({"person": "Int64", "site": "str"})
    unit = tc.unit("person", rows=2)
    return tc.Session(table, unit=unit, budget=budget or tc.epsilon(10**9), name="visits")


def asked(one: tc.Session) -> Any:
    people = one.filter(tc.col("day") < 7).per_person(
        total=tc.sum("cost", 0, 5000), n=tc.count(), site=tc.min("site"), last=tc.max("day", 0, 9)
    )
    return people.filter(tc.col("n") > 1).agg(
        people=tc.count(), total=tc.mean("total"), n=tc.sum("n", 0, 10)
    )


def test_people_are_asked_as_rows_are() -> None:
    with session() as one:
        answer = asked(one).release(epsilon=10**6)
        assert answer.value("people") == 2
        assert answer.value("total") == pytest.approx((30 + 5000) / 2, abs=0.1)
        assert answer.value("n") == pytest.approx(5, abs=0.1)  # no row is down-weighted
        by_site = one.per_person(site=tc.min("site"), n=tc.count())
        grouped = by_site.group_by("site", keys=["a", "c"]).agg(n=tc.count_people())
        assert grouped.release(epsilon=10**6).to_dict()["n"] == [2, 1]


def test_a_missing_total_is_left_out_and_an_empty_person_is_not_there() -> None:
    with session() as one:
        everyone = one.per_person(total=tc.sum("cost", 0, 5000)).agg(
            there=tc.count(), total=tc.sum("total")
        )
        answer = everyone.release(epsilon=10**6)
        assert answer.value("there") == 3  # of four: who has no person column is left out
        few = one.filter(tc.col("site") == "c").per_person(n=tc.count()).agg(there=tc.count())
        assert few.release(epsilon=10**6).value("there") == 1


def test_the_certificate_holds_and_says_what_was_made() -> None:
    with session() as one:
        answer = asked(one).release(epsilon=1)
        assert answer.certificate.verify(one.ledger), str(answer.certificate.verify(one.ledger))
        body = answer.certificate.body
        steps = [step["step"] for step in body["chains"][0]["steps"]]
        assert steps[:4] == ["filter", "per_person", "filter", "bound_contributions"]
        assert [name for name, _ in body["table"]] == list(ROWS)
        told = question_words(body["question"])
        assert "of people, one row each; only rows where day < 7; total is the person's" in told
        assert told.endswith("only people where n > 1")
        page = answer.certificate.to_html()
        assert "Make one row of all rows of each person" in page
        assert "all rows of a person are made into one row" in page
        again = asked(one).release(epsilon=1)
        assert again.replayed
        assert again.to_dict() == answer.to_dict()


def _forged(body: dict[str, Any], change: Any) -> Any:
    """Verify a certificate whose question is changed, and that is sealed again."""
    forged = copy.deepcopy(body)
    change(forged["question"]["query"])
    forged["digest"] = digest(forged)
    return Certificate(forged).verify()


def test_a_certificate_of_other_people_does_not_hold() -> None:
    with session() as one:
        body = asked(one).release(epsilon=1).certificate.body

    def nested(query: Any) -> None:
        query["inner"]["inner"] = copy.deepcopy(query["inner"])

    changes: list[Any] = [
        lambda query: query["inner"]["aggregates"][0][1].update(upper="9000"),
        lambda query: query["inner"]["aggregates"][0][1].update(kind="median"),
        lambda query: query["inner"]["unit"].update(column="day"),
        lambda query: query["unit"].update(column="n"),
        lambda query: query["unit"].update(rows=5),
        lambda query: query["inner"]["where"].clear(),
        lambda query: query["inner"].update(by=["site"]),
        lambda query: query.pop("inner"),
        nested,
    ]
    for number, change in enumerate(changes):
        assert not _forged(body, change), number


def test_a_question_that_does_not_use_it_is_described_as_before() -> None:
    with session() as one:
        question = one.filter(tc.col("day") > 1).agg(n=tc.count())
        described = question._query.describe()
        assert list(described) == ["unit", "where", "derived", "by", "keys", "aggregates"]
        people = one.per_person(n=tc.count()).agg(n=tc.count())._query.describe()
        assert people["unit"] == {"column": "person", "rows": 1, "groups": 1}
        assert people["inner"]["unit"] == {"column": "person", "rows": 2, "groups": 2}


def test_full_strength_is_the_noise_of_one_row() -> None:
    """A person with two rows: one row each takes half the noise that two rows take."""
    with session() as one:
        rows = one.agg(n=tc.count()).preview(epsilon=1)
        people = one.per_person(k=tc.count()).agg(n=tc.count()).preview(epsilon=1)
        total = one.per_person(t=tc.sum("cost", 0, 50)).agg(t=tc.mean("t"))
        assert "t: clamped to [0, 50]" in str(total.preview(epsilon=1))
        assert repr(total) == "<Question t=mean(t, 0, 50) of people>"
        assert people.errors["n"][0] == pytest.approx(rows.errors["n"][0] / 2)


REFUSED = {
    "median": lambda one: one.per_person(m=tc.median("cost", 0, 1)),
    "method": lambda one: one.per_person(m=tc.mean("cost", 0, 1, method="smooth")),
    "before anything": lambda one: one.group_by("site", keys=["a"]).per_person(n=tc.count()),
    "before": lambda one: one.agg(n=tc.count()).per_person(n=tc.count()),
    "already": lambda one: one.per_person(n=tc.count()).per_person(n=tc.count()),
    "needs numbers": lambda one: one.per_person(m=tc.sum("site", 0, 1)),
    "no bounds": lambda one: one.per_person(m=tc.min("site", 0, 1)),
    "public bounds": lambda one: one.per_person(m=tc.sum("cost")),
    "bounds must be whole": lambda one: one.per_person(m=tc.sum("day", 0, "1/2")),
    "differ from each other and from 'person'": lambda one: one.per_person(person=tc.count()),
    "capital": lambda one: one.per_person(n=tc.count(), N=tc.count()),
    "name each value that is made": lambda one: one.per_person(),
    "no column 'cots'": lambda one: one.per_person(m=tc.sum("cots", 0, 1)),
    "of rows, without": lambda one: one.per_person(n=tc.count()).count_over_time(
        "n", start=0, every=1, periods=2, epsilon=1
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_made_is_refused_with_the_reason(reason: str) -> None:
    with session() as one:
        with pytest.raises(UsageError, match=f"(?i){reason}"):
            REFUSED[reason](one)
        assert one.spent.amount == 0


def test_a_total_without_bounds_takes_those_of_a_row_times_the_rows_of_a_person(
    tmp_path: Path,
) -> None:
    (tmp_path / "visits.csv").write_text("person,cost\n1,20\n1,90\n2,35\n")
    (tmp_path / "visits.toml").write_text("""
name = "visits"
unit = { person = "person", rows = 5 }
budget = { epsilon = 1 }
[tables.visits]
path = "visits.csv"
[tables.visits.columns]
cost = { kind = "float", bounds = [-2, 100] }
""")
    with tc.open(tmp_path / "visits.toml", ledger=tc.in_memory) as one:
        people = one.per_person(total=tc.sum("cost"), mean=tc.mean("cost"), low=tc.min("cost"))
        described = people._query.describe()["inner"]["aggregates"]
        bounds = [(a["lower"], a["upper"]) for _, a in described]
        assert bounds == [("-10", "500"), ("-2", "100"), ("-2", "100")]
        answer = people.agg(total=tc.mean("total")).release(epsilon=1)  # bounds are known
        assert answer.certificate.verify(one.ledger)


def test_rows_that_are_people_already_are_refused() -> None:
    table = pd.DataFrame({"x": [1, 2]})
    one = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(1))
    with one, pytest.raises(UsageError, match="one row a person already"):
        one.per_person(n=tc.count())


@pytest.mark.parametrize(("person", "columns"), [(None, ["n"]), ("person", ["n"])])
def test_the_step_needs_people_and_keeps_them(person: str | None, columns: list[str]) -> None:
    step = PerPerson([[name, "integer"] for name in columns], [])
    with pytest.raises(MismatchError, match="identifies people"):
        table_space({"person": "integer", "cost": "float"}, person) >> step


def test_the_columns_are_the_person_and_what_is_made() -> None:
    with session() as one:
        inner = asked(one)._query.inner
        assert people_schema(inner).kinds() == [
            ["person", "integer"], ["total", "float"], ["n", "integer"], ["site", "text"],
            ["last", "integer"],
        ]  # fmt: skip


@pytest.mark.full
def test_every_vector_of_people_keeps_its_map_on_all_neighbours() -> None:
    """Every table of two rows, or one, and every person who leaves it; the bounds are attained."""
    kinds = [(p, x) for p in (1, 2) for x in (-9.0, 2.5, 99.0)]
    tables = [list(t) for n in (1, 2) for t in itertools.combinations_with_replacement(kinds, n)]
    attained: dict[str, Fraction] = {}
    for table in tables:
        whole = _vectors(table)
        for person in {p for p, _ in table}:
            rest = _vectors([row for row in table if row[0] != person])
            for name, (vector, limit) in whole.items():
                distance = L1Distance().distance(vector, rest[name][0])
                assert distance <= limit, (table, person, name)
                attained[name] = max(attained.get(name, Fraction(0)), distance / limit)
    # of the two counts beside a sum, and of the mean's two sums, each person moves one to the full
    assert set(attained.values()) == {1}


def _vectors(table: list[tuple[int, float]]) -> dict[str, tuple[Any, Fraction]]:
    """The exact vectors of a question about people, and how far one person may move them."""
    frame = pd.DataFrame(table, columns=["person", "x"]).astype({"person": "int64", "x": "float64"})
    source = open_source(frame, name="drawn")
    with tc.Session(source, unit=tc.unit("person", rows=3), budget=tc.epsilon(1)) as one:
        people = one.per_person(total=tc.sum("x", 0, 8), n=tc.count())
        question = people.with_columns(k=tc.col("n") * 4).agg(
            there=tc.count(), total=tc.sum("total"), n=tc.mean("k", 0, 8)
        )
        plan = Plan(question._query, tc.epsilon(1))
        chains = plan.chains(1)
        vectors = PlanRunner(source).collect(plan).vectors(chains, [()])
        found = {}
        for part, ends, exact in zip(plan.parts, chains, vectors, strict=True):
            for end in ends:
                links = plan.measurement(end, part.on_people).links
                grid = links[-2].output.domain.element.grid
                limit = Fraction(1)
                for link in links[:-1]:
                    limit = link.map(limit)
                found[part.title] = [v * grid for v in exact[end[0]]], limit
        return found

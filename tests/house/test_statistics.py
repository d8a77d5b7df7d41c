"""Each statistic is whole: a public name, a flag, fields of a plan, words, a page, a proof."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import tacit as tc
from house.project import PACKAGE, ROOT
from tacit.cli.app import app
from tacit.cli.release.release import release
from tacit.cli.shared.flag_values import aggregates
from tacit.cli.shared.options import example, flag_of
from tacit.report.text import aggregate_words, step_words
from tacit.tables.question_formats import statistic
from tacit.tables.session import Session
from tacit.tables.statistics.base import Aggregate, statistics

STATISTICS = {known.kind: known for known in statistics()}
VALUES = {
    "column": "age",
    "lower": 0,
    "upper": 100,
    "q": 90,
    "share": "1/10",
    "percentages": [25, 50, 75],
    "edges": [0, 18, 65, 100],
    "k": 3,
    "keys": [18, 40, 65, 99],
    "x": "age",
    "y": "pay",
    "weight": "pay",
    "bounds": {"age": (0, 100), "pay": (0, 1000)},
}
PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")


def values(of: Any) -> dict[str, Any]:
    """The fields of a question, within the bounds that the statistic can have."""
    known = VALUES | ({} if of.lowest == "0" else {"lower": of.lowest})
    return {field: known[field] for field in of.fields}


def asked(of: type[Aggregate]) -> Aggregate:
    """A question, as Python asks it."""
    made: Aggregate = of.make(*values(of).values())
    return made


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    table = tmp_path_factory.mktemp("statistics") / "people.csv"
    rows = [f"{20 + i % 60},{'ab'[i % 2]},{i % 7 * 100}" for i in range(400)]
    table.write_text("\n".join(["age,site,pay", *rows]) + "\n", encoding="utf-8")
    with tc.Session(str(table), unit=tc.one_row_each, budget=tc.epsilon(1000)) as opened:
        yield opened


@pytest.mark.parametrize("name", STATISTICS)
def test_it_has_a_public_name(name: str) -> None:
    assert getattr(tc, name) is STATISTICS[name].make
    assert asked(STATISTICS[name]).kind == name


@pytest.mark.parametrize("name", STATISTICS)
def test_flags_and_plans_ask_what_python_asks(name: str) -> None:
    of = STATISTICS[name]
    given = [example(of.fields, of.lowest)] if of.fields else True
    (label, by_flag), *none = aggregates({name: given}).items()
    fields = values(of)
    assert not none
    assert label.isidentifier() or "q" in of.fields
    assert by_flag == asked(of) == statistic({"statistic": name, **fields}, "x")


@pytest.mark.parametrize("name", STATISTICS)
def test_its_flag_has_a_row_on_the_page_of_the_command_line(name: str) -> None:
    rows = re.findall(r"^\| (`--.*?) \|", PAGE, flags=re.MULTILINE)
    flags = {flag for row in rows for flag in re.findall(r"--[\w-]+", row)}
    assert flag_of(STATISTICS[name]) in flags
    assert len(STATISTICS[name].help) > 8


@pytest.mark.parametrize("name", STATISTICS)
def test_its_description_is_read_back(name: str) -> None:
    described = asked(STATISTICS[name]).to_json()
    assert STATISTICS[name].read(described) == asked(STATISTICS[name])


@pytest.mark.parametrize("name", STATISTICS)
def test_it_is_released_told_in_words_and_verified(name: str, session: Session) -> None:
    question = asked(STATISTICS[name])
    grouped = session.group_by("site", keys=["a", "b", "c"]).agg(it=question)
    assert all(error > 0 for error in grouped.preview(epsilon=8).errors["it"])
    body = grouped.release(epsilon=8).certificate.body
    verification = tc.Certificate(body).verify()
    assert verification, str(verification)
    assert "age" in aggregate_words(question.to_json()) or not question.fields
    for chain in body["chains"]:
        assert [step for step in chain["steps"] if step_words(step) == step["step"]] == []


def test_the_methods_name_the_statistics_that_have_them() -> None:
    *others, last = (known.kind for known in statistics() if known.methods)
    listed = f"{', '.join(others)} and {last}"
    method: Any = inspect.signature(release).parameters["method"].annotation
    assert listed in method.__metadata__[0].help
    with pytest.raises(tc.errors.UsageError, match=f"Methods are for {listed}"):
        tc.count(method="smooth")


def test_only_commands_that_ask_load_the_statistics() -> None:
    flags = {
        parameter.name
        for command in app.registered_commands
        for parameter in inspect.signature(command.callback).parameters.values()
    }  # type: ignore[arg-type]
    assert not flags & set(STATISTICS)


def test_no_other_module_knows_a_statistic_by_its_name() -> None:
    """A name in quotes outside of its own file would be the beginning of a ladder."""
    names = [name for name in STATISTICS if "_" in name or name in ("histogram", "percentile")]
    quoted = re.compile(rf'"({"|".join(names)})"')
    packages = [PACKAGE / package for package in ("tables", "report", "cli")]
    found = {
        str(path.relative_to(PACKAGE)): sorted(set(quoted.findall(text)))
        for package in packages
        for path in package.rglob("*.py")
        if (text := path.read_text(encoding="utf-8")) and quoted.search(text)
    }
    strange = {path for path in found if not path.startswith("tables/statistics/")}
    assert strange == {"tables/__init__.py"}

"""Certificates of answers that follow from releases: each way to change one is caught."""

from __future__ import annotations

import copy

import pyarrow as pa
import pytest

import tacit as tc
from tacit.report.issued import digest


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

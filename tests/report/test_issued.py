"""What stands in every certificate."""

import copy
from importlib.metadata import version

import pyarrow

import tacit as tc
from tacit.report import certificate, issued


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

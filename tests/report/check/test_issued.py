"""What stands in every certificate."""

from importlib.metadata import version

from tacit.report.check import issued


def test_versions_are_read_once_and_are_the_callers_own(monkeypatch):
    known = issued.versions()
    assert known["duckdb"] == version("duckdb")
    monkeypatch.setattr(issued, "version", None)
    issued.versions()["duckdb"] = "another"
    assert issued.versions() == known

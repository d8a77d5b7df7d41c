"""A session on Spark under attack."""

from __future__ import annotations

import pytest

from support.audit.attacked import ALL, attacked
from tacit.audit.attack_suite.system import NotReadyError
from tacit.audit.attack_suite.systems.tacit_spark import TacitSpark


def test_without_java_the_table_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(NotReadyError, match="Java"):
        TacitSpark().refuse_unready()


@pytest.mark.full
def test_spark(spark):
    attacked("tacit-spark", set())


@pytest.mark.slow
@pytest.mark.full
def test_spark_falls_under_none_of_all(spark):
    attacked("tacit-spark", ALL)

"""A service in a process of its own under attack, over HTTP."""

from __future__ import annotations

import pytest

from support.audit.attacked import ALL, attacked
from tacit.audit.attack_suite.system import HOLDS, NotReadyError
from tacit.audit.attack_suite.systems import tacit_service
from tacit.errors import MissingExtraError


def test_without_its_packages_the_table_says_so(monkeypatch):
    def need(module, extra):
        raise MissingExtraError(f"no {module}")

    monkeypatch.setattr(tacit_service, "need", need)
    with pytest.raises(NotReadyError, match="no fastapi"):
        tacit_service.TacitService().refuse_unready()


@pytest.mark.full
def test_a_service_of_many_data_sets_is_followed_by_another(monkeypatch):
    monkeypatch.setattr(tacit_service, "_MOST", 1)
    system = tacit_service.TacitService()
    try:
        first = system.account(1.0)
        second = system.account(1.0)
        assert len(system._all) == 2
        first.ask(0.25, "one"), second.ask(0.5, "one")
        assert (first.spent(), second.spent()) == (0.25, 0.5)
    finally:
        system.close()


@pytest.mark.full
def test_the_same_rows_are_one_data_set_and_every_release_has_noise_of_its_own():
    system = tacit_service.TacitService()
    try:
        found = [system.statistic("count", [1.0] * 9, epsilon=0.001) for _ in range(4)]
        assert len(set(found)) > 1
        assert len(list(system._service.data.iterdir())) == 1
    finally:
        system.close()


@pytest.mark.full
def test_the_service():
    failure = "a failure between charge and answer/1 failures"
    assert attacked("tacit-service", {failure})[failure].verdict == HOLDS


@pytest.mark.slow
def test_the_service_falls_under_none_of_all():
    attacked("tacit-service", ALL)

"""The adapter of the framework, and those of other libraries, which load without them."""

from __future__ import annotations

import pytest

from tacit.audit.attack_suite.run import SYSTEMS
from tacit.audit.attack_suite.system import NotOfferedError, System, forked_numbers
from tacit.audit.attack_suite.systems import tacit_local
from tacit.audit.attack_suite.systems.peers import diffprivlib, dp_accounting, opendp, pydp
from tacit.audit.attack_suite.systems.tacit_framework import TacitFramework

SYSTEM = TacitFramework()


def test_noise_lies_on_a_public_grid():
    for kind in ("laplace", "gaussian"):
        value = SYSTEM.noise(kind, 0.0, 2.0) * 2**20
        assert value == int(value)


def test_claims_are_those_of_the_maps():
    assert SYSTEM.claim("a sample used twice: rate 0.5") == pytest.approx(1.43378, rel=1e-5)
    assert SYSTEM.claim("sums in a tree: 8 leaves in L2") == pytest.approx(2)
    assert SYSTEM.claim("noisy maximum in zCDP: Gumbel noise of scale 2") > 0.12
    name = "composition: 7 randomized responses, epsilon 1, delta 0"
    assert SYSTEM.claim(name) == pytest.approx(7, abs=1e-5)
    with pytest.raises(NotOfferedError):
        SYSTEM.claim("the weather: tomorrow")


def test_forked_processes_answer():
    assert forked_numbers(lambda: [1.0, 2.0]) == ([1.0, 2.0], [1.0, 2.0])
    first, second = SYSTEM.forked()
    assert list(first) != list(second)


def test_a_question_of_the_local_model_refuses_what_it_cannot_have_sent():
    question = tacit_local.TacitQuestion(4, 1.0, "direct")
    assert question.accepts(question.report(2))
    assert not any(question.accepts(report) for report in question.impossible())
    assert sum(question.counts([question.report(0) for _ in range(50)])) == pytest.approx(50)


@pytest.mark.parametrize("module", [diffprivlib, dp_accounting, opendp, pydp])
def test_an_adapter_loads_without_its_library(module):
    system = module.SYSTEM()
    assert isinstance(system, System)
    assert module.__name__.endswith(f".{SYSTEMS[system.name][0]}")
    with pytest.raises(NotOfferedError):
        system.certificate()

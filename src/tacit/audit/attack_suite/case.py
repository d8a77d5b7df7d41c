"""A case: a small program that attacks one weakness of one system, and its verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit.audit.attack_suite.system import NotOfferedError, System

__all__ = [
    "FALLS",
    "HOLDS",
    "NOT_APPLICABLE",
    "UNDECIDED",
    "Case",
    "Outcome",
    "all_cases",
    "case",
    "falls",
    "holds",
]

HOLDS, FALLS, NOT_APPLICABLE, UNDECIDED = "holds", "falls", "not applicable", "undecided"


@dataclass(frozen=True)
class Outcome:
    """What a case found on a system.

    Attributes:
        verdict: holds, falls, not applicable (the system offers no such thing), or undecided (the
            program of the case failed, which says nothing about the system).
        evidence: a sentence: what was seen.
    """

    verdict: str
    evidence: str


def holds(evidence: str) -> Outcome:
    """Return that the system withstood the attack."""
    return Outcome(HOLDS, evidence)


def falls(evidence: str) -> Outcome:
    """Return that the attack worked."""
    return Outcome(FALLS, evidence)


@dataclass(frozen=True)
class Case:
    """One attack in one form.

    Attributes:
        attack: the class of attack.
        name: the form.
        question: what is looked at, in a sentence.
        source: who published the weakness.
        program: from a system to an outcome.
    """

    attack: str
    name: str
    question: str
    source: str
    program: Callable[[System], Outcome]

    @property
    def id(self) -> str:
        """The class and the form."""
        return f"{self.attack}/{self.name}"

    def run(self, system: System) -> Outcome:
        """Attack a system; nothing that it raises comes through."""
        try:
            return self.program(system)
        except NotOfferedError as error:
            return Outcome(NOT_APPLICABLE, f"it does not offer {error}")
        except Exception as error:
            return Outcome(UNDECIDED, f"the case could not be run: {type(error).__name__}")


_CASES: dict[str, Case] = {}


def case(
    attack: str, name: str, question: str, source: str
) -> Callable[[Callable[[System], Outcome]], Callable[[System], Outcome]]:
    """Decorate the program of a case."""

    def add(program: Callable[[System], Outcome]) -> Callable[[System], Outcome]:
        made = Case(attack, name, question, source, program)
        assert made.id not in _CASES, made.id
        _CASES[made.id] = made
        return program

    return add


def all_cases() -> tuple[Case, ...]:
    """Return the cases that were registered so far, in the order of their modules."""
    return tuple(_CASES.values())

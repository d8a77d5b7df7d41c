"""Attacks on what stands beside an answer: logs, pickles, exact counts, time, generators."""

from __future__ import annotations

import re

import numpy as np

from tacit.audit.attack_suite.case import Outcome, case, falls, holds
from tacit.audit.attack_suite.system import System

__all__: list[str] = []

_SIZE = 48_163
_VALUE = 7.015625
_RUNS = 3
_WHERE = {
    "log": "logs",
    "warning": "logs",
    "repr": "what objects show of themselves",
    "pickle": "what objects show of themselves",
    "answer": "exact numbers beside an answer",
    "certificate": "exact numbers beside an answer",
    "history": "exact numbers beside an answer",
}


def _written(where: str, attack: str, name: str) -> None:
    @case(
        attack,
        name,
        f"does a {where} hold the exact number of rows, or a cell?",
        "metadata of releases, SP 800-226 (NIST 2025)",
    )
    def _(system: System) -> Outcome:
        rows = [_VALUE, *[1.0] * (_SIZE - 1)]
        texts = [system.written(where, rows) for _ in range(_RUNS)]
        exact = all(re.search(rf"(?<![\d.]){_SIZE}(?![\d])", text) for text in texts)
        cell = any(str(_VALUE) in text for text in texts)
        if exact:
            return falls(f"the {where} of {_RUNS} releases holds the exact number of rows")
        if cell:
            return falls(f"the {where} holds the value of a cell")
        return holds(f"neither the number of rows nor a cell is in {sum(map(len, texts))} letters")


for _place, _attack in _WHERE.items():
    _written(_place, _attack, _place)


@case(
    "logs",
    "log of a release that fails",
    "does the log of a failed release hold a cell?",
    "metadata of releases, SP 800-226 (NIST 2025)",
)
def _log_of_failure(system: System) -> Outcome:
    text = system.written("log of a failure", [_VALUE] * 50)
    told = f"{len(text)} letters were logged"
    return falls(f"{told}, with a cell") if str(_VALUE) in text else holds(told)


@case(
    "what objects show of themselves",
    "session",
    "does the object that holds the data show them?",
    "metadata of releases, SP 800-226 (NIST 2025)",
)
def _session(system: System) -> Outcome:
    text = system.written("session", [_VALUE] * _SIZE)
    shown = str(_VALUE) in text or str(_SIZE) in text
    told = f"it shows {len(text)} letters of itself"
    return falls(f"{told}, with rows") if shown else holds(told)


def _timing(name: str, draws: int) -> None:
    @case(
        "time of a draw",
        name,
        "does the time of a draw tell how large its noise is?",
        "Jin, McMurtry, Rubinstein, Ohrimenko, Are we there yet? (S&P 2022)",
    )
    def _(system: System) -> Outcome:
        found = np.array(system.noise_costs(draws), dtype=np.float64)
        ranks = [column.argsort().argsort() for column in found.T]
        if np.unique(found[:, 1]).size == 1:
            return holds(f"{draws} draws cost the same")
        correlation = float(np.corrcoef(ranks)[0, 1])
        told = f"rank correlation {correlation:.3f} of size and cost in {draws} draws"
        limit = 0.1 + 5 / draws**0.5
        return falls(told) if abs(correlation) > limit else holds(told)


for _name, _draws in {"500 draws": 500, "1,000 draws": 1000, "3,000 draws": 3000}.items():
    _timing(_name, _draws)


def _seed(name: str, seed: int) -> None:
    @case(
        "noise that can be repeated",
        name,
        "does the noise repeat once the generators of the program are seeded?",
        "Garfinkel, Leclerc, Randomness concerns when deploying DP (2020)",
    )
    def _(system: System) -> Outcome:
        first, second = list(system.seeded(seed)), list(system.seeded(seed))
        if first == second:
            return falls(f"the same {len(first)} answers after the same seed")
        return holds("other answers after the same seed")


_seed("seed 0", 0)
_seed("seed 1", 1)


@case(
    "noise that can be repeated",
    "after a fork",
    "do two processes forked from one have the same noise?",
    "Garfinkel, Leclerc, Randomness concerns when deploying DP (2020)",
)
def _fork(system: System) -> Outcome:
    first, second = map(list, system.forked())
    if first == second:
        return falls(f"two forked processes gave the same {len(first)} answers")
    return holds("two forked processes gave different answers")

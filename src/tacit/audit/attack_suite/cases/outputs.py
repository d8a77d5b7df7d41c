"""Attacks on people, errors, leaks and budgets."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.audit.attack_suite.system import (
    LARGE_EPSILON,
    CaseOutcome,
    NotOfferedError,
    System,
    SystemBudget,
    attempt,
    case,
    cases,
    falls,
    holds,
    moved_at_most,
    moved_beyond_noise,
)

# Attacks through people: many rows, many groups, joins, and one reading.


__all__: list[str] = []

_RECORDER = "dp-recorder (PETS 2026): the unit of privacy"
_BASE = [(person, "ab"[person % 2], 1.0) for person in range(100)]


def _greedy(
    attack: str, name: str, rows: Sequence[tuple[int, str, float]], each: tuple[int, int]
) -> None:
    @case(
        attack,
        name,
        "does a person with many rows move a sum by more than the declared rows?",
        _RECORDER,
    )
    def _(system: System) -> CaseOutcome:
        rows_each, groups_each = each

        def release(given: Sequence[tuple[int, str, float]]) -> object:
            return system.people_sum(
                given,
                ["a", "b", "c"],
                rows_each=rows_each,
                groups_each=groups_each,
                upper=1.0,
                epsilon=LARGE_EPSILON,
            )

        return moved_at_most(
            lambda: release([*_BASE, *rows]),
            lambda: release(_BASE),
            float(rows_each * groups_each),
            f"one person with {len(rows)} rows",
        )


_greedy("many rows of a person", "a thousand rows, one counts", [(999, "a", 1.0)] * 1000, (1, 1))
_greedy("many rows of a person", "a thousand rows, five count", [(999, "b", 1.0)] * 1000, (5, 1))
_greedy("many rows of a person", "rows far above the bound", [(999, "a", 1e9)] * 50, (2, 1))
_SPREAD = [(999, "abc"[i % 3], 1.0) for i in range(300)]
_greedy("many groups of a person", "three groups, one counts", _SPREAD, (1, 1))
_greedy("many groups of a person", "three groups, two count", _SPREAD, (1, 2))
_greedy(
    *("many groups of a person", "an unlisted group beside"),
    [*_SPREAD, *[(999, "z", 1.0)] * 50],
    (2, 1),
)


@cases(
    "joins",
    "does a join with a public table multiply the rows of a person?",
    "a join that ignores duplicated keys, dp-recorder (PETS 2026)",
    {
        "a key twice in the public table": ([1, 2, 3, 3, 3, 3], 3),
        "a missing key on both sides": ([1, 2, None, None], None),
        "a key that the public table lacks": ([1, 2], 77),
    },
)
def _(system: System, public: Sequence[int | None], key: int | None) -> CaseOutcome:
    rows: list[int | None] = [1, 2, 2]
    return moved_beyond_noise(
        lambda epsilon: system.joined_count([*rows, key], public, epsilon=epsilon),
        lambda epsilon: system.joined_count(rows, public, epsilon=epsilon),
        "one more row",
    )


@cases(
    "readings that differ",
    "does a source that shows other rows to each reading let a person count for more?",
    "a view with random(), read twice (found in a development state of Tacit)",
    {f"{rows} rows count": (rows,) for rows in (1, 2, 5)},
)
def _(system: System, rows_each: int) -> CaseOutcome:
    measured = max(system.changing_source(rows_each, epsilon=LARGE_EPSILON) for _ in range(3))
    described = (
        f"one person whose rows change weighed {measured:.4g}, where {rows_each} are allowed"
    )
    return holds(described) if measured <= rows_each * 1.01 else falls(described)


@cases(
    "predicates that raise",
    "does a filter that fails on a chosen row raise only where that row exists?",
    "side channels of user code: Haeberlen, Pierce, Narayan, Differential privacy under fire",
    {
        "quotient": ("quotient", 0, 1),
        "logarithm": ("logarithm", -1.0, 2.0),
        "number": ("number", "12 monkeys", "12"),
    },
)
def _(system: System, predicate: str, odd: object, plain: object) -> CaseOutcome:
    rows = [plain] * 50
    left = attempt(lambda: system.filtered_count(predicate, [*rows, odd], epsilon=LARGE_EPSILON))
    right = attempt(lambda: system.filtered_count(predicate, rows, epsilon=LARGE_EPSILON))
    if (left[1] is None) != (right[1] is None):
        name = type(left[1] or right[1]).__name__
        return falls(f"the row {odd!r} decided whether {name} was raised")
    if left[1] is not None:
        return holds("the predicate is refused before the rows are read")
    moved = abs(left[0] - right[0])
    described = f"the row {odd!r} moved the count by {moved:.4g}"
    return holds(described) if moved <= 1.01 else falls(described)


# Attacks through errors: raised for some rows only, or with a value in their text.


_ORACLE = "an exact oracle by an engine's error (found in a development state of Tacit)"


@cases(
    "errors as oracles",
    "is an error raised for a data set and not for its neighbour?",
    _ORACLE,
    {
        "a median of ties": ("median", [1.0, 2.0, 3.0, 3.0], [1.0, 2.0, 3.0, 4.0]),
        "the only row": ("sum", [], [5.0]),
        "a mean of one row": ("mean", [5.0], [5.0, 5.0]),
        "a variance of two rows": ("variance", [5.0], [5.0, 5.0]),
        "a median of one row": ("median", [5.0], [5.0, 5.0]),
    },
)
def _(system: System, kind: str, left: Sequence[Any], right: Sequence[Any]) -> CaseOutcome:
    return moved_at_most(
        lambda: system.statistic(kind, left, bounds=(0.0, 10.0), epsilon=LARGE_EPSILON),
        lambda: system.statistic(kind, right, bounds=(0.0, 10.0), epsilon=LARGE_EPSILON),
        25.0 if kind == "variance" else 10.0,  # the widest that each can be
        "one row",
    )


_SECRET = "Quartermaine-4815162342"


@cases(
    "errors that quote the rows",
    "does the text of an error carry a value of the table?",
    _ORACLE,
    {
        "a text in a column of numbers": (
            lambda system: system.read_sum(
                f"x\n1\n{_SECRET}\n", "x", "integer", (0, 10), epsilon=1.0
            ),
        ),
        "a text where a number is compared": (
            lambda system: system.filtered_count("number", ["1", _SECRET], epsilon=1.0),
        ),
        "a text among numbers in memory": (
            lambda system: system.statistic(
                "sum", [1.0, _SECRET, 2.0], bounds=(0.0, 10.0), epsilon=1.0
            ),
        ),
        "a text as the median": (
            lambda system: system.statistic(
                "median", [1.0, _SECRET], bounds=(0.0, 10.0), epsilon=1.0
            ),
        ),
    },
)
def _(system: System, ask: Any) -> CaseOutcome:
    _, error = attempt(lambda: ask(system))
    if error is None:
        return holds("no error was raised")
    text = "".join(traceback.format_exception(error, chain=True))
    quoted = "".join(str(part) for part in (error, *error.args))
    if _SECRET in quoted or _SECRET in text.rsplit("\n", 2)[-2]:
        return falls(f"{type(error).__name__} quotes a cell")
    return holds(f"{type(error).__name__} quotes no cell")


# Attacks on what is next to an answer: logs, pickles, exact counts, time, generators.


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
    def _(system: System) -> CaseOutcome:
        rows = [_VALUE, *[1.0] * (_SIZE - 1)]
        texts = [system.written(where, rows) for _ in range(_RUNS)]
        exact = all(re.search(rf"(?<![\d.]){_SIZE}(?![\d])", text) for text in texts)
        cell = any(str(_VALUE) in text for text in texts)
        if exact:
            return falls(f"the {where} of {_RUNS} releases holds the exact number of rows")
        if cell:
            return falls(f"the {where} holds the value of a cell")
        return holds(f"neither the number of rows nor a cell is in {sum(map(len, texts))} letters")


for _sink, _attack in _WHERE.items():
    _written(_sink, _attack, _sink)


@case(
    "logs",
    "log of a release that fails",
    "does the log of a failed release hold a cell?",
    "metadata of releases, SP 800-226 (NIST 2025)",
)
def _log_of_failure(system: System) -> CaseOutcome:
    text = system.written("log of a failure", [_VALUE] * 50)
    described = f"{len(text)} letters were logged"
    return falls(f"{described}, with a cell") if str(_VALUE) in text else holds(described)


@case(
    "what objects show of themselves",
    "session",
    "does the object that holds the data show them?",
    "metadata of releases, SP 800-226 (NIST 2025)",
)
def _session(system: System) -> CaseOutcome:
    text = system.written("session", [_VALUE] * _SIZE)
    shown = str(_VALUE) in text or str(_SIZE) in text
    described = f"it shows {len(text)} letters of itself"
    return falls(f"{described}, with rows") if shown else holds(described)


@cases(
    "time of a draw",
    "does the time of a draw tell how large its noise is?",
    "Jin, McMurtry, Rubinstein, Ohrimenko, Are we there yet? (S&P 2022)",
    {"500 draws": (500,), "1,000 draws": (1000,), "3,000 draws": (3000,)},
)
def _(system: System, draws: int) -> CaseOutcome:
    measured = np.array(system.noise_costs(draws), dtype=np.float64)
    ranks = [column.argsort().argsort() for column in measured.T]
    if np.unique(measured[:, 1]).size == 1:
        return holds(f"{draws} draws cost the same")
    correlation = float(np.corrcoef(ranks)[0, 1])
    described = f"rank correlation {correlation:.3f} of size and cost in {draws} draws"
    limit = 0.1 + 5 / draws**0.5
    return falls(described) if abs(correlation) > limit else holds(described)


@cases(
    "noise that can be repeated",
    "does the noise repeat once the generators of the program are seeded?",
    "Garfinkel, Leclerc, Randomness concerns when deploying DP (2020)",
    {
        "seed 0": (0,),
        "seed 1": (1,),
    },
)
def _(system: System, seed: int) -> CaseOutcome:
    first, second = list(system.seeded(seed)), list(system.seeded(seed))
    if first == second:
        return falls(f"the same {len(first)} answers after the same seed")
    return holds("other answers after the same seed")


@case(
    "noise that can be repeated",
    "after a fork",
    "do two processes forked from one have the same noise?",
    "Garfinkel, Leclerc, Randomness concerns when deploying DP (2020)",
)
def _fork(system: System) -> CaseOutcome:
    first, second = map(list, system.forked())
    if first == second:
        return falls(f"two forked processes gave the same {len(first)} answers")
    return holds("two forked processes gave different answers")


# Attacks on a budget: odd amounts, repeats, many at once, copies and files put back.


_CAP = "a cap that is not enforced: 100 answers, seen in a published SQL library"
_ZERO = "an open report on exact counts at epsilon 0"
_LEDGER = "attacks on ledgers, Haeberlen, Pierce, Narayan (USENIX 2011)"


@cases(
    "odd amounts",
    "is an epsilon that is no price accepted?",
    _ZERO,
    {
        "zero": (0.0,),
        "negative": (-1.0,),
        "NaN": (float("nan"),),
        "infinite": (float("inf"),),
    },
)
def _(system: System, epsilon: float) -> CaseOutcome:
    account = system.account(1.0)
    answer, error = attempt(lambda: account.ask(epsilon, "odd"))
    if error is not None:
        return holds(f"epsilon {epsilon:g} is refused: {type(error).__name__}")
    return falls(f"epsilon {epsilon:g} was answered with {answer:.6g}")


def _granted(account: SystemBudget, epsilon: float, times: int) -> int:
    done = 0
    for number in range(times):
        _, error = attempt(partial(account.ask, epsilon, f"n{number}"))
        if error is not None:
            break
        done += 1
    return done


@cases(
    "a cap that does not hold",
    "are answers given beyond the budget?",
    _CAP,
    {
        "one answer at a time": (1.0, 0.25, 4),
        "tenths that add up": (1.0, 0.1, 10),
        "more than all at once": (1.0, 1.0001, 0),
    },
)
def _(system: System, budget: float, epsilon: float, fits: int) -> CaseOutcome:
    measured = _granted(system.account(budget), epsilon, fits + 5)
    described = f"{measured} releases at {epsilon:g} under a budget of {budget:g}"
    return falls(described) if measured > fits else holds(described)


@cases(
    "averaging of repeats",
    "can one question be asked again for other noise without being charged?",
    "Dinur, Nissim (2003); differencing of repeated answers",
    {
        "the same question": (lambda n: "same",),
        "the same question under other names": (lambda n: f"name {n}",),
        "two in turn": (lambda n: f"name {n % 2}",),
    },
)
def _(system: System, label: Callable[[int], str]) -> CaseOutcome:
    account = system.account(1.0)
    answers = []
    for number in range(4):
        answer, error = attempt(partial(account.ask, 0.25, label(number)))
        if error is None:
            answers.append(answer)
    spent = account.spent()
    fresh = len(set(answers))
    described = f"{fresh} different answers for a charge of {spent:.6g}"
    return falls(described) if fresh * 0.25 > spent * (1 + 1e-9) else holds(described)


@cases(
    "spending at once",
    "do releases at the same time overdraw a budget?",
    _LEDGER,
    {
        "eight threads": (8, False),
        "eight handles on one budget": (8, True),
        "twelve threads": (12, False),
    },
)
def _(system: System, threads: int, handles: bool) -> CaseOutcome:
    account = system.account(1.0)
    others = [account.again() if handles else account for _ in range(threads)]
    gate, given = threading.Barrier(threads), list[float]()

    def ask(number: int) -> None:
        gate.wait()
        answer, error = attempt(lambda: others[number].ask(0.25, f"t{number}"))
        if error is None:
            given.append(answer)

    running = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    described = f"{len(given)} of {threads} releases at 0.25 were answered under a budget of 1"
    return falls(described) if len(given) > 4 else holds(described)


@cases(
    "a failure between charge and answer",
    "is a release that fails while rows are read free of charge?",
    "an exact oracle by an error (found in a development state of Tacit)",
    {f"{times} failures": (times,) for times in (1, 2, 4)},
)
def _(system: System, times: int) -> CaseOutcome:
    account = system.account(1.0)
    for number in range(times):
        attempt(partial(account.fail, 0.25, f"f{number}"))
    spent = account.spent()
    described = f"{times} failed releases at 0.25 were charged {spent:g}"
    return holds(described) if spent >= min(1.0, 0.25 * times) - 1e-9 else falls(described)


def _copy_after(account: SystemBudget, folder: Path) -> SystemBudget:
    account.ask(0.5, "first")
    (file,) = account.files()[:1]
    shutil.copy(file, folder / "copy.ledger")
    return account.opened_at(str(folder / "copy.ledger"))


def _hard_link(account: SystemBudget, folder: Path) -> SystemBudget:
    (file,) = account.files()[:1]
    link = Path(file).with_name("second-name.ledger")
    os.link(file, link)
    account.ask(0.5, "first")
    return account.opened_at(str(link))


def _symbolic_link(account: SystemBudget, folder: Path) -> SystemBudget:
    (file,) = account.files()[:1]
    account.ask(0.5, "first")
    (folder / "link.ledger").symlink_to(file)
    return account.opened_at(str(folder / "link.ledger"))


def _put_back(account: SystemBudget, folder: Path) -> SystemBudget:
    (file,) = account.files()[:1]
    shutil.copy(file, folder / "old.ledger")
    account.ask(0.5, "first")
    shutil.copy(folder / "old.ledger", file)
    return account


@cases(
    "copied and rolled-back ledgers",
    "can a spent budget be spent again from another name or an older copy of its file?",
    _LEDGER,
    {
        "a copy after the charge": (_copy_after,),
        "a hard link": (_hard_link,),
        "a symbolic link": (_symbolic_link,),
        "an older copy put back under a running session": (_put_back,),
    },
)
def _(system: System, trick: Callable[[SystemBudget, Path], SystemBudget]) -> CaseOutcome:
    account = system.account(0.5)
    files = account.files()
    if not files:
        raise NotOfferedError("a budget in a file")
    with tempfile.TemporaryDirectory() as folder:
        again, error = attempt(lambda: trick(account, Path(folder)))
        if error is not None:
            return holds(f"the file is refused: {type(error).__name__}")
        _, error = attempt(lambda: again.ask(0.5, "second"))
    if error is not None:
        return holds(f"the second release is refused: {type(error).__name__}")
    return falls("a budget of 0.5 paid for two releases of 0.5")


@cases(
    "bounds chosen after the answer",
    "is an answer under other bounds another release, with its own charge?",
    "post-hoc choice of bounds, SP 800-226 (NIST 2025)",
    {
        "wider": ((0, 100),),
        "narrower": ((0, 5),),
        "turned": ((-10, 10),),
    },
)
def _(system: System, bounds: tuple[float, float]) -> CaseOutcome:
    account = system.account(1.0)
    account.ask(0.25, "bounds 0 to 10")
    account.ask(0.25, f"bounds {bounds[0]:g} to {bounds[1]:g}")
    spent = account.spent()
    described = f"two releases under different bounds were charged {spent:g}"
    return holds(described) if spent >= 0.5 - 1e-9 else falls(described)

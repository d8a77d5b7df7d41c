"""Attacks on a budget: odd amounts, repeats, many at once, copies and files put back."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tacit.audit.attack_suite.case import Outcome, case, falls, holds
from tacit.audit.attack_suite.looking import attempt
from tacit.audit.attack_suite.system import Account, NotOfferedError, System

__all__: list[str] = []

_CAP = "a cap that is not enforced: 100 answers, seen in a published SQL library"
_ZERO = "an open report on exact counts at epsilon 0"
_LEDGER = "attacks on ledgers, Haeberlen, Pierce, Narayan (USENIX 2011)"


def _odd(name: str, epsilon: float) -> None:
    @case("odd amounts", name, "is an epsilon that is no price accepted?", _ZERO)
    def _(system: System) -> Outcome:
        account = system.account(1.0)
        answer, error = attempt(lambda: account.ask(epsilon, "odd"))
        if error is not None:
            return holds(f"epsilon {epsilon:g} is refused: {type(error).__name__}")
        return falls(f"epsilon {epsilon:g} was answered with {answer:.6g}")


_odd("zero", 0.0)
_odd("negative", -1.0)
_odd("NaN", float("nan"))
_odd("infinite", float("inf"))


def _granted(account: Account, epsilon: float, times: int) -> int:
    done = 0
    for number in range(times):
        _, error = attempt(partial(account.ask, epsilon, f"n{number}"))
        if error is not None:
            break
        done += 1
    return done


def _cap(name: str, budget: float, epsilon: float, fits: int) -> None:
    @case("a cap that does not hold", name, "are answers given beyond the budget?", _CAP)
    def _(system: System) -> Outcome:
        found = _granted(system.account(budget), epsilon, fits + 5)
        told = f"{found} releases at {epsilon:g} under a budget of {budget:g}"
        return falls(told) if found > fits else holds(told)


_cap("one answer at a time", 1.0, 0.25, 4)
_cap("tenths that add up", 1.0, 0.1, 10)
_cap("more than all at once", 1.0, 1.0001, 0)


def _repeat(name: str, label: Callable[[int], str]) -> None:
    @case(
        "averaging of repeats",
        name,
        "can one question be asked again for other noise without being charged?",
        "Dinur, Nissim (2003); differencing of repeated answers",
    )
    def _(system: System) -> Outcome:
        account = system.account(1.0)
        answers = []
        for number in range(4):
            answer, error = attempt(partial(account.ask, 0.25, label(number)))
            if error is None:
                answers.append(answer)
        spent = account.spent()
        fresh = len(set(answers))
        told = f"{fresh} different answers for a charge of {spent:.6g}"
        return falls(told) if fresh * 0.25 > spent * (1 + 1e-9) else holds(told)


_repeat("the same question", lambda n: "same")
_repeat("the same question under other names", lambda n: f"name {n}")
_repeat("two in turn", lambda n: f"name {n % 2}")


def _racing(name: str, threads: int, handles: bool) -> None:
    @case("spending at once", name, "do releases at the same time overdraw a budget?", _LEDGER)
    def _(system: System) -> Outcome:
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
        told = f"{len(given)} of {threads} releases at 0.25 were answered under a budget of 1"
        return falls(told) if len(given) > 4 else holds(told)


_racing("eight threads", 8, handles=False)
_racing("eight handles on one budget", 8, handles=True)
_racing("twelve threads", 12, handles=False)


def _failing(name: str, times: int) -> None:
    @case(
        "a failure between charge and answer",
        name,
        "is a release that fails while rows are read free of charge?",
        "an exact oracle by an error (found in a development state of Tacit)",
    )
    def _(system: System) -> Outcome:
        account = system.account(1.0)
        for number in range(times):
            attempt(partial(account.fail, 0.25, f"f{number}"))
        spent = account.spent()
        told = f"{times} failed releases at 0.25 were charged {spent:g}"
        return holds(told) if spent >= min(1.0, 0.25 * times) - 1e-9 else falls(told)


for _times in (1, 2, 4):
    _failing(f"{_times} failures", _times)


def _file(name: str, trick: Callable[[Account, Path], Account]) -> None:
    @case(
        "copied and rolled-back ledgers",
        name,
        "can a spent budget be spent again from another name or an older copy of its file?",
        _LEDGER,
    )
    def _(system: System) -> Outcome:
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


def _copy_after(account: Account, folder: Path) -> Account:
    account.ask(0.5, "first")
    (file,) = account.files()[:1]
    shutil.copy(file, folder / "copy.ledger")
    return account.opened_at(str(folder / "copy.ledger"))


def _hard_link(account: Account, folder: Path) -> Account:
    (file,) = account.files()[:1]
    link = Path(file).with_name("second-name.ledger")
    os.link(file, link)
    account.ask(0.5, "first")
    return account.opened_at(str(link))


def _symbolic_link(account: Account, folder: Path) -> Account:
    (file,) = account.files()[:1]
    account.ask(0.5, "first")
    (folder / "link.ledger").symlink_to(file)
    return account.opened_at(str(folder / "link.ledger"))


def _put_back(account: Account, folder: Path) -> Account:
    (file,) = account.files()[:1]
    shutil.copy(file, folder / "old.ledger")
    account.ask(0.5, "first")
    shutil.copy(folder / "old.ledger", file)
    return account


_file("a copy after the charge", _copy_after)
_file("a hard link", _hard_link)
_file("a symbolic link", _symbolic_link)
_file("an older copy put back under a running session", _put_back)


def _raised(name: str, bounds: tuple[float, float]) -> None:
    @case(
        "bounds chosen after the answer",
        name,
        "is an answer under other bounds another release, with its own charge?",
        "post-hoc choice of bounds, SP 800-226 (NIST 2025)",
    )
    def _(system: System) -> Outcome:
        account = system.account(1.0)
        account.ask(0.25, "bounds 0 to 10")
        account.ask(0.25, f"bounds {bounds[0]:g} to {bounds[1]:g}")
        spent = account.spent()
        told = f"two releases under different bounds were charged {spent:g}"
        return holds(told) if spent >= 0.5 - 1e-9 else falls(told)


_raised("wider", (0, 100))
_raised("narrower", (0, 5))
_raised("turned", (-10, 10))

"""Random histories of a ledger: processes that charge, answer, crash at any instruction, and copy.

A *process* is a handle on the ledger with a memory of its own of how far it saw the chain.  At a
random instruction of an operation it may *crash* (nothing of its memory is left, and another
process opens the ledger), or *another process* does an operation of its own in between.  The model
beside it knows what was granted, and what may have been granted by an operation that crashed.
After every history, and at each refusal, the ledger must agree with the model:

- all charges together are within the budget, and those of an account within its cap;
- what was granted stands in the chain, once; nothing stands there that nobody asked for;
- a refusal for want of budget was right;
- a question has one answer, which everybody gets who asks again;
- a copy, a second name and an old state are refused by whoever saw a later one.
"""

from __future__ import annotations

import datetime
import os
import random
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.accounting import epsilon, open_ledger
from tacit.accounting.ledger import checked_chain, hash_chain, sqlite_store
from tacit.accounting.ledger.ledger import Ledger
from tacit.accounting.ledger.shared_budget import on_account_of, set_cap
from tacit.errors import BudgetError, LedgerError, UsageError

FOLDER = str(Path(checked_chain.__file__).parent)
"""Instructions of the files below are places for a crash."""
COSTS = [Fraction(1, 10), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4)]
ACCOUNTS = ["team:a", "team:b"]
LAST = 2500
"""About the instructions of one charge."""


class Crash(BaseException):
    """The process is gone."""


class Interrupted:
    """At an instruction of the ledger's code, do something; then let the code go on."""

    def __init__(self, at: int, what: Callable[[], None]) -> None:
        self.left, self.what, self.came = at, what, False

    def __enter__(self) -> Interrupted:
        sys.settrace(self._enters)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _enters(self, frame: Any, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(FOLDER):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._goes

    def _goes(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "opcode" and not self.came:
            self.left -= 1
            if self.left <= 0:
                self.came = True
                sys.settrace(None)
                self.what()
        return self._goes


class Process:
    """A handle, and what its process remembers of the chain."""

    def __init__(self, opener: Callable[[], Ledger]) -> None:
        self.seen: dict[str, Any] = {}
        with self:
            self.ledger = opener()

    def __enter__(self) -> Process:
        self._others = checked_chain._seen
        checked_chain._seen = self.seen
        return self

    def __exit__(self, *error: object) -> None:
        checked_chain._seen = self._others


class Machine:
    """One history.

    Args:
        place: of the ledger: a file, or an address.
        seed: of the history.
        preempts: whether another process may come in between the instructions of an operation.
        mutate: changes a handle, in tests of the machine itself.
    """

    def __init__(self, place: Any, seed: int, *, preempts: bool = True, mutate: Any = None) -> None:
        self.place, self.draw, self.preempts = place, random.Random(seed), preempts
        self.mutate = mutate or (lambda ledger: ledger)
        self.total = Fraction(1)
        self.granted: dict[str, Fraction] = {}
        self.maybe: dict[str, Fraction] = {}
        self.payers: dict[str, str | None] = {}
        self.answers: dict[str, set[int]] = {}
        self.caps: dict[str, Fraction] = {}
        self.entries: dict[str, Any] = {}
        self.log: list[str] = []
        self.inside = False
        open_ledger(place, dataset="d", budget=epsilon(1)).close()
        self.processes = [Process(self._opened) for _ in range(3)]

    def _opened(self) -> Ledger:
        return self.mutate(open_ledger(self.place, dataset="d"))

    # --- a history ---------------------------------------------------------------------------

    def run(self, steps: int) -> None:
        """Do so many operations, and compare the ledger with the model at the end."""
        try:
            for _ in range(steps):
                self.step()
            self.compare()
        except BaseException as error:
            error.add_note("; ".join(self.log))
            raise
        finally:
            set_clock(0)
            for process in self.processes:
                with suppress(Exception):
                    process.ledger.close()

    def step(self) -> None:
        """Do one operation, which may crash, or be interrupted by another one."""
        chance = self.draw.random()
        place = self.draw.randrange(len(self.processes))
        process = self.processes[place]
        self.inside = chance < 0.5  # then nothing is done that needs all processes at rest
        action = self._operation(process)
        if chance < 0.3:
            self._crashing(place, action)
        elif chance < 0.5 and self.preempts:
            other = self.draw.choice([p for p in self.processes if p is not process])
            meanwhile = self._operation(other)
            self.log.append("interrupted")
            with (
                process,
                Interrupted(self.draw.randint(1, LAST), lambda: self._alone(other, meanwhile)),
            ):
                action()
        else:
            self._alone(process, action)

    def _alone(self, process: Process, action: Callable[[], None]) -> None:
        with process:
            action()

    def _crashing(self, place: int, action: Callable[[], None]) -> None:
        def crash() -> None:
            raise Crash

        process = self.processes[place]
        try:
            with process, Interrupted(self.draw.randint(1, LAST), crash):
                action()
        except Crash:
            self.log.append("crashed")
            with suppress(Exception):
                process.ledger.close()
            self.processes[place] = Process(self._opened)

    def _operation(self, process: Process) -> Callable[[], None]:
        kinds: list[tuple[Callable[[Process], Callable[[], None]], int]] = [
            (self._charge, 8),
            (self._record, 4),
            (self._extend, 1),
            (self._cap, 1),
            (self._clock, 1),
        ]
        if isinstance(self.place, Path) and not self.inside:
            kinds += [(self._copy, 1), (self._second_name, 1), (self._goes_back, 1)]
        made, weights = zip(*kinds, strict=True)
        return self.draw.choices(made, weights)[0](process)

    # --- operations --------------------------------------------------------------------------

    def _charge(self, process: Process) -> Callable[[], None]:
        key, cost = f"k{self.draw.randrange(6)}", self.draw.choice(COSTS)
        payer = self.draw.choice([None, *ACCOUNTS])
        name = f"{key}/{cost}"

        def action() -> None:
            self.log.append(f"charge {name} by {payer}")
            ledger = process.ledger if payer is None else on_account_of(process.ledger, payer)
            known = name in self.granted
            if not known:
                self.maybe.setdefault(name, cost)
                self.payers.setdefault(name, payer)
            total = ledger.total.amount
            try:
                entry = ledger.charge(name, epsilon(cost), {"key": key})
            except BudgetError:
                self._was_right_to_refuse(process, name, cost, payer, total)
            except LedgerError as error:
                _was_busy(error)
            else:
                self.granted[name] = cost
                self.payers[name] = on_account(entry)
                self.maybe.pop(name, None)
                self.entries[name] = entry
                if entry.answer is not None:
                    self._one_answer(name, entry.answer["n"])

        return action

    def _was_right_to_refuse(
        self, process: Process, name: str, cost: Fraction, payer: str | None, total: Fraction
    ) -> None:
        """What others charge or lower in between makes a refusal the more right."""
        assert name not in self.granted, "a standing charge was refused"
        stands = {entry.key: entry for entry in process.ledger.history()}
        if name not in stands:
            self.maybe.pop(name, None)
        spent = sum((e.cost.amount for e in stands.values()), Fraction(0))
        mine = sum((e.cost.amount for e in stands.values() if on_account(e) == payer), Fraction(0))
        cap = None if payer is None else self.caps.get(payer)
        above_cap = cap is not None and mine + cost > cap
        assert spent + cost > total or above_cap, "refused although it fits"

    def _record(self, process: Process) -> Callable[[], None]:
        name = self.draw.choice(sorted(self.entries)) if self.entries else None
        drawn = self.draw.randrange(10**6)

        def action() -> None:
            if name is None:
                return
            self.log.append(f"record {name}")
            self.answers.setdefault(name, set())
            try:
                entry = process.ledger.record(self.entries[name], {"n": drawn})
            except LedgerError as error:
                _was_busy(error)
            else:
                self._one_answer(name, entry.answer["n"])

        return action

    def _one_answer(self, name: str, answer: int) -> None:
        given = self.answers.setdefault(name, set())
        given.add(answer)
        assert len(given) == 1, "a question was given two answers"

    def _extend(self, process: Process) -> Callable[[], None]:
        more = self.total + Fraction(1, 4)

        def action() -> None:
            self.log.append(f"extend to {more}")
            self.total = max(self.total, more)  # a crash may come behind the commit
            try:
                process.ledger.extend(epsilon(more), "a test")
            except UsageError:
                pass  # somebody else raised it in between
            except LedgerError as error:
                _was_busy(error)

        return action

    def _cap(self, process: Process) -> Callable[[], None]:
        account, cap = self.draw.choice(ACCOUNTS), self.draw.choice(COSTS)

        def action() -> None:
            self.log.append(f"cap {account} {cap}")
            self.caps[account] = min(cap, self.caps.get(account, cap))
            with suppress(LedgerError):
                set_cap(process.ledger, account, epsilon(cap), "a test")

        return action

    def _clock(self, process: Process) -> Callable[[], None]:
        hours = self.draw.choice([-(10**4), -1, 1, 10**4])

        def action() -> None:
            self.log.append(f"the clock is put {hours} h on")
            set_clock(hours)

        return action

    def _copy(self, process: Process) -> Callable[[], None]:
        def action() -> None:
            self.log.append("a copy is opened")
            copy = self.place.with_name("copy.ledger")
            shutil.copy(self.place, copy)
            with suppress(FileNotFoundError):
                shutil.copy(f"{self.place}-wal", f"{copy}-wal")
            _refused(lambda: open_ledger(copy, dataset="d", budget=epsilon(1)).close())
            for path in self.place.parent.glob("copy.ledger*"):
                path.unlink()

        return action

    def _second_name(self, process: Process) -> Callable[[], None]:
        def action() -> None:
            self.log.append("a second name is charged")
            other = self.place.with_name("link.ledger")
            os.link(self.place, other)
            try:
                _refused(lambda: open_ledger(other, dataset="d").close())
                _refused(lambda: process.ledger.charge("never", epsilon(1), {}))
            finally:
                other.unlink()

        return action

    def _goes_back(self, process: Process) -> Callable[[], None]:
        """An old file takes the place of the ledger while processes have it open."""

        def action() -> None:
            self.log.append("the file is replaced")
            aside = self.place.with_name("aside")
            self.place.rename(aside)
            shutil.copy(aside, self.place)
            try:
                for each in self.processes:
                    with each:
                        _refused(lambda each=each: each.ledger.charge("never", epsilon(1), {}))
            finally:
                aside.replace(self.place)

        return action

    # --- the end -----------------------------------------------------------------------------

    def compare(self) -> None:
        """Compare what a new process finds with the model."""
        last = Process(self._opened)
        with last:
            self._agrees(last.ledger)
            last.ledger.close()

    def _agrees(self, ledger: Ledger) -> None:
        ledger.verify_chain()
        history = ledger.history()
        names = [entry.key for entry in history]
        assert len(set(names)) == len(names), "a question was charged twice"
        assert set(self.granted) <= set(names), "a charge was forgotten"
        assert set(names) <= set(self.granted) | set(self.maybe), "nobody asked for a charge"
        costs = {**self.maybe, **self.granted}
        assert all(entry.cost.amount == costs[entry.key] for entry in history)
        spent = sum((entry.cost.amount for entry in history), Fraction(0))
        assert spent == ledger.spent.amount
        assert spent <= ledger.total.amount <= self.total, "more was granted than the budget"
        self._no_cap_is_passed(ledger)
        for entry in history:
            if entry.answer is not None:
                assert entry.key in self.answers, "an answer that nobody gave"
                self._one_answer(entry.key, entry.answer["n"])

    def _no_cap_is_passed(self, ledger: Ledger) -> None:
        """Add up by account once more, in the order of the chain."""
        caps: dict[str, Fraction] = {}
        spent: dict[str, Fraction] = {}
        for event in ledger.events():
            if event.event == "cap":
                caps[event.body["account"]] = Fraction(event.body["cap"]["epsilon"])
            for name in event.body.get("accounts", ()) if event.event == "charge" else ():
                spent[name] = spent.get(name, Fraction(0)) + Fraction(event.body["cost"]["epsilon"])
                assert spent[name] <= caps.get(name, 10**9), "a cap was passed"


def on_account(entry: Any) -> str | None:
    """Return on whose account a charge is."""
    return next(iter(entry.accounts), None)


def _was_busy(error: LedgerError) -> None:
    assert "held by another process" in str(error), error


def _refused(action: Callable[[], Any]) -> None:
    try:
        action()
    except LedgerError:
        return
    raise AssertionError("it was not refused")


def set_clock(hours: int) -> None:
    """Put the clock of the ledger on or back."""

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime.datetime:
            return datetime.datetime.now(tz) + datetime.timedelta(hours=hours)

    hash_chain.datetime = Clock if hours else datetime.datetime


def histories(folder: Path, seeds: range, *, steps: int = 12, mutate: Any = None) -> None:
    """Run histories, each in a file of its own."""
    patience, sqlite_store._PATIENCE = sqlite_store._PATIENCE, 0.0  # who waits, waits for itself
    try:
        for seed in seeds:
            place = folder / "own.ledger"
            Machine(place, seed, mutate=mutate).run(steps)
            for path in folder.iterdir():
                path.unlink()
    finally:
        sqlite_store._PATIENCE = patience

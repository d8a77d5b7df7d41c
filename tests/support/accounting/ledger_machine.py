"""Random histories of a ledger: processes that charge, answer, crash at any instruction, and copy.

A *process* is a handle on the ledger with a memory of its own of how far it saw the chain.  At a
random instruction of an operation

- it may *crash*: nothing that it still does has an effect, nothing of its memory is left, and
  another process opens the ledger;
- *another process* may do an operation of its own in between;
- the *machine* may go down, with every process, and what was not synced is there in part or not;
- on a server the *connection* may be cut, there or in the midst of a commit, and the process lives.

Between operations clocks jump, files are copied, and a *standby that was behind* takes over (in a
file: an old state is written back).  The model beside it knows what was granted, and what may have
been granted by an operation that was interrupted.  After every history, and at each refusal, the
ledger must agree with the model:

- all charges together are within the budget, and those of an account within its cap;
- what was granted stands in the chain, once; nothing stands there that nobody asked for;
- a refusal for want of budget was right, and "nothing was spent" is true;
- rows are read only where another process finds the charge already;
- a question has one answer, which everybody gets who asks again; a charge is answered in order;
- a copy and a second name are refused by everybody, and an old state by whoever saw a later one.
  A process that begins afterwards cannot know: the charges that were lost are lost, and no others.
"""

from __future__ import annotations

import copy
import datetime
import gc
import random
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from support.accounting.interrupted import Crash, Interrupted, Memory, apart
from support.accounting.ledger_places import FilePlace, Place, refused
from tacit.accounting import epsilon, open_ledger, rho
from tacit.accounting import ledger_chain as hash_chain
from tacit.accounting.ledger import (
    Ledger,
    charge_once,
    on_account_of,
    parts_of,
    record_part,
    set_cap,
)
from tacit.errors import BudgetError, DataSourceError, LedgerError, UsageError

COSTS = [Fraction(1, 10), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4)]
ACCOUNTS = ["team:a", "team:b"]
LAST = 1800
"""About the instructions of one operation; the most are of a release, the least of a cap."""
TALLY: Counter[str] = Counter()
"""Counts of the steps in all histories of this process, by kind."""


class Process(Memory):
    """A handle, and what its process remembers of the chain."""

    def __init__(self, opener: Callable[[], Ledger]) -> None:
        super().__init__()
        self.known: list[Any] = []  # the entries that it was given
        with self.used():
            self.ledger = opener()


class Model:
    """Charges and answers, as far as they were reported."""

    def __init__(self) -> None:
        self.total = Fraction(1)
        self.granted: dict[str, Fraction] = {}
        self.maybe: dict[str, Fraction] = {}
        self.payers: dict[str, set[str | None]] = {}
        self.answers: dict[str, set[int]] = {}
        self.parts: dict[int, set[int]] = {}
        self.entries: dict[str, Any] = {}


class Machine:
    """One history.

    Args:
        place: of the ledger.
        seed: of the history.
        mutate: changes a handle, in tests of the machine itself.
    """

    def __init__(self, place: Place, seed: int, *, mutate: Any = None) -> None:
        self.place, self.draw = place, random.Random(seed)
        self.mutate = mutate or (lambda ledger: ledger)
        self.model, self.backup = Model(), None
        self.amount = self.draw.choice([epsilon, epsilon, rho])
        self.attempts: Counter[str] = Counter()
        self.log = [f"history {seed}"]
        self.inside = self.dead = False
        self.processes: list[Process] = []
        self._begin()
        self.processes = [Process(self._opened) for _ in range(2 + seed % 2)]
        assert place.synced(self.processes[0].ledger), "a commit is not synced to the disk"

    def _begin(self) -> None:
        """Begin the ledger; who begins it may crash."""

        def begin() -> None:
            self._create()

        if self.draw.random() < 0.2:
            memory, crash = Memory(), Interrupted(self.draw.randint(1, 2 * LAST), _crash)
            with suppress(Crash), memory.used(), crash:
                begin()
            self.log.append(f"the beginning crashed: {crash.came}")
        with Memory().used():
            begin()

    def _create(self) -> None:
        open_ledger(self.place.where, dataset="d", budget=self.amount(1)).close()

    def _opened(self) -> Ledger:
        return self.mutate(open_ledger(self.place.where, dataset="d"))

    # --- a history ---------------------------------------------------------------------------

    def run(self, steps: int) -> None:
        """Do so many operations, and compare the ledger with the model at the end."""
        try:
            for _ in range(steps):
                self.step()
                self.place.settle()
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
        ways: list[tuple[Callable[[Process], None], int]] = [
            (self._alone, 40),
            (self._crashing, 25),
            (self._with_another, 25),
            (self._machine_down, 6 if not self.place.server else 0),
            (self._cut, 12 if self.place.server else 0),
            (self._word_lost, 8 if self.place.server else 0),
            (self._at_rest, 12),
        ]
        if self.place.server and self.place.reboots and self.draw.random() < 0.0005:
            ways = [(self._machine_down, 1)]
        made, weights = zip(*ways, strict=True)
        way = self.draw.choices(made, weights)[0]
        TALLY[way.__name__] += 1
        self.log.append(way.__name__)
        way(self.draw.choice(self.processes))

    def _at(self) -> int:
        return self.draw.randint(1, LAST)

    def _alone(self, process: Process) -> None:
        with process.used():
            self._operation(process)()

    def _with_another(self, process: Process) -> None:
        action = self._operation(process)
        other = self.draw.choice([p for p in self.processes if p is not process])
        meanwhile = self._operation(other)

        def between() -> None:
            with other.used():
                self.log.append("in between:")
                meanwhile()

        with process.used(), Interrupted(self._at(), between):
            action()

    def _crashing(self, process: Process) -> None:
        def crash() -> None:
            self.dead = True
            self.place.cut(process.ledger)
            raise Crash

        action = self._operation(process)
        if self._came(process, action, crash):
            self.log.append("crashed")
            with suppress(Exception):
                process.ledger.close()
            self.processes[self.processes.index(process)] = Process(self._opened)

    def _came(self, process: Process, action: Callable[[], None], what: Callable[[], None]) -> bool:
        """Do an operation that a crash may end; whatever it raises after that is nobody's."""
        interrupted = Interrupted(self._at(), what)
        try:
            with process.used(), interrupted:
                action()
        except BaseException:
            if not interrupted.came:
                raise
        self.dead = False
        return interrupted.came

    def _machine_down(self, process: Process) -> None:
        image: list[Any] = []

        def down() -> None:
            image.append(self.place.image())
            self.dead = True
            raise Crash

        if self._came(process, self._operation(process), down):
            self.log.append("the machine went down")
            for each in self.processes:
                self.place.end(each.ledger)
            self.place.reboot(image[0], self.draw)
            self.processes = [Process(self._opened) for _ in self.processes]

    def _cut(self, process: Process) -> None:
        """Cut the connection at an instruction; the process lives."""
        action = self._operation(process)
        with (
            process.used(),
            Interrupted(self._at(), lambda: self.place.cut(process.ledger)),
        ):
            action()

    def _word_lost(self, process: Process) -> None:
        """Cut the connection in the midst of a commit; the process lives."""
        lost: Any = self.place.word_lost(self.draw) if self.place.server else nullcontext()
        with process.used(), lost:
            self._operation(process)()

    def _at_rest(self, process: Process) -> None:
        """Do what is done between operations."""

        def never(each: Process) -> Callable[[], None]:
            def charge() -> None:
                with each.used():
                    each.ledger.charge("never", self.amount(1), {})

            return charge

        def opened(path: Path) -> None:
            open_ledger(path, dataset="d", budget=self.amount(1)).close()

        tried = self.place.hostile(opened, [never(each) for each in self.processes])
        if not self.place.server:
            tried.append(self._all_rest)
        what = self.draw.choice([self._back_up, self._fall_back, self._clock, self._new, *tried])
        self.log.append(what.__name__)
        TALLY[what.__name__] += 1
        what()

    # --- operations --------------------------------------------------------------------------

    def _operation(self, process: Process) -> Callable[[], None]:
        kinds: list[tuple[Callable[[Process], Callable[[], None]], int]] = [
            (self._charge, 8),
            (self._release, 5),
            (self._record, 4),
            (self._part, 2),
            (self._extend, 1),
            (self._cap, 1),
            (self._rest, 0 if self.place.server else 2),
        ]
        made, weights = zip(*kinds, strict=True)
        kind = self.draw.choices(made, weights)[0]
        TALLY[kind.__name__] += 1
        return kind(process)

    def _paying(
        self, process: Process, pay: Callable[[Ledger, str, Fraction, str], Any]
    ) -> Callable[[], None]:
        """Return an operation that charges, for a payer of its own or for none."""
        key, cost = f"k{self.draw.randrange(6)}", self.draw.choice(COSTS)
        payer = self.draw.choice([None, *ACCOUNTS])
        name = f"{key}/{cost}"

        def action() -> None:
            self.log.append(f"{pay.__name__} {name} by {payer}")
            ledger = process.ledger if payer is None else on_account_of(process.ledger, payer)
            model = self.model
            stood = name in model.granted
            new = not stood and name not in model.maybe
            if not stood:
                model.maybe.setdefault(name, cost)
            model.payers.setdefault(name, set()).add(payer)
            self.attempts[name] += 1
            mine, before = self.attempts[name], None
            try:
                before = ledger.chain.head()
                entry = pay(ledger, name, cost, key)
            except DataSourceError:
                self._grant(name, cost)  # what the engine could not do stays open
            except BudgetError:
                assert not stood, "a standing charge was refused"
                self._was_right_to_refuse(process, name, cost, payer, before)
            except LedgerError as error:
                told = self._failed(error)
                if new and told and self.attempts[name] == mine and name not in model.granted:
                    del model.maybe[name]
            else:
                self._grant(name, cost)
                assert on_account(entry) in model.payers[name], "somebody else paid"
                self.model.entries[name] = entry
                process.known.append(entry)
                if entry.answer is not None:
                    self._one_answer(name, entry.answer["n"])

        return action

    def _grant(self, name: str, cost: Fraction) -> None:
        if self.dead:
            raise Crash
        self.place.settle()  # what was told is on the disk
        self.model.granted[name] = cost
        self.model.maybe.pop(name, None)

    def _failed(self, error: LedgerError) -> bool:
        """Return whether an error says that nothing was spent."""
        if self.dead:
            raise Crash
        assert self.place.was_busy(str(error)), error
        if "stays open" in str(error):  # it was charged, and could not be answered
            return False
        assert "nothing more was spent" in str(error), error
        return True

    def _charge(self, process: Process) -> Callable[[], None]:
        def charge(ledger: Ledger, name: str, cost: Fraction, key: str) -> Any:
            return ledger.charge(name, self.amount(cost), {"key": key})

        return self._paying(process, charge)

    def _rest(self, process: Process) -> Callable[[], None]:
        def rest() -> None:
            self.log.append("rest")
            process.ledger.chain.store.rest()  # type: ignore[attr-defined]

        return rest

    def _all_rest(self) -> None:
        for process in self.processes:
            self._rest(process)()

    def _release(self, process: Process) -> Callable[[], None]:
        drawn, fails = self.draw.randrange(10**6), self.draw.random() < 0.3

        def release(ledger: Ledger, name: str, cost: Fraction, key: str) -> Any:
            def read() -> dict[str, int]:
                assert self.dead or name in self.place.charges(), "rows are read before the charge"
                self.place.settle()
                if fails:
                    raise DataSourceError("the engine fails")
                self.model.answers.setdefault(name, set())
                return {"n": drawn}

            return ledger.release(name, self.amount(cost), {"key": key}, read)

        return self._paying(process, release)

    def _was_right_to_refuse(
        self, process: Process, name: str, cost: Fraction, payer: str | None, before: Any
    ) -> None:
        """Concurrent charges and lower budgets only justify a refusal more."""
        if self.dead:
            raise Crash
        TALLY["refused for want of budget"] += 1
        try:
            events = process.ledger.events()
        except LedgerError as error:
            self._failed(error)
            return
        stands = {e.key: e for e in events if e.event == "charge"}
        if name not in stands:
            self.model.maybe.pop(name, None)
        costs = [(_amount(e.body["cost"]), e.body.get("accounts", [])) for e in stands.values()]
        spent = sum((amount for amount, _ in costs), Fraction(0))
        mine = sum((amount for amount, accounts in costs if payer in accounts), Fraction(0))
        caps = [e for e in events if e.event == "cap" and e.body["account"] == payer]
        standing = [e for e in caps if e.sequence <= before.sequence][-1:]
        later = [e for e in caps if e.sequence > before.sequence]
        above_cap = any(mine + cost > _amount(e.body["cap"]) for e in standing + later)
        assert spent + cost > before.total.amount or above_cap, "refused although it fits"

    def _record(self, process: Process) -> Callable[[], None]:
        known = sorted(self.model.entries)
        name = self.draw.choice(known) if known else None
        drawn = self.draw.randrange(10**6)

        def action() -> None:
            if name is None:
                return
            self.log.append(f"record {name}")
            self.model.answers.setdefault(name, set())
            try:
                entry = process.ledger.record(self.model.entries[name], {"n": drawn})
            except LedgerError as error:
                self._failed(error)
            else:
                self._one_answer(name, entry.answer["n"])

        return action

    def _one_answer(self, name: str, answer: int) -> None:
        if self.dead:
            raise Crash
        given = self.model.answers.setdefault(name, set())
        given.add(answer)
        assert len(given) == 1, "a question was given two answers"

    def _part(self, process: Process) -> Callable[[], None]:
        """Continue a release that comes in parts."""
        drawn, cost = self.draw.randrange(10**6), Fraction(1, 10)

        def once(ledger: Ledger, name: str, cost: Fraction, key: str) -> Any:
            entry = charge_once(ledger, "parts", self.amount(cost), {"key": "parts"})
            self._grant("parts", cost)
            standing = parts_of(ledger, entry)
            for place, part in enumerate(standing):
                self._one_part(place, part["n"])
            if record_part(ledger, entry, len(standing), {"n": drawn}):
                self._one_part(len(standing), drawn)
            return entry

        def action() -> None:
            self.log.append("a part")
            if "parts" not in self.model.granted:
                self.model.maybe["parts"] = cost
            self.model.payers["parts"] = {None}
            try:
                once(process.ledger, "parts", cost, "parts")
            except BudgetError:
                assert "parts" not in self.model.granted
            except LedgerError as error:
                self._failed(error)

        return action

    def _one_part(self, place: int, part: int) -> None:
        if self.dead:
            raise Crash
        given = self.model.parts.setdefault(place, set())
        given.add(part)
        assert len(given) == 1, "two parts in one place"

    def _extend(self, process: Process) -> Callable[[], None]:
        more = self.model.total + Fraction(1, 4)

        def action() -> None:
            self.log.append(f"extend to {more}")
            self.model.total = max(self.model.total, more)  # a crash may come behind the commit
            try:
                process.ledger.extend(self.amount(more), "a test")
            except UsageError:
                pass  # somebody else raised it in between
            except LedgerError as error:
                self._failed(error)

        return action

    def _cap(self, process: Process) -> Callable[[], None]:
        account, cap = self.draw.choice(ACCOUNTS), self.draw.choice(COSTS)

        def action() -> None:
            self.log.append(f"cap {account} {cap}")
            try:
                set_cap(process.ledger, account, self.amount(cap), "a test")
            except LedgerError as error:
                self._failed(error)

        return action

    # --- between operations ------------------------------------------------------------------

    def _clock(self) -> None:
        set_clock(self.draw.choice([-(10**4), -1, 0, 1, 10**4]))

    def _new(self) -> None:
        """Another process, which remembers nothing, takes the place of one."""
        place = self.draw.randrange(len(self.processes))
        self.processes[place].ledger.close()
        self.processes[place] = Process(self._opened)

    def _back_up(self) -> None:
        events = self.processes[0].ledger.chain.store
        with events.read() as transaction:
            hashes = {event.sequence: event.hash for event in transaction.events()}
        self.backup = self.place.state(), hashes, copy.deepcopy(self.model)

    def _fall_back(self) -> None:
        """A standby that was behind takes over; in a file, an old state is written back."""
        if self.backup is None:
            return
        state, hashes, model = self.backup
        self.backup = None
        for each in self.processes:
            self.place.end(each.ledger)
        gc.collect()  # what a dead process has left open
        self.place.put_back(state)
        lost = {n: e for n, e in self.model.entries.items() if hashes.get(e.sequence) != e.hash}
        self.model, before = model, self.processes
        self.processes = [Process(self._opened) for _ in before]
        self._refused_by_who_saw_more(before, hashes)
        for name, entry in lost.items():
            ledger = self.processes[0].ledger
            with self.processes[0].used():
                refused(lambda e=entry, of=ledger: of.record(e, {"n": 0}))
                assert not ledger.contains(entry.sequence, entry.hash), "a certificate of it passes"
            TALLY["charges lost"] += name not in model.granted
        for _ in range(2):  # whoever cannot know goes on
            self._alone(self.draw.choice(self.processes))
        self._refused_by_who_saw_more(before, hashes)

    def _refused_by_who_saw_more(self, before: list[Process], hashes: dict[int, str]) -> None:
        for each in before:
            if all(hashes.get(entry.sequence) == entry.hash for entry in each.known):
                continue  # it was given nothing that is lost
            with each.used():
                refused(lambda: self._opened().charge("never", self.amount(1), {}))
                if self.place.server:  # its handle connects again
                    refused(lambda of=each.ledger: of.charge("never", self.amount(1), {}))
                    refused(lambda of=each.ledger: of.spent)
            TALLY["a fail-over was noticed"] += 1

    # --- the end -----------------------------------------------------------------------------

    def compare(self) -> None:
        """Compare what a new process finds with the model."""
        last = Process(self._opened)
        with last.used():
            self._agrees(last.ledger)
            last.ledger.close()

    def _agrees(self, ledger: Ledger) -> None:
        model = self.model
        ledger.verify_chain()
        history = ledger.history()
        names = [entry.key for entry in history]
        assert len(set(names)) == len(names), "a question was charged twice"
        assert set(model.granted) <= set(names), "a charge was forgotten"
        assert set(names) <= set(model.granted) | set(model.maybe), "nobody asked for a charge"
        costs = {**model.maybe, **model.granted}
        assert all(entry.cost.amount == costs[entry.key] for entry in history)
        assert all(on_account(entry) in model.payers[entry.key] for entry in history)
        spent = sum((entry.cost.amount for entry in history), Fraction(0))
        assert spent == ledger.spent.amount
        assert spent <= ledger.total.amount <= model.total, "more was granted than the budget"
        self._no_cap_is_passed(ledger)
        for entry in history:
            if entry.answer is not None:
                assert entry.key in model.answers, "an answer that nobody gave"
                self._one_answer(entry.key, entry.answer["n"])
            if entry.key == "parts":
                for place, part in enumerate(parts_of(ledger, entry)):
                    self._one_part(place, part["n"])
        TALLY["charges"] += len(history)
        TALLY["answers"] += sum(entry.answer is not None for entry in history)

    def _no_cap_is_passed(self, ledger: Ledger) -> None:
        """Add up by account once more, in the order of the chain."""
        caps: dict[str, Fraction] = {}
        spent: dict[str, Fraction] = {}
        for event in ledger.events():
            if event.event == "cap":
                caps[event.body["account"]] = _amount(event.body["cap"])
            for name in event.body.get("accounts", ()) if event.event == "charge" else ():
                spent[name] = spent.get(name, Fraction(0)) + _amount(event.body["cost"])
                assert spent[name] <= caps.get(name, 10**9), "a cap was passed"


def _amount(budget: Any) -> Fraction:
    return Fraction(budget.get("epsilon", budget.get("rho")))


def on_account(entry: Any) -> str | None:
    """Return on whose account a charge is."""
    return next(iter(entry.accounts), None)


def _crash() -> None:
    raise Crash


def set_clock(hours: int) -> None:
    """Put the clock of the ledger on or back."""

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime.datetime:
            return datetime.datetime.now(tz) + datetime.timedelta(hours=hours)

    hash_chain.datetime = Clock if hours else datetime.datetime


def histories(
    place: Place | Path, seeds: range, *, steps: int | None = None, mutate: Any = None
) -> Counter[str]:
    """Run histories, one after the other in one place, and return what happened in them.

    Args:
        place: a place, or a folder for a file.
        seeds: of the histories.
        steps: of each; 2 to 12 by its seed where it is None.
        mutate: changes a handle, in tests of the machine itself.
    """
    where = FilePlace(place) if isinstance(place, Path) else place
    before, hook = TALLY.copy(), sys.unraisablehook
    sys.unraisablehook = lambda _: None  # of what a dead process left half done
    try:
        with where.quick():
            for seed in seeds:
                where.renew(seed)
                machine = Machine(where, seed, mutate=mutate)
                apart(partial(machine.run, steps or 2 + seed % 11))
    finally:
        sys.unraisablehook = hook
    return TALLY - before

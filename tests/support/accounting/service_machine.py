"""Random histories of a service: people, tokens, approvals, idempotency keys, machines, crashes.

Two processes of a service, on one folder, are asked in turns by people with tokens, decide, and
work.  At a random instruction of an operation a process may crash; another one takes its place.
The clock jumps on and back, tokens expire, are narrowed and revoked, and requests come again.
After every history what is queued is worked off, and the ledger must agree with the model:

- all charges are within the budget, and those of a team and of an analyst within their caps;
- a question is charged once, on the account of somebody who asked it with a token that was good;
- where questions are approved, each charge was approved by somebody who could not have asked it;
- a request that comes again under its idempotency key is the same release;
- a void token stays void, and so does what was narrowed from it, whatever the clock says;
- what was charged is answered without a further charge, and all who asked see one answer.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import tacit.service
from support.accounting.interrupted import LEDGER, Crash, Interrupted, Memory, apart, folder_of
from support.service.hosting import DECLARED, hosted_clinic
from tacit.errors import BudgetError
from tacit.service.access import Caller, Grant
from tacit.service.hosting.ask import Ask
from tacit.service.jobs.queue import LEASE, JobScope
from tacit.service.problem import Problem
from tacit.service.settings import Settings
from tacit.service.web.state import ServiceState

__all__ = ["TALLY", "ServiceMachine", "template"]

CODE = (folder_of(tacit.service), *LEDGER)
LAST = 6000
"""About the instructions of asking, of which those of the other operations are a part."""
BUDGET, CAPS = Fraction(4), {"team:a": Fraction(2), "analyst:*": Fraction(3, 2)}
COUNT = {"sql": "select count(*) as n from visits"}
BY_SITE = {"sql": "select site, count(*) as k from visits group by site"}
PLAN = {"questions": [COUNT, BY_SITE]}
"""Several questions under one charge: the same states and steps as one question has."""
COSTS = [Fraction(1, 2), Fraction(3, 4), Fraction(1)]
PEOPLE = {"ada": "a", "eve": "a", "bob": None}
BEGIN = 1_000_000.0
SETTINGS = """
latency = 2
approval = {approval}
caps = {{ teams = {{ a = {{ epsilon = 2 }} }}, each_analyst = {{ epsilon = "3/2" }} }}
"""
TALLY: Counter[str] = Counter()
"""Counts of the steps in all histories of this process, by kind."""


class Machine(Memory):
    """A process of the service."""

    def __init__(self, folder: Path, clock: Any) -> None:
        super().__init__()
        self.name = f"worker {random.random()}"
        self.state = ServiceState(Settings.load(folder), clock)

    def close(self) -> None:
        """End it; what it left open is left to the others."""
        with suppress(Exception):
            self.state.close()


def template(folder: Path, *, approval: bool) -> Path:
    """Make the folder of a service that was never asked."""
    folder.mkdir()
    declared = DECLARED.replace("epsilon = 1000", f"epsilon = {BUDGET}")
    hosted_clinic(folder, declared=declared)
    (folder / "service.toml").write_text(SETTINGS.format(approval=str(approval).lower()))
    ServiceState(Settings.load(folder), lambda: BEGIN).close()
    return folder


class ServiceMachine:
    """One history.

    Args:
        made: the folder of :func:`template`.
        seed: of the history.
        approval: whether questions are approved there.
    """

    def __init__(self, made: Path, seed: int, *, approval: bool) -> None:
        self.draw, self.approval, self.now = random.Random(seed), approval, BEGIN
        self.folder = Path(tempfile.mkdtemp(dir=made.parent)) / "service"
        shutil.copytree(made, self.folder)
        self.machines = [Machine(self.folder, self._clock) for _ in range(2)]
        self.log: list[str] = []
        self.tokens: dict[str, list[str]] = {name: [] for name in [*PEOPLE, "rita"]}
        self.parents: dict[str, str] = {}
        self.void: set[str] = set()
        self.asked: dict[str, set[str]] = {}  # who asked a key
        self.approved: dict[str, set[str]] = {}  # who tried to approve it
        self.once: dict[tuple[str, str], str] = {}
        self.held: list[tuple[Machine, Any, Any]] = []  # claimed and not finished
        for name in self.tokens:
            self._new_token(self.machines[0], name)

    def _clock(self) -> float:
        return self.now

    # --- a history ---------------------------------------------------------------------------

    def run(self, steps: int) -> None:
        """Do so many operations, and compare the ledger with the model at the end."""
        try:
            for _ in range(steps):
                self.step()
            self.settle()
            self.compare()
        except BaseException as error:
            error.add_note("; ".join(self.log))
            raise
        finally:
            for machine in self.machines:
                machine.close()
            shutil.rmtree(self.folder.parent)

    def step(self) -> None:
        """Let one process do one operation, in which it may crash."""
        machine = self.draw.choice(self.machines)
        kinds = {
            self._ask: 8, self._decide: 5, self._work: 6, self._token: 3, self._time: 5,
            self._cancel: 1, self._late: 2,
        }  # fmt: skip
        kind = self.draw.choices(list(kinds), list(kinds.values()))[0]
        TALLY[kind.__name__] += 1
        crashes = self.draw.random() < 0.4
        at = self.draw.randint(1, LAST) if crashes else 10**9
        interrupted = Interrupted(at, _crash, CODE)
        try:
            with machine.used(), interrupted:
                kind(machine)
        except BaseException:
            if not interrupted.came:
                raise
        if interrupted.came:
            self.log.append("crashed")
            TALLY["crashes"] += 1
            self._replace(machine)

    def _replace(self, machine: Machine) -> None:
        machine.close()
        self.held = [one for one in self.held if one[0] is not machine]
        self.machines[self.machines.index(machine)] = Machine(self.folder, self._clock)

    # --- people ------------------------------------------------------------------------------

    def _new_token(self, machine: Machine, name: str) -> None:
        role = "reviewer" if name == "rita" else "analyst"
        seconds = self.draw.choice([50.0, 5000.0])
        text, _ = machine.state.tokens.create(
            name, [Grant(role, "visits")], seconds, team=PEOPLE.get(name)
        )
        self.tokens[name].append(text)

    def _caller(self, machine: Machine, name: str) -> Caller | None:
        """Return who comes with one of their tokens, or None where it is void."""
        for text in sorted(self.void):
            try:
                machine.state.tokens.check(text)
            except Problem as problem:
                _said(problem, "unauthenticated")
            else:
                raise AssertionError("a void token was good again")
        text = self.draw.choice(self.tokens[name])
        try:
            caller = machine.state.tokens.check(text)
        except Problem as problem:
            _said(problem, "unauthenticated")
            self.void.add(text)
            return None
        ancestors = [text]
        while ancestors[-1] in self.parents:
            ancestors.append(self.parents[ancestors[-1]])
        assert self.void.isdisjoint(ancestors), "a void token was good again"
        assert caller.name == name
        return caller

    def _token(self, machine: Machine) -> None:
        name = self.draw.choice(list(self.tokens))
        caller = self._caller(machine, name)
        what = self.draw.choice(["new", "narrow", "revoke"])
        self.log.append(f"{what} token of {name}")
        if what == "new" or caller is None:
            self._new_token(machine, name)
        elif what == "narrow":
            text, _ = machine.state.tokens.narrow(caller, None, 5000.0)
            parent = next(
                one for one in self.tokens[name]
                if _id_of(machine, one) == caller.token_id
            )  # fmt: skip
            self.parents[text] = parent
            self.tokens[name].append(text)
        else:
            texts = [one for one in self.tokens[name] if _id_of(machine, one) == caller.token_id]
            machine.state.tokens.revoke(caller.token_id)
            self.void.update(texts)

    # --- questions ---------------------------------------------------------------------------

    def _ask(self, machine: Machine) -> None:
        name = self.draw.choice(list(PEOPLE))
        said: dict[str, Any] = {
            **self.draw.choice([COUNT, COUNT, PLAN]),
            "epsilon": str(self.draw.choice(COSTS)),
            "tag": self.draw.choice("pqr"),
        }
        key = _name_of(said)
        once = self.draw.choice([None, "first", "second"])
        caller = self._caller(machine, name)
        if caller is None:
            return
        self.log.append(f"{name} asks {key} once {once}")
        self.asked.setdefault(key, set()).add(name)
        before = self.once.get((name, str(once)))
        try:
            job = machine.state.release_service.submit("visits", caller, Ask.from_json(said), once)
        except BudgetError:
            TALLY["refused for want of budget"] += 1
            return
        except Problem as problem:
            _said(problem, "conflict", "unavailable")
            return
        if once is not None:
            assert before in (None, job.id), "one request became two releases"
            self.once[name, once] = job.id
        assert job.state == "waiting" or not self.approval or job.replayed

    def _jobs(self, machine: Machine, *states: str) -> list[Any]:
        found = machine.state.release_service.queue.listed([JobScope("visits")])
        return [job for job in found if job.state in states]

    def _decide(self, machine: Machine) -> None:
        waiting = self._jobs(machine, "waiting")
        if not waiting:
            return
        job = self.draw.choice(waiting)
        name = self.draw.choice(["rita", "rita", job.asked_by])
        caller = self._caller(machine, name)
        if caller is None:
            return
        key = _key_of(job)
        self.log.append(f"{name} decides on {key}")
        release_service = machine.state.release_service
        try:
            if self.draw.random() < 0.2:
                release_service.refuse(job, caller, "a test")
            else:
                if name != job.asked_by:
                    self.approved.setdefault(key, set()).add(name)
                release_service.approve(job, caller)
                assert name != job.asked_by, "somebody approved their own question"
        except Problem as problem:
            _said(problem, "forbidden", "conflict", "unavailable")
        except BudgetError:
            TALLY["not approved for want of budget"] += 1

    def _cancel(self, machine: Machine) -> None:
        jobs = self._jobs(machine, "waiting", "queued", "working")
        if jobs:
            job = self.draw.choice(jobs)
            caller = self._caller(machine, job.asked_by)
            if caller is not None:
                self.log.append("a question is given up")
                with suppress(Problem):
                    machine.state.release_service.cancel(job, caller)

    # --- work --------------------------------------------------------------------------------

    def _work(self, machine: Machine) -> None:
        """Claim a job and answer it; who is slow finishes later."""
        job = machine.state.release_service.queue.claim(machine.name)
        if job is None:
            return
        self.log.append(f"work on {_key_of(job)}")
        outcome = machine.state.workers._outcome(job)
        if self.draw.random() < 0.3:
            self.held.append((machine, job, outcome))
        else:
            machine.state.release_service.queue.finish(job, outcome)

    def _late(self, machine: Machine) -> None:
        """A worker that was slow, whose lease may be another's by now, writes its outcome down."""
        mine = [one for one in self.held if one[0] is machine]
        if mine:
            self.held.remove(mine[0])
            machine.state.release_service.queue.finish(mine[0][1], mine[0][2])

    def _time(self, machine: Machine) -> None:
        self.now += self.draw.choice([-3600.0, -5.0, 3.0, 60.0, 2 * LEASE, 3600.0])
        self.log.append(f"it is {self.now - BEGIN:.0f} s")

    # --- the end -----------------------------------------------------------------------------

    def settle(self) -> None:
        """Work off what is queued, with a process that begins now."""
        for machine in self.machines:
            machine.close()
        self.machines = [Machine(self.folder, self._clock)]
        last = self.machines[0]
        self.now = max(self.now, BEGIN) + 10**5
        with last.used():
            before = last.state.datasets.of("visits").ledger(None).spent
            while (job := last.state.release_service.queue.claim("last")) is not None:
                outcome = last.state.workers._outcome(job)
                last.state.release_service.queue.finish(job, outcome)
            assert last.state.datasets.of("visits").ledger(None).spent == before, "work charged"

    def compare(self) -> None:
        """Compare the ledger, and what people are shown, with the model."""
        last = self.machines[0]
        self.now += 10**5
        with last.used():
            ledger = last.state.datasets.of("visits").ledger(None)
            ledger.verify_chain()
            history = ledger.history()
            assert len({entry.key for entry in history}) == len(history), "charged twice"
            spent: Counter[str] = Counter()
            jobs = self._jobs(last, "over", "waiting", "refused", "cancelled")
            named = {job.key: _key_of(job) for job in jobs}
            for entry in history:
                for account in entry.accounts:
                    spent[account] += entry.cost.amount
                self._was_asked_for(entry, named.get(entry.key))
            assert ledger.spent.amount == sum(e.cost.amount for e in history) <= BUDGET
            for account, amount in spent.items():
                cap = CAPS.get(account, CAPS.get(f"{account.partition(':')[0]}:*", BUDGET))
                assert amount <= cap, f"the cap of {account} was passed"
            self._are_answered(last, jobs, {e.key: e.answer for e in history})
            last.state.audit.verify()
            TALLY["charges"] += len(history)

    def _was_asked_for(self, entry: Any, name: str | None) -> None:
        (who,) = [a.partition(":")[2] for a in entry.accounts if a.startswith("analyst:")]
        if name is None:  # whoever asked crashed between the charge and the job
            assert not self.approval, "a charge that nobody approved"
            TALLY["charges without a job"] += 1
            return
        assert who in self.asked[name], "somebody is charged who did not ask"
        if self.approval:
            assert self.approved.get(name), "a charge that nobody approved"

    def _are_answered(self, last: Machine, jobs: list[Any], answers: dict[str, Any]) -> None:
        for job in jobs:
            if job.state != "over":
                continue
            assert job.outcome == "done" or job.error is not None
            if job.outcome == "done":
                assert answers[job.key] is not None, "done, and the ledger holds no answer"
                answers_of = last.state.release_service.answers(job)
                assert len(answers_of or [0]) == (2 if "questions" in json.loads(job.body) else 1)
                last.state.release_service.answer(job)
                TALLY["answers"] += 1


def _said(problem: Problem, *codes: str) -> None:
    assert problem.code in codes, problem


def _key_of(job: Any) -> str:
    return _name_of(json.loads(job.body))


def _name_of(said: Mapping[str, Any]) -> str:
    """What the model calls a request: the plan of several questions is another than one of them."""
    plan = "plan/" if "questions" in said else ""
    return f"{plan}{said['tag']}/{said['epsilon']}"


def _id_of(machine: Machine, text: str) -> str | None:
    return machine.state.tokens.signed(text)


def _crash() -> None:
    raise Crash


def histories(made: Path, seeds: range, *, approval: bool, steps: int = 10) -> Counter[str]:
    """Run histories, one after the other, and return what happened in them."""
    before, hook = TALLY.copy(), sys.unraisablehook
    sys.unraisablehook = lambda _: None  # of what a dead process left half done
    try:
        for seed in seeds:
            apart(partial(ServiceMachine(made, seed, approval=approval).run, steps))
    finally:
        sys.unraisablehook = hook
    return TALLY - before

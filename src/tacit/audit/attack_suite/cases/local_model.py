"""Attacks in the local model: repeated reports, impossible reports, items outside the domain."""

from __future__ import annotations

from functools import partial

from tacit.audit.attack_suite.case import Outcome, case, falls, holds
from tacit.audit.attack_suite.looking import attempt
from tacit.audit.attack_suite.system import System

__all__: list[str] = []

_SLACK = 1e-9


def _ratio(form: str, epsilon: float) -> None:
    @case(
        "ratio of reports",
        f"{form}, epsilon {epsilon:g}",
        "is the ratio of the probabilities of a report within exp(epsilon)?",
        "Cormode, Maddock, Maple, Frequency estimation under local DP (2021): loose constants",
    )
    def _(system: System) -> Outcome:
        found = system.local(4, epsilon, form).losses()
        told = f"the largest log ratio is {found:.6g} at a claim of {epsilon:g}"
        return holds(told) if found <= epsilon * (1 + _SLACK) else falls(told)


for _form in ("direct", "unary", "binary"):
    _ratio(_form, 1.0)
_ratio("direct", 0.1)


def _memo(name: str, reports: int) -> None:
    @case(
        "reports that are not remembered",
        name,
        "does a device that is asked again send fresh noise, which averages out?",
        "Erlingsson, Pihur, Korolova, RAPPOR (2014); Tang et al. on a deployed client (2017)",
    )
    def _(system: System) -> Outcome:
        device = system.local(8, 1.0, "direct").device()
        sent = {repr(device.report(3)) for _ in range(reports)}
        told = f"{len(sent)} different reports of one answer in {reports}"
        return holds(told) if len(sent) == 1 else falls(told)


for _count in (20, 50, 200):
    _memo(f"{_count} reports", _count)


def _hostile(number: int) -> None:
    @case(
        "hostile reports",
        f"impossible report {number + 1}",
        "does the collector take a report that no honest device can send?",
        "Cheu, Smith, Ullman, Manipulation attacks in local DP (2021)",
    )
    def _(system: System) -> Outcome:
        mechanism = system.local(4, 1.0, "direct")
        reports = mechanism.impossible()
        report = reports[number % len(reports)]
        accepted, error = attempt(lambda: mechanism.accepts(report))
        if error is not None:
            return falls(f"the report {report!r:.40} stopped the collector: {type(error).__name__}")
        told = f"the report {report!r:.40}"
        return falls(f"{told} is counted") if accepted else holds(f"{told} is refused")


for _number in range(4):
    _hostile(_number)


def _outside(name: str, item: object) -> None:
    @case(
        "items outside of the domain",
        name,
        "does an item outside of the domain give a report that shows it?",
        "Wang et al.; published local libraries whose reports of such items are impossible",
    )
    def _(system: System) -> Outcome:
        mechanism = system.local(4, 1.0, "direct")
        honest = {type(mechanism.report(0)) for _ in range(3)}
        for _ in range(60):
            report, error = attempt(lambda: mechanism.report(item))
            if error is not None:
                return holds(f"the item {item!r} is refused: {type(error).__name__}")
            plain, failed = attempt(partial(mechanism.accepts, report))
            if failed is not None or not plain or type(report) not in honest:
                return falls(f"the item {item!r} gave the report {report!r:.40}, unlike all others")
        return holds(f"60 reports of the item {item!r} are like any other")


_outside("above", 4)
_outside("negative", -1)
_outside("missing", None)


def _share(name: str, hostile: int, limit: float) -> None:
    @case(
        "poisoned reports",
        name,
        "by how much do a few hostile devices move the estimate of an item?",
        "Cao, Jia, Gong, Data poisoning attacks to local DP protocols (USENIX 2021)",
    )
    def _(system: System) -> Outcome:
        mechanism = system.local(2, 1.0, "binary")
        honest = [mechanism.report(0) for _ in range(500)]
        bad = [mechanism.report(1) for _ in range(hostile)]
        before = mechanism.counts(honest)[1]
        after = mechanism.counts([*honest, *bad])[1]
        told = f"{hostile} hostile reports moved an estimate by {after - before:.4g}"
        return holds(told) if after - before <= limit * hostile else falls(told)


_share("1 of 500", 1, 2.2)
_share("10 of 510", 10, 2.2)
_share("50 of 550", 50, 2.2)

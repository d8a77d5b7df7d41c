"""Audit a mechanism by replaying it on a neighbour with its noise frozen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.audit.replaying.cost import Cost, coins, cost_of
from tacit.audit.replaying.tape import Diverged, Noise, Tape
from tacit.calls import public
from tacit.display.card import Shown
from tacit.errors import UsageError
from tacit.noise.bits import watched

__all__ = ["Replay", "replay"]

_AROUND = "the output differs although all noise is frozen: a number goes around it"


@public
@dataclass(frozen=True)
class Replay(Shown):
    """What replays of a mechanism found.  True where nothing was found.

    Attributes:
        findings: what depends on the data and is hidden by no noise, as sentences.
        draws: the most calls for noise in a run.
        runs: the recorded runs, half of them of each data set.
        epsilon: the privacy loss of all draws of one run, added up in pure DP; infinite for
            Gaussian noise.
        rho: the same in zCDP.
        complete: whether all randomness was seen; where not, outputs were not compared.
        unseen: where the audit could not follow a noisy number, or a coin was tossed.
    """

    findings: tuple[str, ...]
    draws: int
    runs: int
    epsilon: Fraction | float
    rho: Fraction | float
    complete: bool
    unseen: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        told = f"{self.runs} runs of at most {self.draws} draws"
        if self.findings:
            return f"FOUND in {told}: " + "; ".join(self.findings)
        part = "" if self.complete else "; outputs were not compared, for not all noise was seen"
        cost = f"epsilon = {float(self.epsilon):.6g}, rho = {float(self.rho):.6g}"
        return f"nothing found in {told}, which hide {cost}{part} (this proves no claim)"


@public
def replay(
    mechanism: Callable[[Any], Any],
    u: Any,
    v: Any,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    runs: int = 10,
) -> Replay:
    """Record a run on one data set, and replay it on a neighbour with the same noisy numbers.

    The two runs must ask for the same noise: in the same lines, in the same order, of the same
    scale and number.  What is added to a draw may differ, which is what the noise is for; what
    comes out must not, once every sum of a number and its noise is frozen.  So one pair of runs
    finds a scale, a branch, a size or an output that depends on the data, which runs of
    :func:`tacit.audit.sampled` see in many thousands or never.  How far the numbers under the noise
    moved says what the draws cost together, to compare with a claim.

    The noise seen is that of :mod:`tacit.noise`, and of everything built on it.  A draw may be
    multiplied by public numbers and added to other draws on its way; ``int(draw)`` or ``abs(draw)``
    takes it out of sight, and then outputs are not compared.  Nor are they where a coin of a public
    probability was tossed, for what becomes of it is not followed.

    Run it on made-up data: it sees the numbers under the noise, and keeps nothing of them but what
    the result says.

    Args:
        mechanism: called with u or v, gives an output.
        u: a data set.
        v: its neighbour.
        epsilon: the claim in pure DP, where there is one.  Leave it out where the proof is finer
            than the sum over the draws, as for a noisy maximum or a sparse vector.
        rho: the claim in zCDP.
        runs: how often each of the two is recorded and replayed on the other.

    Returns:
        What was found; falsy where anything was.

    Raises:
        UsageError: fewer than one run, a claim below 0, a mechanism that cannot be called or
            raises in all runs.

    Source: "dp-recorder", PETS 2026, which found 13 violations in 12 libraries so.

    Example:
        >>> import tacit as tc
        >>> def mean(ages):  # the scale of the noise is private, and nobody noticed
        ...     return sum(ages) / len(ages) + tc.noise.discrete_laplace(100 / len(ages))
        >>> bool(replay(mean, [30, 40], [30, 40, 50]))
        False
        >>> def count(ages):
        ...     return len(ages) + tc.noise.discrete_laplace(2)
        >>> found = replay(count, [30, 40], [30, 40, 50], epsilon="1/2")
        >>> bool(found), found.epsilon
        (True, Fraction(1, 2))
    """
    if not callable(mechanism):
        raise UsageError(f"a mechanism is called with a data set; {mechanism!r:.60} cannot be")
    times = as_integer(runs, "runs", minimum=1)
    claims = [
        None if c is None else as_fraction(c, n) for c, n in ((epsilon, "epsilon"), (rho, "rho"))
    ]
    if any(claim is not None and claim < 0 for claim in claims):
        raise UsageError("a claim of epsilon or rho is at least 0")
    findings: dict[str, None] = {}
    unseen: dict[str, None] = {}
    most, complete = Cost(), True
    draws, always_steady = 0, True
    failures: list[_Raised] = []
    for data, other in [(u, v), (v, u)] * times:
        recorded = Tape()
        output = run_once(mechanism, data, recorded)
        if isinstance(output, _Raised):
            failures.append(output)
        draws = max(draws, len(recorded.draws))
        unseen.update(dict.fromkeys(recorded.lost))
        steady = _is_steady(mechanism, data, recorded, output)
        always_steady &= steady
        replayed = Tape(recorded)
        found, cost = _compared(mechanism, other, recorded, replayed, output)
        tossed = coins(recorded, replayed) if _AROUND in found else []
        unseen.update(dict.fromkeys(tossed))
        if not steady or recorded.lost or tossed:
            complete = False
            found = [told for told in found if told != _AROUND]
        findings.update(dict.fromkeys(found))
        if cost is not None and (cost.epsilon, cost.rho) > (most.epsilon, most.rho):
            most = cost
    if len(failures) == 2 * times:
        raise UsageError(
            f"the mechanism raises in all of {len(failures)} runs, so nothing of it was seen: "
            f"{failures[0].name}: {failures[0].told}"
        )
    if not always_steady:  # noise of few values repeats itself by chance, in some of the runs
        findings.pop(_AROUND, None)
    findings.update(dict.fromkeys(_dear(most, claims[0], claims[1])))
    return Replay(
        tuple(findings), draws, 2 * times, most.epsilon, most.rho, complete, tuple(unseen)
    )


@dataclass(frozen=True)
class _Raised:
    """That a mechanism fails is an output."""

    name: str
    told: str = field(compare=False)


def run_once(mechanism: Callable[[Any], Any], data: Any, tape: Tape) -> Any:
    with watched(tape.watch):
        try:
            return _released(mechanism(data))
        except Exception as error:
            return _Raised(type(error).__name__, str(error))


def _released(output: Any) -> Any:
    """Return an output whose noise is plain numbers: noise that met nothing hides a 0."""
    if isinstance(output, Noise):
        return output + 0
    if isinstance(output, Mapping):
        return {key: _released(value) for key, value in output.items()}
    if isinstance(output, (list, tuple)):
        parts = [_released(part) for part in output]
        return tuple(parts) if isinstance(output, tuple) else parts
    if isinstance(output, np.ndarray) and output.dtype == object:
        found = np.empty(output.size, dtype=object)
        found[:] = [_released(part) for part in output.ravel()]
        return found.reshape(output.shape)
    return output


def _is_steady(mechanism: Callable[[Any], Any], data: Any, recorded: Tape, output: Any) -> bool:
    """Return whether a run repeats itself once its noise is frozen: else there is other noise."""
    again = Tape(recorded)
    try:
        return _same(run_once(mechanism, data, again), output)
    except Diverged:
        return False


def _compared(
    mechanism: Callable[[Any], Any], data: Any, recorded: Tape, replayed: Tape, output: Any
) -> tuple[list[str], Cost | None]:
    try:
        other = run_once(mechanism, data, replayed)
    except Diverged as difference:
        return [f"{difference}, by the data"], None
    found = []
    if isinstance(other, _Raised) != isinstance(output, _Raised):
        name = (other if isinstance(other, _Raised) else output).name
        return [f"whether {name} is raised depends on the data"], None
    if len(replayed.draws) < len(recorded.draws):
        line = recorded.draws[len(replayed.draws)].line
        return [f"whether a draw is made at {line} depends on the data"], None
    if len(replayed.meetings) < len(recorded.meetings):
        return ["whether noise is added to a number depends on the data"], None
    if not _same(other, output):
        found.append(_AROUND)
    cost = cost_of(recorded, replayed)
    found += [f"the noise drawn at {line} does not hide the number under it" for line in cost.lines]
    return found, cost


def _dear(cost: Cost, epsilon: Fraction | None, rho: Fraction | None) -> list[str]:
    told = []
    for name, spent, claim in (("epsilon", cost.epsilon, epsilon), ("rho", cost.rho, rho)):
        if claim is not None and spent > claim * (1 + Fraction(1, 10**9)):
            told.append(
                f"the draws of one run cost {name} = {float(spent):.6g} together, and "
                f"{float(claim):.6g} is claimed"
            )
    return told


def _same(one: Any, other: Any) -> bool:
    """Return whether two outputs are equal, NaN being equal to itself."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        one, other = (x.tolist() if isinstance(x, np.ndarray) else x for x in (one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and _equal(one, other)


def _equal(one: Any, other: Any) -> bool:
    """Return whether two outputs of one kind are equal; tables have a method for it."""
    try:
        return bool(one.equals(other) if hasattr(one, "equals") else np.all(one == other))
    except (TypeError, ValueError):
        return False

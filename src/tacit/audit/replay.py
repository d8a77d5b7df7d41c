"""A program run again on recorded noise, to see what the noise was added to."""

from __future__ import annotations

import inspect
import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.core.measures import pure_to_concentrated
from tacit.display.card import Shown
from tacit.errors import UsageError
from tacit.noise import DiscreteGaussian, DiscreteLaplace, ExponentialChoice, NoiseDistribution
from tacit.noise.bernoulli_and_uniform import Size, shape_of
from tacit.noise.bits import CategoricalDistribution, watched

# What a run drew, from which laws and where, and which numbers the noise was added to.
#
# A draw of noise is handed to the mechanism as a :class:`TracedNoise`: the number that is added to
# it is written down, and the sum is the released number.  In a replay the draws must be asked for
# in the same places, from the same laws; the numbers that meet the noise may differ, and their
# differences are what the noise must hide; the *released* numbers are those of the recorded run.
# So whatever the mechanism does with released numbers is post-processing, and goes the same way in
# both runs.


_HERE = Path(__file__)
_PACKAGE = _HERE.parents[1]
# Files whose lines say nothing of where a draw is made.
_PASSED = tuple(str(path) for path in (_HERE, _PACKAGE / "noise", _PACKAGE / "calls.py"))


class Diverged(BaseException):
    """The replay asks for other noise than the recorded run did; its text says where."""


@dataclass(frozen=True)
class RecordedDraw:
    """One call for noise: from where, from which law, how much of it, and what came."""

    stack: tuple[tuple[str, int], ...]
    law: Any
    size: Any
    values: Any

    @property
    def line(self) -> str:
        """The place of the call, as ``file:line``."""
        outside = [at for at in self.stack if not at[0].startswith(str(_PACKAGE))]
        file, line = next(iter([*outside, *self.stack]), ("?", 0))
        return f"{Path(file).name}:{line}"


@dataclass(frozen=True)
class Meeting:
    """A number that noise was added to."""

    # of which calls the noise is, each with its position in the call and its factor
    draws: tuple[tuple[int, int, Fraction], ...]
    value: Any
    released: Any


@dataclass
class Tape:
    """A recording, or the replay of one."""

    recorded: Tape | None = None  # the tape of the recorded run, where this is a replay
    draws: list[RecordedDraw] = field(default_factory=list)  # the calls for noise, in order
    meetings: list[Meeting] = field(default_factory=list)  # the numbers that met noise, in order
    # places where noise became a plain number before it met anything
    lost: list[str] = field(default_factory=list)

    def watch(self, distribution: Any, size: Size | None, draw: Callable[[], Any]) -> Any:
        """Answer a call for noise; a watcher of :mod:`tacit.noise.bits`."""
        call, number = _call_stack(), len(self.draws)
        values = (
            draw() if self.recorded is None else self._as_before(number, call, distribution, size)
        )
        self.draws.append(RecordedDraw(call, distribution, size, values))
        if not isinstance(distribution, NoiseDistribution):
            return np.copy(values) if isinstance(values, np.ndarray) else values
        if size is None:
            return TracedNoise(self, ((number, 0, Fraction(1)),), int(values))
        flat = np.ravel(np.asarray(values, dtype=object)).tolist()
        made = np.empty(len(flat), dtype=object)
        made[:] = [
            TracedNoise(self, ((number, i, Fraction(1)),), int(v)) for i, v in enumerate(flat)
        ]
        return made.reshape(shape_of(size)[0])

    def _as_before(self, number: int, call: Any, distribution: Any, size: Any) -> Any:
        before = self.recorded.draws if self.recorded is not None else []
        line = RecordedDraw(call, distribution, size, None).line
        if number >= len(before):
            raise Diverged(f"a draw more is made at {line}")
        other = before[number]
        if other.stack != call:
            raise Diverged(f"draw {number + 1} is made at {line} instead of {other.line}")
        if size != other.size:
            raise Diverged(f"the number of draws made at {line} differs")
        if not _same_distribution(distribution, other.law):
            raise Diverged(f"the noise drawn at {line} has another scale or probability")
        return other.values

    def meet(self, noise: TracedNoise, value: Any) -> Any:
        """Add noise to a number, or say what the sum was in the recorded run."""
        before = [] if self.recorded is None else self.recorded.meetings
        number = len(self.meetings)
        if self.recorded is None:
            released = value + noise.amount
        else:
            line = self.draws[noise.draws[0][0]].line
            if number >= len(before) or [d[:2] for d in before[number].draws] != [
                d[:2] for d in noise.draws
            ]:
                raise Diverged(f"the noise drawn at {line} is added in another order")
            if before[number].draws != noise.draws:
                raise Diverged(f"the noise drawn at {line} is multiplied by another number")
            released = before[number].released
        self.meetings.append(Meeting(noise.draws, value, released))
        return np.copy(released) if isinstance(released, np.ndarray) else released

    def lose(self, noise: TracedNoise) -> Any:
        """Note that noise became a number of its own, which nobody follows further."""
        self.lost.append(self.draws[noise.draws[0][0]].line)
        return noise.amount


def _same_distribution(distribution: Any, other: Any) -> bool:
    """Return whether two draws may differ by what they hide alone."""
    # The costs of a private choice, and the probabilities of a coin, are what such a draw hides.
    if isinstance(distribution, ExponentialChoice) and isinstance(other, ExponentialChoice):
        return len(distribution.costs) == len(other.costs) and distribution.factor == other.factor
    if (
        isinstance(distribution, CategoricalDistribution)
        and isinstance(other, CategoricalDistribution)
        and distribution.name == other.name
    ):
        hides = distribution.name != "uniform" and len(distribution.parameters) == len(
            other.parameters
        )
        return hides or distribution == other
    return type(distribution) is type(other) and bool(distribution == other)


def _call_stack() -> tuple[tuple[str, int], ...]:
    """Return the lines that are being run, innermost first, up to the replay."""
    frame, callers = inspect.currentframe(), []
    while frame is not None:
        file = frame.f_code.co_filename
        if frame.f_code.co_name == "run_once" and file.startswith(_PASSED[0]):
            break
        if not file.startswith(_PASSED):
            callers.append((file, frame.f_lineno))
        frame = frame.f_back
    return tuple(callers)


class TracedNoise:
    """A draw of noise on its way to the number that it hides."""

    # It may be multiplied by public numbers and added to other noise.  Added to (or compared with)
    # a number it gives a plain one.

    __slots__ = ("amount", "draws", "tape")
    __array_ufunc__ = None

    def __init__(
        self, tape: Tape, draws: tuple[tuple[int, int, Fraction], ...], amount: Any
    ) -> None:
        self.tape, self.draws, self.amount = tape, draws, amount

    def __add__(self, other: Any) -> Any:
        if isinstance(other, TracedNoise):
            return TracedNoise(self.tape, self.draws + other.draws, self.amount + other.amount)
        if isinstance(other, np.ndarray) and other.dtype == object:
            return np.array([self + part for part in other.ravel()], dtype=object).reshape(
                other.shape
            )
        return self.tape.meet(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> TracedNoise:
        return self._times(Fraction(-1), -self.amount)

    def __pos__(self) -> TracedNoise:
        return self

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, TracedNoise) or not _is_number(factor):
            return self.tape.lose(self) * factor
        return self._times(exactly(factor), self.amount * factor)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Any:
        if isinstance(factor, TracedNoise) or not _is_number(factor) or not factor:
            return self.tape.lose(self) / factor
        return self._times(1 / exactly(factor), self.amount / factor)

    def _times(self, factor: Fraction, amount: Any) -> TracedNoise:
        draws = tuple((call, i, c * factor) for call, i, c in self.draws)
        return TracedNoise(self.tape, draws, amount)

    def __lt__(self, other: Any) -> Any:
        return self - other < 0

    def __le__(self, other: Any) -> Any:
        return self - other <= 0

    def __gt__(self, other: Any) -> Any:
        return self - other > 0

    def __ge__(self, other: Any) -> Any:
        return self - other >= 0

    def __eq__(self, other: object) -> Any:
        return self - other == 0

    def __ne__(self, other: object) -> Any:
        return self - other != 0

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.tape.lose(self)

    def __floordiv__(self, other: Any) -> Any:
        return self.tape.lose(self) // other

    def __rfloordiv__(self, other: Any) -> Any:
        return other // self.tape.lose(self)

    def __mod__(self, other: Any) -> Any:
        return self.tape.lose(self) % other

    def __rmod__(self, other: Any) -> Any:
        return other % self.tape.lose(self)

    def __divmod__(self, other: Any) -> Any:
        return divmod(self.tape.lose(self), other)

    def __pow__(self, other: Any) -> Any:
        return self.tape.lose(self) ** other

    def __rpow__(self, other: Any) -> Any:
        return other ** self.tape.lose(self)

    def __and__(self, other: Any) -> Any:
        return self.tape.lose(self) & other

    def __rand__(self, other: Any) -> Any:
        return other & self.tape.lose(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what numpy and others ask whether it is there
            raise AttributeError(name)
        return getattr(self.tape.lose(self), name)

    def __hash__(self) -> int:
        return hash(self.tape.lose(self))

    def __int__(self) -> int:
        return int(self.tape.lose(self))

    def __index__(self) -> int:
        return int(self.tape.lose(self))

    def __float__(self) -> float:
        return float(self.tape.lose(self))

    def __abs__(self) -> Any:
        return abs(self.tape.lose(self))

    def __bool__(self) -> bool:
        return bool(self.tape.lose(self))

    def __round__(self, places: int | None = None) -> Any:
        return round(self.tape.lose(self), places)

    def __repr__(self) -> str:
        return "Noise()"


def exactly(value: Any) -> Fraction:
    """Return a number as a fraction of integers that do not wrap around, as numpy's do.

    >>> exactly(np.int64(2**62)) * 4 == 2**64
    True
    """
    return Fraction(value.item() if isinstance(value, np.generic) else value)


def _is_number(value: Any) -> bool:
    if isinstance(value, (int, Fraction)):
        return True
    return isinstance(value, (float, np.integer, np.floating)) and bool(np.isfinite(float(value)))


# What the noise of a run pays for: how far the numbers under it moved, over its scale.
#
# **Why this is a loss.**  Let a mechanism draw noise from fixed laws, in places that depend on
# released numbers alone, and let its output be a function of the released numbers.  Given the
# numbers that were released so far, the next one has the distribution ``value + noise``.  Where the
# value moves by d from u to v, the ratio of the two probabilities of one released number is at most
# exp(d / scale) for (discrete) Laplace noise of that scale, and the divergence of order alpha at
# most ``alpha d^2 / (2 sigma^2)`` for Gaussian noise.  Conditional ratios multiply: on the path
# that was replayed the losses of all draws add up (adaptive composition).  Another path may cost
# more, so what is computed here is what *this* path costs, and no bound on others.
#
# Discrete noise hides moves by whole steps alone: a number moved by a part of a step leads to other
# outputs altogether, and the loss is infinite.


class Cost:
    """A loss in pure DP and one in zCDP."""

    # epsilon: of the draws whose loss is bounded; infinite where one hides nothing.
    # rho: of all draws together, a pure loss of e counting e tanh(e/2).

    def __init__(self) -> None:
        self.epsilon: Fraction | float = Fraction(0)
        self.rho: Fraction | float = Fraction(0)
        self.lines: list[str] = []

    def pure(self, loss: Fraction | float, line: str) -> None:
        """Add a loss of pure DP."""
        self.epsilon += loss
        self.rho += loss if loss == math.inf else pure_to_concentrated(Fraction(loss))
        if loss == math.inf:
            self.lines.append(line)

    def concentrated(self, rho: Fraction | float, line: str) -> None:
        """Add a loss of zCDP; in pure DP it is infinite."""
        if not rho:
            return
        self.epsilon = math.inf
        self.rho += rho
        if rho == math.inf:
            self.lines.append(line)


def cost_of(recorded: Tape, replayed: Tape) -> Cost:
    """Return what the draws of two tapes, which went the same way, have to hide.

    >>> cost_of(Tape(), Tape()).epsilon
    Fraction(0, 1)
    """
    cost = Cost()
    uses: dict[tuple[int, int], list[Fraction | float]] = defaultdict(list)
    for before, after in zip(recorded.meetings, replayed.meetings, strict=False):
        moved = _moved(before.value, after.value)
        for call, index, factor in before.draws:
            uses[call, index].append(moved / factor if factor else _hidden_by_none(moved))
    for draws in _met_once(recorded.meetings):
        _add_noise(cost, recorded.draws, draws, uses)
    for one, other in zip(recorded.draws, replayed.draws, strict=False):
        if isinstance(one.law, (ExponentialChoice, CategoricalDistribution)):
            size = 1 if one.size is None else int(np.prod(one.size))
            cost.pure(size * _choice_loss(one.law, other.law), one.line)
    return cost


def coins(recorded: Tape, replayed: Tape) -> list[str]:
    """Return where outcomes were drawn from the same law in both runs."""
    # Such an outcome may be put together with the data afterwards, as randomized response does, so
    # that it is not a released number, and freezing it freezes nothing.
    pairs = zip(recorded.draws, replayed.draws, strict=False)
    return [
        one.line
        for one, other in pairs
        if isinstance(one.law, (ExponentialChoice, CategoricalDistribution))
        and not _choice_loss(one.law, other.law)
    ]


def _met_once(meetings: list[Meeting]) -> list[tuple[tuple[int, int, Fraction], ...]]:
    """Return each sum of draws once, however many numbers it met."""
    return list(dict.fromkeys(meeting.draws for meeting in meetings))


def _hidden_by_none(moved: Fraction | float) -> Fraction | float:
    return math.inf if moved else Fraction(0)


def _moved(before: Any, after: Any) -> Fraction | float:
    """Return how far a number moved; infinitely where that is not to be said."""
    pair = [np.ravel(np.asarray(value, dtype=object)).tolist() for value in (before, after)]
    if len(pair[0]) != len(pair[1]):
        return math.inf
    try:
        moves = {exactly(b) - exactly(a) for a, b in zip(*pair, strict=True)}
    except (TypeError, ValueError, OverflowError):
        same = all(a is b or a == b or (a != a and b != b) for a, b in zip(*pair, strict=True))
        return Fraction(0) if same else math.inf
    # one draw on several numbers hides them only where all of them move together
    return moves.pop() if len(moves) == 1 else (math.inf if moves else Fraction(0))


def _add_noise(
    cost: Cost,
    calls: list[RecordedDraw],
    draws: tuple[tuple[int, int, Fraction], ...],
    uses: Mapping[tuple[int, int], list[Fraction | float]],
) -> None:
    """Add the loss of one sum of draws: that of its best draw, for the others come after it."""
    noisy = []
    for call, index, _ in draws:
        moves = set(uses[call, index])
        moved = moves.pop() if len(moves) == 1 else math.inf
        noisy.append((_noise_loss(calls[call].law, moved), calls[call].line))
    (pure, loss), line = min(noisy, key=lambda one: (one[0][1], not one[0][0]))
    (cost.pure if pure else cost.concentrated)(loss, line)


def _noise_loss(distribution: Any, moved: Fraction | float) -> tuple[bool, Fraction | float]:
    """Return whether a loss is one of pure DP, and the loss."""
    if not moved:
        return True, Fraction(0)
    if not isinstance(moved, Fraction) or moved.denominator != 1 or abs(moved) > _MAX_MOVE:
        return True, math.inf
    if isinstance(distribution, DiscreteLaplace):
        return True, abs(moved) / distribution.scale
    if isinstance(distribution, DiscreteGaussian):
        return False, moved * moved / (2 * distribution.sigma_squared)
    return True, math.inf


# Noise hides no move by more, whatever its scale; beyond are losses that are no doubles.
_MAX_MOVE = 10**100


def _choice_loss(one: Any, other: Any) -> float:
    """Return the largest log ratio of the probabilities of an outcome."""
    if one is other or (isinstance(one, CategoricalDistribution) and one == other):
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.abs(_log_shares(one) - _log_shares(other))
    return float(np.nan_to_num(gaps, nan=0.0, posinf=math.inf).max())


def _log_shares(distribution: Any) -> Any:
    with np.errstate(divide="ignore"):
        if isinstance(distribution, ExponentialChoice):
            above = (distribution.costs - distribution.costs.min()).astype(np.float64)
            logs = np.log(distribution.weights.astype(np.float64)) - above * float(
                distribution.factor
            )
            return logs - np.logaddexp.reduce(logs)
        numbers = [float(x) for x in distribution.parameters]
        if distribution.name == "bernoulli_exp":
            return np.array([-numbers[0], np.log(-np.expm1(-numbers[0]))])
        shares = [numbers[0], 1 - numbers[0]] if distribution.name == "bernoulli" else numbers
        return np.log(np.array(shares) / sum(shares))


# Audit a mechanism by replaying it on a neighbour with its noise frozen.


_AROUND = "the output differs although all noise is frozen: a number goes around it"


@public
@dataclass(frozen=True)
class ReplayResult(Shown):
    """Result of the replays of a mechanism.  True if they show no problem.

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
        text = f"{self.runs} runs of at most {self.draws} draws"
        if self.findings:
            return f"FOUND in {text}: " + "; ".join(self.findings)
        part = "" if self.complete else "; outputs were not compared, for not all noise was seen"
        cost = f"epsilon = {float(self.epsilon):.6g}, rho = {float(self.rho):.6g}"
        return f"nothing found in {text}, which hide {cost}{part} (this proves no claim)"


@public
def replay(
    mechanism: Callable[[Any], Any],
    u: Any,
    v: Any,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    runs: int = 10,
) -> ReplayResult:
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
    maximum, complete = Cost(), True
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
        problems, cost = _compared(mechanism, other, recorded, replayed, output)
        tossed = coins(recorded, replayed) if _AROUND in problems else []
        unseen.update(dict.fromkeys(tossed))
        if not steady or recorded.lost or tossed:
            complete = False
            problems = [problem for problem in problems if problem != _AROUND]
        findings.update(dict.fromkeys(problems))
        if cost is not None and (cost.epsilon, cost.rho) > (maximum.epsilon, maximum.rho):
            maximum = cost
    if len(failures) == 2 * times:
        raise UsageError(
            f"the mechanism raises in all of {len(failures)} runs, so nothing of it was seen: "
            f"{failures[0].name}: {failures[0].message}"
        )
    if not always_steady:  # noise of few values repeats itself by chance, in some of the runs
        findings.pop(_AROUND, None)
    findings.update(dict.fromkeys(_dear(maximum, claims[0], claims[1])))
    return ReplayResult(
        tuple(findings), draws, 2 * times, maximum.epsilon, maximum.rho, complete, tuple(unseen)
    )


@dataclass(frozen=True)
class _Raised:
    """That a mechanism fails is an output."""

    name: str
    message: str = field(compare=False)


def run_once(mechanism: Callable[[Any], Any], data: Any, tape: Tape) -> Any:
    """Return the output of one run on a tape; a failure is an output too."""
    with watched(tape.watch):
        try:
            return _released(mechanism(data))
        except Exception as error:
            return _Raised(type(error).__name__, str(error))


def _released(output: Any) -> Any:
    """Return an output whose noise is plain numbers: noise that met nothing hides a 0."""
    if isinstance(output, TracedNoise):
        return output + 0
    if isinstance(output, Mapping):
        return {key: _released(value) for key, value in output.items()}
    if isinstance(output, (list, tuple)):
        parts = [_released(part) for part in output]
        return tuple(parts) if isinstance(output, tuple) else parts
    if isinstance(output, np.ndarray) and output.dtype == object:
        released = np.empty(output.size, dtype=object)
        released[:] = [_released(part) for part in output.ravel()]
        return released.reshape(output.shape)
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
    problems = []
    if isinstance(other, _Raised) != isinstance(output, _Raised):
        name = (other if isinstance(other, _Raised) else output).name
        return [f"whether {name} is raised depends on the data"], None
    if len(replayed.draws) < len(recorded.draws):
        line = recorded.draws[len(replayed.draws)].line
        return [f"whether a draw is made at {line} depends on the data"], None
    if len(replayed.meetings) < len(recorded.meetings):
        return ["whether noise is added to a number depends on the data"], None
    if not _same(other, output):
        problems.append(_AROUND)
    cost = cost_of(recorded, replayed)
    problems += [
        f"the noise drawn at {line} does not hide the number under it" for line in cost.lines
    ]
    return problems, cost


def _dear(cost: Cost, epsilon: Fraction | None, rho: Fraction | None) -> list[str]:
    messages = []
    for name, spent, claim in (("epsilon", cost.epsilon, epsilon), ("rho", cost.rho, rho)):
        if claim is not None and spent > claim * (1 + Fraction(1, 10**9)):
            messages.append(
                f"the draws of one run cost {name} = {float(spent):.6g} together, and "
                f"{float(claim):.6g} is claimed"
            )
    return messages


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

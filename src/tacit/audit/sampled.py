"""A lower bound on epsilon from runs of a mechanism on two inputs."""

from __future__ import annotations

import math
import secrets
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import plotting
from tacit.arithmetic.exact import Number, as_fraction, as_integer, positive
from tacit.audit.bets import LEVELS, Bets, FittedBets, GradedBets
from tacit.audit.events import Event, best_feature, learned_event, learned_score
from tacit.audit.features import Design, FewFeatures
from tacit.calls import public
from tacit.display.card import Shown
from tacit.errors import UsageError

# An upper bound on the trade-off curve that holds at every time at once.
#
# The trade-off curve T of two distributions P and Q gives for each type I error the smallest type
# II error of a test of Q against P.  A claim says that T lies on or above a curve; a bound from
# above can refute it, at every epsilon and delta together.
#
# **Errors on average.**  In round t an event E_t is chosen from the rounds before: P is said on
# E_t. Its errors are a_t = Q(E_t) and b_t = 1 - P(E_t), so b_t >= T(a_t).  T is convex, so the
# means over the rounds satisfy mean b >= T(mean a), although each round has another event.  T
# falls, so T(A) <= B for all bounds A >= mean a and B >= mean b.
#
# **The bounds.**  Let X_t in {0, 1} have the chance m_t given the past.  For any number l,
# exp(l X_t) / (1 + m_t (exp(l) - 1)) has the mean 1, so the product over the rounds is a martingale
# from 1.  log(1 + m (exp(l) - 1)) is concave in m, so with S = sum X_t and the mean m of the m_t
# after n rounds
#
#     exp(l S - n log(1 + m (exp(l) - 1))) <= that product.
#
# The mean over several l of the left side reaches 1 / alpha at any time with probability at most
# alpha (Ville 1939).  For l < 0 it rises with m: the m at which it is 1 / alpha bounds the mean
# from above, at all times together.  Each of k events has two such bounds, at alpha / (2 k) each.
#
# **The curve.**  (0, 1), (1, 0) and all points (A, B) lie on or above T, which is convex: so does
# the lower hull of them.
#
# Source: Dong, Roth and Su, "Gaussian differential privacy" (JRSS B 2022); Howard, Ramdas,
# McAuliffe and Sekhon, "Time-uniform Chernoff bounds" (2020).


_SLOPES = -np.geomspace(5e-4, 20, 24)
_HALVINGS = 60
_ROUNDED = 1e-12


def mean_below(
    count: NDArray[np.float64], runs: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Return bounds that the mean chances are below, at all times, with probability 1 - alpha each.

    >>> mean_below(np.array([0.0, 500.0]), np.array([1000.0, 1000.0]), 0.01).round(3).tolist()
    [0.006, 0.56]
    """
    low, high = np.zeros(len(count)), np.ones(len(count))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        logs = _SLOPES[:, None] * count - runs * np.log1p(middle * np.expm1(_SLOPES)[:, None])
        top = logs.max(axis=0)
        wealth = top + np.log(np.exp(logs - top).mean(axis=0))
        reached = wealth >= -math.log(alpha)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.asarray(np.minimum(1.0, high + _ROUNDED), dtype=np.float64)


class TradeOff:
    """The errors of several events, counted round by round.

    >>> curve = TradeOff(1)
    >>> curve.add(slice(0, 1), np.array([[900], [100]]), 1000)
    >>> [(round(a, 2), round(b, 2)) for a, b in curve.corners(0.99)]
    [(0.0, 1.0), (0.14, 0.14), (1.0, 0.0)]
    """

    def __init__(self, events: int) -> None:
        self._inside = np.zeros((2, events))
        self._runs = np.zeros(events)

    def add(self, which: slice, counts: NDArray[np.int64], runs: int) -> None:
        """Count rounds."""
        self._inside[:, which] += counts
        self._runs[which] += runs

    def corners(self, confidence: float) -> tuple[tuple[float, float], ...]:
        """Return the corners of a curve that the trade-off curve lies nowhere above."""
        pairs = np.column_stack(self._errors(confidence)).tolist()
        below = sorted((a, b) for a, b in pairs if a + b < 1)
        hull: list[tuple[float, float]] = []
        for point in [(0.0, 1.0), *below, (1.0, 0.0)]:
            while len(hull) > 1 and _turns_right(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        return tuple(hull)

    def shares(self, confidence: float, delta: float) -> tuple[float, float]:
        """Return how often the event occurred that shows the most, of its side and of the other."""
        # That is the one of the largest log((1 - B - delta) / A), or, for its complement, which
        # tells of v, of the largest log((1 - A - delta) / B).
        first, second = self._errors(confidence)
        with np.errstate(divide="ignore"):
            shown = [
                np.log(np.maximum(1 - b - delta, 1e-12) / a)
                for a, b in ((first, second), (second, first))
            ]
        way, index = np.unravel_index(int(np.argmax(shown)), (2, len(first)))
        shares = self._inside[:, index] / max(self._runs[index], 1)
        of_u, of_v = float(shares[0]), float(shares[1])
        return (of_u, of_v) if way == 0 else (1 - of_v, 1 - of_u)

    def _errors(self, confidence: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        alpha = (1 - confidence) / (2 * len(self._runs))
        type_i = mean_below(self._inside[1], self._runs, alpha)
        return type_i, mean_below(self._runs - self._inside[0], self._runs, alpha)


def _turns_right(
    first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]
) -> bool:
    """Return whether the middle point is on or above the line between the others."""
    (x, y), (u, v), (a, b) = first, middle, last
    return (v - y) * (a - x) >= (b - y) * (u - x)


# Run a mechanism on two neighbours until its claim is refuted, or the runs are used up.


_FIRST = 50  # the runs a side that choose the first event, and are not counted


@public
@dataclass(frozen=True)
class SampledAudit(Shown):
    """Result of auditing a mechanism by its runs.  True if the claim is not refuted.

    Attributes:
        lower: a lower bound on epsilon at delta; 0 where the runs show nothing.
        samples: how often the mechanism was run on each side.
        refuted: whether the claim is refuted, with the stated confidence.
        epsilon: the claim; None where there was none.
        delta: the delta at which epsilon is bounded.
        confidence: how sure the bound is, at whatever moment the runs stopped.
        path: pairs of a number of runs and the bound after them.
        shares: how often a given event occurred, of u and of v.  Where none is given: how often
            those occurred that show the most, on the data set that they indicate and on the other;
            the chosen ones, or outputs on one side of a level of their grades.
        trade_off: corners of a curve, type I and type II errors of telling the data sets apart; the
            trade-off curve is nowhere above it, with the same confidence for it alone, at whatever
            moment.
    """

    lower: float
    samples: int
    refuted: bool
    epsilon: float | None
    delta: float
    confidence: float
    path: tuple[tuple[int, float], ...]
    shares: tuple[float, float]
    trade_off: tuple[tuple[float, float], ...]

    def __bool__(self) -> bool:
        return not self.refuted

    def __str__(self) -> str:
        at = f" at delta = {self.delta:g}" if self.delta else ""
        sure = f"with confidence {self.confidence:g}, after {self.samples} runs on each side"
        if self.refuted:
            return (
                f"REFUTED: epsilon is above {self.lower:.4g}{at}, and {self.epsilon:.4g} was "
                f"claimed ({sure})"
            )
        claimed = "" if self.epsilon is None else f"; the claim of {self.epsilon:.4g} stands"
        return f"epsilon is above {self.lower:.4g}{at}{claimed} ({sure}; this proves no claim)"

    def plot(self) -> Any:
        """Draw the bound over the runs next to the claim, and what is known of the trade-off curve.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        fig = plotting.figure(8.4, 3.6)
        panels = plotting.axes(fig, 1, 2)[0]
        runs = [n for n, _ in self.path]
        bounds = [b for _, b in self.path]
        panels[0].step(runs, bounds, where="post", color=plotting.ACCENT, label="lower bound")
        if self.epsilon is not None:
            claimed = f"claim: {self.epsilon:.4g}"
            panels[0].axhline(self.epsilon, color=plotting.SECOND, linestyle="--", label=claimed)
        panels[0].legend(frameon=False, fontsize=9)
        panels[0].set_xscale("log")
        ticks = _ticks(runs[0], runs[-1])
        panels[0].set_xticks(ticks, [f"{n:,}" for n in ticks])
        panels[0].set_xticks([], minor=True)
        panels[0].set_xlabel("runs on each side")
        panels[0].set_ylabel("lower bound on epsilon")
        errors = np.linspace(0, 1, 201)
        for loss, colour, dash, name in (
            (self.epsilon, plotting.SECOND, "--", "of the claim"),
            (self.lower, plotting.ACCENT, "-", "of the lower bound on epsilon"),
        ):
            if loss is not None:
                curve = _trade_off(errors, loss, self.delta)
                panels[1].plot(errors, curve, dash, color=colour, label=name)
        corners = ([a for a, _ in self.trade_off], [b for _, b in self.trade_off])
        panels[1].plot(*corners, ".-", color=plotting.INK, label="upper bound on the true one")
        panels[1].legend(frameon=False, fontsize=9)
        panels[1].set_xlabel("type I error")
        panels[1].set_ylabel("type II error")
        panels[1].set_title("trade-off curves", fontsize=10)
        return fig


def _ticks(first: int, last: int) -> list[int]:
    """Return a few numbers of runs that are read next to each other on a scale of logarithms.

    >>> _ticks(50, 700), _ticks(50, 2_000_000)
    ([50, 100, 200, 500], [50, 1000, 20000, 500000])
    """
    ticks = [k * 10**n for n in range(9) for k in (1, 2, 5) if first <= k * 10**n <= last]
    return ticks[:: max(1, math.ceil(len(ticks) / 4))]


def _trade_off(errors: Any, epsilon: float, delta: float) -> Any:
    """Return the least type II error that (epsilon, delta) allows (Wasserman and Zhou 2010)."""
    steep = 1 - delta - math.exp(min(epsilon, 700)) * errors
    flat = math.exp(-epsilon) * (1 - delta - errors)
    return np.maximum(0, np.maximum(steep, flat))


@public
def sampled(
    mechanism: Callable[..., Any],
    u: Any,
    v: Any,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    confidence: float = 0.99,
    samples: int = 10_000,
    event: Callable[[Any], bool] | None = None,
    batch: bool = False,
) -> SampledAudit:
    """Find a lower bound on epsilon, from the outputs of a mechanism on two neighbours.

    The first 50 runs on each side choose an event; from then on every run is counted on the event
    that the runs before it chose, and the bound holds at every moment at once
    (:mod:`tacit.audit.bets` has the proof).  Where no event is given, two fifths of the money are
    bet on grades of the outputs, by a score and by a single feature, from 200 runs on, and two
    fifths on ratios that are fitted to many features and to few, from 500 on.  So the runs end as
    soon as the claim is refuted, with no penalty for having looked: a gross violation takes some
    hundred runs.

    Nothing here proves a claim.  What is rarer than the runs can show stays unseen, which
    :func:`tacit.audit.verify` finds where outputs can be listed.

    Args:
        mechanism: called with u or v, gives an output: a number, a text, a list, a dictionary of
            numbers or an array; see :func:`tacit.audit.command` for programs that are not Python.
            That it raises is an output too, the text ``raised`` with the name of the error.
            Its runs are to be independent: one that draws from a fixed seed, or whose answers
            depend on earlier runs, is outside the proof.  A coin decides for each pair of runs
            whether u or v comes first, so that what changes with time alone is rarely taken for
            a difference of the data.
        u: a data set, in the form that the mechanism takes.
        v: its neighbour.
        epsilon: the claim, where there is one: runs stop when it is refuted.
        delta: the delta at which epsilon is bounded.
        confidence: the probability, at least, with which the bound is below the true epsilon.
        samples: the most runs on each side.
        event: from an output to True or False, in place of one that is chosen from the runs.
        batch: the mechanism is called with a data set and a number, and returns that many outputs.
            What it raises is not an output: no one knows of how many runs.

    Returns:
        The bound with its path; falsy where the claim is refuted.

    Raises:
        UsageError: a confidence outside of (0, 1), fewer than 100 samples, a delta outside [0, 1);
            a mechanism whose first runs all raise, or that gives another number of outputs.

    Source: Gonzalez et al., "Sequentially auditing differential privacy" (arXiv 2509.07055);
        the bets are those of Waudby-Smith and Ramdas (2024).

    Example:
        >>> import tacit as tc
        >>> def forgetful(data):
        ...     return sum(data) + tc.noise.discrete_laplace(1)
        >>> bool(sampled(forgetful, [0, 0], [0, 9], epsilon=1, samples=2000))
        False
    """
    limit, rest, confidence = checked_numbers(samples, delta, confidence)
    claim = None if epsilon is None else float(min(as_fraction(epsilon, "epsilon"), _ANY_CLAIM))
    if claim is not None and claim < 0:
        raise UsageError("epsilon is at least 0")
    wealth_process = Bets(rest, confidence)
    graded = GradedBets(wealth_process.grid, rest) if event is None else None
    fitted = [FittedBets(wealth_process.grid, rest, kind) for kind in (Design.of, FewFeatures.of)]
    single = GradedBets(wealth_process.grid, rest)
    others: list[GradedBets | FittedBets] = [single, *fitted]
    graded_at, fitted_at = _GRADED_FROM / _AGAIN, _FITTED_FROM / _FITTED_AGAIN
    seen: tuple[list[Any], list[Any]] = ([], [])
    curve = TradeOff(1 if graded is None else 1 + len(LEVELS))
    path: list[tuple[int, float]] = []
    chosen: Event | None = None if event is None else _given(event)
    done, learned, tells_of_v = 0, 0, False
    while done < limit and not (claim is not None and wealth_process.refutes(claim)):
        count = min(limit - done, _FIRST if done < 4 * _FIRST else done // 4)
        fresh = outputs_of_both(mechanism, (u, v), count, batch)
        if not done:
            _check_some_answer(fresh)
        done += count
        if chosen is not None:
            other_bets = None
            if graded is not None:
                above = graded.add(*fresh)
                if above is not None:
                    curve.add(slice(1, None), above, count)
                for account in others:
                    account.add(*fresh)
                other_bets = np.vstack([account.log_wealth() for account in (graded, *others)])
            inside = chosen(fresh[tells_of_v]), chosen(fresh[not tells_of_v])
            wealth_process.add(inside[0], list(inside[1]), other_bets)
            hits = np.array([[np.sum(side)] for side in inside])
            curve.add(slice(0, 1), count - hits[::-1] if tells_of_v else hits, count)
        path.append((done, wealth_process.lower))
        if event is None:
            for side, more in zip(seen, fresh, strict=True):
                side.extend(more)
                del side[:-_MAX_RETAINED]
            if done >= _AGAIN * learned:
                learned = done
                event_now = learned_event(*seen, rest, claim)
                chosen, tells_of_v = event_now, event_now.tells_of_v
            if graded is not None and _AGAIN * graded_at <= done <= _MAX_RETAINED:
                graded_at = done
                score = learned_score(*(side[::2] for side in seen))
                graded.learn(score, *(side[1::2] for side in seen))
                single.learn(best_feature(*seen, rest, claim), *seen)
            if graded is not None and _FITTED_AGAIN * fitted_at <= done <= _MAX_RETAINED:
                fitted_at = done
                for fit in fitted:
                    fit.learn(*seen)
    return SampledAudit(
        wealth_process.lower,
        done,
        claim is not None and wealth_process.refutes(claim),
        claim,
        rest,
        confidence,
        tuple(path),
        curve.shares(confidence, rest) if event is None else wealth_process.shares,
        curve.corners(confidence),
    )


_ANY_CLAIM = Fraction(1_000_000)  # a claim of more is as far out of reach as this one
_MAX_RETAINED = 500_000
# Runs from which grades are learned, one half of them for the score and one for its bins.
_GRADED_FROM = 200
_AGAIN = 1.4  # an event is learned again from this many times as many runs
# Runs from which a ratio is fitted; in between it learns from every run.
_FITTED_FROM, _FITTED_AGAIN = 500, 4


def _given(event: Callable[[Any], bool]) -> Event:
    return lambda outputs: np.array([bool(event(output)) for output in outputs], dtype=np.bool_)


def checked_numbers(samples: Any, delta: Any, confidence: Any) -> tuple[int, float, float]:
    """Return the numbers that an audit is asked with."""
    limit = as_integer(samples, "samples", minimum=100)
    rest, sure = float(as_fraction(delta, "delta")), float(as_fraction(confidence, "confidence"))
    if not 0 < sure < 1:
        raise UsageError("confidence is a number between 0 and 1, for example 0.99")
    if not 0 <= rest < 1:
        raise UsageError("delta is at least 0 and below 1")
    return limit, rest, sure


class _RaisedOutput(str):
    """The output of a run that raised."""

    error: Exception


def outputs_of_both(
    mechanism: Callable[..., Any], pair: tuple[Any, Any], count: int, batch: bool
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Run a mechanism so often on each of two data sets, in an order that coins decide.

    >>> outputs_of_both(lambda data: 1 / data, (2, 0), 2, batch=False)
    ([0.5, 0.5], ['raised ZeroDivisionError', 'raised ZeroDivisionError'])
    """
    if not callable(mechanism):
        raise UsageError(f"a mechanism is called with a data set; {mechanism!r:.60} cannot be")
    outputs: tuple[list[Any], list[Any]] = ([], [])
    coins = secrets.randbits(count)
    for run in range(1 if batch else count):
        for side in (0, 1) if coins >> run & 1 else (1, 0):
            if batch:
                outputs[side].extend(_batch(mechanism, pair[side], count))
            else:
                outputs[side].append(_output(mechanism, pair[side]))
    return outputs


def _output(mechanism: Callable[[Any], Any], data: Any) -> Any:
    try:
        return mechanism(data)
    except Exception as error:
        output = _RaisedOutput(f"raised {type(error).__name__}")
        output.error = error
        return output


def _batch(mechanism: Callable[[Any, int], Any], data: Any, count: int) -> list[Any]:
    given = mechanism(data, count)
    try:
        batch = list(given)
    except TypeError:
        kind = type(given).__name__
        raise UsageError(
            f"with batch=True a mechanism returns many outputs, not a {kind}"
        ) from None
    if len(batch) != count:
        raise UsageError(f"the mechanism was asked for {count} outputs and gave {len(batch)}")
    return batch


def _check_some_answer(outputs: tuple[Sequence[Any], Sequence[Any]]) -> None:
    every = [*outputs[0], *outputs[1]]
    if all(isinstance(output, _RaisedOutput) for output in every):
        error = every[0].error
        raise UsageError(
            f"the mechanism raises in all of its first {len(every)} runs: "
            f"{type(error).__name__}: {error}"
        ) from error


@public
def command(line: str | Sequence[str], *, timeout: float = 60.0) -> Callable[[str], str]:
    """Return a mechanism for :func:`tacit.audit.sampled` that runs a program.

    The program gets the data set on its standard input, as the text that ``u`` or ``v`` is, and its
    output is what it prints there; its standard error is not read.  Where it fails, ``exit`` with
    its code stands behind what it printed: that a program fails on one of two neighbours is an
    output like any other.

    Args:
        line: the program with its arguments; no shell reads it.
        timeout: the seconds after which a run counts as the output ``timeout``.

    Raises:
        UsageError: the line is empty or no command, the timeout is not above 0; when it is called,
            there is no such program.

    >>> command("cat")("7")
    '7'
    """
    try:
        words = shlex.split(line) if isinstance(line, str) else [str(word) for word in line]
    except (TypeError, ValueError) as error:
        raise UsageError(f"this is not a command: {error}") from None
    if not words:
        raise UsageError("a command has at least the name of a program")
    seconds = float(positive(timeout, "timeout"))

    def run(data: str) -> str:
        try:
            completed = subprocess.run(
                words,
                input=str(data),
                capture_output=True,
                text=True,
                errors="backslashreplace",  # bytes that are no text, so that all outputs differ
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "timeout"
        except OSError as error:
            raise UsageError(f"{words[0]} cannot be run: {error.strerror}") from None
        printed = completed.stdout.strip()
        return f"{printed} exit {completed.returncode}".strip() if completed.returncode else printed

    return run

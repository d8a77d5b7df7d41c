"""Run a mechanism on two neighbours until its claim is refuted, or the runs are used up."""

from __future__ import annotations

import math
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit import plotting
from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.audit.sampling.betting import Bets
from tacit.audit.sampling.events import Event, learned_event, learned_score
from tacit.audit.sampling.features import Design, FewFeatures
from tacit.audit.sampling.fitted import FittedBets
from tacit.audit.sampling.graded import LEVELS, GradedBets
from tacit.audit.sampling.trade_off import TradeOff
from tacit.calls import public
from tacit.display.card import Shown
from tacit.errors import UsageError

__all__ = ["SampledAudit", "command", "outputs_of", "sampled"]

_FIRST = 50
"""The runs a side that choose the first event, and are not counted."""


@public
@dataclass(frozen=True)
class SampledAudit(Shown):
    """What the runs of a mechanism show.  True where the claim is not refuted.

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
        """Draw the bound over the runs beside the claim, and what is known of the trade-off curve.

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
    (:mod:`tacit.audit.sampling.betting` has the proof).  Where no event is given, a
    quarter of the money is bet on grades of the outputs from 200 runs on
    (:mod:`tacit.audit.sampling.graded`), and half of it on ratios that are fitted to many features
    and to few from 500 on (:mod:`tacit.audit.sampling.fitted`).  So the runs end as soon as the
    claim is refuted, with no penalty for having looked: a gross violation takes some hundred runs.

    Nothing here proves a claim.  What is rarer than the runs can show stays unseen, which
    :func:`tacit.verify` finds where outputs can be listed.

    Args:
        mechanism: called with u or v, gives an output: a number, a text, a list, a dictionary of
            numbers or an array; see :func:`tacit.audit.command` for programs that are not Python.
            Its runs are to be independent: one that draws from a fixed seed is outside the proof.
        u: a data set, in the form that the mechanism takes.
        v: its neighbour.
        epsilon: the claim, where there is one: runs stop when it is refuted.
        delta: the delta at which epsilon is bounded.
        confidence: the probability, at least, with which the bound is below the true epsilon.
        samples: the most runs on each side.
        event: from an output to True or False, in place of one that is chosen from the runs.
        batch: the mechanism is called with a data set and a number, and returns that many outputs.

    Returns:
        The bound with its path; falsy where the claim is refuted.

    Raises:
        UsageError: a confidence outside of (0, 1), fewer than 100 samples, a delta outside [0, 1).

    Source: Gonzalez et al., "Sequentially auditing differential privacy" (arXiv 2509.07055);
        the bets are those of Waudby-Smith and Ramdas (2024).

    Example:
        >>> import tacit as tc
        >>> def forgetful(data):
        ...     return sum(data) + tc.noise.discrete_laplace(1)
        >>> bool(sampled(forgetful, [0, 0], [0, 9], epsilon=1, samples=2000))
        False
    """
    limit = as_integer(samples, "samples", minimum=100)
    claim = None if epsilon is None else float(as_fraction(epsilon, "epsilon"))
    rest = float(as_fraction(delta, "delta"))
    if not 0 < confidence < 1:
        raise UsageError("confidence is a number between 0 and 1, for example 0.99")
    if not 0 <= rest < 1 or (claim is not None and claim < 0):
        raise UsageError("epsilon is at least 0, and delta at least 0 and below 1")
    bets = Bets(rest, confidence)
    graded = GradedBets(bets.grid, rest) if event is None else None
    fitted = [FittedBets(bets.grid, rest, kind) for kind in (Design.of, FewFeatures.of)]
    graded_at, fitted_at = _GRADED_FROM / _AGAIN, _FITTED_FROM / _FITTED_AGAIN
    seen: tuple[list[Any], list[Any]] = ([], [])
    curve = TradeOff(1 if graded is None else 1 + len(LEVELS))
    path: list[tuple[int, float]] = []
    chosen: Event | None = None if event is None else _given(event)
    done, learned, tells_of_v = 0, 0, False
    while done < limit and not (claim is not None and bets.refutes(claim)):
        count = min(limit - done, _FIRST if done < 4 * _FIRST else done // 4)
        fresh = [outputs_of(mechanism, data, count, batch) for data in (u, v)]
        done += count
        if chosen is not None:
            beside = None
            if graded is not None:
                above = graded.add(*fresh)
                if above is not None:
                    curve.add(slice(1, None), above, count)
                for account in fitted:
                    account.add(*fresh)
                beside = np.vstack(
                    [graded.log_wealth(), *(account.log_wealth() for account in fitted)]
                )
            inside = chosen(fresh[tells_of_v]), chosen(fresh[not tells_of_v])
            bets.add(inside[0], list(inside[1]), beside)
            hits = np.array([[np.sum(side)] for side in inside])
            curve.add(slice(0, 1), count - hits[::-1] if tells_of_v else hits, count)
        path.append((done, bets.lower))
        if event is None:
            for side, more in zip(seen, fresh, strict=True):
                side.extend(more)
                del side[:-_MOST_KEPT]
            if done >= _AGAIN * learned:
                learned = done
                event_now = learned_event(*seen, rest, claim)
                chosen, tells_of_v = event_now, event_now.tells_of_v
            if graded is not None and _AGAIN * graded_at <= done <= _MOST_KEPT:
                graded_at = done
                score = learned_score(*(side[::2] for side in seen))
                graded.learn(score, *(side[1::2] for side in seen))
            if graded is not None and _FITTED_AGAIN * fitted_at <= done <= _MOST_KEPT:
                fitted_at = done
                for account in fitted:
                    account.learn(*seen)
    return SampledAudit(
        bets.lower,
        done,
        claim is not None and bets.refutes(claim),
        claim,
        rest,
        confidence,
        tuple(path),
        curve.shares(confidence, rest) if event is None else bets.shares,
        curve.corners(confidence),
    )


_MOST_KEPT = 500_000
_GRADED_FROM = 200
"""Runs from which grades are learned, one half of them for the score and one for its bins."""
_AGAIN = 1.4
"""An event is learned again from so many times as many runs."""
_FITTED_FROM, _FITTED_AGAIN = 500, 4
"""Runs from which a ratio is fitted; in between it learns from every run."""


def _given(event: Callable[[Any], bool]) -> Event:
    return lambda outputs: np.array([bool(event(output)) for output in outputs], dtype=np.bool_)


def outputs_of(mechanism: Callable[..., Any], data: Any, count: int, batch: bool) -> Sequence[Any]:
    """Run a mechanism so often.

    Raises:
        UsageError: a mechanism of batches gave another number of outputs.

    >>> outputs_of(lambda data: data + 1, 5, 2, batch=False)
    [6, 6]
    """
    if not batch:
        return [mechanism(data) for _ in range(count)]
    found = list(mechanism(data, count))
    if len(found) != count:
        raise UsageError(f"the mechanism was asked for {count} outputs and gave {len(found)}")
    return found


@public
def command(line: str | Sequence[str], *, timeout: float = 60.0) -> Callable[[str], str]:
    """Return a mechanism for :func:`tacit.audit.sampled` that runs a program.

    The program gets the data set on its standard input, as the text that ``u`` or ``v`` is, and its
    output is what it prints.  Where it fails, the output is the text ``exit`` with its code: that a
    program fails on one of two neighbours is an output like any other.

    Args:
        line: the program with its arguments; no shell reads it.
        timeout: the seconds after which a run counts as the output ``timeout``.

    Raises:
        UsageError: the line is empty.

    >>> command("cat")("7")
    '7'
    """
    words = shlex.split(line) if isinstance(line, str) else list(line)
    if not words:
        raise UsageError("a command has at least the name of a program")

    def run(data: str) -> str:
        try:
            found = subprocess.run(
                words, input=str(data), capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return "timeout"
        return found.stdout.strip() if found.returncode == 0 else f"exit {found.returncode}"

    return run

"""Attacks: the systems that they are made on, their cases, and how outputs are looked at."""

from __future__ import annotations

import importlib
import json
import math
import os
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import tacit
from tacit.audit.sampled import sampled
from tacit.errors import RefusedError

# Generators seeded, and noise drawn in forked processes: the same for every system.


# The generators of Python and numpy that a program can seed; Tacit draws from neither.
SEEDED = ("random", "numpy.random")


def seed_everything(seed: int) -> None:
    """Seed the generators that a library may draw its noise from."""
    for name in SEEDED:
        importlib.import_module(name).seed(seed)


def forked_numbers(draw: Callable[[], Sequence[float]]) -> tuple[Sequence[float], Sequence[float]]:
    """Return what two processes draw that are forked from this one, one after the other."""
    first, second = (_in_a_fork(draw) for _ in range(2))
    return first, second


def _in_a_fork(draw: Callable[[], Sequence[float]]) -> list[float]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(list(draw())).encode())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)  # without what its parent would do at its end
    os.close(writing)
    with os.fdopen(reading) as answers:
        text = answers.read()
    os.waitpid(child, 0)
    return [float(x) for x in json.loads(text)]


# What a system of differential privacy can be asked to do, in the words of the attacks.
#
# An adapter derives from :class:`System` and fills in what its library offers.  All else raises
# :class:`NotOfferedError`, and a case that needs it does not apply.  Errors of the library pass
# through: that an error is raised for one data set and not for its neighbour is what some attacks
# look for.


Rows = Sequence[Any]
Bounds = tuple[float, float]


class NotOfferedError(RefusedError):
    """The system does not offer what a case needs."""


class NotReadyError(RefusedError):
    """The system cannot be attacked here; the text says what it lacks."""


class SystemBudget:
    """A budget of one system that is spent by releases."""

    def ask(self, epsilon: float, label: str) -> float:
        """Release a noisy count and charge epsilon; the label makes it a release of its own."""
        # A system that refuses raises its own error.
        raise NotOfferedError("releases under a budget")

    def spent(self) -> float:
        """Return the epsilon that was charged so far."""
        raise NotOfferedError("a budget that reports what was spent")

    def again(self) -> SystemBudget:
        """Return another handle on the same budget, as another process has it."""
        raise NotOfferedError("a budget that outlives its process")

    def files(self) -> Sequence[str]:
        """Return the files in which the budget is stored."""
        raise NotOfferedError("a budget in a file")

    def opened_at(self, path: str) -> SystemBudget:
        """Return a handle on the budget stored in a file of another name."""
        raise NotOfferedError("a budget in a file")

    def fail(self, epsilon: float, label: str) -> None:
        """Begin a release and let reading the rows fail; the error passes through."""
        raise NotOfferedError("a release whose reading can be made to fail")


class LocalMechanism:
    """A mechanism of the local model over the items 0, 1, ..., size - 1."""

    def report(self, item: Any) -> Any:
        """Return a fresh report of an item; one outside of the domain may be refused."""
        raise NotOfferedError("reports of one person")

    def losses(self) -> float:
        """Return the largest log ratio of the probabilities of a report, computed exactly."""
        raise NotOfferedError("exact probabilities of reports")

    def accepts(self, report: Any) -> bool:
        """Return whether the collector takes a report."""
        raise NotOfferedError("a collector that checks reports")

    def impossible(self) -> Sequence[Any]:
        """Return reports that no honest device can send."""
        raise NotOfferedError("a collector that checks reports")

    def counts(self, reports: Sequence[Any]) -> Sequence[float]:
        """Return the estimated count of each item."""
        raise NotOfferedError("estimates from reports")

    def device(self) -> Any:
        """Return the client of one person: ``report(item)``, which remembers where it should."""
        raise NotOfferedError("a device that remembers its reports")


class System:
    """One system under attack.  Every method but the first two may be missing."""

    name: ClassVar[str] = ""  # how the command line and tables call it

    def version(self) -> str:
        """Return the version of the system."""
        raise NotOfferedError("a version")

    def refuse_unready(self) -> None:
        """Raise if the system cannot be run here, before a case is run."""

    def close(self) -> None:
        """End what the system started."""

    def statistic(
        self,
        kind: str,
        rows: Rows,
        *,
        bounds: Bounds | None = None,
        edges: Sequence[float] | None = None,
        epsilon: float = 1.0,
    ) -> Any:
        """Release a statistic of a column, one row a person."""
        # kind: count, sum, mean, variance, median or histogram.
        # rows: the column; may hold NaN, infinities and None.
        # bounds: public bounds of a value; None where the analyst names none.
        raise NotOfferedError(f"a {kind}")

    def sum_sensitivity(self, rows: Rows, bounds: Bounds) -> float:
        """Return how far one row moves a sum of these, by what the system states."""
        # bounds: of a row; the larger one, unless a system allows for its rounding.
        return max(map(abs, bounds))

    def group_counts(
        self,
        keys: Sequence[Any],
        public: Sequence[Any] | None,
        *,
        epsilon: float,
        delta: float = 0.0,
    ) -> Mapping[Any, float]:
        """Release counts by group: of public keys, or of those that the data shows at delta."""
        raise NotOfferedError("counts by group")

    def planned_counts(
        self, keys: Sequence[str], public: Sequence[str], copies: int, *, epsilon: float
    ) -> Sequence[float]:
        """Release several counts under one charge, as one plan."""
        # public: public keys, whose counts are asked for where there are any.
        # copies: how often the number of all rows is asked for.
        #
        # Returns: the number of all rows, this many times, then that of each key.
        raise NotOfferedError("plans of several questions")

    def derived(
        self, ask: str, keys: Sequence[str], public: Sequence[str], *, epsilon: float
    ) -> tuple[Sequence[float], float | None, float]:
        """Release counts by public key, then ask for what may follow from them."""
        # ask: "total" (of the rows with these keys), "other group" (the rows with the key "z"),
        #   "filter" (those rows with the first key for which another column is above 0).
        #
        # Returns: the released counts; the answer to what was asked, None where the system gives
        # none without a charge; and what was charged for it.
        raise NotOfferedError("answers that follow from others")

    def people_keys(
        self, rows: Sequence[tuple[int, str]], groups_each: int, *, epsilon: float, delta: float
    ) -> Sequence[str]:
        """Release the keys that the rows (person, key) show, private by person with so many."""
        raise NotOfferedError("unlisted keys by person")

    def people_sum(
        self,
        rows: Sequence[tuple[int, str, float]],
        public: Sequence[str],
        *,
        rows_each: int,
        groups_each: int,
        upper: float,
        epsilon: float,
    ) -> Mapping[str, float]:
        """Release sums by group of rows (person, group, value in [0, upper]), private by person."""
        raise NotOfferedError("contribution bounding by person")

    def joined_count(self, keys: Rows, public_keys: Rows, *, epsilon: float) -> float:
        """Release the number of rows that match a public table, joined by its key."""
        raise NotOfferedError("joins with a public table")

    def filtered_count(
        self, predicate: str, rows: Rows, *, epsilon: float, other: Rows = ()
    ) -> float:
        """Release the number of rows for which a predicate holds."""
        # predicate: "quotient" (1 / x > 0), "logarithm" (log(x) > 0), "number" (a text as a number
        #   > 0), "equal" (x equals the first of ``other``).
        raise NotOfferedError("filters")

    def read_sum(
        self, text: str, column: str, kind: str, bounds: Bounds, *, epsilon: float
    ) -> float:
        """Release the sum of a column of a CSV file that is declared to be of a kind."""
        raise NotOfferedError("CSV files")

    def changing_source(self, rows_each: int, *, epsilon: float) -> float:
        """Release a sum over a source whose every reading shows other rows of one person."""
        # rows_each: how many rows of a person count; each row is 1.
        raise NotOfferedError("sources that are read by the system")

    def account(self, budget: float) -> SystemBudget:
        """Return a fresh budget."""
        raise NotOfferedError("a budget")

    def noise(self, kind: str, value: float, scale: float) -> float:
        """Return a number with noise: kind is laplace or gaussian."""
        raise NotOfferedError(f"{kind} noise on a number")

    def selected(self, rate: float, rows: int) -> int:
        """Return how many of so many rows a Poisson sample of a rate selects."""
        raise NotOfferedError("Poisson samples")

    def noise_costs(self, count: int) -> Sequence[tuple[float, float]]:
        """Return the size of so many draws of noise with what each cost: time, or steps."""
        raise NotOfferedError("single draws of noise")

    def seeded(self, seed: int) -> Sequence[float]:
        """Seed every generator that a program can reach, and return some noisy numbers."""
        raise NotOfferedError("noise")

    def forked(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return noisy numbers of two processes forked from this one."""
        raise NotOfferedError("noise in forked processes")

    def written(self, where: str, rows: Rows) -> str:
        """Return what the system writes about a table of 10^6-fold noise beside its answer."""
        # where: "log", "repr", "pickle", "warning", "answer", "certificate" or "history".
        raise NotOfferedError(f"a {where}")

    def certificate(self) -> str:
        """Return a certificate of a release, as JSON."""
        raise NotOfferedError("certificates")

    def forgeries(self) -> Mapping[str, str]:
        """Return changed certificates by what was changed, each with its seals made anew."""
        raise NotOfferedError("certificates")

    def verifies(self, certificate: str) -> bool:
        """Return whether the system says that a certificate holds."""
        raise NotOfferedError("certificates")

    def local(self, size: int, epsilon: float, form: str) -> LocalMechanism:
        """Return a mechanism of the local model; form is direct, unary or binary."""
        raise NotOfferedError("the local model")

    def claim(self, name: str) -> float:
        """Return what the system claims where the truth is known; see the cases of claims."""
        raise NotOfferedError("a claim of this kind")


class TacitSystem(System):
    """A part of Tacit."""

    def version(self) -> str:
        return tacit.__version__


class InstalledLibrary(System):
    """A library that the interpreter of the attack has installed: the base of its adapter."""

    distribution: ClassVar[str] = ""  # its name on the package index
    modules: ClassVar[tuple[str, ...]] = ()  # the modules that its adapter uses

    def version(self) -> str:
        return version(self.distribution)

    def refuse_unready(self) -> None:
        try:
            self.version()
            for module in self.modules:
                importlib.import_module(module)
        except PackageNotFoundError:
            raise NotReadyError(f"not installed: no package {self.distribution}") from None
        except ImportError as error:
            raise NotReadyError(
                f"{self.distribution} {self.version()} is installed and cannot be imported: {error}"
            ) from None

    def seeded(self, seed: int) -> Sequence[float]:
        seed_everything(seed)
        return self._drawn()

    def forked(self) -> tuple[Sequence[float], Sequence[float]]:
        self._drawn()
        return forked_numbers(self._drawn)

    def _drawn(self) -> Sequence[float]:
        return [self.noise("laplace", 0.0, 5.0) for _ in range(4)]


def refuse_texts(rows: Rows) -> None:
    """Raise if the library takes no text in this column."""
    if any(isinstance(value, str) for value in rows):
        raise NotOfferedError("a column of numbers with texts in it")


# A case: a small program that attacks one weakness of one system, and its verdict.


HOLDS, FALLS, NOT_APPLICABLE, UNDECIDED = "holds", "falls", "not applicable", "undecided"


@dataclass(frozen=True)
class CaseOutcome:
    """Outcome of a case on a system.

    Attributes:
        verdict: holds, falls, not applicable (the system offers no such thing), or undecided (the
            program of the case failed, which says nothing about the system).
        evidence: a sentence: what was seen.
    """

    verdict: str
    evidence: str


def holds(evidence: str) -> CaseOutcome:
    """Return that the system withstood the attack."""
    return CaseOutcome(HOLDS, evidence)


def falls(evidence: str) -> CaseOutcome:
    """Return that the attack worked."""
    return CaseOutcome(FALLS, evidence)


@dataclass(frozen=True)
class Case:
    """One attack in one form.

    Attributes:
        attack: the class of attack.
        name: the form.
        question: what is examined, in a sentence.
        source: who published the weakness.
        program: from a system to an outcome.
    """

    attack: str
    name: str
    question: str
    source: str
    program: Callable[[System], CaseOutcome]

    @property
    def id(self) -> str:
        """The class and the form."""
        return f"{self.attack}/{self.name}"

    def run(self, system: System) -> CaseOutcome:
        """Attack a system; nothing that it raises comes through."""
        try:
            return self.program(system)
        except NotOfferedError as error:
            return CaseOutcome(NOT_APPLICABLE, f"it does not offer {error}")
        except Exception as error:
            return CaseOutcome(UNDECIDED, f"the case could not be run: {type(error).__name__}")


_CASES: dict[str, Case] = {}


def case(
    attack: str, name: str, question: str, source: str
) -> Callable[[Callable[[System], CaseOutcome]], Callable[[System], CaseOutcome]]:
    """Decorate the program of a case."""

    def add(program: Callable[[System], CaseOutcome]) -> Callable[[System], CaseOutcome]:
        made = Case(attack, name, question, source, program)
        assert made.id not in _CASES, made.id
        _CASES[made.id] = made
        return program

    return add


def cases(
    attack: str, question: str, source: str, forms: Mapping[str, Sequence[Any]]
) -> Callable[[Callable[..., CaseOutcome]], Callable[..., CaseOutcome]]:
    """Decorate the program of several cases: it takes what each form lists after the system."""

    def add(program: Callable[..., CaseOutcome]) -> Callable[..., CaseOutcome]:
        for name, given in forms.items():
            case(attack, name, question, source)(_of_form(program, given))
        return program

    return add


def _of_form(
    program: Callable[..., CaseOutcome], given: Sequence[Any]
) -> Callable[[System], CaseOutcome]:
    @wraps(program)
    def run(system: System) -> CaseOutcome:
        return program(system, *given)

    return run


def all_cases() -> tuple[Case, ...]:
    """Return the cases that were registered so far, in the order of their modules."""
    return tuple(_CASES.values())


# Whether an event that is rare on both sides refutes a claim: an exact test of its hits.
#
# **The test.**  Each release is on u or on v, as a fair coin says.  With P(u) = p and P(v) = q for
# the event, a release that shows it is of u with probability p / (p + q), whatever the releases
# before it were.  A claim of epsilon (at delta 0) says p <= exp(epsilon) q, so that this is at most
# 1 / (1 + exp(-epsilon)): of m hits, those of u are at most as many, in distribution, as successes
# of a binomial variable with m trials of that probability.  The probability of at least as many as
# were seen is an exact level, and in the same way with u and v changed about.  The releases are
# examined five times, so each of the ten tests has a tenth of what is allowed altogether
# (Bonferroni).
#
# A test of hits alone loses little where the event is rare: with none on v, 45 on u refute epsilon
# 1 with confidence 1 - 10^-5, where bets with mixed stakes (:mod:`tacit.audit.bets`)
# pay for the mixture and take 50.  Where the event is common, bets tell more.
#
# Source: Clopper and Pearson (1934), for the bound; Przyborowski and Wilenski (1940), for the
# conditional test of two rates.


_LOOKS = (12, 6, 3, 2, 1)  # looks after a twelfth of the releases, a sixth, a third, a half and all


@dataclass(frozen=True)
class Hits:
    """Numbers of runs with an event."""

    of_u: int
    of_v: int
    on_u: int
    on_v: int
    level: float  # of the test of each look and direction

    def refutes(self, epsilon: float) -> bool:
        """Return whether a claim at delta 0 is refuted.

        >>> Hits(45, 0, 1200, 1200, 1e-5 / 10).refutes(1.0)
        True
        >>> Hits(44, 0, 1200, 1200, 1e-5 / 10).refutes(1.0)
        False
        """
        maximum = 1 / (1 + math.exp(-epsilon))
        return _at_least(max(self.of_u, self.of_v), self.of_u + self.of_v, maximum) <= self.level

    @property
    def lower(self) -> float:
        """The largest epsilon that is refuted, 0 where there is none."""
        low, high = 0.0, 40.0
        if not self.refutes(low):
            return 0.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.refutes(middle) else (low, middle)
        return low

    def __str__(self) -> str:
        return f"{self.of_u} of {self.on_u} releases against {self.of_v} of {self.on_v}"


def count_hits(
    left: Callable[[], Any],
    right: Callable[[], Any],
    event: Callable[[Any], bool],
    *,
    epsilon: float,
    runs: int,
    level: float,
) -> Hits:
    """Release on u or v by a fair coin, until the claim is refuted or the releases are used up."""
    # level: the probability, at most, with which a true claim is refuted.
    hits, releases = [0, 0], [0, 0]
    each = level / (2 * len(_LOOKS))
    for part in _LOOKS:
        while sum(releases) < runs // part:
            side = secrets.randbits(1)
            releases[side] += 1
            hits[side] += bool(event((left, right)[side]()))
        counted = Hits(hits[0], hits[1], releases[0], releases[1], each)
        if counted.refutes(epsilon):
            break
    return counted


def _at_least(minimum: int, trials: int, chance: float) -> float:
    """Return the probability of this many successes or more, no lower than it is.

    >>> round(_at_least(2, 3, 0.5), 6)
    0.5
    """
    if minimum <= 0:
        return 1.0
    log_factorial = math.lgamma(trials + 1)
    terms = (
        log_factorial
        - math.lgamma(k + 1)
        - math.lgamma(trials - k + 1)
        + k * math.log(chance)
        + (trials - k) * math.log1p(-chance)
        for k in range(minimum, trials + 1)
    )
    return math.fsum(map(math.exp, terms)) * (1 + 1e-9)  # rounding: a relative 1e-11 at most


# How cases look: by loud releases, by raised errors, by how often something is seen.
#
# A *loud* release has an epsilon of 10^6, which the framework of differential privacy allows: its
# noise is a millionth of what one person may move.  Where two loud releases of neighbours differ by
# more than one person may move, one row has moved the statistic by more than the noise was made
# for.


LARGE_EPSILON = 10.0**6
_SLACK = 1e-2
_CONFIDENCE = 1 - 1e-5


def attempt(action: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """Return what an action returns, or the error that the system raised."""
    try:
        return action(), None
    except NotOfferedError:
        raise
    except Exception as error:
        return None, error


def _plain(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [float(value[key]) for key in sorted(value, key=str)]
    if isinstance(value, (list, tuple)):
        return [float(part) for part in value]
    return [float(value)]


def moved_at_most(
    left: Callable[[], Any], right: Callable[[], Any], allowed: float, change: str
) -> CaseOutcome:
    """Return whether two loud releases differ, in total, by no more than is allowed."""
    differences = compared(left, right, change)
    if isinstance(differences, CaseOutcome):
        return differences
    moved = sum(abs(a - b) for a, b in zip(*differences, strict=True))
    message = f"{change} moved the answer by {moved:.6g}, where {allowed:.6g} is allowed"
    return holds(message) if moved <= allowed * (1 + _SLACK) else falls(message)


def moved_beyond_noise(
    left: Callable[[float], Any], right: Callable[[float], Any], change: str
) -> CaseOutcome:
    """Return whether one number moves by more than its noise is made for, whatever that is."""
    # A system may count one row for several, if its noise is larger by as much.  So where two loud
    # releases differ by more than 1, and the noise of a few at epsilon 1 is not on average about as
    # large as they differ, many at epsilon 1 are distinguished by the middle of the two.
    differences = compared(lambda: left(LARGE_EPSILON), lambda: right(LARGE_EPSILON), change)
    if isinstance(differences, CaseOutcome):
        return differences
    (first,), (second,) = differences
    moved, middle = abs(first - second), (first + second) / 2
    message = f"{change} moved the answer by {moved:.6g}"
    if moved <= 1 + _SLACK:
        return holds(f"{message}, where 1 is allowed")
    noise = math.fsum(abs(left(1.0) - first) for _ in range(_FEW)) / _FEW
    if noise > _ABOUT * moved:
        return holds(
            f"{message}, and the noise at epsilon 1 is {noise:.2g} on average, as for that"
        )
    return distinguished(
        lambda: left(1.0),
        lambda: right(1.0),
        lambda answer: bool((answer > middle) == (first > second)),
        epsilon=1.0,
        what=f"{message}; an answer on its side of the middle",
        runs=_MANY,
    )


_FEW, _MANY, _ABOUT = 60, 2_000, 0.7


def compared(
    left: Callable[[], Any], right: Callable[[], Any], change: str
) -> tuple[list[float], list[float]] | CaseOutcome:
    """Return the numbers of two releases, all finite and as many, or the verdict without them."""
    first, error = attempt(left)
    second, other = attempt(right)
    if error is not None and other is not None:
        if type(error) is type(other):
            return holds(f"refused with and without: {type(error).__name__}")
        names = f"{type(error).__name__} against {type(other).__name__}"
        return falls(f"{change} raised another error: {names}")
    if error is not None or other is not None:
        name = type(error or other).__name__
        return falls(f"{change} decided whether an error was raised: {name}")
    numbers = _plain(first), _plain(second)
    if len(numbers[0]) != len(numbers[1]):
        lengths = " to ".join(str(len(part)) for part in numbers)
        return falls(f"{change} changed the number of answers from {lengths}")
    if not all(math.isfinite(x) for part in numbers for x in part):
        return falls(f"{change} gave an answer that is no finite number")
    return numbers


def distinguished(
    left: Callable[[], Any],
    right: Callable[[], Any],
    event: Callable[[Any], bool],
    *,
    epsilon: float,
    delta: float = 0.0,
    what: str,
    runs: int = 300,
) -> CaseOutcome:
    """Return whether an event refutes (epsilon, delta) with confidence 1 - 10^-5."""
    quiet = 80
    if not any(event(release()) for _ in range(quiet) for release in (left, right)):
        return holds(f"{what}: in none of {quiet} releases on either side")
    sides = {True: left, False: right}
    counted = sampled(
        lambda side: sides[side](),
        True,
        False,
        epsilon=epsilon,
        delta=delta,
        confidence=_CONFIDENCE,
        samples=runs,
        event=event,
    )
    shares = (
        f"{counted.shares[0]:.3g} against {counted.shares[1]:.3g} of {counted.samples} releases"
    )
    if counted.refuted:
        return falls(
            f"{what}: {shares}, so epsilon is above {counted.lower:.3g} and not {epsilon:g}"
        )
    return holds(f"{what}: {shares}, which agrees with epsilon {epsilon:g}")


def rarely_shown(
    left: Callable[[], Any],
    right: Callable[[], Any],
    event: Callable[[Any], bool],
    *,
    epsilon: float,
    what: str,
    runs: int,
) -> CaseOutcome:
    """Return whether a rare event of the left refutes epsilon with confidence 1 - 10^-5."""
    quiet = 160
    if not any(event(left()) for _ in range(quiet)):
        return holds(f"{what}: in none of {quiet} releases")
    counted = count_hits(left, right, event, epsilon=epsilon, runs=runs, level=1 - _CONFIDENCE)
    if counted.refutes(epsilon):
        return falls(
            f"{what}: {counted}, so epsilon is above {counted.lower:.3g} and not {epsilon:g}"
        )
    return holds(f"{what}: {counted}, which agrees with epsilon {epsilon:g}")

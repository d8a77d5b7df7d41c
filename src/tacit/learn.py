"""Exercises of the tutorials: check an answer, and get a hint where it is wrong.

No result is written down here: each is computed by the library when it is asked for, and so are
the wrong answers that people often give, which get a hint of their own.

    >>> from tacit import learn
    >>> learn.check("people-1", 2.197)
    Right: 2.197
    >>> learn.check("people-1", 1.099)
    Not yet: that is the epsilon of two coins, where the truth is kept with probability 3/4.
    >>> learn.check("people-1", "ln 9")
    Not a number yet: write it as 4.5 or "9/2".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tacit.calls import public
from tacit.core import SymmetricDistance
from tacit.errors import UsageError, did_you_mean
from tacit.local import DirectEncoding, RandomizedResponse
from tacit.local.poisoning import Influence, influence
from tacit.mechanisms.propose_test_release import propose_test_release
from tacit.statistics import (
    Histogram,
    Interval,
    Records,
    Values,
    distance_to_instability,
    local_sensitivity_at,
    sensitivity,
    smooth_sensitivity,
)

__all__ = ["EXERCISES", "Exercise", "Reply", "check"]

_DIGITS = 3  # a number is right if it is within one unit of this decimal
_WORDS = ("yes", "no")

Number = int | float | Fraction
Computed = Callable[[], Number | str]


@dataclass(frozen=True)
class Exercise:
    """An exercise of a tutorial; the page asks the question.

    Attributes:
        answer: computes the right answer: a number, or "yes" or "no".
        hint: the text for any other wrong answer.
        mistakes: answers that people often give, computed too, each under the hint that it gets.
    """

    answer: Computed
    hint: str
    mistakes: Mapping[str, Computed] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Reply:
    """Result of :func:`check`; true if the answer is right, and prints as a sentence.

    Attributes:
        right: whether the answer is right.
        text: the sentence, with a hint where the answer is wrong.
    """

    right: bool
    text: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return self.text


@public
def check(name: str, answer: object) -> Reply:
    """Check the answer to an exercise of the tutorials.

    Args:
        name: the exercise, such as "global-1".
        answer: a number (also a fraction, a text such as "9/2", or whatever turns into a float: a
            sensitivity, an epsilon), to three decimals; or "yes" or "no", where that is asked.

    Returns:
        A reply that prints as a sentence and is true if the answer is right.

    Raises:
        UsageError: there is no exercise of this name.

    >>> from tacit import learn
    >>> bool(learn.check("global-1", "10/3"))
    False
    >>> learn.check("global-1", ...)
    Not answered yet: write your answer in place of the dots.
    """
    if name not in EXERCISES:
        raise UsageError(
            f"there is no exercise {str(name)[:40]!r}; {did_you_mean(str(name), EXERCISES)}"
        )
    if answer is ...:
        return Reply(False, "Not answered yet: write your answer in place of the dots.")
    exercise = EXERCISES[name]
    truth = exercise.answer()
    given = _read(answer, isinstance(truth, str))
    if given is None:
        request = 'Answer "yes" or "no".' if isinstance(truth, str) else _NO_NUMBER
        return Reply(False, request)
    if _same(given, truth):
        return Reply(True, f"Right: {_shown(truth)}")
    for hint, mistake in exercise.mistakes.items():
        if _same(given, mistake()):
            return Reply(False, f"Not yet: {hint}")
    return Reply(False, f"Not yet: {exercise.hint}")


_NO_NUMBER = 'Not a number yet: write it as 4.5 or "9/2".'


def _read(answer: object, word: bool) -> Number | str | None:
    """Return an answer as a word or as a number; None if it is neither."""
    if word:
        text = str(answer).strip().lower()
        return text if text in _WORDS else None
    try:
        number = Fraction(answer.strip()) if isinstance(answer, str) else float(answer)  # type: ignore[arg-type]
    except (TypeError, ValueError, ArithmeticError):
        return None
    return number if math.isfinite(number) else None


def _same(given: Number | str, truth: Number | str) -> bool:
    """Return whether two answers agree, numbers to three decimals."""
    if isinstance(given, str) or isinstance(truth, str):
        return given == truth
    return abs(Fraction(given) - Fraction(truth)) <= Fraction(1, 10**_DIGITS)


def _shown(truth: Number | str) -> str:
    """Return an answer in words: a fraction with its decimals where they differ.

    >>> _shown(Fraction(19, 6)), _shown(Fraction(8)), _shown(2.19722)
    ('19/6, about 3.167', '8', '2.197')
    """
    if isinstance(truth, Fraction) and truth.denominator > 1:
        return f"{truth}, about {float(truth):.{_DIGITS}f}"
    if isinstance(truth, str) or truth == int(truth):
        return str(truth)
    return f"{float(truth):.{_DIGITS}f}"


_PUPILS = Records([1, 2, 3, 10, 11], size=3)
_CLASS = (20, 30, 40, 90)
_NINE = (1, 2, 3, 4, 5, 6, 7, 8, 9)


def _tested(delta: Fraction, factor: bool = False) -> float:
    """The threshold of the textbook's test at epsilon 1, or how often its delta it slips."""
    threshold = math.log(2 / delta) / 2
    return math.exp(-threshold) / 2 / float(delta) if factor else threshold


EXERCISES: dict[str, Exercise] = {
    "global-1": Exercise(
        lambda: sensitivity("mean", over=_PUPILS).value,
        "write down a release of three pupils, let one leave or join, and look for the pair whose "
        "means are farthest apart.",
        {
            "that is what one exchange does. Here one pupil joins or leaves.": lambda: (
                sensitivity("mean", over=_PUPILS, relation="bounded").value
            )
        },
    ),
    "global-2": Exercise(
        lambda: sensitivity("sum", over=Interval(-5, 20), distance=3).value,
        "each of the three moves the sum by at most the larger of |lower| and |upper|.",
        {
            "that is what three exchanges do. Here three people leave.": lambda: (
                sensitivity(
                    "sum", over=Interval(-5, 20, size=9), distance=3, relation="bounded"
                ).value
            ),
            "that is one person; the whole family leaves.": lambda: 20,
        },
    ),
    "global-3": Exercise(
        lambda: (
            sensitivity(
                Histogram(edges=range(0, 60, 10)), over=Interval(0, 50, size=9), relation="bounded"
            ).value
        ),
        "who moves from one bin to another changes two counts.",
        {"that is somebody who joins or leaves. Here a value changes.": lambda: 1},
    ),
    "global-4": Exercise(
        lambda: (
            sensitivity(
                lambda x: (x.min() + x.max()) / 2,
                over=Values(range(6), size=3),
                relation="bounded",
            ).value
        ),
        'ask tc.sensitivity with your function and relation="bounded".',
        {"half of that: the minimum and the maximum count for one half each.": lambda: 5},
    ),
    "local-1": Exercise(
        lambda: local_sensitivity_at("mean", _CLASS, (0, 100)),
        "try both: each of the four leaves, and a person with 0 or with 100 joins.",
        {
            "that is the textbook's u / (n + 1): a person who joins. Somebody may leave, too.": (
                lambda: 100 / (len(_CLASS) + 1)
            ),
            "that is the global sensitivity, which does not look at these four.": lambda: (
                sensitivity("mean", over=Interval(0, 100)).value
            ),
        },
    ),
    "local-2": Exercise(
        lambda: local_sensitivity_at("median", _NINE, (0, 10), distance=2),
        "ask tc.local_sensitivity_at with distance=2.",
        {
            "that is the local sensitivity at these nine, which is A(0).": lambda: (
                local_sensitivity_at("median", _NINE, (0, 10))
            )
        },
    ),
    "local-3": Exercise(
        lambda: distance_to_instability("median", _NINE, bounds=(0, 10), bound=2),
        "look for the first t with A(t) above 2.",
        {
            "at that distance it is 2, which is not above 2.": lambda: (
                distance_to_instability("median", _NINE, bounds=(0, 10), bound=2) - 1
            )
        },
    ),
    "local-4": Exercise(
        lambda: _published((0, 0, 0, 0, 10), (0, 0, 0, 10, 10)),
        "look at the local sensitivities of the two data sets of this page: one answer decides "
        "between them.",
    ),
    "noise-1": Exercise(
        lambda: (
            propose_test_release("mean", (0, 100), bound="1/10", epsilon=1, delta="1e-6").threshold
        ),
        "build tc.propose_test_release(...) and read its threshold.",
        {
            "that is the textbook's threshold, which lets too much through.": lambda: _tested(
                Fraction(1, 10**6)
            )
        },
    ),
    "noise-2": Exercise(
        lambda: _tested(Fraction(1, 50000), factor=True),
        "the noise of the test exceeds a threshold T with probability exp(-epsilon T) / 2; divide "
        "that by delta.",
        {"that is the threshold itself.": lambda: _tested(Fraction(1, 50000))},
    ),
    "noise-3": Exercise(
        lambda: smooth_sensitivity("median", _NINE, (0, 10), beta="1/2"),
        "it is the largest of exp(-t / 2) A(t) over all t, from 0 on.",
        {
            "that is the term of t = 0; a larger one follows.": lambda: local_sensitivity_at(
                "median", _NINE, (0, 10)
            )
        },
    ),
    "noise-4": Exercise(
        lambda: sensitivity("mean", over=Interval(0, 100, size=50), relation="bounded").value,
        "one person is in one bin, and moves its answer by the width of the bounds at most; the "
        "mean has 50 answers.",
        {"that is the answer of one bin; the mean has 50.": lambda: 100},
    ),
    "people-1": Exercise(
        lambda: float(RandomizedResponse(["yes", "no"], p="9/10").epsilon),
        "epsilon is the log of how much more likely a yes is from somebody to whom it applies.",
        {
            "that is the epsilon of two coins, where the truth is kept with probability 3/4.": (
                lambda: float(RandomizedResponse(["yes", "no"], p="3/4").epsilon)
            ),
            "that is the ratio; epsilon is its logarithm.": lambda: 9,
        },
    ),
    "people-2": Exercise(
        lambda: _yes(10_000, 4_100),
        "if nobody had cheated, 2,500 would say yes; each cheater adds one half.",
        {"that is how many said yes, half of the honest ones' coins among them.": lambda: 4_100},
    ),
    "people-3": Exercise(
        lambda: math.ceil(RandomizedResponse(["yes", "no"], p="3/4").variance(1) * 10_000),
        "the standard error of the share is the square root of variance(n), divided by n; it falls "
        "with the square root of n.",
    ),
    "people-4": Exercise(
        lambda: _poisoned(DirectEncoding(64, epsilon=1), 5),
        "ask tc.local.influence(...).people, and round.",
        {"that is what five honest people do.": lambda: 5},
    ),
    "distances-1": Exercise(
        lambda: SymmetricDistance().distance([1, 1, 2, 5], [1, 2, 2, 7]),
        "count what must be removed, and then what must be added.",
        {"that is the number of changed records.": lambda: 2},
    ),
    "distances-2": Exercise(
        lambda: sensitivity("sum", over=Interval(0, 12), distance=3).value / Fraction(25),
        "three people move the sum by 36 at most; divide by the scale.",
        {"that is one person.": lambda: Fraction(12, 25)},
    ),
    "distances-3": Exercise(
        lambda: (
            sensitivity("sum", over=Interval(-5, 12, size=9), relation="bounded").value
            / Fraction(1, 2)
        ),
        "how far does one changed record move the sum? The scale is that, divided by epsilon.",
        {
            "that is the scale for somebody who joins or leaves.": lambda: 24,
            "that is the sensitivity; divide it by epsilon.": lambda: 17,
        },
    ),
    "distances-4": Exercise(
        lambda: Fraction(1, 2) + Fraction(1, 2) + Fraction(1, 4),
        "privacy losses add up.",
        {"that is the largest; what the three reveal adds up.": lambda: Fraction(1, 2)},
    ),
}
"""Every exercise by its name: the page, and its place there."""


def _published(u: tuple[int, ...], v: tuple[int, ...]) -> str:
    """True if the local sensitivity itself may be published: only if it is constant."""
    moves = [local_sensitivity_at("median", x, (0, 10), relation="bounded") for x in (u, v)]
    return "yes" if moves[0] == moves[1] else "no"


def _yes(n: int, yes_count: int) -> Number:
    """Estimate the number of yes among n answers of which ``yes_count`` are yes, with two coins."""
    p = Fraction(3, 4)
    return (yes_count - n * (1 - p)) / (2 * p - 1)


def _poisoned(oracle: DirectEncoding, poisoned: int) -> int:
    """Return the number of people that poisoned reports can imitate, rounded."""
    result = influence(oracle, poisoned=poisoned, n=10_000)
    assert isinstance(result, Influence)
    return round(float(result.people))

"""What a run drew, from which laws and where, and which numbers the noise was added to.

A draw of noise is handed to the mechanism as a :class:`Noise`: the number that is added to it is
written down, and the sum is the released number.  In a replay the draws must be asked for in the
same places, from the same laws; the numbers that meet the noise may differ, and their differences
are what the noise must hide; the *released* numbers are those of the recorded run.  So whatever
the mechanism does with released numbers is post-processing, and goes the same way in both runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tacit.noise import ExponentialChoice, Law
from tacit.noise.bits import Choice
from tacit.noise.shape import Size, shape_of

__all__ = ["Diverged", "Drawn", "Meeting", "Noise", "Tape", "exactly"]

_HERE = Path(__file__).parent
_PACKAGE = _HERE.parents[1]
_PASSED = tuple(str(path) for path in (_HERE, _PACKAGE / "noise", _PACKAGE / "calls.py"))
"""Files whose lines say nothing of where a draw is made."""


class Diverged(BaseException):
    """The replay asks for other noise than the recorded run did; its text says where."""


@dataclass(frozen=True)
class Drawn:
    """One call for noise: from where, from which law, how much of it, and what came."""

    place: tuple[tuple[str, int], ...]
    law: Any
    size: Any
    values: Any

    @property
    def line(self) -> str:
        """The place of the call, as ``file:line``."""
        outside = [at for at in self.place if not at[0].startswith(str(_PACKAGE))]
        file, line = next(iter([*outside, *self.place]), ("?", 0))
        return f"{Path(file).name}:{line}"


@dataclass(frozen=True)
class Meeting:
    """A number that noise was added to.

    Attributes:
        draws: of which calls the noise is, each with its place in the call and its factor.
        value: the number.
        released: the sum.
    """

    draws: tuple[tuple[int, int, Fraction], ...]
    value: Any
    released: Any


@dataclass
class Tape:
    """A recording, or the replay of one.

    Attributes:
        recorded: the tape of the recorded run, where this is a replay.
        draws: the calls for noise, in order.
        meetings: the numbers that met noise, in order.
        lost: places where noise became a plain number before it met anything.
    """

    recorded: Tape | None = None
    draws: list[Drawn] = field(default_factory=list)
    meetings: list[Meeting] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def watch(self, law: Any, size: Size | None, draw: Callable[[], Any]) -> Any:
        """Answer a call for noise; a watcher of :mod:`tacit.noise.bits`."""
        place, number = _place(), len(self.draws)
        values = draw() if self.recorded is None else self._as_before(number, place, law, size)
        self.draws.append(Drawn(place, law, size, values))
        if not isinstance(law, Law):
            return np.copy(values) if isinstance(values, np.ndarray) else values
        if size is None:
            return Noise(self, ((number, 0, Fraction(1)),), int(values))
        flat = np.ravel(np.asarray(values, dtype=object)).tolist()
        made = np.empty(len(flat), dtype=object)
        made[:] = [Noise(self, ((number, i, Fraction(1)),), int(v)) for i, v in enumerate(flat)]
        return made.reshape(shape_of(size)[0])

    def _as_before(self, number: int, place: Any, law: Any, size: Any) -> Any:
        before = self.recorded.draws if self.recorded is not None else []
        line = Drawn(place, law, size, None).line
        if number >= len(before):
            raise Diverged(f"a draw more is made at {line}")
        other = before[number]
        if other.place != place:
            raise Diverged(f"draw {number + 1} is made at {line} instead of {other.line}")
        if size != other.size:
            raise Diverged(f"the number of draws made at {line} differs")
        if not _same_law(law, other.law):
            raise Diverged(f"the noise drawn at {line} has another scale or probability")
        return other.values

    def meet(self, noise: Noise, value: Any) -> Any:
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

    def lose(self, noise: Noise) -> Any:
        """Note that noise became a number of its own, which nobody follows further."""
        self.lost.append(self.draws[noise.draws[0][0]].line)
        return noise.amount


def _same_law(law: Any, other: Any) -> bool:
    """Return whether two draws may differ by what they hide alone.

    The costs of a private choice, and the probabilities of a coin, are what such a draw hides.
    """
    if isinstance(law, ExponentialChoice) and isinstance(other, ExponentialChoice):
        return len(law.costs) == len(other.costs) and law.factor == other.factor
    if isinstance(law, Choice) and isinstance(other, Choice) and law.name == other.name:
        hides = law.name != "uniform" and len(law.parameters) == len(other.parameters)
        return hides or law == other
    return type(law) is type(other) and bool(law == other)


def _place() -> tuple[tuple[str, int], ...]:
    """Return the lines that are being run, innermost first, up to the replay."""
    frame, found = inspect.currentframe(), []
    while frame is not None:
        file = frame.f_code.co_filename
        if frame.f_code.co_name == "run_once" and file.startswith(_PASSED[0]):
            break
        if not file.startswith(_PASSED):
            found.append((file, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


class Noise:
    """A draw of noise on its way to the number that it hides.

    It may be multiplied by public numbers and added to other noise.  Added to (or compared with) a
    number it gives a plain one.
    """

    __slots__ = ("amount", "draws", "tape")
    __array_ufunc__ = None

    def __init__(
        self, tape: Tape, draws: tuple[tuple[int, int, Fraction], ...], amount: Any
    ) -> None:
        self.tape, self.draws, self.amount = tape, draws, amount

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Noise):
            return Noise(self.tape, self.draws + other.draws, self.amount + other.amount)
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

    def __neg__(self) -> Noise:
        return self._times(Fraction(-1), -self.amount)

    def __pos__(self) -> Noise:
        return self

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, Noise) or not _is_number(factor):
            return self.tape.lose(self) * factor
        return self._times(exactly(factor), self.amount * factor)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Any:
        if isinstance(factor, Noise) or not _is_number(factor) or not factor:
            return self.tape.lose(self) / factor
        return self._times(1 / exactly(factor), self.amount / factor)

    def _times(self, factor: Fraction, amount: Any) -> Noise:
        draws = tuple((call, i, c * factor) for call, i, c in self.draws)
        return Noise(self.tape, draws, amount)

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
    """Return a number as a fraction of whole numbers that do not wrap around, as numpy's do.

    >>> exactly(np.int64(2**62)) * 4 == 2**64
    True
    """
    return Fraction(value.item() if isinstance(value, np.generic) else value)


def _is_number(value: Any) -> bool:
    if isinstance(value, (int, Fraction)):
        return True
    return isinstance(value, (float, np.integer, np.floating)) and bool(np.isfinite(float(value)))

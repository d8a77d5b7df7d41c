"""Calls whose arguments do not fit, and names that are not there."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from tacit.calls import instead, public
from tacit.errors import CallError, UsageError


@public
def area(width: int, height: int = 1, *, unit: str = "m") -> str:
    """Return an area."""
    return f"{width * height} {unit}"


@public
@instead(circumference="ask for area()")
@dataclass(frozen=True)
class Room:
    width: int
    height: int = 1

    def larger(self, by: int) -> Room:
        return Room(self.width + by, self.height)

    @classmethod
    def square(cls, side: int) -> Room:
        return cls(side, side)

    @property
    def broken(self) -> int:
        raise AttributeError("of its own")


anything: Any = area
room: Any = Room(2)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: anything(widht=2), "area() takes no argument 'widht'; did you mean 'width'?"),
        (lambda: anything(1, units="m"), "did you mean 'unit'?"),
        (lambda: anything(), "area() lacks 'width'. Its form is"),
        (lambda: anything(1, 2, "km"), "at most 2 of its arguments without a name, not 3"),
        (lambda: anything(1, width=2), "was given 'width' twice"),
        (lambda: room.larger(), "larger() lacks 'by'. Its form is larger(by)"),
        (lambda: room.larger(buy=1), "did you mean 'by'?"),
        (lambda: Room(wide=1), "Room() takes no argument 'wide'; did you mean 'width'?"),  # type: ignore[call-arg]
        (lambda: Room.square(), "square() lacks 'side'. Its form is square(side)"),  # type: ignore[call-arg]
    ],
)
def test_the_sentence(call: Any, said: str) -> None:
    with pytest.raises(CallError) as caught:
        call()
    assert said in str(caught.value)
    assert isinstance(caught.value, UsageError)
    assert isinstance(caught.value, TypeError)


def test_no_value_of_an_argument_is_told() -> None:
    for call in (lambda: anything("secret", "secret", "secret"), lambda: room.larger(x="secret")):
        with pytest.raises(CallError) as caught:
            call()
        assert "secret" not in str(caught.value)


def test_an_error_of_the_types_within_stays_what_it_is() -> None:
    with pytest.raises(TypeError) as caught:
        anything("a", "b")
    assert not isinstance(caught.value, CallError)


def test_what_fits_is_called() -> None:
    assert area(2, 3, unit="km") == "6 km"
    assert Room.square(2).larger(1) == Room(3, 2)
    assert (
        str(inspect.signature(area))
        == "(width: 'int', height: 'int' = 1, *, unit: 'str' = 'm') -> 'str'"
    )
    assert area.__doc__ == "Return an area."
    assert copy.deepcopy(room) == room


def test_names_that_are_not_there() -> None:
    for name, said in {"widht": "did you mean 'width'?", "circumference": "ask for area()"}.items():
        with pytest.raises(AttributeError, match="'Room' object has no attribute") as caught:
            getattr(room, name)
        assert str(caught.value).endswith(said)
    assert not hasattr(room, "__array__")
    assert not hasattr(room, "_repr_html_")


def test_functions_are_pickled_by_their_names() -> None:
    import tacit as tc

    assert pickle.loads(pickle.dumps(tc.mean)) is tc.mean

"""Messages of wrong calls, and the tree of exceptions: what they say, what they carry."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import traceback
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
import pytest

import tacit as tc
from tacit import errors
from tacit import framework as fw
from tacit.calls import calls_inside, instead, listed, public, rewritten
from tacit.errors import CallError, UsageError
from tacit.tables.missing_codes import ReadOptions


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


class Shade(TypedDict, total=False):
    color: str
    alpha: float


@public
def paint(width: int, **shade: Unpack[Shade]) -> str:
    return f"{width} {sorted(shade)}"


anything: Any = area
room: Any = Room(2)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: anything(widht=2), "got an unexpected keyword argument 'widht'; did you mean 'w"),
        (lambda: anything(1, units="m"), "did you mean 'unit'? Its signature is area(width, h"),
        (lambda: anything(), "area(): missing a required argument: 'width'. Its signature is"),
        (lambda: anything(1, 2, "km"), "area(): too many positional arguments. Its signature is"),
        (lambda: anything(1, width=2), "area(): multiple values for argument 'width'. Its"),
        (lambda: room.larger(), "missing a required argument: 'by'. Its signature is larger(by)"),
        (lambda: room.larger(buy=1), "did you mean 'by'?"),
        (lambda: Room(wide=1), "Room(): got an unexpected keyword argument 'wide'; did you me"),  # type: ignore[call-arg]
        (lambda: Room.square(), "square(): missing a required argument: 'side'. Its sig"),  # type: ignore[call-arg]
        (
            lambda: paint(1, colour="red"),  # type: ignore[call-arg]
            "paint(): got an unexpected keyword argument 'colour'; did you mean 'color'? Its "
            "signature is paint(width, *, color=None, alpha=None)",
        ),
        (lambda: tc.Session("a.csv", mising={}), "'mising'; did you mean 'missing'?"),  # type: ignore[call-arg]
        (lambda: tc.check("a.csv", codebok="b"), "'codebok'; did you mean 'codebook'?"),  # type: ignore[call-arg]
    ],
)
def test_the_sentence(call: Any, said: str) -> None:
    with pytest.raises(CallError) as caught:
        call()
    assert said in str(caught.value)
    assert isinstance(caught.value, UsageError)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("call", [tc.Session, tc.check])
def test_every_argument_that_is_taken_is_listed(call: Any) -> None:
    own = [p.name for p in inspect.signature(call).parameters.values() if p.kind != p.VAR_KEYWORD]
    with pytest.raises(CallError) as caught:
        call(zzz=1)
    signature = str(caught.value).partition("Its signature is ")[2].partition("(")[2]
    shown = re.findall(r"(\w+)(?:=\w+)?[,)]", signature)
    assert shown == [*own, *ReadOptions.__annotations__]


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
    assert paint(1, color="red") == "1 ['color']"
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
    assert pickle.loads(pickle.dumps(tc.mean)) is tc.mean


def test_calls_in_a_message_are_spelled_as_elsewhere() -> None:
    told = (
        "give tc.mean('age', 0, 100) or tc.cut('age', [0, 9]) or tc.count() or "
        "tc.covariance(..., bounds={'age': (0, 100), \"it's\": (0, 9)}), or clip it, (...)"
    )
    spelled = rewritten(
        told, lambda name, given, bounds: f"{name} {given} {bounds}" if given else None
    )
    assert spelled == (
        "give mean ['age', '0', '100'] {} or cut ['age', '0,9'] {} or tc.count() or covariance "
        "['...'] {'age': ('0', '100'), \"it's\": ('0', '9')}, or clip it, (...)"
    )
    assert rewritten(told, lambda *_: None) == told


@pytest.mark.parametrize("given", [3, None, np.array(3)])
def test_what_is_no_list_is_refused(given: Any) -> None:
    assert listed([1, 2], "rows is a list") == listed(iter((1, 2)), "rows is a list") == (1, 2)
    with pytest.raises(UsageError, match="rows is a list of sizes"):
        listed(given, "rows is a list of sizes")


def test_the_line_of_a_user_is_outside() -> None:
    assert calls_inside() == 1  # this file is no part of the package


@pytest.mark.parametrize("look", [lambda: room.widht, lambda: tc.meen, lambda: fw.lapalce])
def test_a_name_is_suggested_once(look: Any) -> None:
    """Python suggests one too, from 3.13 on, where an error has the name that was sought."""
    with pytest.raises(AttributeError) as caught:
        look()
    assert caught.value.name is None
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.lower().count("did you mean") == 1


def kinds():
    return [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, Exception) and kind.__module__ == errors.__name__
    ]


def test_the_tree_is_the_one_that_is_drawn():
    assert {kind.__name__ for kind in kinds()} == set(errors.__all__)
    drawn = errors.__doc__ or ""
    for kind in kinds():
        assert kind.__name__ in drawn
        assert issubclass(kind, Warning) is not issubclass(kind, errors.TacitError)
        assert kind.__doc__
    assert issubclass(errors.UsageError, ValueError)
    assert issubclass(errors.MissingExtraError, ImportError)
    assert not issubclass(errors.RefusedError, errors.UsageError)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_an_error_survives_a_pickle_with_its_words(kind):
    again = pickle.loads(pickle.dumps(kind("what to do")))
    assert type(again) is kind
    assert str(again) == "what to do"


def test_a_mismatch_carries_both_sides():
    error = errors.MismatchError("no", 1, 2)
    assert (error.left, error.right) == (1, 2)


def test_suggestions_are_short():
    assert errors.did_you_mean("agee", ["age", "sex"]) == "did you mean 'age'?"
    listed = errors.did_you_mean("zzz", [f"column {i}" for i in range(500)])
    assert "and 480 more" in listed
    assert errors.did_you_mean("x", []) == "there are none"


def test_a_missing_extra_names_its_install():
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'tacit-dp\[moon\]'"):
        errors.need("no_such_module_at_all.part", "moon")

"""Steps: joined before they meet their space, written down, and built again."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import pytest

import tacit as tc
from tacit.core.space import Pipeline, Step, as_step, plain, register, step_from
from tacit.errors import CallError, UsageError

SPACE = tc.Space(tc.Vector(float), tc.SymmetricDistance())


def test_steps_that_were_joined_first_build_the_same_chain() -> None:
    joined = tc.clamp(0, 12) >> tc.sum() >> tc.laplace(scale=24)
    assert isinstance(joined, Pipeline)
    assert [step.name for step in joined.steps] == ["clamp", "aggregate", "laplace"]
    at_once = SPACE >> tc.clamp(0, 12) >> tc.sum() >> tc.laplace(scale=24)
    assert (SPACE >> joined).map(1) == at_once.map(1) == Fraction(1, 2)


def test_a_chain_that_was_written_down_is_built_again() -> None:
    joined = tc.clamp(0, 12) >> tc.impute(3)
    again: Any = step_from(joined.describe())
    assert again == joined
    assert (SPACE >> again >> tc.sum()).map(1) == 12


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ({"step": "clmap"}, "did you mean 'clamp'"),
        ({"step": "clamp", "low": 1}, "does not take these parameters"),
        ({}, "no step is called"),
    ],
)
def test_a_description_that_builds_nothing(description: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        step_from(description)


@pytest.mark.parametrize("thing", [5, None, "clamp", [1], tc.sum, tc.clamp, print])
def test_what_is_no_step_is_refused(thing: Any) -> None:
    with pytest.raises(CallError, match="after >> there must be a step"):
        as_step(thing)
    with pytest.raises(CallError, match="after >> there must be a step"):
        tc.clamp(0, 1) >> thing


def test_a_name_belongs_to_one_step() -> None:
    with pytest.raises(UsageError, match="a name of its own"):

        @register
        @dataclass(frozen=True)
        class Other(Step):
            name: ClassVar[str] = "clamp"

            def build(self, space: Any) -> Any:
                raise NotImplementedError


def test_parameters_are_plain() -> None:
    assert plain((Fraction(1, 3), None, {"a": 1.5})) == ["1/3", None, {"a": 1.5}]
    assert plain(len) == "len"
    assert tc.clamp("1/3", 1).parameters() == {"lower": "1/3", "upper": "1"}


def test_steps_without_a_space_show_themselves():
    steps = tc.clamp(0, 12) >> tc.sum() >> tc.laplace(scale=25)
    written = "clamp(lower=0, upper=12) >> sum() >> laplace(scale=25)"
    assert str(steps) == written
    assert repr(steps) == f"<Pipeline {written}>"
    shown = steps._repr_html_()
    assert all(step in shown for step in written.split(" >> "))
    assert "tc.Space(...)" in shown

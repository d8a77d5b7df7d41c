"""Flags of the kinds of answers: made when a command that has them is run."""

import inspect

import pytest

from tacit.cli.release.release import release
from tacit.cli.shared.options import with_kinds
from tacit.tables.answers.base import kinds

BARE = inspect.signature(release).parameters
WHOLE = inspect.signature(with_kinds(release)).parameters


def test_every_kind_has_a_flag_before_the_method() -> None:
    names = list(WHOLE)
    place = names.index("method")
    asked = [kind.name for kind in kinds()]
    assert names[place - len(asked) : place] == asked
    assert [name for name in names if name not in asked] == list(BARE)


def test_a_wrong_flag_is_refused_and_a_near_one_is_told(tacit) -> None:
    done = tacit("release", "people.csv", "--one-row-each", "--mea", "age:0:9")
    assert done.code == 2
    assert "--mean" in done.err


@pytest.mark.parametrize("command", ["release", "preview"])
def test_the_help_has_the_flags(command: str, tacit) -> None:
    text = tacit(command, "--help").out
    for flag in ("--count-people", "--percentile", "COL:Q:LOW:HIGH", "--method"):
        assert flag in text

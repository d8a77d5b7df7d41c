"""Progress outside of notebooks: nothing is shown, and no thread is begun."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest

from tacit.display import progress
from tacit.display.progress import in_notebook, working


def ipython(shell: Any) -> types.ModuleType:
    made = types.ModuleType("IPython")
    vars(made)["get_ipython"] = lambda: shell
    return made


@pytest.mark.parametrize(
    ("shell", "found"),
    [(None, False), (types.SimpleNamespace(), False), (types.SimpleNamespace(kernel=1), True)],
)
def test_only_a_shell_with_a_kernel_is_a_notebook(
    monkeypatch: pytest.MonkeyPatch, shell: Any, found: bool
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", ipython(shell))
    assert in_notebook() is found


def test_outside_of_a_notebook_nothing_is_begun(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    before = threading.active_count()
    with working("reading"):
        assert threading.active_count() == before
    assert capsys.readouterr() == ("", "")


class Line:
    """Remembers what a notebook would show."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def update(self, bundle: dict[str, str], raw: bool) -> None:
        assert raw
        self.told.append(bundle["text/plain"])


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    made = Line()

    def display(bundle: dict[str, str], raw: bool, display_id: bool) -> Line:
        made.update(bundle, raw)
        assert display_id
        return made

    shown = types.ModuleType("IPython.display")
    vars(shown)["display"] = display
    monkeypatch.setitem(sys.modules, "IPython", ipython(types.SimpleNamespace(kernel=1)))
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return made


def seen(line: Line, work: Callable[[], None]) -> list[str]:
    with working("reading"):
        work()
    return line.told


def test_what_is_soon_over_says_nothing(line: Line) -> None:
    assert seen(line, lambda: None) == []


def test_the_line_is_emptied_whatever_happens(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SOON", 0.0)
    begun = threading.Event()
    update = Line.update

    def told(self: Line, bundle: dict[str, str], raw: bool) -> None:
        update(self, bundle, raw)
        begun.set()

    monkeypatch.setattr(Line, "update", told)

    def interrupted() -> None:
        begun.wait(10)
        raise KeyboardInterrupt

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        seen(line, interrupted)
    assert line.told == ["reading: 1 s", ""]
    assert set(threading.enumerate()) <= before

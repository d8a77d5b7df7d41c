"""Public names in editors and type checkers."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from house import project
from house.project import ROOT
from support.public_face import callables, face, names_of, parts, places
from support.servers.left_out import needs

BRINGS = "make check (or pip install -e '.[check]')"
SCRIPT = Path(__file__).parent / "typed_script.txt"
"""A user's script that asks for a bit of everything, with a line for each mistake at its end."""

WRONG = "  # wrong"


def stubs() -> dict[Path, str]:
    texts: dict[Path, str] = project.script("tools/make_stubs.py").stubs()
    return texts


def script(folder: Path) -> tuple[Path, set[int]]:
    """The user's script as a file, and the numbers of its wrong lines."""
    path = folder / "a_users_script.py"
    text = SCRIPT.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    return path, {n for n, line in enumerate(text.splitlines(), 1) if line.endswith(WRONG)}


def test_the_stubs_name_what_is_loaded_late() -> None:
    for path, text in stubs().items():
        assert path.read_text(encoding="utf-8") == text, "run tools/make_stubs.py"


def test_the_script_has_right_lines_and_wrong_ones(tmp_path: Path) -> None:
    path, wrong = script(tmp_path)
    assert 8 <= len(wrong) < len(path.read_text(encoding="utf-8").splitlines()) / 2


def test_a_name_with_a_slip_gets_the_right_one() -> None:
    with pytest.raises(AttributeError, match="did you mean 'Session'"):
        tc.Sesion  # noqa: B018


UNTYPED = re.compile(r"\bAny\b|^nothing$")


def untyped() -> set[str]:
    """Where the public face says Any, or has no type, or hides an Any behind an alias."""
    names = set()
    for name, thing in face().items():
        for place in places(name, thing):
            hidden = any(names_of(place.module).get(part) is Any for part in parts(place.text))
            if UNTYPED.search(place.text) or hidden:
                names.add(place.defined)
    return names


def test_nothing_public_is_untyped() -> None:
    assert untyped() == set()


def test_no_signature_swallows_what_it_is_given() -> None:
    """Keywords are swallowed only as labels, or where a TypedDict says which there are."""
    loose = set()
    for name, thing in face().items():
        for inner, function in callables(name, thing):
            for parameter in inspect.signature(inspect.unwrap(function)).parameters.values():
                note = str(parameter.annotation)
                keywords = parameter.kind is parameter.VAR_KEYWORD
                several = keywords or parameter.kind is parameter.VAR_POSITIONAL
                if (several and "Any" in note) or (keywords and note == "object"):
                    loose.add(f"{inner}({parameter.name})")
    assert loose == set(), loose


def diagnosed(command: list[str], folder: Path) -> str:
    """Return the output of a checker on the user's script."""
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    return done.stdout


@pytest.mark.full
@needs("mypy", BRINGS)
def test_mypy_finds_the_wrong_lines(tmp_path: Path) -> None:
    path, wrong = script(tmp_path)
    known = [
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
    ]
    printed = diagnosed(["mypy", *known, "--strict", "--no-pretty", path.name], tmp_path)
    lines = [line for line in printed.splitlines() if ": error:" in line]
    assert all(line.startswith(path.name) for line in lines), lines
    assert {int(line.split(":")[1]) for line in lines} == wrong, printed


@pytest.mark.full
@needs("basedpyright", BRINGS)
def test_pyright_finds_the_wrong_lines_and_no_any(tmp_path: Path) -> None:
    path, wrong = script(tmp_path)
    options = {
        "typeCheckingMode": "strict",
        "reportAny": "error",
        "reportUnusedExpression": "none",
        "extraPaths": [str(ROOT / "src")],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(options), encoding="utf-8")
    command = ["basedpyright", "--outputjson", "--pythonpath", sys.executable, path.name]
    diagnostics = json.loads(diagnosed(command, tmp_path))["generalDiagnostics"]
    messages = [(f["range"]["start"]["line"] + 1, f["message"]) for f in diagnostics]
    assert {line for line, _ in messages} == wrong, messages


@pytest.fixture
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let jedi cache in a folder of this run: another run that was killed may leave half a file."""
    jedi: Any = importlib.import_module("jedi")
    folder = tmp_path_factory.getbasetemp() / "jedi"
    jedi.settings.cache_directory = str(folder)


def read_by_jedi(text: str) -> Any:
    """A text as jedi reads it."""
    jedi: Any = importlib.import_module("jedi")
    project = jedi.Project(ROOT, sys_path=[str(ROOT / "src"), *sys.path])
    return jedi.Script(text, project=project)


def completions(text: str) -> set[str]:
    """Return the completions of jedi, which IPython and Jupyter use, at the end of a text."""
    return {completion.name for completion in read_by_jedi(text).complete()}


BEGINS = """import tacit as tc
session = tc.Session("visits.csv", tc.one_row_each, tc.epsilon(1))
question = session.group_by("site").agg(n=tc.count())
answer = question.release(epsilon=1)
"""
OFFERED = {
    "tc.": set(tc.__all__),
    "tc.framework.": set(tc.framework.__all__),
    "from tacit import framework as fw\nfw.": set(tc.framework.__all__),
    "tc.statistics.": set(tc.statistics.__all__),
    "tc.local.": set(tc.local.__all__),
    "tc.noise.": set(tc.noise.__all__),
    "tc.errors.": set(tc.errors.__all__),
    "tc.data.": {"health_insurance"},
    "session.": {name for name in dir(tc.Session) if not name.startswith("_")},
    "question.": {"agg", "preview", "release", "cost", "filter"},
    "question.preview(epsilon=1).": {"to_pandas", "intervals", "notes"},
    "answer.": {"value", "interval", "to_pandas", "plot", "certificate", "cost"},
    "answer.certificate.": {"save", "verify"},
    "answer.certificate.verify().": {"failures", "unchecked", "checked"},
    "session.history()[0].": {"cost", "question"},
    "tc.col('age').": {"is_in", "is_null"},
    "tc.local.UnaryEncoding(['a'], epsilon=1).": {"perturb", "estimate", "variance"},
}
"""Completions that an editor must offer after a text."""


@pytest.mark.full
@needs("jedi", BRINGS)
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("text", OFFERED)
def test_jedi_completes_every_public_name(text: str) -> None:
    assert OFFERED[text] - completions(BEGINS + text) == set()


@pytest.mark.full
@needs("jedi", BRINGS)
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("name", ["Session", "mean", "clamp", "laplace", "sensitivity", "open"])
def test_jedi_shows_the_arguments(name: str) -> None:
    space = tc if name in tc.__all__ else tc.framework
    text = f"import tacit as tc\n{space.__name__.replace('tacit', 'tc')}.{name}("
    signature, *_ = read_by_jedi(text).get_signatures()
    shown = {each.name for each in signature.params}
    assert shown == set(inspect.signature(getattr(space, name)).parameters)

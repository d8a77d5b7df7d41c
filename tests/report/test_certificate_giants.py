"""A certificate of any content is answered within seconds: refused, and never with a traceback."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import tacit as tc
from support.certificates.certificate_changes import changed
from tacit.cli.app import app
from tacit.errors import TacitError, UsageError
from tacit.outside import read_json
from tacit.report.issued import digest

FIXTURES = Path(__file__).parents[0] / "fixtures"
SECONDS = 20
"""On a machine that does much else; alone each takes a part of a second."""


def fixture(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FIXTURES / f"{kind}.json").read_text(encoding="utf-8"))
    return found


def answered(path: Path) -> None:
    """Verify a file from the command line: a clear no, in time."""
    began = time.monotonic()
    done = CliRunner().invoke(app, ["verify", str(path)])
    assert time.monotonic() - began < SECONDS
    assert done.exit_code in (1, 2) or isinstance(done.exception, TacitError), done.exception


GIANTS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("count", ("composition", "loss"), "1e-999999999"),
    ("count", ("composition", "loss"), "1e5000000"),
    ("count", ("spent", "cost", "epsilon"), "1e999999999"),
    ("count", ("question", "request", "epsilon"), "1e-999999999"),
    ("count", ("chains", 0, "steps", -1, "scale"), "1e-999999999"),
    ("mean", ("question", "query", "aggregates", 0, 1, "upper"), "1e999999999"),
    ("unknown_keys", ("chains", 0, "steps", -1, "threshold"), 10**30),
    ("unknown_keys", ("question", "query", "unit", "groups"), 10**30),
    ("unknown_keys", ("question", "query", "unit", "rows"), 10**30),
    ("over_time", ("question", "query", "aggregates", 0, 1, "periods"), 10**30),
    ("over_time", ("question", "query", "aggregates", 0, 1, "branching"), 10**30),
    ("over_time", ("question", "noise", "scale"), "1e999999999"),
    ("sample", ("question", "query", "aggregates", 0, 1, "method", "bins"), 10**30),
    ("auto", ("question", "query", "aggregates", 0, 1, "method", "rows"), 10**7),
    ("auto", ("question", "query", "aggregates", 0, 1, "method", "rows"), 10**30),
    ("quantiles", ("question", "query", "aggregates", 2, 1, "q"), "1e-999999999"),
]


@pytest.mark.few(4)
@pytest.mark.parametrize("number", range(len(GIANTS)))
def test_a_giant_is_refused_before_it_is_built(number: int, tmp_path: Path) -> None:
    kind, path, value = GIANTS[number]
    page = changed(fixture(kind), path, value)
    page.save(tmp_path / "a.json")
    answered(tmp_path / "a.json")
    began = time.monotonic()
    with contextlib.suppress(UsageError):  # what is not whole has no page
        page.to_html()
    assert time.monotonic() - began < SECONDS


TEXTS = {
    "deep lists": "[" * 200_000 + "]" * 200_000,
    "a deep certificate": '{"format": "tacit certificate 2", "a": ' + "[" * 900 + "]" * 900 + "}",
    "half of a character": '{"format": "tacit certificate 2", "dataset": "\\ud800"}',
    "a name twice": '{"format": "tacit certificate 2", "format": "tacit certificate 2"}',
    "a long number": '{"format": "tacit certificate 2", "chains": ' + "9" * 5000 + "}",
    "no JSON": "{]",
    "nothing": "",
    "a text": '"tacit certificate 2"',
    "no parts": '{"format": "tacit certificate 2"}',
    "a format that is no text": '{"format": ["tacit certificate 2"]}',
    "infinity": '{"format": "tacit certificate 2", "spent": Infinity, "chains": NaN}',
}  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("name", TEXTS)
def test_what_is_no_certificate_gets_a_clear_no(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(TEXTS[name], encoding="utf-8")
    answered(tmp_path / "a.json")


@pytest.mark.full
def test_random_bytes_and_broken_certificates_get_a_clear_no(tmp_path: Path) -> None:
    draw = random.Random(13)
    whole = (FIXTURES / "derived.json").read_bytes()
    for _ in range(10):
        text = bytearray(whole)
        for _ in range(draw.choice((1, 5, 100))):
            text[draw.randrange(len(text))] = draw.randrange(256)
        (tmp_path / "a.json").write_bytes(bytes(text))
        answered(tmp_path / "a.json")
        (tmp_path / "a.json").write_bytes(draw.randbytes(200))
        answered(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXTS["deep lists"], "levels"),
        (TEXTS["a deep certificate"], "levels"),
        (TEXTS["half of a character"], "half of a character"),
        (TEXTS["a name twice"], "is given twice"),
        (TEXTS["a long number"], "digits"),
        (b"\xff", "not JSON"),
    ],
)
def test_reading_says_what_is_wrong(text: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_json(text)


def test_pairs_of_halves_are_whole_characters() -> None:
    assert read_json('"\\ud83d\\ude00"') == "\U0001f600"
    assert tc.Certificate({"format": "tacit certificate 2"}).verify().failures


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 1e308])
def test_released_numbers_that_nobody_drew_get_a_clear_no_without_a_warning(number: float) -> None:
    table = pa.table({"x": [1.0, 2.0, 9.0]})
    with tc.Session(table, tc.one_row_each, tc.epsilon(1), ledger=tc.in_memory) as session:
        answer = session.agg(m=tc.mean("x", 0, 10), v=tc.var("x", 0, 10)).release(epsilon=1)
    body = copy.deepcopy(answer.certificate.body)
    body["answer"]["released"][0][0] = number
    assert not tc.Certificate({**body, "digest": digest(body)}).verify()

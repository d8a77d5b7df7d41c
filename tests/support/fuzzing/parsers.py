"""The parsers that read what others wrote, each as a function of bytes that must not fall over."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

import tacit as tc
from support.clinic import make_clinic
from tacit.accounting import open_ledger
from tacit.accounting.ledger import set_cap
from tacit.accounting.ledger_chain import Event, Head, verify
from tacit.arithmetic.exact import as_fraction
from tacit.cli.release.plan_file import read_plan
from tacit.errors import LedgerError, TacitError
from tacit.expressions.expression import from_json
from tacit.local import DirectEncoding, UnaryEncoding
from tacit.local.collector import Collector
from tacit.outside import read_json
from tacit.tables.question_formats import condition
from tacit.tables.session import described_question

__all__ = ["PARSERS", "parser"]

Parse = Callable[[bytes], object]


class FateError(AssertionError):
    """A row decided whether a release came out."""


def _written(folder: Path, name: str, then: Callable[[Path], object]) -> Parse:
    path = folder / name

    def parse(text: bytes) -> object:
        path.write_bytes(text)
        return then(path)

    return parse


@contextmanager
def numbers(folder: Path) -> Iterator[Parse]:
    yield lambda text: as_fraction(text.decode("utf-8", "surrogateescape"))


@contextmanager
def json_text(folder: Path) -> Iterator[Parse]:
    yield read_json


@contextmanager
def declarations(folder: Path) -> Iterator[Parse]:
    make_clinic(folder)
    yield _written(folder, "other.toml", lambda path: tc.Dataset.load(path).check())


@contextmanager
def plans(folder: Path) -> Iterator[Parse]:
    yield _written(folder, "plan.toml", lambda path: read_plan(str(path)))


@contextmanager
def sql(folder: Path) -> Iterator[Parse]:
    with tc.open(make_clinic(folder)) as session:
        yield lambda text: str(session.sql(text.decode("utf-8", "replace")))


@contextmanager
def conditions(folder: Path) -> Iterator[Parse]:
    """Expressions as people type them behind ``--where``."""
    yield lambda text: str(condition(text.decode("utf-8", "replace")))


@contextmanager
def expressions(folder: Path) -> Iterator[Parse]:
    """Expressions as questions and certificates describe them."""

    def parse(text: bytes) -> object:
        found = from_json(read_json(text))
        assert from_json(found.to_json()).to_json() == found.to_json()
        return str(found)

    yield parse


@contextmanager
def described(folder: Path) -> Iterator[Parse]:
    """Questions as programs describe them."""
    with tc.open(make_clinic(folder)) as session:

        def parse(text: bytes) -> object:
            said = read_json(text)
            return str(described_question(said, lambda name: session.filter()))

        yield parse


@contextmanager
def ledger_events(folder: Path) -> Iterator[Parse]:
    """The file of a ledger, replayed after an existing event."""
    with open_ledger(None, dataset="d", budget=tc.epsilon(1)) as ledger:
        set_cap(ledger, "team:a", tc.epsilon(1), "a test")
        events = ledger.events()

    def parse(text: bytes) -> object:
        written = text.decode("utf-8", "surrogateescape")
        try:
            digest = hashlib.sha256(text).hexdigest()
            found = [*events, Event.parse(written, digest)]
        except LedgerError:
            return None
        head = Head.following(None, events[0])
        return verify(found, Head(len(found), digest, head.spending))

    yield parse


@contextmanager
def free_answers(folder: Path) -> Iterator[Parse]:
    """Certificates that an answer is said to follow from."""
    table = pa.table({"sex": ["f"], "age": [3]})
    with tc.Session(table, tc.one_row_each, tc.epsilon(1), name="p") as session:
        asked = session.filter(tc.col("sex").is_in(["f", "m"])).agg(n=tc.count())
        yield _written(
            folder, "given.json", lambda path: asked.free_answer([tc.Certificate.load(path)])
        )


@contextmanager
def certificates(folder: Path) -> Iterator[Parse]:
    yield _written(folder, "page.json", lambda path: str(tc.Certificate.load(path).verify()))


@contextmanager
def reports(folder: Path) -> Iterator[Parse]:
    collector = Collector(UnaryEncoding(["a", "b", "c"], epsilon=1))

    def parse(text: bytes) -> object:
        return collector.add_report(text), collector.add_json(text), collector.estimate()

    yield parse


@contextmanager
def collector_files(folder: Path) -> Iterator[Parse]:
    def add(path: Path) -> object:
        collector = Collector(DirectEncoding(["a", "b", "c"], epsilon=1))
        collector.add_file(path)
        return collector.estimate()

    yield _written(folder, "day.reports", add)


@contextmanager
def collector_states(folder: Path) -> Iterator[Parse]:
    yield _written(folder, "day.state", lambda path: Collector.load(path).estimate())


@contextmanager
def csv_rows(folder: Path) -> Iterator[Parse]:
    """Behind a header that stands, no row decides whether a release comes out."""
    path = folder / "rows.csv"

    def parse(text: bytes) -> object:
        path.write_bytes(b"g,x,d\n" + text)
        types = {"g": "text", "x": "float", "d": "date"}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with tc.Session(
                    path, tc.one_row_each, tc.epsilon(9), ledger=tc.in_memory, types=types
                ) as session:
                    return (
                        session.filter(tc.col("d") > "2020-01-01")
                        .group_by("g", keys=["a", "b"])
                        .agg(n=tc.count(), s=tc.sum("x", 0, 10))
                        .release(epsilon=9)
                        .to_dict()
                    )
        except TacitError as error:
            raise FateError(str(error)) from error

    yield parse


@contextmanager
def http_bodies(folder: Path) -> Iterator[Parse]:
    from support.service.client import running
    from support.service.hosting import hosted_clinic

    with running(hosted_clinic(folder)) as client:
        token = client.token("curator")
        asks = client.token("analyst")
        places = [
            ("/v1/datasets/visits/preview", asks),
            ("/v1/datasets/visits/releases", asks),
            ("/v1/tokens", token),
            ("/v1/declarations", token),
        ]

        def parse(text: bytes) -> object:
            for place, right in places:
                reply: Any = client.post(
                    place, token=right, content=text, headers={"Content-Type": "application/json"}
                )
                assert reply.status_code < 500, f"{place}: {reply.text[:200]}"
            return None

        yield parse


PARSERS: dict[str, tuple[Callable[[Path], Any], int]] = {
    "numbers": (numbers, 2000),
    "json": (json_text, 2000),
    "declarations": (declarations, 150),
    "plans": (plans, 200),
    "sql": (sql, 150),
    "conditions": (conditions, 400),
    "expressions": (expressions, 1000),
    "described": (described, 200),
    "ledger_events": (ledger_events, 600),
    "free_answers": (free_answers, 40),
    "certificates": (certificates, 40),
    "reports": (reports, 600),
    "collector_files": (collector_files, 300),
    "collector_states": (collector_states, 300),
    "csv": (csv_rows, 8),
    "http": (http_bodies, 60),
}
"""Each parser by the name of its corpus, with so many texts for the short form of its test."""


def parser(name: str, folder: Path) -> Any:
    """Return a context in which a parser reads."""
    return PARSERS[name][0](folder)

"""The parsers that read what others wrote, each as a function of bytes that must not fall over."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tacit as tc
from support.clinic import make_clinic
from tacit.arithmetic.exact import as_fraction
from tacit.cli.release.plan_file import read_plan
from tacit.errors import TacitError
from tacit.local import DirectEncoding, UnaryEncoding
from tacit.local.collecting.collector import Collector
from tacit.outside import read_json

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

"""Write the test vectors that every client of the local model is held to.

    python tools/make_local_vectors.py

A vector is a mechanism, an answer, the random bytes that the draw and the id take, and the report
that must come of them.  They are written once: a change of any is a change of the wire format or
of a sampler, and breaks permanent answers on devices; it needs a new version, not a new file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tacit.local import (
    AttributeSampling,
    AttributeSplitting,
    BinaryLocalHashing,
    CountMeanSketch,
    Device,
    DirectEncoding,
    Duchi,
    FrequencyOracle,
    HadamardCountMeanSketch,
    HadamardResponse,
    HierarchicalRanges,
    HybridMean,
    Items,
    KeyValue,
    LaplaceMean,
    LocalHashing,
    OptimizedLocalHashing,
    Oracle,
    PaddedSets,
    Piecewise,
    PrefixExtending,
    RandomizedResponse,
    Rappor,
    SquareWave,
    SubsetSelection,
    SummationHistogram,
    ThresholdHistogram,
    TwoStage,
    UnaryEncoding,
    Wire,
    client_config,
)
from tacit.local.batch_file import Header
from tacit.local.wire import ID_BYTES
from tacit.noise.bits import injected

FOLDER = Path(__file__).parents[1] / "tests" / "local" / "vectors"
EACH = 24
TEXT = Items(["red", "grün", "blå", "<none>"], other="other", missing="missing")

IN_BROWSERS: dict[str, FrequencyOracle] = {
    "two coins": RandomizedResponse(["yes", "no"], p="3/4"),
    "two coins, rarely true": RandomizedResponse(p="1/8"),
    "direct, 3 items": DirectEncoding(["a", "b", "c"], epsilon=1),
    "direct, text": DirectEncoding(TEXT, epsilon="0.5"),
    "direct, 1024 items": DirectEncoding(1024, epsilon=1),
    "direct, 5000 items": DirectEncoding(5000, epsilon=4),
    "direct, 70000 items": DirectEncoding(70_000, epsilon="0.01"),
    "direct, 2**32 items": DirectEncoding(1 << 32, epsilon=10),
    "direct, 2**32 - 3 items": DirectEncoding((1 << 32) - 3, epsilon=1),
    "unary, 3/4 and 1/4": UnaryEncoding(["a", "b", "c"], p="3/4", q="1/4"),
    "unary, text": UnaryEncoding(TEXT, epsilon=2),
    "unary, symmetric": UnaryEncoding(64, epsilon=1, symmetric=True),
    "unary, 1024 items": UnaryEncoding(1024, epsilon=1),
    "unary, 77 items": UnaryEncoding(77, epsilon=8),
    "hashing, 1000 items": OptimizedLocalHashing(1000, epsilon=1),
    "hashing, 2 buckets": LocalHashing(14, epsilon=2, buckets=2),
    "hashing, 7 buckets": LocalHashing(100_000, p="1/2", buckets=7, seed_bits=20),
    "hashing, 3000 buckets": LocalHashing(500, epsilon=8, buckets=3000),
    "hadamard, 1000 items": HadamardResponse(1000, epsilon=1),
    "hadamard, blocks": HadamardResponse(1000, epsilon=4),
    "hadamard, one block": HadamardResponse(["a", "b"], keep="1/2", blocks=1),
    "hadamard, 2**17 items": HadamardResponse(1 << 17, epsilon=2),
}

IN_PYTHON: dict[str, FrequencyOracle] = {
    "subset, 14 items": SubsetSelection(14, epsilon=1),
    "two stages": TwoStage(DirectEncoding(14, epsilon=2), UnaryEncoding(14, epsilon=1)),
}

WORDS = ["red", "grün", "", "a longer answer", None]
NUMBERS = [0, 12.5, 99.75, 100, -3, None]
PEOPLE = [{"job": "red", "smokes": True}, {"job": "blå", "smokes": False}]
PARTS: dict[str, Oracle] = {
    "job": UnaryEncoding(TEXT, epsilon=1),
    "smokes": RandomizedResponse(p="3/4"),
}
SETS: list[Any] = [["red"], [], ["blå", "grün", "red"], None]

OTHERS: dict[str, tuple[Oracle, list[Any]]] = {
    "summation": (SummationHistogram(5, epsilon=1), [0, 3, 4]),
    "threshold": (ThresholdHistogram(30, epsilon=1), [0, 17, 29]),
    "sketch": (CountMeanSketch(epsilon=2, functions=32, buckets=64), WORDS),
    "hadamard sketch": (HadamardCountMeanSketch(epsilon=2), WORDS),
    "rappor": (Rappor(), WORDS),
    "rappor, 40 bits": (Rappor(40, 3, 8, f="1/4", p="3/8", q="7/8"), WORDS),
    "duchi": (Duchi(0, 100, epsilon=1, missing=50), NUMBERS),
    "piecewise": (Piecewise(0, 100, epsilon=1, missing=50), NUMBERS),
    "hybrid": (HybridMean(0, 100, epsilon=2, missing=50), NUMBERS),
    "laplace": (LaplaceMean(0, 100, epsilon=1, missing=50), NUMBERS),
    "square wave": (SquareWave(0, 100, epsilon=1, bins=50, missing=50), NUMBERS),
    "splitting": (AttributeSplitting(PARTS), PEOPLE),
    "sampling": (AttributeSampling(PARTS), PEOPLE),
    "key-value": (KeyValue(["a", "b", "c"], 1, 5, epsilon=2), [{}, {"a": 2.5}, {"b": 9, "c": 1}]),
    "sets": (PaddedSets(UnaryEncoding(TEXT, epsilon=2), 2), SETS),
    "ranges": (HierarchicalRanges(200, epsilon=1), [0, 77, 199]),
    "prefixes": (PrefixExtending(32, epsilon=2), [0, 3405691582, 4294967295, None]),
    "hashing, binary": (BinaryLocalHashing(14, epsilon=2), [0, 5, 13]),
}
"""The mechanisms of which browsers have none, with answers of their own kind."""


def source(seed: str) -> tuple[Callable[[int], bytes], bytearray]:
    """Return a public stream of bytes for a vector, and what was taken from it."""
    taken = bytearray()

    def take(n: int) -> bytes:
        stream = hashlib.shake_256(seed.encode()).digest(len(taken) + n)
        taken.extend(stream[-n:] if n else b"")
        return bytes(stream[len(stream) - n :])

    return take, taken


def answers_of(oracle: FrequencyOracle) -> list[Any]:
    """Return some of the answers of a list: the first, the last, and others here and there."""
    k = len(oracle.domain)
    drawn = [int.from_bytes(hashlib.sha256(b"%d" % i).digest()) % k for i in range(2, EACH)]
    return [oracle.domain.labels[place] for place in (0, k - 1, *drawn)]


def vectors(name: str, oracle: Oracle, answers: list[Any]) -> dict[str, Any]:
    """Return the vectors of one mechanism."""
    wire, cases = Wire(oracle), []
    for i, answer in enumerate(answers):
        take, taken = source(f"{name} {i}")
        with injected(take):
            report = oracle.perturb(answer)
        number = take(ID_BYTES)
        cases.append(
            {
                "answer": answer,
                "random": bytes(taken).hex(),
                "bytes": wire.encode(report, number).hex(),
                "json": json.loads(wire.to_json(report, number)),
            }
        )
    made: dict[str, Any] = {"name": name, "oracle": oracle.describe(), "cases": cases}
    if name in IN_BROWSERS:
        made["client"] = client_config(IN_BROWSERS[name])
    return made


def permanent() -> list[dict[str, Any]]:
    """Return what a device with a known secret answers for ever."""
    secret = bytes(range(32))
    records = []
    questions: list[tuple[str, Oracle, list[Any]]] = [
        (name, oracle, [oracle.domain.labels[i % len(oracle.domain)] for i in range(8)])
        for name, oracle in {**IN_BROWSERS, **IN_PYTHON}.items()
        if len(oracle.domain) <= 100_000 and not isinstance(oracle, TwoStage)
    ]
    questions += [
        (f"{name}, kept", _kept(oracle), answers) for name, (oracle, answers) in OTHERS.items()
    ]
    for name, oracle, answers in questions:
        device, wire = Device(10**6, secret=secret), Wire(oracle)
        payloads = [wire.pack(np.asarray(device.report(oracle, a))[None])[0] for a in answers]
        records.append(
            {
                "name": name,
                "oracle": oracle.describe(),
                "secret": secret.hex(),
                "answers": answers,
                "payloads": [p.tobytes().hex() for p in payloads],
            }
        )
    return records


def _kept(oracle: Oracle) -> Oracle:
    """Return the stage whose reports do not change: what fresh noise covers has no vectors."""
    return oracle.kept if isinstance(oracle, Rappor) else oracle


def headers() -> list[dict[str, Any]]:
    """Return the headers of batch files."""
    return [
        {"oracle": o.describe(), "ids": ids, "bytes": Header.of(o, ids).pack().hex()}
        for o in list(IN_BROWSERS.values())[:4]
        for ids in (True, False)
    ]


def main() -> None:
    """Write all vectors."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    listed = {**IN_BROWSERS, **IN_PYTHON}
    reports = [vectors(name, oracle, answers_of(oracle)) for name, oracle in listed.items()]
    others = [
        vectors(name, oracle, [answers[i % len(answers)] for i in range(12)])
        for name, (oracle, answers) in OTHERS.items()
    ]
    for name, content in (
        ("reports", reports),
        ("others", others),
        ("permanent", permanent()),
        ("headers", headers()),
    ):
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

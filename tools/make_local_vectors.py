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
    Device,
    DirectEncoding,
    FrequencyOracle,
    HadamardResponse,
    Items,
    LocalHashing,
    OptimizedLocalHashing,
    RandomizedResponse,
    SubsetSelection,
    TwoStage,
    UnaryEncoding,
    Wire,
    client_config,
)
from tacit.local.batch_file import Header
from tacit.local.report_format import ID_BYTES
from tacit.noise.bits import _injected

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


def source(seed: str) -> tuple[Callable[[int], bytes], bytearray]:
    """Return a public stream of bytes for a vector, and what was taken from it."""
    taken = bytearray()

    def take(n: int) -> bytes:
        stream = hashlib.shake_256(seed.encode()).digest(len(taken) + n)
        taken.extend(stream[-n:] if n else b"")
        return bytes(stream[len(stream) - n :])

    return take, taken


def vectors(name: str, oracle: FrequencyOracle) -> dict[str, Any]:
    """Return the vectors of one mechanism."""
    wire, k = Wire(oracle), len(oracle.domain)
    cases = []
    for i in range(EACH):
        place = (0, k - 1)[i] if i < 2 else int.from_bytes(hashlib.sha256(b"%d" % i).digest()) % k
        answer = oracle.domain.labels[place]
        take, taken = source(f"{name} {i}")
        with _injected(take):
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
        made["client"] = client_config(oracle)
    return made


def permanent() -> list[dict[str, Any]]:
    """Return what a device with a known secret answers for ever."""
    secret = bytes(range(32))
    told = []
    for name, oracle in {**IN_BROWSERS, **IN_PYTHON}.items():
        if len(oracle.domain) > 100_000 or isinstance(oracle, TwoStage):
            continue
        device, wire = Device(10**6, secret=secret), Wire(oracle)
        answers = [oracle.domain.labels[i % len(oracle.domain)] for i in range(8)]
        payloads = [wire.pack(np.asarray(device.report(oracle, a))[None])[0] for a in answers]
        told.append(
            {
                "name": name,
                "oracle": oracle.describe(),
                "secret": secret.hex(),
                "answers": answers,
                "payloads": [p.tobytes().hex() for p in payloads],
            }
        )
    return told


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
    reports = [vectors(name, oracle) for name, oracle in {**IN_BROWSERS, **IN_PYTHON}.items()]
    for name, content in (
        ("reports", reports),
        ("permanent", permanent()),
        ("headers", headers()),
    ):
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

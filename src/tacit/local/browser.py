"""The browser's side: what a page must know of a question, and a page that asks it."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import float_up
from tacit.calls import public
from tacit.errors import DataSourceError, UsageError
from tacit.local.frequency.bit_vectors import UnaryEncoding
from tacit.local.frequency.direct_encoding import DirectEncoding
from tacit.local.frequency.hadamard_response import HadamardResponse
from tacit.local.frequency.local_hashing import LocalHashing
from tacit.local.oracle import FrequencyOracle
from tacit.local.wire import Wire, mechanism_code

_PLACEHOLDER = "__TACIT_SURVEY__"
_LARGEST_SAFE = 1 << 53


@public
def client_config(oracle: FrequencyOracle) -> dict[str, object]:
    """Return what ``tacit-local.js`` needs to make reports of a mechanism, as plain JSON values.

    Every probability is an integer over a power of two, so the browser draws with
    exactly the probabilities of the Python mechanism.

    Args:
        oracle: the mechanism.

    Raises:
        UsageError: a mechanism that the browser's client does not have.

    Example:
        >>> from tacit.local import RandomizedResponse
        >>> client_config(RandomizedResponse(["yes", "no"], p="3/4"))["draw"]
        {'kind': 'direct', 'items': 2, 'p': {'numerator': '3', 'bits': 2}}
    """
    draw = _draw(oracle)
    items, wire = oracle.domain, Wire(oracle)
    labels = items.describe()["items"]
    return {
        "tacit_client": 1,
        "mechanism": wire.name,
        "code": mechanism_code(wire.name).hex(),
        "schema": wire.schema.hex(),
        "labels": labels,
        "other": -1 if items.other is None else items.index_of(items.other),
        "missing": items.index_of(None),
        "payloadBits": oracle.layout.bits,
        "draw": draw,
    }


def _draw(oracle: FrequencyOracle) -> dict[str, Any]:
    if oracle.layout.kind == "integer" and oracle.layout.limit > _LARGEST_SAFE:
        raise UsageError("the browser's client writes numbers up to 2**53: use fewer buckets")
    if isinstance(oracle, DirectEncoding):
        return {"kind": "direct", "items": len(oracle.domain), "p": _share(oracle.p)}
    if isinstance(oracle, UnaryEncoding):
        shares = {"p": _share(oracle.p), "q": _share(oracle.q)}
        return {"kind": "unary", "items": len(oracle.domain), **shares}
    if isinstance(oracle, LocalHashing):
        sizes = {"buckets": oracle.buckets, "seedBits": oracle.seed_bits}
        return {"kind": "hashing", "p": _share(oracle.p), **sizes}
    if isinstance(oracle, HadamardResponse):
        sizes = {"blocks": oracle.blocks, "blockSize": oracle.block_size}
        return {"kind": "hadamard", "keep": _share(oracle.keep), **sizes}
    raise UsageError(
        f"the browser's client has no {type(oracle).__name__}; it has RandomizedResponse, "
        "DirectEncoding, UnaryEncoding, local hashing and HadamardResponse"
    )


def _share(p: Fraction) -> dict[str, Any]:
    return {"numerator": str(p.numerator), "bits": p.denominator.bit_length() - 1}


@public
def write_page(
    folder: str | os.PathLike[str],
    oracle: FrequencyOracle,
    question: str,
    *,
    send_to: str | None = None,
    collected_by: str = "",
) -> Path:
    """Write a page that asks one question, and its script; returns the path of the page.

    The page randomises the answer on the device, shows exactly what will be sent, and sends it (a
    POST of the bytes of the report) when the person agrees.  Serve the folder over HTTPS: browsers
    give secure random bits and modules only to pages over HTTPS, or of the same machine.

    Args:
        folder: where to write ``survey.html`` and ``tacit-local.js``; created if it does not exist.
        oracle: the mechanism, over at most 200 listed answers.
        question: what is asked.
        send_to: the address that takes reports; without one the page shows the report only.
        collected_by: who collects, shown on the page.

    Raises:
        UsageError: a mechanism that the browser does not have, or too many answers for a page.
        DataSourceError: the folder cannot be written.
    """
    config = client_config(oracle)
    if len(oracle.domain) > 200:
        raise UsageError("a page shows at most 200 answers; write one of your own over the script")
    survey = {
        "question": question,
        "collectedBy": collected_by,
        "sendTo": send_to,
        "epsilon": float_up(Enclosure.of(oracle.epsilon).upper),
        "config": config,
    }
    text = json.dumps(survey, ensure_ascii=True).replace("<", "\\u003c")
    page = _shipped("survey.html").replace(_PLACEHOLDER, text)
    directory = Path(folder)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "survey.html").write_text(page, encoding="utf-8")
        (directory / "tacit-local.js").write_text(_shipped("tacit-local.js"), encoding="utf-8")
    except OSError as error:
        raise DataSourceError(f"{directory} cannot be written: {error.strerror}") from None
    return directory / "survey.html"


def _shipped(name: str) -> str:
    return (files("tacit.local") / "js" / name).read_text(encoding="utf-8")

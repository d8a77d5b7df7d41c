"""The shuffler: batch files in, one file in random order out, and no trace of who sent what."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.calls import public
from tacit.errors import DataSourceError
from tacit.local.base.oracle import Oracle
from tacit.local.collecting.batch_file import Chunk, read_header, read_records, write_reports
from tacit.local.collecting.wire import Reason, Wire
from tacit.noise.bits import words64

__all__ = ["random_order", "shuffle_reports"]


def random_order(n: int) -> NDArray[np.intp]:
    """Return a permutation of n things, each with probability exactly 1/n!, from secure bits.

    Independent keys of 64 bits are sorted.  Given that all differ, each order is equally
    likely; keys of which two are equal are all thrown away.

    >>> sorted(random_order(4).tolist())
    [0, 1, 2, 3]
    """
    while True:
        keys = words64(n)
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order


@public
def shuffle_reports(
    sources: Iterable[str | os.PathLike[str]],
    destination: str | os.PathLike[str],
    oracle: Oracle,
) -> tuple[int, dict[Reason, int]]:
    """Write all valid reports of batch files to a new one, in random order and without ids.

    Ids are dropped because a device knows its own; so replays are looked for before the shuffler
    (:class:`~tacit.local.Collector` with ``replay=``), not after.  All reports are held in memory.

    Args:
        sources: the batch files to read.
        destination: the batch file to write; it must not exist yet.
        oracle: the mechanism.

    Returns:
        How many reports were written, and how many were left out, by reason.

    Raises:
        DataSourceError: a file that cannot be read, or a destination that exists.
    """
    wire, kept, refused = Wire(oracle), [oracle.layout.empty(0)], dict[Reason, int]()

    def refuse(reason: Reason, number: int) -> None:
        if number:
            refused[reason] = refused.get(reason, 0) + number

    for path in sources:
        for part in _parts(path, oracle):
            if isinstance(part, Chunk):
                batch, good = wire.unpack(part.payloads)
                kept.append(batch[good])
                refuse("range", len(good) - int(np.count_nonzero(good)))
            else:
                refuse(part, 1)
    reports: NDArray[Any] = np.concatenate(kept)
    write_reports(destination, oracle, reports[random_order(len(reports))], ids=False)
    return len(reports), refused


def _parts(path: str | os.PathLike[str], oracle: Oracle) -> Iterable[Chunk | Reason]:
    try:
        with open(path, "rb", buffering=0) as file:
            header = read_header(file)
            refusal = header if isinstance(header, str) else header.refusal(oracle)
            if isinstance(header, str) or refusal is not None:
                yield refusal or "not a report"
                return
            for part in read_records(file, header):
                yield "length" if isinstance(part, int) else part
    except OSError as error:
        raise DataSourceError(f"{Path(path).name} cannot be read: {error.strerror}") from None

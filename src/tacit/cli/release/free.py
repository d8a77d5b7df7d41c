"""What the commands say of answers that follow from earlier releases."""

from __future__ import annotations

from typing import Any

from tacit.arithmetic.exact import show
from tacit.errors import UsageError
from tacit.tables.written.asked import Asked

__all__ = ["free_notes", "refuse_free", "told_free"]


def free_notes(question: Any, asked: Asked, expected: Any = None) -> list[str]:
    """Say which questions follow from earlier releases, and with which errors; reads no row.

    Args:
        question: a question, or a plan of several.
        asked: how it was written.
        expected: the preview of the question, where there is one: of a single question without a
            tag it says the same, and the ledger is not read again.
    """
    if not hasattr(question, "free_errors") or question.is_charged(**asked.price, tag=asked.tag):
        return []
    if expected is not None and asked.tag is None and not hasattr(question, "free_answers"):
        found = expected.free or None
    else:
        found = question.free_errors(tag=asked.tag)
    if found is None:
        return []
    if not isinstance(found, list):
        how = "ask with --free (in a plan file, free = true)"
        return [f"it follows from earlier releases {_errors(found)}: {how}"]
    notes = []
    for place, (part, errors) in enumerate(zip(asked.parts, found, strict=True), 1):
        if errors is not None:
            name = part.name or f"question {place}"
            notes.append(
                f"{name} follows from earlier releases {_errors(errors)}: ask it with --free, and "
                "plan the others alone"
            )
    return notes


def told_free(question: Any, asked: Asked) -> dict[str, float]:
    """Return the errors of an answer that is to be free.

    Raises:
        UsageError: it does not follow from earlier releases.
    """
    found = question.free_errors(tag=asked.tag) if hasattr(question, "free_errors") else None
    if found is None:
        raise refuse_free(asked)
    errors: dict[str, float] = found
    return errors


def refuse_free(asked: Asked) -> UsageError:
    """Return the error of a question that is to be free and does not follow."""
    which = f"{asked.name} does" if asked.name else "it does"
    return UsageError(
        f"{which} not follow from earlier releases, so it is not free; nothing was spent. Counts "
        "follow where they are sums of cells that were counted before, of the same rows; leave "
        "--free out, and say what it may spend"
    )


def _errors(errors: dict[str, float]) -> str:
    told = ", ".join(f"{label} {show(float(f'{error:.3g}'))}" for label, error in errors.items())
    return f"at no cost, with these standard errors: {told}"

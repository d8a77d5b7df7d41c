"""A box under each exercise of a tutorial, in which an answer is typed and checked by the page.

What is right, and what is said of a wrong answer, comes from :mod:`tacit.learn`, so the page and
``learn.check`` say the same.  Without scripts the box stays hidden, and the solution below it opens
as before.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

from tacit import learn

__all__ = ["box", "described", "with_boxes"]

_SOLUTION = re.compile(r"^<details><summary>Solution of ([\w-]+)</summary>$", re.MULTILINE)


def with_boxes(page: str) -> str:
    """Return a page in Markdown with a box before the solution of each exercise."""
    return _SOLUTION.sub(lambda match: f"{box(match[1])}\n\n{match[0]}", page)


def box(name: str) -> str:
    """Return the box of an exercise: one block of HTML, hidden until the script shows it."""
    payload = html.escape(json.dumps(described(name)), quote=True)
    field_id = f"exercise-{name}"
    return "\n".join(
        [
            f'<form class="exercise" data-exercise="{payload}" hidden>',
            f'<label for="{field_id}">Your answer to {name}</label>',
            f'<input id="{field_id}" autocomplete="off" autocapitalize="none" spellcheck="false">',
            "<button>Check</button>",
            f'<output for="{field_id}"></output>',
            "</form>",
        ]
    )


def described(name: str) -> dict[str, Any]:
    """Return what the script needs to check an answer as :func:`tacit.learn.check` does.

    >>> described("local-4")["answer"], described("distances-1")["right"]
    ('no', 'Right: 4')
    """
    exercise = learn.EXERCISES[name]
    truth = exercise.answer()
    given = [mistake() for mistake in exercise.mistakes.values()]
    return {
        "answer": _plain(truth),
        "right": learn.check(name, truth).text,
        "mistakes": [[_plain(wrong), learn.check(name, wrong).text] for wrong in given],
        "wrong": f"Not yet: {exercise.hint}",
        "unread": learn.check(name, "?").text,
    }


def _plain(value: Any) -> float | str:
    return value if isinstance(value, str) else float(value)

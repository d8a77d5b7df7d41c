"""The command line: ``tacit release``, ``tacit ledger show`` and the others.

Exit codes: 0 done, 1 refused (the budget does not cover it, a check failed), 2 used wrongly, 70 an
error inside Tacit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tacit.errors import RefusedError, TacitError

__all__ = ["main", "run"]

REFUSED, WRONG, INTERNAL, INTERRUPTED = 1, 2, 70, 130


def main() -> None:
    """Run the command that was typed, and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command; messages go to stderr, and no error of the data reaches the terminal.

    Args:
        arguments: what was typed after ``tacit``.

    Returns:
        The exit code.

    >>> run(["--version"])
    tacit ...
    0
    """
    from tacit.cli.app import app

    try:
        app(args=list(arguments), prog_name="tacit")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else INTERNAL
    except TacitError as error:
        _say(f"Error: {error}")
        return REFUSED if isinstance(error, RefusedError) else WRONG
    except KeyboardInterrupt:
        _say("Interrupted. What was charged to a ledger before stays spent.")
        return INTERRUPTED
    except Exception as error:
        # The message or the traceback of an error that nobody foresaw could quote the data.
        if os.environ.get("TACIT_DEBUG") == "1":
            raise
        _say(
            f"Error inside Tacit ({type(error).__name__}). Its details are withheld, since they "
            "could quote the data; with TACIT_DEBUG=1 they are shown. What was charged stays spent."
        )
        return INTERNAL
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr)

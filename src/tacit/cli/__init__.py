"""The command line: ``tacit release``, ``tacit ledger show`` and the others.

Exit codes: 0 done, 1 refused (the budget does not cover it, a check failed), 2 used wrongly, 70 an
error inside Tacit, 128 and the number of a signal that ended it (130 for Ctrl-C).
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from tacit.cli.shared.output import Ends, in_flags, warnings_as_notes
from tacit.errors import RefusedError, TacitError, UsageError

_RELEASING = ("release", "sql", "together", "count-over-time")
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
    from tacit.cli.app import commands

    ends = Ends()
    try:
        with ends:
            _check_text(arguments)
            code = _run(commands(), arguments)
            sys.stdout.flush()
        return code
    except TacitError as error:
        _say(f"Error: {in_flags(str(error))}")
        return REFUSED if isinstance(error, RefusedError) else WRONG
    except KeyboardInterrupt as error:
        _say(f"Interrupted. {_charged(error)}")
        return 128 + ends.signal if ends.signal else INTERRUPTED
    except OSError as error:
        return _unwritten(error, arguments)
    except Exception as error:
        # The message or the traceback of an error that no one foresaw could quote the data.
        if os.environ.get("TACIT_DEBUG") == "1":
            raise
        _say(
            f"Error inside Tacit ({type(error).__name__}). Its details are withheld, since they "
            f"could quote the data; with TACIT_DEBUG=1 they are shown. {_charged(error)}"
        )
        return INTERNAL


def _check_text(arguments: Sequence[str]) -> None:
    """Raise for bytes that are not text: they come as lone surrogates, which nothing can write."""
    for position, argument in enumerate(arguments, 1):
        if "\0" in argument:
            raise UsageError(
                f"argument {position} contains the character NUL, which an argument cannot contain"
            )
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = argument.encode(errors="backslashreplace").decode()[:80]
            raise UsageError(
                f"argument {position} contains bytes that are not UTF-8, shown here as \\udc..: "
                f"{shown}; if it names a file, rename the file"
            ) from None


def _run(typed: Callable[..., object], arguments: Sequence[str]) -> int:
    try:
        with warnings_as_notes():
            typed(args=list(arguments), prog_name="tacit")
    except SystemExit as ended:
        interrupt = _interrupt_behind(ended)
        if interrupt is None:
            return ended.code if isinstance(ended.code, int) else INTERNAL
    else:
        return 0
    raise interrupt


def _interrupt_behind(error: BaseException) -> KeyboardInterrupt | None:
    """Return the interrupt that typer turned into an exit: it has what was charged."""
    behind: BaseException | None = error
    while behind is not None and not isinstance(behind, KeyboardInterrupt):
        behind = behind.__cause__ or behind.__context__
    return behind


def _unwritten(error: OSError, arguments: Sequence[str]) -> int:
    """Print that a file or the output failed; an error of the system names no value of the data."""
    where = f" ({error.filename})" if error.filename else ""
    if isinstance(error, BrokenPipeError) or (error.errno == errno.ENOSPC and not error.filename):
        where = " while the output was written"
        with suppress(OSError, ValueError):  # the rest of the buffer is dropped
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    stored = (
        " What was released is in the ledger: ask the same again, and it is shown at no further "
        "cost."
    )
    note = stored if arguments[:1] and arguments[0] in _RELEASING else ""
    _say(f"Error: {error.strerror or type(error).__name__}{where}.{note}")
    return WRONG


def _charged(error: BaseException) -> str:
    """Print what was charged, as the interrupted release noted it."""
    notes = getattr(error, "__notes__", ())
    return " ".join(f"{note[0].upper()}{note[1:]}." for note in notes) or (
        "What was charged to a ledger before stays charged, as tacit ledger show lists; a "
        "release that is still open is answered at no further cost when the same is asked again."
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr)

"""Work that several threads do at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any


def at_once(work: Callable[..., Any], each: Iterable[Any] = (), *, times: int = 0) -> None:
    """Call a function in threads, once for each argument or so many times, and wait for all."""
    given = [(one,) for one in each] + [()] * times
    threads = [threading.Thread(target=work, args=one) for one in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

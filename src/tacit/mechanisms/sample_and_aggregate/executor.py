"""The function asked of every bin: here, in worker processes, or on a cluster through joblib."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tacit.arithmetic.exact import as_integer, positive
from tacit.errors import UsageError, did_you_mean, need
from tacit.mechanisms.sample_and_aggregate.bounded_output import BinFunction
from tacit.mechanisms.sample_and_aggregate.worker_process import Worker, packed

__all__ = ["Engine"]

_CLUSTERS = {
    "dask": ("distributed", "'dask[distributed]'"),
    "spark": ("joblibspark", "joblibspark"),
}


@dataclass(frozen=True)
class Engine:
    """Where bins are answered.

    Attributes:
        processes: worker processes of this machine; 0 for this very process.
        backend: the name of a joblib backend, or None.
        jobs: how many jobs the backend is asked to run at once; -1 for as many as it has.
        timeout: seconds for one bin in a worker process, or None.
    """

    processes: int = 0
    backend: str | None = None
    jobs: int = -1
    timeout: float | None = None

    @classmethod
    def of(cls, parallel: Any, timeout: Any) -> Engine:
        """Read ``parallel`` and ``timeout`` as a caller gives them.

        Raises:
            UsageError: no whole number of processes, no name, a timeout that is not above zero or
                is asked of a backend that cannot end one bin alone.

        >>> Engine.of(2, 1.5)
        Engine(processes=2, backend=None, jobs=-1, timeout=1.5)
        """
        limit = None if timeout is None else float(positive(timeout, "timeout"))
        if parallel is None:
            return cls(processes=0 if limit is None else 1, timeout=limit)
        if isinstance(parallel, tuple) and len(parallel) == 2:
            name, jobs = parallel[0], as_integer(parallel[1], "the jobs of parallel")
        else:
            name, jobs = parallel, -1
        if isinstance(name, str):
            if limit is not None:
                raise UsageError(
                    f"the backend {name!r} cannot stop a single bin: with a timeout, give a "
                    "number of processes, such as parallel=4"
                )
            _refuse_unknown(name)
            return cls(backend=name, jobs=jobs)
        count = as_integer(name, "parallel", minimum=1)
        return cls(processes=count, timeout=limit)

    def answers(self, ask: BinFunction, contents: Sequence[Any]) -> list[tuple[int, ...]]:
        """Return the units of every bin, in the order of the bins.

        The wall clock is read for a timeout, from when a bin is handed to its process.
        """
        with _progress(len(contents)) as tick:
            if self.backend is not None:
                return list(_ticked(self._by_joblib(ask, contents), tick))
            if self.processes:
                return self._by_workers(ask, contents, tick)
            return list(_ticked(map(ask, contents), tick))

    def _by_joblib(self, ask: BinFunction, contents: Sequence[Any]) -> Iterable[tuple[int, ...]]:
        joblib = need("joblib", "parallel")
        job = joblib.delayed(ask)
        try:
            config = joblib.parallel_config(backend=self.backend, n_jobs=self.jobs)
        except ValueError as error:  # no record has been passed yet
            raise UsageError(
                f"the backend {self.backend!r} is not ready: for dask, make a client first, such "
                "as client = dask.distributed.Client()"
            ) from error
        with config:
            # joblib pickles what is handed in, so arrays are sent, never left in a mapped file.
            run = joblib.Parallel(max_nbytes=None)
            return run(job(content) for content in contents)  # type: ignore[no-any-return]

    def _by_workers(
        self, ask: BinFunction, contents: Sequence[Any], tick: Callable[[], None]
    ) -> list[tuple[int, ...]]:
        function = packed(ask)
        workers = [
            Worker(function, self.timeout) for _ in range(min(self.processes, len(contents)))
        ]
        found = [ask.defaults] * len(contents)
        lock = threading.Lock()
        waiting: Iterator[tuple[int, Any]] = iter(enumerate(contents))

        def serve(worker: Worker) -> None:
            while True:
                with lock:
                    place, content = next(waiting, (-1, None))
                if place < 0:
                    return
                if content is not None:
                    found[place] = worker.answer(content) or ask.defaults
                tick()

        try:
            with ThreadPoolExecutor(len(workers)) as threads:
                try:
                    list(threads.map(serve, workers))
                except BaseException:  # Ctrl-C: start no more bins
                    waiting = iter(())
                    raise
        finally:
            for worker in workers:
                worker.close()
        return found


def _refuse_unknown(name: str) -> None:
    """Refuse a backend that joblib does not know, or whose package is not there.

    That of Spark is registered with joblib here; that of Dask registers itself.
    """
    known = need("joblib.parallel", "parallel").BACKENDS
    for backend, (package, install) in _CLUSTERS.items():
        if name == backend and importlib.util.find_spec(package) is None:
            raise UsageError(f"the backend {name!r} needs {package}: pip install {install}")
    if name == "spark" and name not in known:
        importlib.import_module("joblibspark").register_spark()
    if name not in {*known, *_CLUSTERS}:
        raise UsageError(
            f"joblib has no backend {name!r}; "
            f"{did_you_mean(name, sorted({*known, *_CLUSTERS}))}. Register your own with "
            "joblib.register_parallel_backend"
        )


def _ticked(
    answers: Iterable[tuple[int, ...]], tick: Callable[[], None]
) -> Iterator[tuple[int, ...]]:
    for answer in answers:
        tick()
        yield answer


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Show how many bins are done, on standard error, if a person looks at it."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("bins", total=total)
        yield lambda: bar.advance(task)

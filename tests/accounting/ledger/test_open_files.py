"""The files that a process keeps open: the latest, and none is closed while it is used."""

from __future__ import annotations

import gc

from tacit.accounting.ledger_sqlite import OpenFiles


class File:
    def __init__(self, used: float) -> None:
        self.used, self.busy, self.open = used, False, True

    def rest(self) -> bool:
        self.open = self.busy and self.open
        return not self.busy


def of(files: list[File]) -> list[bool]:
    return [file.open for file in files]


def test_the_files_used_longest_ago_are_closed() -> None:
    here, files = OpenFiles(2), [File(3), File(1), File(2), File(4)]
    for file in files[:3]:
        here.opened(file)
    assert of(files) == [True, False, True, True]
    here.opened(files[3])
    assert of(files) == [True, False, False, True]


def test_a_file_in_use_is_passed_over_and_counted() -> None:
    here, files = OpenFiles(2), [File(k) for k in range(4)]
    files[0].busy = True
    for file in files[:3]:
        here.opened(file)
    assert of(files) == [True, False, True, True]
    files[0].busy = False
    here.opened(files[3])
    assert of(files) == [False, False, True, True]


def test_all_may_be_in_use_and_the_one_that_was_opened_stays() -> None:
    here, files = OpenFiles(1), [File(2), File(1)]
    files[0].busy = True
    for file in files:
        here.opened(file)
    assert of(files) == [True, True]


def test_what_was_closed_or_dropped_counts_no_more() -> None:
    here, files = OpenFiles(2), [File(k) for k in range(4)]
    here.opened(files[0])
    here.opened(files[1])
    here.closed(files[1])
    here.opened(File(9))
    gc.collect()
    here.opened(files[2])
    assert files[0].open

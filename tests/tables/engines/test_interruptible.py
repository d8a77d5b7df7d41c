"""A query that a signal ends: its thread is gone before the signal's exception goes on."""

import signal
import threading

import pytest

from tacit.tables.engines.base import interruptible


class Connection:
    """A query that runs until it is interrupted the second time: the first word came too early."""

    def __init__(self):
        self.asked = threading.Event()
        self.words = 0

    def interrupt(self):
        self.words += 1
        if self.words == 2:
            self.asked.set()


def test_an_answer_and_an_error_come_through():
    assert interruptible(Connection(), lambda: 5) == 5

    def fails():
        raise ValueError("as it was")

    with pytest.raises(ValueError, match="as it was"):
        interruptible(Connection(), fails)


def test_a_signal_ends_the_query_first():
    connection, ended = Connection(), []

    def query():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        ended.append(connection.asked.wait(20))

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(connection, query)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == [True]


def test_outside_of_the_main_thread_nothing_is_started():
    seen = []
    asks = lambda: interruptible(Connection(), threading.current_thread)  # noqa: E731
    thread = threading.Thread(target=lambda: seen.append(asks()))
    thread.start()
    thread.join(20)
    assert seen == [thread]

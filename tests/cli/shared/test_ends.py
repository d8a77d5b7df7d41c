"""Signals that end a command: SIGTERM raises in the block, and is as before after it."""

import os
import signal
import threading

import pytest

from tacit.cli.shared.ends import Ends


def test_sigterm_ends_the_block_and_is_put_back():
    before = signal.getsignal(signal.SIGTERM)
    assert before == signal.SIG_DFL
    ends = Ends()
    with pytest.raises(KeyboardInterrupt), ends:  # noqa: PT012
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    assert ends.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Ends() as ends:
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert ends.signal == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_of_the_main_thread_nothing_changes():
    seen = []

    def run():
        with Ends() as ends:
            seen.append((ends.signal, signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    assert seen == [(0, signal.SIG_DFL)]

"""Where bits come from, how they are asked for, and that processes and threads never share them."""

import os
import ssl
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tacit.noise as tn
from tacit.errors import UsageError
from tacit.noise import bits


@pytest.mark.parametrize("n", [0, 1, 65_535, 65_536, 65_537, 200_000])
def test_requests_are_never_above_64_kib(stream, n):
    with stream(1) as source:
        assert len(bits.random_bytes(n)) == n
    assert max(source.requests) <= 1 << 16
    assert sum(source.requests) == n


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (bits.words8, np.uint8),
        (bits.words16, np.uint16),
        (bits.words32, np.uint32),
        (bits.words64, np.uint64),
    ],
)
def test_words(stream, words, kind):
    with stream(2):
        drawn = words(40_000)
    assert drawn.dtype == kind
    assert len(drawn) == 40_000
    middle = drawn.astype(np.float64).mean() / np.iinfo(kind).max
    assert abs(middle - 0.5) < 0.01


def test_word_has_exactly_its_bits():
    with bits.injected(lambda n: b"\xff" * n):
        assert [bits.word(b) for b in (1, 7, 8, 9, 65)] == [2**b - 1 for b in (1, 7, 8, 9, 65)]
    with bits.injected(lambda n: bytes(n)):
        assert bits.word(65) == 0


def test_the_private_door_closes_again():
    before = bits._generator.get()
    with bits.injected(os.urandom):
        assert bits._generator.get() is os.urandom
    with pytest.raises(ZeroDivisionError), bits.injected(lambda n: 1 // 0):
        bits.word(8)
    assert bits._generator.get() is before


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((1, 1, 0, 12, 15), True),
        ((1, 1, 1, 0, 15), False),
        ((1, 1, 1, 3, 15), False),
        ((1, 1, 1, 4, 15), True),
        ((3, 5, 0, 0, 0), True),
    ],
)
def test_openssl_that_repeats_after_fork_is_not_used(version, safe):
    assert bits.fork_safe(version) is safe
    assert bits._choose(None, version) is (ssl.RAND_bytes if safe else os.urandom)
    assert bits._choose("os", version) is os.urandom


def test_operating_system_alone():
    found = subprocess.run(
        [sys.executable, "-c", "from tacit.noise import bits; print(bits._generator.get())"],
        env={**os.environ, "TACIT_RANDOM": "os"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == repr(os.urandom)


def _in_child(draw):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, draw())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return found


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forks_draw_different_noise():
    def draw():
        return tn.discrete_laplace(2**60).to_bytes(16, "little", signed=True)

    draw()  # thresholds are cached, and may be; noise must not be
    found = [_in_child(draw) for _ in range(40)] + [draw()]
    assert len(set(found)) == 41

    def bulk():
        return tn.discrete_gaussian(2**40, size=4).tobytes()

    assert len({_in_child(bulk) for _ in range(10)} | {bulk()}) == 11


def test_threads_draw_different_noise():
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: tn.discrete_gaussian(2**60), range(400)))
    assert len(set(found)) == 400


def test_nothing_is_kept_between_calls(stream):
    """Each call asks anew: a stream begun again gives the same draw, whatever came before."""
    for draw in (
        lambda: tn.discrete_laplace(25),
        lambda: tn.discrete_gaussian(25, size=7).tolist(),
        lambda: tn.discrete_laplace(5, size=70_000).tolist(),
        lambda: tn.bernoulli("1/3", size=5000).tolist(),
        lambda: tn.uniform(10, size=3).tolist(),
    ):
        with stream(3):
            first = draw()
        draw()
        with stream(3):
            assert draw() == first


def test_there_is_no_seed():
    for draw in (tn.discrete_laplace, tn.discrete_gaussian, tn.geometric, tn.bernoulli, tn.uniform):
        with pytest.raises(TypeError):
            draw(1, seed=1)


@pytest.mark.parametrize("n", [-1, 1.5, "3", None])
def test_bad_number_of_bytes(n):
    with pytest.raises(UsageError):
        bits.random_bytes(n)

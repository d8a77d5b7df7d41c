"""What the adapters of other libraries share, asked of libraries that are made up here."""

from __future__ import annotations

import random
from importlib.metadata import version

import pytest

from tacit.audit.attack_suite.system import NotOfferedError, NotReadyError
from tacit.audit.attack_suite.systems.peers.peer_library import PeerLibrary, refuse_texts


class Repeating(PeerLibrary):
    """Draws its noise from Python's generator, which a user may seed."""

    distribution = "numpy"

    def noise(self, kind: str, value: float, scale: float) -> float:
        return value + scale * random.random()


class Buffered(PeerLibrary):
    """Draws its noise from a state of its own, which a fork copies."""

    distribution = "numpy"
    state = random.Random()

    def noise(self, kind: str, value: float, scale: float) -> float:
        return value + scale * self.state.random()


class Fresh(PeerLibrary):
    """Draws its noise from the operating system."""

    distribution = "numpy"

    def noise(self, kind: str, value: float, scale: float) -> float:
        return value + scale * random.SystemRandom().random()


class Silent(PeerLibrary):
    """Offers no noise."""

    distribution = "numpy"


def test_the_version_is_that_of_the_distribution() -> None:
    assert Silent().version() == version("numpy")


def test_a_seed_repeats_noise_of_a_public_generator_only() -> None:
    assert list(Repeating().seeded(7)) == list(Repeating().seeded(7))
    assert list(Fresh().seeded(7)) != list(Fresh().seeded(7))


def test_forked_processes_repeat_noise_of_a_state_they_share() -> None:
    first, second = Buffered().forked()
    assert list(first) == list(second)
    first, second = Fresh().forked()
    assert list(first) != list(second)


def test_what_offers_no_noise_is_not_asked_for_it() -> None:
    with pytest.raises(NotOfferedError):
        Silent().seeded(7)
    with pytest.raises(NotOfferedError):
        Silent().forked()


def test_a_text_among_numbers_is_refused() -> None:
    refuse_texts([1.0, 2, None])
    with pytest.raises(NotOfferedError, match="texts"):
        refuse_texts([1.0, "two"])


def test_a_library_that_is_not_there_or_does_not_load_is_not_judged() -> None:
    class Absent(PeerLibrary):
        distribution = "no-such-distribution"

    class Broken(PeerLibrary):
        distribution = "numpy"
        modules = ("numpy", "numpy.no_such_module")

    Fresh().refuse_unready()
    with pytest.raises(NotReadyError, match="not installed"):
        Absent().refuse_unready()
    with pytest.raises(NotReadyError, match=r"numpy .* cannot be imported: .*no_such_module"):
        Broken().refuse_unready()

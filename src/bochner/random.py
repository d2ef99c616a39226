"""One random generator per purpose, all derived from one seed."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.random import Generator, RandomState

from bochner.exceptions import InputError


def seed_of(random_state: int | RandomState | Generator | None) -> int:
    """One integer seed from whatever the user passed as `random_state`.

    ``None`` means 0: the library is deterministic unless asked otherwise.
    """
    if random_state is None:
        return 0
    if isinstance(random_state, Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, RandomState):
        return int(random_state.randint(2**31 - 1))
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise InputError(f"random_state={random_state!r}; needed is None, an integer >= 0, or a numpy RandomState.")
    return int(random_state)


def generator(seed: int, purpose: str) -> Generator:
    """Generator that depends on the seed and on what it is for, never on the data."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])

"""Which back end runs, and why."""

from __future__ import annotations

import importlib
import importlib.util
import os
from dataclasses import dataclass
from functools import cache
from typing import cast

from bochner.device import device_for, named_device
from bochner.exceptions import InputError, MissingExtraError
from bochner.nufft import limits
from bochner.nufft.contract import Backend

ORDER = ("ducc0", "finufft", "jax-finufft", "built-in")  # the fastest first, where it is installed
ON_DEVICE = "torch"  # taken where a device is in force, or by name
VARIABLE = "BOCHNER_NUFFT"

_PACKAGES = {"ducc0": ("ducc0",), "finufft": ("finufft",), "jax-finufft": ("jax", "jax_finufft"), "built-in": ()}
_PACKAGES[ON_DEVICE] = ("torch",)
_INSTALL = {
    "finufft": "pip install finufft",
    "jax-finufft": "pip install jax jax-finufft",
    "ducc0": "pip install 'bochner[nufft]'",
    ON_DEVICE: "pip install 'bochner[gpu]'",
}
_MODULES = {
    "finufft": "bochner.nufft.finufft_backend",
    "jax-finufft": "bochner.nufft.jax_backend",
    "ducc0": "bochner.nufft.ducc_backend",
    "built-in": "bochner.nufft.builtin",
    ON_DEVICE: "bochner.nufft.torch_backend",
}


@dataclass(frozen=True)
class BackendChoice:
    """Name of a back end and the reason why it runs."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})"


def backend(name: str | None = None) -> BackendChoice:
    """Back end that a transform called with ``backend=name`` would use, and why.

    Parameters
    ----------
    name : {"ducc0", "finufft", "jax-finufft", "built-in"}, optional
        Forces a back end. Without it the environment variable ``BOCHNER_NUFFT`` is read, and if that is
        not set either, the first of the four that can be imported is taken.

    Raises
    ------
    InputError
        If there is no back end of that name.
    MissingExtraError
        If the forced back end is not installed; the message says what to install.
    """
    if name is not None:
        return _forced(name, "the argument backend=")
    if os.environ.get(VARIABLE):
        return _forced(os.environ[VARIABLE], f"the environment variable {VARIABLE}")
    return _automatic()


def load(name: str | None, n_places: int = 0) -> tuple[str, Backend]:
    """Name and module of the back end that `backend` chooses; for many places that of the device in force."""
    free = name is None and not os.environ.get(VARIABLE)
    if free and device_for(n_places * limits.WORK_PER_PLACE) is not None:
        name = ON_DEVICE
    chosen = backend(name).name
    return chosen, cast(Backend, importlib.import_module(_MODULES[chosen]))


@cache
def obstacle(name: str) -> str:
    """Why a back end cannot run here; empty if it can."""
    # Nothing is imported unless all is installed: jax alone takes a second.
    absent = [package for package in _PACKAGES[name] if importlib.util.find_spec(package) is None]
    if absent:
        return f"{' and '.join(absent)} not installed"
    try:
        for package in _PACKAGES[name]:
            importlib.import_module(package)
    except (ImportError, OSError, RuntimeError) as error:  # a shared library may be missing or too old
        return f"import failed: {error}"
    if name == ON_DEVICE:
        try:
            named_device("cuda")
        except InputError:
            return "no CUDA device"
    return ""


def _forced(name: str, by: str) -> BackendChoice:
    if name not in (*ORDER, ON_DEVICE):
        raise InputError(
            f"{by} asks for the NUFFT back end {name!r}; there are {', '.join((*ORDER, ON_DEVICE))}. "
            f"Choose one of them."
        )
    reason = obstacle(name)
    if reason:
        raise MissingExtraError(
            f"{by} asks for the NUFFT back end {name!r}, which cannot run here ({reason}); "
            f"run `{_INSTALL[name]}`, or ask for 'built-in', which is always there."
        )
    return BackendChoice(name, f"forced by {by}")


def _automatic() -> BackendChoice:
    passed: list[str] = []
    for name in ORDER:
        reason = obstacle(name)
        if not reason:
            return BackendChoice(name, "; ".join(["first that runs here", *passed]))
        passed.append(f"{name}: {reason}")
    raise AssertionError("the built-in back end needs nothing")

"""Parameters of an estimator: those of a kernel inside it, and all of them checked and made plain."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np

from bochner.arrays import positive
from bochner.device import named_device
from bochner.exceptions import InputError, KernelError
from bochner.families import family_named
from bochner.inference import Settings
from bochner.kernels import Kernel, kernel_named
from bochner.random import seed_of
from bochner.resources import DEVICES, PRECISIONS, Resources, memory_bytes, of_this_run
from bochner.spelling import CRITERIA, one_of


class KernelParameters:
    """Mixin that lets `set_params` reach into a frozen kernel by replacing it."""

    kernel: Any

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the kernel are written ``kernel__name``."""
        inner = {name: params.pop(name) for name in list(params) if name.startswith("kernel__")}
        super().set_params(**params)  # type: ignore[misc]
        if inner:
            if not isinstance(self.kernel, Kernel):
                name = next(iter(inner))
                raise ValueError(
                    f"{name} was set but kernel is {self.kernel!r}; give a kernel first, e.g. kernel=Matern()."
                )
            self.kernel = self.kernel.with_params(**{k.removeprefix("kernel__"): v for k, v in inner.items()})
        return self


def settings_of(estimator: Any) -> Settings:
    """Check every parameter of an estimator but its family, once, before any data is looked at."""
    one_of(estimator.fit_intercept, "fit_intercept", (True, False))
    noise, tune = estimator.noise_variance, _tune(estimator.tune)
    return Settings(
        kernel=_kernel(estimator.kernel),
        features=estimator.features,
        n_frequencies=_frequencies(estimator.n_frequencies),
        tolerance=positive(estimator.tolerance, "tolerance"),
        noise_variance=None if noise is None else positive(noise, "noise_variance", zero=True),
        learns=tune is not None,
        criterion="likelihood" if isinstance(tune, str) and tune == "likelihood" else "evidence",
        seed=seed_of(estimator.random_state),
        resources=resources_of(estimator),
    )


def check_stored(estimator: Any) -> None:
    """Check the parameters that a file gave: as for a fit, but a device need not be there, and what is kept as text is.

    Splitters, generators and the like are kept as text; they matter to another fit, which refuses them.
    """
    one_of(estimator.fit_intercept, "fit_intercept", (True, False))
    family_named(estimator.family)
    _kernel(estimator.kernel)
    _text(estimator.features, "features")
    _frequencies(estimator.n_frequencies)
    positive(estimator.tolerance, "tolerance")
    if estimator.noise_variance is not None:
        positive(estimator.noise_variance, "noise_variance", zero=True)
    if estimator.tune is not None:
        _text(estimator.tune, "tune")
    if not isinstance(estimator.random_state, str):
        seed_of(estimator.random_state)
    _threads(estimator.n_jobs)
    one_of(estimator.device, "device", DEVICES)
    memory_bytes(estimator.memory_limit)
    one_of(estimator.dtype, "dtype", PRECISIONS)
    if not isinstance(estimator.verbose, int | float):
        raise InputError(f"verbose={estimator.verbose!r}; needed is 0, or 1 for progress.")
    for name in ("coords", "covariates", "crs", "formula", "trials", "exposure", "offset"):
        _names(getattr(estimator, name, None), name)


def _text(value: Any, name: str) -> None:
    if not isinstance(value, str):
        raise InputError(f"{name}={value!r}; needed is text.")


def _names(value: Any, name: str) -> None:
    """Refuse what is neither a name nor a position, nor a list of them."""
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    for one in listed if isinstance(listed, list | tuple) else [listed]:
        if one is not None and not isinstance(one, str | int | dict):
            raise InputError(f"{name}={value!r}; needed is a name or a position, or a list of them.")


def resources_of(estimator: Any) -> Resources:
    """Threads, device, memory and precision that an estimator may use; what this run was given goes first."""
    given = {"n_jobs": estimator.n_jobs, "device": estimator.device, **of_this_run()}
    return Resources(
        n_jobs=_threads(given["n_jobs"]),
        device=_device(given["device"]),
        memory_limit=memory_bytes(estimator.memory_limit),
        dtype=one_of(estimator.dtype, "dtype", PRECISIONS),
    )


def _device(name: Any) -> str:
    """A device by name; one that is asked for and is not there is refused before any work."""
    one_of(name, "device", DEVICES)
    if name == "cuda":
        named_device(name)
    return str(name)


def is_count(number: Any) -> bool:
    """Whether a value is a whole number >= 1, of those that a double can hold."""
    if not isinstance(number, numbers.Real) or isinstance(number, bool):
        return False
    return bool(number >= 1) and bool(number <= 2**53) and float(number).is_integer()  # type: ignore[operator]


def _kernel(kernel: Any) -> Kernel | None:
    if isinstance(kernel, str):
        return kernel_named(kernel)
    if isinstance(kernel, Kernel):
        return _hashable(kernel)
    if kernel is None:
        return kernel
    raise KernelError(
        f"kernel={kernel!r} is not a kernel; take one from bochner.kernels, e.g. Matern(nu=1.5), or a name: 'matern32'."
    )


def _hashable(kernel: Kernel) -> Kernel:
    """The kernel, if what was found of it can be found again by it."""
    try:
        hash(kernel)
    except TypeError as error:
        raise KernelError(
            f"kernel={type(kernel).__name__} cannot be hashed ({error}): it must be a value that never changes. Write "
            f"it as a @dataclass(frozen=True) whose fields are numbers, strings, tuples or kernels."
        ) from None
    return kernel


def _threads(n_jobs: Any) -> int | None:
    if n_jobs is None or is_count(n_jobs):
        return None if n_jobs is None else int(n_jobs)
    if isinstance(n_jobs, numbers.Integral) and n_jobs == -1:
        return None
    raise InputError(f"n_jobs={n_jobs!r}; needed is a number of threads >= 1, or None (or -1) for all cores.")


def _frequencies(number: Any) -> int | str:
    if isinstance(number, str) and number == "auto":
        return number
    if not is_count(number):
        raise InputError(f"n_frequencies={number!r}; needed is 'auto' or an integer >= 1.")
    return int(number)


def _tune(tune: Any) -> Any:
    if tune is None or (hasattr(tune, "split") and not isinstance(tune, str)):
        return tune
    return one_of(tune, "tune", CRITERIA, "None, or a scikit-learn splitter")

"""Compiled kriging of small systems: kernels made ready for loops, and whether there are such loops.

The loops (`compiled_loops`) are Numba's. Without Numba, for a kernel without a radial form, and for few systems, NumPy
does the same work; ``BOCHNER_COMPILED=0`` in the environment leaves all to NumPy.
"""

from __future__ import annotations

import inspect
import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import FallbackWarning, warn
from bochner.kernels.radial_form import METRIC, SHAPE, VARIANCE, RadialForm
from bochner.kernels.radial_table import RadialTable, radial_table
from bochner.neighbours import limits
from bochner.resources import in_threads

logger = logging.getLogger("bochner")
COMPILING = "compiling: loops over neighbours, once on this machine (10 to 20 s; later runs find them)"

LagRange = Callable[[], tuple[float, float]]
_KINDS = {VARIANCE: 0, METRIC: 1, SHAPE: 2}


class CompiledKernel(NamedTuple):
    """A kernel as compiled loops take it."""

    form: tuple[Any, ...]
    at_zero: FloatArray  # variance, and its derivatives in theta

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Covariances (n, m) of places x (n, dim) with places z (m, dim)."""
        out = np.empty(len(x) * len(z))
        loops().cross_covariance(self.form, _plain(x), _plain(z), out)
        return out.reshape(len(x), len(z))


def compiled_kernel(kernel: Any, dim: int, n_systems: int, lag_range: LagRange | None = None) -> CompiledKernel | None:
    """A kernel for compiled loops over so many systems; None, where NumPy is to do it.

    Parameters
    ----------
    kernel : Covariance
        One with a `radial_form`, or any other, which has none.
    dim, n_systems : int
        Of places, and how many small systems are to be solved.
    lag_range : function, optional
        Shortest (but zero) and longest distance among the places, where the kernel changes from call to call: functions
        that are dear are tabulated between them only.
    """
    if n_systems < limits.COMPILED_FROM or not has_compiler():
        return None
    return tabulated_kernel(kernel, dim, lag_range)


def tabulated_kernel(kernel: Any, dim: int, lag_range: LagRange | None = None) -> CompiledKernel | None:
    """A kernel as tables; None if it has no radial form, or one that no table holds."""
    radial_form = getattr(kernel, "radial_form", None)
    form: RadialForm | None = None if radial_form is None else radial_form(dim)
    return None if form is None else _ready(form, len(kernel.theta), lag_range)


@lru_cache(maxsize=128)
def values_alone(kernel: Any, dim: int) -> CompiledKernel | None:
    """The same, kept, of a kernel whose derivatives are not asked for: tables of fewer functions."""
    form = kernel.radial_form(dim)
    if form is None:
        return None
    factors = tuple(tuple(replace(f, function=_without_slopes(f.function)) for f in term) for term in form.factors)
    return _ready(replace(form, factors=factors), len(kernel.theta), None)


def _without_slopes(function: Any) -> Any:
    """A function of the scaled distance, without derivatives in its shape that are dear."""
    return function.replace(learn_nu=False) if getattr(function, "learn_nu", False) else function


def has_compiler() -> bool:
    """Whether compiled loops may be used; Numba is imported to know."""
    return os.environ.get("BOCHNER_COMPILED", "1") != "0" and _imported() is not None


def loops() -> Any:
    """The compiled loops."""
    return _imported()


@cache
def cell_loops() -> Any:
    """The compiled loops over systems of some fifty rows and more."""
    return _loaded("cell_loops")


@cache
def remainder_loops() -> Any:
    """The compiled loops over near pairs."""
    return _loaded("remainder_loops")


@cache
def place_loops() -> Any:
    """The compiled loops over places: their cells and sectors."""
    return _loaded("place_loops")


@cache
def tree_loops() -> Any:
    """The compiled loops over a tree of places."""
    return _loaded("tree_loops")


@cache
def mesh_loops() -> Any:
    """The compiled loops between places and a grid."""
    return _loaded("mesh_loops")


def wave_loops(n_waves: int) -> Any:
    """The compiled loops over waves; None for so few at once that loading them takes longer than NumPy does."""
    return _wave_loops() if n_waves >= limits.WAVES_AT_ONCE and has_compiler() else None


@cache
def _wave_loops() -> Any:
    return _loaded("wave_loops")


@cache
def _imported() -> ModuleType | None:
    if find_spec("numba") is None:
        return None
    try:
        with _without_impostor("coverage"):
            return _loaded("compiled_loops")
    except Exception as error:  # whatever is wrong with Numba, there is NumPy
        warn(f"Numba cannot be imported ({error}); neighbours are done by NumPy, slower.", FallbackWarning)
        return None


def _loaded(name: str) -> ModuleType:
    """A module of loops; compiled ones are kept beside the package, in the user's cache, or in a folder of our own."""
    module = f"bochner.neighbours.{name}"
    try:
        loaded = import_module(module)
    except RuntimeError as error:
        if "locator" not in str(error):
            raise
        import numba

        config: Any = numba.config
        config.CACHE_DIR = _own_folder()  # neither folder can be written
        loaded = import_module(module)
    _forget_outdated(loaded)
    if not _kept(loaded):
        _tell()
    return loaded


@cache
def _tell() -> None:
    """Once, of the first run: on a terminal or in a notebook somebody waits."""
    seen = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    logger.log(logging.WARNING if seen else logging.INFO, COMPILING)


def _kept(module: ModuleType) -> bool:
    """Whether loops of a module were compiled before, with this Python and for this processor or another."""
    return any(any(folder.glob(f"{_short(module)}.*.nbi")) for folder in _folders(module))


def _forget_outdated(module: ModuleType) -> None:
    """Leave no loop on disk that other sources were compiled to.

    Numba asks whether the file that holds a loop has changed, and not for what that imports: constants and inner loops.
    """
    for folder in _folders(module):
        told = folder / f"{_short(module)}.sources"
        try:
            stamp = _sources()
            if told.exists() and told.read_text() == stamp:
                continue
            for file in folder.glob(f"{_short(module)}.*.nb[ic]"):
                file.unlink(missing_ok=True)
            own = told.with_name(f"{told.name}.{os.getpid()}")
            own.write_text(stamp)
            own.replace(told)
        except OSError:  # a folder that only others can write, or sources in an archive
            logger.debug("loops in %s may be those of another version", folder)


@cache
def _sources() -> str:
    """What the loops are compiled from, in short."""
    loops_here = sorted(Path(__file__).parent.glob("*_loops.py"))
    files = [*loops_here, Path(limits.__file__), Path(inspect.getfile(RadialTable))]
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _folders(module: ModuleType) -> set[Path]:
    """Where the compiled loops of a module are kept."""
    paths = {loop.stats.cache_path for loop in vars(module).values() if hasattr(loop, "stats")}
    return {Path(path) for path in paths if path}


def _short(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _own_folder() -> str:
    """A folder that nobody else can write; found again by the next process, where there are users."""
    user = getattr(os, "getuid", lambda: None)()
    folder = Path(tempfile.gettempdir()) / f"bochner-loops-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if user is not None and status.st_uid == user and stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077:
            return str(folder)
    except OSError:
        pass
    return tempfile.mkdtemp(prefix="bochner-loops-")


@contextmanager
def _without_impostor(name: str) -> Iterator[None]:
    """Within: a file of this name beside the user's script is not taken for the package that Numba looks for."""
    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.submodule_search_locations is not None:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


def in_runs(work: Callable[[slice], Any], n: int) -> list[Any]:
    """`work` on runs of n systems, in order; the runs are the same whatever the threads, and so are sums over them."""
    return list(in_threads(work, _slices(n, run_size(n, limits.COMPILED_RUN))))


def run_size(n: int, most: int) -> int:
    """How many of n a thread takes at a time: at most so many, and of few so few that all threads have some.

    A multiple of the systems that are solved side by side: a group that is not full takes several times as long.
    """
    return min(max(n // limits.LEAST_RUNS // limits.MOST_LANES, 1) * limits.MOST_LANES, most)


def _slices(n: int, size: int) -> Iterable[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _ready(form: RadialForm, n_theta: int, lag_range: LagRange | None) -> CompiledKernel | None:
    """A form as arrays; None if one of its functions has a kink that no table holds."""
    factors = [factor for term in form.factors for factor in term]
    tables = [_table_of(factor.function, factor.metric, lag_range) for factor in factors]
    if not all(table.error <= limits.TABLE_ERROR for table in tables):
        return None
    at_zero = np.zeros(1 + n_theta)
    at_zero[0] = sum(form.variances)
    for slope in form.slopes:
        if slope.kind == VARIANCE:
            at_zero[1 + slope.theta] += form.variances[slope.term]
    arrays = (
        np.asarray(form.variances, dtype=float),
        np.cumsum([0, *(len(term) for term in form.factors)]),
        np.stack([_plain(factor.metric) for factor in factors]),
        *_joined(tables),
        np.array([(s.theta, s.term, s.factor, _KINDS[s.kind] + s.shape) for s in form.slopes], dtype=np.int64),
        np.stack([_plain(s.change) for s in form.slopes]),
    )
    return CompiledKernel(arrays, at_zero)


def _table_of(function: Any, metric: FloatArray, lag_range: LagRange | None) -> RadialTable:
    if lag_range is None or not function.shapes:
        return radial_table(function)
    stretches, (shortest, longest) = np.linalg.eigvalsh(metric), lag_range()
    lowest, highest = stretches[0] * shortest**2, stretches[-1] * longest**2
    # a metric that does not see all axes has lags of any length, down to zero
    return radial_table(function, lowest, highest) if lowest > 0 else radial_table(function)


def _joined(tables: list[RadialTable]) -> tuple[IntArray, FloatArray]:
    """Where each table begins, by its first piece, its place and its last piece; all of them as one."""
    unique = list({id(table): table for table in tables}.values())
    if len(unique) == 1:
        (one,) = unique
        return np.tile([one.first, 0, len(one.coefficients) - 1], (len(tables), 1)), one.coefficients
    n_functions = max(table.coefficients.shape[1] for table in unique)
    starts = np.cumsum([0, *(len(table.coefficients) for table in unique)])
    whole = np.zeros((starts[-1], n_functions, unique[0].coefficients.shape[2]))
    where = {}
    for table, start in zip(unique, starts, strict=False):
        n, found = table.coefficients.shape[:2]
        whole[start : start + n, :found] = table.coefficients
        where[id(table)] = (table.first, start, n - 1)
    return np.array([where[id(table)] for table in tables], dtype=np.int64), whole


def _plain(array: FloatArray) -> FloatArray:
    return np.ascontiguousarray(array, dtype=np.float64)

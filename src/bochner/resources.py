"""Resources: threads, memory, device and precision that a computation may use.

One value carries them from the estimator to every loop: `Resources.in_use` puts it in force for a block of code, and
whatever opens a pool, plans a transform or cuts rows into blocks asks `n_threads()` and `block_bytes()`. Each thread
of the caller has its own (a context variable), so two fits side by side do not disturb each other.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ContextDecorator, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from threading import Lock, get_ident, local
from time import monotonic, process_time
from types import MappingProxyType
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from bochner.exceptions import InputError

SMALL_MATRIX = 600  # rows up to which a matrix is faster on one thread, and far faster on a busy machine
BLOCK_BYTES = 64 * 2**20  # of a block of rows and its temporaries, where memory is not limited
BLOCK_SHARE = 16  # a block takes at most this fraction of a limit: several are alive at once
SMALLEST_BLOCK = 2**19
FREE_SHARE = 0.8  # of the machine's free memory that a fit may plan with, where it is not limited
SEARCHES_PER_THREAD = 500  # of neighbours in a tree: 10 ms
THREADS_PER_TASK = 4  # below, two tasks are done one after the other, each on all threads
MAX_POOL = 8  # threads of a pool of small systems: beyond, Python's part of the work is in the way
CROWD_SECONDS = (0.2, 2.0)  # over which it is seen what other programs use: the clock counts hundredths; older is stale
SPARED = 0.35  # of a core, that others may use before one thread less is taken

DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("auto", "float32", "float64")
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}

_WITH_THREADS = ("numpy", "scipy.linalg", "scipy.optimize", "sklearn", "numba", "torch", "ducc0", "finufft", "jax")

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Resources:
    """What a computation may use.

    Attributes
    ----------
    n_jobs : int or None
        Threads; None: one per core.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    memory_limit : int or None
        Bytes above what the process holds before the work; None: no limit.
    dtype : str
        Precision of waves: ``"auto"``, ``"float32"`` or ``"float64"``.
    """

    n_jobs: int | None = None
    device: str = "auto"
    memory_limit: int | None = None
    dtype: str = "auto"

    @contextmanager
    def in_use(self, size: int | None = None) -> Iterator[None]:
        """Within: these resources are in force, in BLAS too; `size` is that of the matrices to come, if it is known."""
        token = _CURRENT.set(self)
        try:
            with blas_threads(size):
                yield
        finally:
            _CURRENT.reset(token)

    def fits(self, n_bytes: float) -> bool:
        """Whether so many bytes stay within the limit."""
        return self.memory_limit is None or n_bytes <= self.memory_limit

    @property
    def room(self) -> float:
        """Bytes that may be taken: the limit, or most of what the machine has free (infinite where it is not known)."""
        if self.memory_limit is not None:
            return self.memory_limit
        return FREE_SHARE * free_memory()


def let_this_run(**given: Any) -> None:
    """From here on, in this context: `n_jobs` or `device` count before those that an estimator was made or saved with.

    They are the machine's and the moment's, so they are no parameters of a model and are written nowhere.
    """
    _OF_THIS_RUN.set(MappingProxyType({**of_this_run(), **given}))
    _CURRENT.set(replace(current(), **given))  # where no estimator is asked


def of_this_run() -> Mapping[str, Any]:
    """What this run was given, by the names of `Resources`."""
    return _OF_THIS_RUN.get()


_OF_THIS_RUN: ContextVar[Mapping[str, Any]] = ContextVar("of this run", default=MappingProxyType({}))
_CURRENT: ContextVar[Resources] = ContextVar("resources", default=Resources())  # noqa: B039 - the value is frozen


def current() -> Resources:
    """Resources in force here."""
    return _CURRENT.get()


def n_threads() -> int:
    """Threads that may compute here; in a thread that is one of several, itself."""
    if getattr(_WORKER, "busy", False):
        return 1
    n_jobs = current().n_jobs
    return n_cores() if n_jobs is None or n_jobs == -1 else n_jobs


def n_searchers(n: int) -> int:
    """Threads for so many searches in a tree: SciPy starts them anew each time, which takes as long as some hundred."""
    return max(1, min(n_threads(), n // SEARCHES_PER_THREAD))


def n_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory() -> float:
    """Bytes of the machine that nobody uses, caches of files included; infinite where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as told:
            free = next(line.split()[1] for line in told if line.startswith("MemAvailable:"))
        return 1024.0 * float(free)
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES") / 2
    except (AttributeError, OSError, ValueError):
        return float("inf")


def block_bytes() -> int:
    """Bytes that a block of rows and its temporaries may take here."""
    limit = current().memory_limit
    return BLOCK_BYTES if limit is None else max(SMALLEST_BLOCK, min(BLOCK_BYTES, limit // BLOCK_SHARE))


@contextmanager
def blas_threads(size: int | None = None) -> Iterator[None]:
    """Within: BLAS takes one thread for matrices of a small `size`, else as many as may compute here."""
    limit = 1 if size is not None and size <= SMALL_MATRIX else current().n_jobs
    if limit is not None and limit > 1:
        limit = min(limit, n_cores())  # more would spin, and wait for each other
    if limit is None or limit == -1:
        with _BLAS.limited(None):
            yield
        return
    # OpenMP keeps a number for each thread, BLAS one for all of them
    with _libraries().select(user_api="openmp").limit(limits=limit), _BLAS.limited(limit):
        yield


def small_systems() -> ContextDecorator:
    """Within, or of a function: work on many small systems. Threads of our own share them; those of BLAS would spin."""
    return blas_threads(1)


def seconds_used() -> float | None:
    """Seconds that the cores this process may run on have worked so far, for anybody; None where nobody tells."""
    try:
        own = os.sched_getaffinity(0)
        with open("/proc/stat", encoding="ascii") as told:
            cores = [line.split() for line in told if line.startswith("cpu") and line[3].isdigit()]
        ticks = [sum(int(x) for x in core[1:4] + core[6:9]) for core in cores if int(core[0][3:]) in own]
        return sum(ticks) / os.sysconf("SC_CLK_TCK")  # all but what they were idle, or waited for a disk
    except (AttributeError, OSError, ValueError):
        return None


class Crowd:
    """How many cores other programs use.

    Threads of BLAS wait for each other in a loop: where one of two must wait for a core, both take several times as
    long as one alone would, and two programs that do so hold each other up for ever.

    Parameters
    ----------
    used, own, clock : callable
        Seconds that all programs, and this one, have computed so far, and those of the clock.
    """

    def __init__(
        self,
        used: Callable[[], float | None] = seconds_used,
        own: Callable[[], float] = process_time,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._used, self._own, self._clock = used, own, clock
        self._last, self._before, self._cores = -float("inf"), 0.0, 0.0

    def __call__(self) -> float:
        now = self._clock()
        passed = now - self._last
        if passed >= CROWD_SECONDS[0]:
            used = self._used()
            others = 0.0 if used is None else used - self._own()
            self._cores = max(0.0, others - self._before) / passed if passed <= CROWD_SECONDS[1] else 0.0
            self._last, self._before = now, others
        return self._cores


others_use = Crowd()


class _SharedLimits:
    """Threads of BLAS, one number for the process: the least that those who compute now ask for, each by its last word.

    When nobody asks any more, every library has again what it had, in whatever order they came and went. Where the
    number was left open, it is as many as other programs leave; one that was given stands, and with it the last bits.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked: dict[int, list[int | None]] = {}  # of each thread, the innermost last; None: as many as there were
        self._before: dict[str, tuple[Any, int]] = {}  # libraries by their file, and the threads they had
        self._left: int | None = None  # that others leave us; None: all

    @contextmanager
    def limited(self, n: int | None) -> Iterator[None]:
        """Within: at most n threads, or as many as there were."""
        me = get_ident()
        with self._lock:
            self._asked[me] = [*self._asked.get(me, []), n]
            self._put_in_force()
        try:
            yield
        finally:
            with self._lock:
                mine = self._asked.pop(me, [])[:-1]  # nothing, in a child that was forked within by another thread
                if mine:
                    self._asked[me] = mine
                self._put_in_force()

    def look(self) -> None:
        """See whether the machine is as busy as it was; before each long product, which costs nothing beside it."""
        if self._spared() != self._left:
            with self._lock:
                self._put_in_force()

    def forked(self) -> None:
        """In a child: other threads of the parent do not ask there."""
        self._lock, me = Lock(), get_ident()
        self._asked = {me: self._asked[me]} if me in self._asked else {}

    def _spared(self) -> int | None:
        """Threads that others leave us, where somebody here has left open how many are his; None: all."""
        if not any(asked[-1] is None for asked in list(self._asked.values())):
            return None
        left = int(n_cores() - others_use() + SPARED)
        return None if left >= n_cores() else max(1, left)

    def _put_in_force(self) -> None:
        self._left = self._spared()
        wanted = [self._left, *(asked[-1] for asked in self._asked.values())]
        least = min((n for n in wanted if n is not None), default=None)
        if least is None:
            for library, n in self._before.values():
                _set_threads(library, n)
            self._before.clear()
            return
        for library in _libraries().select(user_api="blas").lib_controllers:
            _, most = self._before.setdefault(library.filepath, (library, library.num_threads))
            _set_threads(library, least if self._left is None else min(least, most))


def _set_threads(library: Any, n: int) -> None:
    """From whichever thread: some versions of threadpoolctl let one alone until they are told that they need not."""
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(n)
    release(force=True)


_BLAS = _SharedLimits()
look_around = _BLAS.look
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BLAS.forked)


def _libraries() -> ThreadpoolController:
    return _controller(tuple(name in sys.modules for name in _WITH_THREADS))


@lru_cache(maxsize=1)
def _controller(loaded: tuple[bool, ...]) -> ThreadpoolController:
    """Libraries with threads of their own; sought again, for milliseconds, when one may have been loaded."""
    return ThreadpoolController()


def in_threads(work: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
    """`work` on every part, in order; threads share the parts, where there are threads and parts enough.

    Each takes the next part when it has done one, this thread among them: short parts are worth it, too.
    """
    parts = list(parts)
    n = min(len(parts), n_threads(), MAX_POOL)
    if n < 2 or getattr(_WORKER, "busy", False):  # a worker that waits for others of its pool may wait for ever
        yield from map(work, parts)
        return
    done: dict[int, R] = {}
    failed: list[int] = []
    turn = count()

    def take() -> None:
        for i in turn:
            if i >= len(parts) or failed:
                return
            try:
                done[i] = work(parts[i])
            except BaseException:
                failed.append(i)  # the others end with what they are at
                raise

    with _pool(n - 1) as pool:
        # each in a context of its own, so that the resources in force are in force there, too
        others = [pool.submit(copy_context().run, take) for _ in range(n - 1)]
        try:
            _WORKER.busy = True
            take()
        finally:
            _WORKER.busy = False
            wait(others)
        for other in others:
            other.result()
    yield from (done.pop(i) for i in range(len(parts)))


def side_by_side(first: Callable[[], T], second: Callable[[], R]) -> tuple[T, R]:
    """What two tasks return; done at the same time, each on half of the threads, where there are many.

    Much of a fit of many rows is one thread's work between parts that all threads share: two such tasks fill the gaps
    of each other.
    """
    if n_threads() < 2 * THREADS_PER_TASK or getattr(_WORKER, "busy", False):
        return first(), second()
    half = replace(current(), n_jobs=n_threads() // 2)

    def halved(task: Callable[[], Any]) -> Any:
        _CURRENT.set(half)  # in a context of its own
        return task()

    with ThreadPoolExecutor(1, "bochner") as pool:
        other = pool.submit(copy_context().run, halved, second)
        return copy_context().run(halved, first), other.result()


@contextmanager
def _pool(n: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of n threads, that of before if nobody uses it: starting them takes as long as a small piece of work."""
    kept, key = _POOLS.setdefault(os.getpid(), {}), n  # threads do not survive a fork
    pool = kept.pop(key, None) or ThreadPoolExecutor(n, "bochner", _set_busy)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    kept[key] = pool


def _set_busy() -> None:
    _WORKER.busy = True


_POOLS: dict[int, dict[int, ThreadPoolExecutor]] = {}
_WORKER = local()


def as_threads(n_jobs: int | None) -> int:
    """A number of threads: as given, or as may compute here."""
    if n_jobs is None or n_jobs == -1:
        return n_threads()
    if n_jobs < 1:
        raise InputError(f"n_jobs is {n_jobs}; needed is a number of threads >= 1, or None for all cores.")
    return int(n_jobs)


def memory_bytes(limit: Any) -> int | None:
    """Bytes from a number or from text like "2GB"."""
    if limit is None:
        return None
    number, unit = limit, ""
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]*)\s*", limit)
        if not match or match[2].upper() not in UNITS:
            raise InputError(f"memory_limit={limit!r}; needed is a number of bytes, or text like '2GB'.")
        number, unit = match[1], match[2].upper()
    try:
        n_bytes = float(number)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"memory_limit is {number!r}; needed is a number.") from None
    if not 0 < n_bytes < float("inf"):
        raise InputError(f"memory_limit is {number!r}; needed is a finite number > 0.")
    return int(n_bytes * UNITS[unit])


def as_size(n_bytes: float) -> str:
    """Bytes for people."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.1f} {name}"
    return f"{n_bytes:.0f} bytes"

"""Resources: threads, memory, device and precision that a computation may use.

One value carries them from the estimator to every loop: `Resources.in_use` puts it in force for a block of code, and
whatever opens a pool, plans a transform or cuts rows into blocks asks `n_threads()` and `block_bytes()`. Each thread
of the caller has its own (a context variable), so two fits side by side do not disturb each other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ContextDecorator, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from threading import Lock, get_ident, local
from time import monotonic
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from bochner.exceptions import InputError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SMALL_MATRIX = 600  # rows up to which a matrix is faster on one thread, and far faster on a busy machine
BLOCK_BYTES = 64 * 2**20  # of a block of rows and its temporaries, where memory is not limited
BLOCK_SHARE = 16  # a block takes at most this fraction of a limit: several are alive at once
SMALLEST_BLOCK = 2**19
FREE_SHARE = 0.8  # of the machine's free memory that a fit may plan with, where it is not limited
SEARCHES_PER_THREAD = 500  # of neighbours in a tree: 10 ms
THREADS_PER_TASK = 4  # below, two tasks are done one after the other, each on all threads
MAX_POOL = 8  # threads of a pool of small systems: beyond, Python's part of the work is in the way
CROWDED = 50  # times a second that a core is taken from each of our threads: 15 on a quiet machine, 90 on a busy one
CROWD_SECONDS = 0.1  # over which that is counted
CROWD_WAIT = (1.0, 60.0)  # seconds until more threads are tried again; twice as long each time it was in vain, up to

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


def cores_taken() -> int:
    """How often the system has taken a core from this process to give it to another; 0 where it does not tell."""
    return 0 if resource is None else int(resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw)


class Crowd:
    """Whether other programs want the cores, too, told by how often one is taken from us.

    Threads of BLAS wait for each other in a loop: where one of two must wait for a core, both take several times as
    long as one alone would. So a busy machine gets one, and more are tried from time to time.

    Parameters
    ----------
    taken, clock : callable
        How often a core was taken so far, and the seconds.
    """

    def __init__(self, taken: Callable[[], int] = cores_taken, clock: Callable[[], float] = monotonic) -> None:
        self._taken, self._clock = taken, clock
        self._last, self._count = clock(), taken()
        self._until, self._wait = -float("inf"), CROWD_WAIT[0] / 2

    def __call__(self) -> bool:
        now = self._clock()
        if now - self._last >= CROWD_SECONDS:
            count, alone = self._taken(), self._last < self._until
            if (count - self._count) / (now - self._last) > CROWDED * (1 if alone else max(2, n_threads())):
                self._wait = self._wait if alone else min(2 * self._wait, CROWD_WAIT[1])
                self._until = now + self._wait
            elif now > self._until + self._wait:  # quiet for as long: the next crowd is another one
                self._wait = CROWD_WAIT[0] / 2
            self._last, self._count = now, count
        return now < self._until


crowded = Crowd()


class _SharedLimits:
    """Threads of BLAS, one number for the process: the least that those who compute now ask for, each by its last word.

    When nobody asks any more, every library has again what it had, in whatever order they came and went. Where the
    number was left open it is one while others want the cores; one that was given stands, and with it the last bits.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked: dict[int, list[int | None]] = {}  # of each thread, the innermost last; None: as many as there were
        self._before: dict[str, tuple[Any, int]] = {}  # libraries by their file, and the threads they had
        self._alone = False

    @contextmanager
    def limited(self, n: int | None) -> Iterator[None]:
        """Within: at most n threads, or as many as there were."""
        me = get_ident()
        with self._lock:
            self._asked.setdefault(me, []).append(n)
            self._put_in_force()
        try:
            yield
        finally:
            with self._lock:
                mine = self._asked.pop(me, [])[:-1]  # nothing, in a child that was forked within
                if mine:
                    self._asked[me] = mine
                self._put_in_force()

    def look(self) -> None:
        """See whether the machine is as busy as it was; before each long product, which costs nothing beside it."""
        if self._crowded() != self._alone:
            with self._lock:
                self._put_in_force()

    def _crowded(self) -> bool:
        """Whether others want the cores and somebody here leaves open how many threads are his."""
        return any(asked[-1] is None for asked in list(self._asked.values())) and crowded()

    def _put_in_force(self) -> None:
        least = min((asked[-1] for asked in self._asked.values() if asked[-1] is not None), default=None)
        self._alone = self._crowded()
        least = 1 if self._alone else least
        if least is None:
            for library, n in self._before.values():
                library.set_num_threads(n)
            self._before.clear()
            return
        for library in _libraries().select(user_api="blas").lib_controllers:
            self._before.setdefault(library.filepath, (library, library.num_threads))
            library.set_num_threads(least)


_BLAS = _SharedLimits()
look_around = _BLAS.look
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BLAS.__init__)  # type: ignore[misc]  # threads of the parent do not ask there


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


def as_size(n_bytes: float) -> str:
    """Bytes for people."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.1f} {name}"
    return f"{n_bytes:.0f} bytes"

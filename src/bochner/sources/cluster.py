"""Cluster: the parts of a pass on the workers of Dask, added in a tree; only their sum comes back."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from operator import add
from typing import Any

from bochner.exceptions import BochnerError, InputError, MissingExtraError
from bochner.resources import Resources
from bochner.sources import limits
from bochner.sources.base import Part, Reading, Source
from bochner.sources.passes import Keep, Local, Work


@dataclass(frozen=True)
class Cluster:
    """Workers of a `distributed.Client`. A worker that dies costs its parts a retry."""

    client: Any

    def total(
        self,
        source: Source,
        names: tuple[str, ...],
        work: Work,
        *,
        start: int = 0,
        begun: Any = None,
        keep: Keep | None = None,
    ) -> Any:
        """Sum of `work` over the parts from `start` on; parts are read by the workers.

        Where progress is noted, parts go out in rounds, two at a time: what is lost with this process are those.
        """
        if not source.divisible:
            return Local().total(source, names, work, start=start, begun=begun, keep=keep)
        parts = source.parts
        if start >= len(parts):
            if begun is None:
                raise InputError(f"{source.label} has no rows; check how it was written.")
            return begun
        shared = self.client.scatter(work, broadcast=True, hash=False)
        step = len(parts) if keep is None else limits.ROUND_PARTS * self.n_threads
        total, running = begun, deque[tuple[int, Any]]()
        for first in range(start, len(parts), step):
            last = min(first + step, len(parts))
            running.append((last, self._tree(shared, parts, names, first, last)))
            if len(running) > 1:  # the next round is on its way while one is noted
                total = _noted(running.popleft(), total, keep)
        while running:
            total = _noted(running.popleft(), total, keep)
        return total

    @property
    def n_threads(self) -> int:
        """Parts that are computed at once."""
        return max(sum(self.client.nthreads().values()), 1)

    def _tree(self, shared: Any, parts: Sequence[Part], names: tuple[str, ...], first: int, last: int) -> Any:
        """The sum of some parts, on its way."""
        options = {"pure": False, "retries": limits.TASK_RETRIES}
        level = [self.client.submit(_of_part, shared, parts[i], names, i, **options) for i in range(first, last)]
        while len(level) > 1:
            groups = [level[i : i + limits.TREE_FAN] for i in range(0, len(level), limits.TREE_FAN)]
            level = [self.client.submit(_sum, group, **options) for group in groups]
        return level[0]


def _noted(done: tuple[int, Any], total: Any, keep: Keep | None) -> Any:
    """The sum with that of a round, noted."""
    number, future = done
    found = future.result()
    if isinstance(found, Refusal):
        raise found.error
    total = found if total is None else total + found
    if keep is not None:
        keep(number, total)
    return total


@contextmanager
def cluster_at(address: Any) -> Iterator[Cluster]:
    """Cluster of an address, of a client of one's own, or of this machine's cores (``"local"``)."""
    try:
        dask: Any = import_module("distributed")
    except ImportError as error:
        raise MissingExtraError("Dask is not installed; pip install 'bochner[dask]'") from error
    if hasattr(address, "submit"):
        yield Cluster(address)
        return
    if not isinstance(address, str):
        raise InputError(f"dask={address!r}; needed is 'local', the address of a scheduler, or a distributed.Client.")
    if address == "local":
        with (
            # one worker per core; errors come back with the work, and how workers end is nobody's concern
            dask.LocalCluster(threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL) as local,
            dask.Client(local) as client,
        ):
            yield Cluster(client)
        return
    try:
        client = dask.Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"no Dask scheduler answers at {address} ({error}); check the address.") from error
    with client:
        yield Cluster(client)


def current_cluster() -> Cluster | None:
    """Cluster of the client that is in use in this session, if there is one."""
    try:
        from distributed import get_client

        return Cluster(get_client())
    except (ImportError, ValueError):
        return None


def _of_part(work: Work, part: Part, names: tuple[str, ...], number: int) -> Any:
    try:
        with Resources(n_jobs=1).in_use():  # workers are as many as cores
            return work(Reading(number, part.where, part.read(names), part))
    except BochnerError as error:
        return Refusal(error)


def _sum(parts: Sequence[Any]) -> Any:
    refused = next((part for part in parts if isinstance(part, Refusal)), None)
    return reduce(add, parts) if refused is None else refused


@dataclass(frozen=True)
class Refusal:
    """An error of the user's data, on its way back: trying again would not help."""

    error: BochnerError

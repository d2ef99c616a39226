"""Resources arrive: threads are bounded, memory is honoured, the dtype asked for is the one used or it is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

from bochner import SpatialRegressor, resources
from bochner.estimators.constructor import resources_of
from bochner.exceptions import InputError, MemoryLimitError
from bochner.kernels import Matern
from bochner.resources import (
    BLOCK_BYTES,
    Crowd,
    Resources,
    as_threads,
    block_bytes,
    current,
    in_threads,
    let_this_run,
    memory_bytes,
    n_cores,
    n_threads,
    side_by_side,
)
from bochner.solvers import cholesky_factor


def test_what_this_run_was_given_goes_before_an_estimator():
    """And ends with the context that it was given in."""

    def given():
        let_this_run(n_jobs=1, device="cpu")
        let_this_run(n_jobs=2)
        return resources_of(SpatialRegressor(n_jobs=3, device="cuda", dtype="float32")), current()

    told, here = copy_context().run(given)
    assert told == Resources(n_jobs=2, device="cpu", dtype="float32")
    assert here == Resources(n_jobs=2, device="cpu")
    assert resources_of(SpatialRegressor(n_jobs=3)) == Resources(n_jobs=3) and current() == Resources()


@pytest.mark.parametrize("limit", ["2parsec", "1.2.3GB", "0", -1, "GB", float("inf")])
def test_an_amount_of_memory_that_is_none_is_refused(limit):
    with pytest.raises(InputError, match="memory_limit"):
        memory_bytes(limit)


def test_threads_are_those_in_force():
    assert n_threads() == n_cores()
    with Resources(n_jobs=1).in_use():
        assert n_threads() == 1 and as_threads(None) == 1
        with Resources(n_jobs=3).in_use():
            assert n_threads() == 3
        assert n_threads() == 1
    assert n_threads() == n_cores()


def test_blas_keeps_to_the_threads_in_force():
    with Resources(n_jobs=1).in_use():
        assert {pool["num_threads"] for pool in threadpoolctl.threadpool_info()} == {1}


def test_blas_takes_no_more_threads_than_there_are_cores():
    with Resources(n_jobs=64).in_use():
        assert n_threads() == 64
        pools = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
        assert pools and max(pools) <= n_cores()


def blas_pools():
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]


def test_blas_is_as_before_when_the_last_of_several_has_ended(monkeypatch):
    monkeypatch.setattr(resources, "others_use", lambda: 0.0)
    threads = blas_pools
    entered, may_end = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)]

    def computes(i):
        with Resources(n_jobs=1 + i).in_use():
            entered[i].set()
            may_end[i].wait(60)

    before, workers = threads(), [threading.Thread(target=computes, args=(i,)) for i in range(2)]
    try:
        for worker, event in zip(workers, entered, strict=True):  # the first begins first, and ends first
            worker.start()
            assert event.wait(60)
        assert set(threads()) == {1}
        may_end[0].set()
        workers[0].join()
        assert set(threads()) == {2}
    finally:
        for event in may_end:
            event.set()
    workers[1].join()
    assert threads() == before


FORKED_WITHIN = """
import os
import numpy
from threadpoolctl import threadpool_info
from bochner.resources import Resources

def threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

before = threads()
with Resources(n_jobs=1).in_use():
    child = os.fork()
if not child:
    given_back = threads() == before
    with Resources(n_jobs=2).in_use():
        os._exit(0 if given_back else 1)
raise SystemExit(os.waitpid(child, 0)[1])
"""


def test_on_a_busy_machine_blas_takes_what_is_left_unless_told(monkeypatch):
    busy, before = [float(n_cores())], blas_pools()
    monkeypatch.setattr(resources, "others_use", lambda: busy[0])
    with Resources(n_jobs=2).in_use():
        given = blas_pools()
        resources.look_around()
        assert blas_pools() == given == [min(2, n_cores())] * len(before)
    with Resources().in_use():
        assert set(blas_pools()) == {1}
        for cores, wanted in ((0.0, before), (1.2, [max(1, min(n, n_cores() - 1)) for n in before]), (0.2, before)):
            busy[0] = cores
            cholesky_factor(np.eye(3))  # whatever takes long looks around first
            assert blas_pools() == wanted
        busy[0] = 100.0
        resources.look_around()
    assert blas_pools() == before  # and leaves the libraries as they were
    resources.look_around()
    assert blas_pools() == before


def test_libraries_are_as_before_whichever_thread_ends_last(monkeypatch):
    """On a busy machine, too, and though threads of a pool live on."""
    monkeypatch.setattr(resources, "others_use", lambda: 100.0)
    before, (first, second) = blas_pools(), (threading.Event(), threading.Event())

    def computes(entered, other):
        with Resources().in_use():
            entered.set()
            assert other.wait(60)

    with ThreadPoolExecutor(2) as pool:
        for work in [pool.submit(computes, first, second), pool.submit(computes, second, first)]:
            work.result()
        assert blas_pools() == before
        with Resources(n_jobs=1).in_use():
            assert set(blas_pools()) == {1}
    assert blas_pools() == before


def test_a_crowd_is_what_cores_do_beside_ours():
    now, used, own = [100.0], [1000.0], [50.0]
    crowd = Crowd(lambda: used[0], lambda: own[0], lambda: now[0])

    def after(seconds, ours, theirs):
        now[0], own[0], used[0] = now[0] + seconds, own[0] + ours, used[0] + ours + theirs
        return crowd()

    assert crowd() == 0, "nothing is known at first"
    assert after(0.1, 0.1, 0.1) == 0, "too short a time to tell"
    assert after(0.4, 0.7, 0.4) == pytest.approx(1.0), "what happened meanwhile counts"
    assert after(0.5, 1.0, 0.0) == 0, "threads of our own are no crowd"
    assert after(1.0, 0.0, 1.5) == pytest.approx(1.5)
    assert after(60.0, 0.0, 90.0) == 0, "that was long ago"
    assert Crowd(lambda: None)() == 0


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="Linux tells what cores do")
def test_seconds_of_all_cores_hold_our_own():
    before, begun = resources.seconds_used(), time.process_time()
    while time.process_time() < begun + 0.3:
        pass
    assert resources.seconds_used() - before > 0.2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_that_is_forked_within_ends_well():
    assert subprocess.run([sys.executable, "-c", FORKED_WITHIN], check=False, timeout=240).returncode == 0


def test_work_is_shared_among_threads_in_order():
    names = set()

    def work(i):
        names.add(threading.current_thread().name)
        time.sleep(0.01)
        return i * i

    with Resources(n_jobs=2).in_use():
        assert list(in_threads(work, range(8))) == [i * i for i in range(8)]
    assert len(names) == 2
    names.clear()
    with Resources(n_jobs=1).in_use():
        assert list(in_threads(work, range(8))) == [i * i for i in range(8)]
    assert names == {threading.current_thread().name}


def test_a_part_that_fails_says_so_and_no_more_are_begun():
    begun = []

    def work(i):
        begun.append(i)
        if i == 3:
            raise InputError("this one")
        time.sleep(0.01)

    with Resources(n_jobs=2).in_use():
        with pytest.raises(InputError, match="this one"):
            list(in_threads(work, range(100)))
        assert len(begun) < 10
        assert list(in_threads(abs, range(-9, 0))) == list(range(9, 0, -1))  # threads are there as before


def test_parts_that_have_parts_are_done_by_whoever_has_them():
    def work(i):
        return sum(in_threads(lambda j: i * j, range(50))), threading.get_ident()

    with Resources(n_jobs=2).in_use():
        sums, who = zip(*in_threads(work, range(40)), strict=True)
        assert sums == tuple(i * 1225 for i in range(40)) and len(set(who)) <= 2
    with Resources(n_jobs=2, memory_limit=2**27).in_use():
        inside = list(in_threads(lambda _: (n_threads(), block_bytes()), range(4)))
    assert inside == [(1, 2**23)] * 4  # what is in force here is in force there, and each has one thread


def test_two_tasks_share_many_threads():
    with Resources(n_jobs=2).in_use():  # few: one after the other
        assert side_by_side(n_threads, threading.get_ident) == (2, threading.get_ident())
    both = threading.Barrier(2, timeout=60)  # neither passes alone
    with Resources(n_jobs=8).in_use():
        assert side_by_side(lambda: (both.wait(), n_threads())[1], lambda: (both.wait(), n_threads())[1]) == (4, 4)
        assert n_threads() == 8


@pytest.mark.parametrize("failing", [0, 1])
def test_a_task_that_fails_says_so_when_the_other_has_ended(failing):
    ended = []

    def fails():
        raise InputError("this one")

    def works():
        time.sleep(0.05)
        ended.append(True)

    tasks = [works, works]
    tasks[failing] = fails
    with Resources(n_jobs=8).in_use(), pytest.raises(InputError, match="this one"):
        side_by_side(*tasks)
    assert ended == [True]


def test_blocks_shrink_with_the_memory():
    assert block_bytes() == BLOCK_BYTES
    with Resources(memory_limit=2**27).in_use():
        assert block_bytes() == 2**23


ONE_JOB = """
import json, time, warnings
import numpy as np
from bochner import SpatialRegressor
from bochner.kernels import Matern, SquaredExponential

warnings.simplefilter("ignore")
given = {"tune": None, "noise_variance": 0.1}
waves = {"n_frequencies": 100, "kernel": Matern(0.3), "tune": None}
cases = {
    "exact": (300, {"kernel": Matern(0.3)}),
    "lattice": (4_000, {"kernel": SquaredExponential(0.5, 1.0), **given}),
    "conjugate gradients": (4_000, {"kernel": Matern(0.3, 1.0, nu=0.5), **given}),
    "nearest": (1_200, {"kernel": Matern(0.3)}),
    "orthogonal": (2_000, {"features": "orthogonal", **waves}),
    "nystroem": (2_000, {"features": "nystroem", **waves}),
    "counts": (2_500, {"family": "poisson", "kernel": Matern(0.4, 0.5), "tune": None}),
}
found = {}
for name, (n, parameters) in cases.items():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    y = np.round(np.exp(X[:, 0])) if "family" in parameters else np.sin(5 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    model = SpatialRegressor(n_jobs=1, **parameters)
    others, own = time.process_time() - time.thread_time(), time.thread_time()
    model.fit(X, y).predict(X[:500], return_std=True)
    found[name] = time.process_time() - time.thread_time() - others, time.thread_time() - own
print(json.dumps(found))
"""


@pytest.mark.slow
def test_with_one_job_no_second_thread_computes():
    """CPU time beyond that of the calling thread: none; in a process without threads by which test processes talk."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", ONE_JOB]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    found = json.loads(done.stdout)
    assert len(found) == 7
    assert {name: pair for name, pair in found.items() if pair[0] >= 0.02 + 0.02 * pair[1]} == {}


@pytest.mark.parametrize(
    ("features", "used"),
    [
        ("exact", "float64"),
        ("lattice", "float64"),
        ("nystroem", "float64"),
        ("orthogonal", "float32"),
        ("leverage", "float32"),
        ("learned", "float64"),
        ("conjugate-gradients", "float64"),
    ],
)
def test_the_dtype_asked_for_is_used_or_it_is_said(features, used):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 2))
    y = np.sin(5 * X[:, 0]) + 0.2 * rng.standard_normal(120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpatialRegressor(Matern(0.4), features=features, dtype="float32", tune=None, noise_variance=0.04)
        choice = model.fit(X, y).choices_["dtype"]
    assert choice.value == used
    assert choice.given == (used == "float32")
    assert used == "float32" or "float32 was asked for" in choice.reason


def test_a_limit_that_cannot_be_held_is_refused():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2_500, 2))
    with pytest.raises(MemoryLimitError, match="raise the limit"):
        SpatialRegressor(features="exact", memory_limit="50MB").fit(X, X[:, 0])
    with pytest.raises(InputError, match="2GB"):
        SpatialRegressor(memory_limit="lots").fit(X, X[:, 0])

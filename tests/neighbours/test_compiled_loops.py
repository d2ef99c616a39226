"""Loops that are compiled: the same bits whether they were compiled now or before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

numba = pytest.importorskip("numba")


def test_loops_call_no_loop_that_may_round_in_another_way():
    """A function that is called, not written in, has two versions: its own, and the one in the file of its caller.

    Which of them is run depends on whether the caller was compiled in this process; where sums may be taken in any
    order, the two differ by rounding.
    """
    from bochner.neighbours import cell_loops, compiled_loops

    both = {**vars(compiled_loops), **vars(cell_loops)}
    options = {name: one.targetoptions for name, one in both.items() if hasattr(one, "targetoptions")}
    called = {name for name in options if name.startswith("_")}
    assert len(called) > 10 and all(options[name]["forceinline"] for name in called)
    assert not any("forceinline" in options[name] for name in options.keys() - called)


READ_ONLY = """
import numba.core.caching as caching

def refuse(self):
    raise OSError("read-only")

for name in ("InTreeCacheLocator", "_InTreeCacheLocator", "UserWideCacheLocator", "_UserWideCacheLocator"):
    if hasattr(caching, name):
        getattr(caching, name).ensure_cache_path = refuse
import logging
import numpy as np
from bochner.kernels import Matern
from bochner.neighbours import compiled

heard = []
logging.getLogger("bochner").setLevel(logging.INFO)
logging.getLogger("bochner").addFilter(lambda record: heard.append(record.getMessage()) or True)
print(compiled.has_compiler())
origin, code = np.zeros((1, 1)), np.zeros(1, dtype=np.int64)
kernel = compiled.compiled_kernel(Matern(1.0, 2.0, nu=0.5), 1, 10**6)
compiled.place_loops().morton(np.full((1, 2), 0.9), 1, code)
variance = kernel.covariance(origin, origin)[0, 0]
print(code[0], round(variance), sum("once on this machine" in one for one in heard))
"""


@pytest.mark.slow
def test_loops_are_kept_and_told_of_where_neither_package_nor_home_can_be_written(tmp_path):
    """In a folder of the user's own among the temporary ones; the second process finds them, and says nothing."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    told = [
        subprocess.run([sys.executable, "-c", READ_ONLY], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [one.stdout.split() for one in told] == [["True", "3", "2", "1"], ["True", "3", "2", "0"]]
    assert list(tmp_path.rglob("*.nbi"))


OF_ANOTHER_VERSION = """
import sys
from pathlib import Path
import numpy as np
from bochner.neighbours import compiled, limits

compiled.has_compiler()
matrix = np.array([0, 1]), np.array([0]), np.ones(1)
compiled.remainder_loops().row_products(*matrix, np.ones((1, 2)), np.empty((1, 2)))
print(*sorted(Path(sys.argv[1]).rglob("remainder_loops.*.nbc")))
"""


@pytest.mark.slow
def test_loops_of_other_sources_are_not_taken_from_the_disk(tmp_path):
    """Numba sees whether the file of a loop has changed; a constant that it imports, or a loop within it, as well."""

    def kept() -> str:
        command = [sys.executable, "-c", OF_ANOTHER_VERSION, str(tmp_path)]
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    first = Path(kept())
    stamp = first.with_name("remainder_loops.sources")
    before = first.stat().st_mtime_ns
    assert kept() == str(first) and first.stat().st_mtime_ns == before
    stamp.write_text("of other sources")
    assert kept() == str(first) and first.stat().st_mtime_ns > before and stamp.read_text() != "of other sources"

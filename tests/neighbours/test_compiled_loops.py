"""Loops that are compiled: the same bits whether they were compiled now or before."""

from __future__ import annotations

import pytest

numba = pytest.importorskip("numba")


def test_loops_call_no_loop_that_may_round_in_another_way():
    """A function that is called, not written in, has two versions: its own, and the one in the file of its caller.

    Which of them is run depends on whether the caller was compiled in this process; where sums may be taken in any
    order, the two differ by rounding.
    """
    from bochner.neighbours import compiled_loops

    options = {name: one.targetoptions for name, one in vars(compiled_loops).items() if hasattr(one, "targetoptions")}
    called = {name for name in options if name.startswith("_")}
    assert len(called) > 10 and all(options[name]["forceinline"] for name in called)
    assert not any("forceinline" in options[name] for name in options.keys() - called)

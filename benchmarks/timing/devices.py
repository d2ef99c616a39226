"""Devices: rows of `benchmarks/gpu.py`, where there is a CUDA device; it runs in an interpreter of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from .plan import Plan
from .rows import LIMIT, RIVAL, Row

HIDDEN = "CUDA_VISIBLE_DEVICES"


def hide() -> None:
    """Keep every other row on the processor: a model that moves to a device has no like among the peers."""
    os.environ.setdefault("BENCH_DEVICES", os.environ.get(HIDDEN, "all"))
    os.environ[HIDDEN] = ""


def on_a_device(plan: Plan) -> Iterator[Row]:
    """What a CUDA device gives, beside the bare products of the same sizes or the cores of this machine."""
    if not shutil.which("nvidia-smi") or not find_spec("torch"):
        print("no CUDA device, or no PyTorch: rows of benchmarks/gpu.py are left out", file=sys.stderr)
        return
    env = dict(os.environ)
    visible = env.pop("BENCH_DEVICES", "all")
    del env[HIDDEN]
    if visible != "all":
        env[HIDDEN] = visible
    with TemporaryDirectory() as folder:
        numbers = Path(folder) / "gpu.json"
        command = [sys.executable, str(Path(__file__).parents[1] / "gpu.py"), "--numbers", str(numbers)]
        done = subprocess.run([*command, *(["--quick"] if plan.quick else [])], env=env, stdout=sys.stderr)
        if done.returncode:
            print("benchmarks/gpu.py failed: its rows are left out", file=sys.stderr)
            return
        for told in json.loads(numbers.read_text(encoding="utf-8")):
            beside = {"limit": LIMIT, "processor": RIVAL}[told.pop("beside")]
            yield Row(**told, beside=beside, clock="clock")

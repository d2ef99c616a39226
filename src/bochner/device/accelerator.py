"""The accelerator in force: which, whether a piece of work is worth the way there, and blocks that fit its memory."""

from __future__ import annotations

import ctypes.util
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.device import limits
from bochner.exceptions import InputError, MemoryLimitError, MissingExtraError
from bochner.resources import as_size, current

STAND_IN = "BOCHNER_TORCH_DEVICE"  # names another device of PyTorch's that stands for "cuda": tests take the processor


@dataclass(frozen=True)
class Device:
    """A device of PyTorch's."""

    torch: Any
    name: str

    @property
    def label(self) -> str:
        """What it is, for people."""
        if not self.name.startswith("cuda"):
            return self.name
        return str(self.torch.cuda.get_device_name(self.name))

    def tensor(self, array: Any, dtype: str | None = None) -> Any:
        """An array, moved there; a tensor that is there already stays as it is."""
        kind = None if dtype is None else getattr(self.torch, dtype)
        if not self.torch.is_tensor(array):
            array = np.ascontiguousarray(array)
            array = self.torch.from_numpy(array if array.flags.writeable else array.copy())
        return array.to(device=self.name, dtype=kind)

    def zeros(self, *shape: int, dtype: str = "float64") -> Any:
        """Zeros there."""
        return self.torch.zeros(shape, dtype=getattr(self.torch, dtype), device=self.name)

    def empty(self, *shape: int, dtype: str = "float64") -> Any:
        """Room there."""
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype), device=self.name)

    def sparse(self, matrix: Any) -> Any:
        """A sparse matrix of SciPy's, moved there."""
        rows = matrix.tocsr().sorted_indices()
        pointers, columns = (np.asarray(a, dtype=np.int64) for a in (rows.indptr, rows.indices))
        parts = (self.tensor(a) for a in (pointers, columns, rows.data))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it is new, and does not check what SciPy has checked
            return self.torch.sparse_csr_tensor(*parts, size=rows.shape, check_invariants=False)

    def byte_product(self, x: Any, y: Any) -> Any:
        """x y' of matrices of bytes whose sizes are multiples of 16, exact in 32-bit integers."""
        return self.torch._int_mm(x, y.T) if x.is_cuda else x.double() @ y.double().T

    def free_bytes(self) -> float:
        """Memory that may be taken there."""
        if not self.name.startswith("cuda"):
            return current().room
        free, _ = self.torch.cuda.mem_get_info(self.name)
        held = self.torch.cuda.memory_reserved(self.name) - self.torch.cuda.memory_allocated(self.name)
        return float(free + held)

    def in_blocks(self, work: Callable[[slice], None], n: int, bytes_per_row: float, most: int | None = None) -> None:
        """`work` on blocks of n rows that fit the memory; where it runs out all the same, blocks of half the size.

        `work` changes nothing before it has all that it needs: a block that fails is done again.
        """
        size = max(limits.SMALLEST_ROWS, int(limits.BLOCK_SHARE_FREE * self.free_bytes() / bytes_per_row))
        size, start = size if most is None else min(size, most), 0
        while start < n:
            part = slice(start, min(start + size, n))
            try:
                work(part)
            except self.torch.OutOfMemoryError:
                if size <= limits.SMALLEST_ROWS:
                    raise MemoryLimitError(
                        f"{self.label} has no room for {size:,} rows at a time ({as_size(size * bytes_per_row)}); "
                        f"free memory on it, ask for fewer waves, or set device='cpu'."
                    ) from None
                size = max(limits.SMALLEST_ROWS, size // 2)
                self.torch.cuda.empty_cache()
                continue
            start = part.stop


def device_for(work: float) -> Device | None:
    """The device for so many operations: the one asked for, with "auto" one that pays; None is the processor."""
    asked = current().device
    if asked == "cpu" or work < limits.LEAST_WORK:
        return None
    if asked != "auto":
        return named_device(asked)
    return _found() if work >= limits.WORTH_DEVICE and _seems_there() else None


@contextmanager
def device_throughout(work: float) -> Iterator[None]:
    """Within: pieces of a computation of so many operations go where all of it together is worth going."""
    here = current()
    if here.device != "auto" or device_for(work) is None:
        yield
        return
    with replace(here, device="cuda").in_use():
        yield


def named_device(name: str) -> Device:
    """The device of a name; an error that says what is missing, where there is none."""
    if find_spec("torch") is None:
        raise MissingExtraError(
            f"device={name!r} needs PyTorch; run `pip install 'bochner[gpu]'`, or set device='cpu'."
        )
    found = _found()
    if found is None:
        raise InputError(
            f"device={name!r}: PyTorch finds no CUDA device here, or cannot be imported; install a driver and a "
            f"build of PyTorch for it, or set device='cpu' (or 'auto', which takes what there is)."
        )
    return found


@cache
def _seems_there() -> bool:
    """Whether it is worth importing PyTorch, which takes seconds, to ask for a device."""
    if os.environ.get(STAND_IN):
        return True
    driver = os.path.exists("/dev/nvidiactl") or ctypes.util.find_library("nvcuda") is not None
    return driver and find_spec("torch") is not None


@cache
def _found() -> Device | None:
    try:
        import torch

        there = torch.cuda.is_available()
    except (ImportError, OSError, AttributeError):  # half installed, or a folder of that name: the processor serves
        return None
    stand_in = os.environ.get(STAND_IN)
    if stand_in:
        return Device(torch, stand_in)
    return Device(torch, "cuda") if there else None


def to_host(tensor: Any) -> FloatArray:
    """A tensor as an array."""
    return np.asarray(tensor.detach().cpu().numpy())

"""Kernels by name: `matern32`, `matern12+matern32`, `matern32(length_scale=50, variance=2)`.

A new kernel joins by one call of `register_kernel`.
"""

from __future__ import annotations

import ast
from typing import Any

from bochner import archive, spelling
from bochner.exceptions import InputError
from bochner.kernels.base import Kernel
from bochner.kernels.cauchy import Cauchy
from bochner.kernels.laplacian import Laplacian
from bochner.kernels.matern import Matern
from bochner.kernels.periodic import Periodic
from bochner.kernels.polynomial import Linear, Polynomial
from bochner.kernels.rational_quadratic import RationalQuadratic
from bochner.kernels.squared_exponential import SquaredExponential

NAMED_KERNELS: dict[str, Kernel] = {
    "matern12": Matern(nu=0.5),
    "exponential": Matern(nu=0.5),
    "matern32": Matern(nu=1.5),
    "matern52": Matern(nu=2.5),
    "matern": Matern(learn_nu=True),
    "squared-exponential": SquaredExponential(),
    "se": SquaredExponential(),
    "laplacian": Laplacian(),
    "cauchy": Cauchy(),
    "rational-quadratic": RationalQuadratic(),
    "periodic": Periodic(),
    "polynomial": Polynomial(),
    "linear": Linear(),
}
"""Kernels by name, with unit length scale and variance where a text gives no values."""


def register_kernel(name: str, kernel: Kernel) -> None:
    """Let a kernel be called by a name (lower case, hyphens), on the command line too, and be in model files."""
    archive.register(type(kernel))
    NAMED_KERNELS[name] = kernel
    spelling.learn(spelling.KERNELS, name)


def kernel_named(kernel: str | Kernel) -> Kernel:
    """Kernel from its name, with values in parentheses if any, joined by ``+`` and ``*``. Or the kernel itself.

    >>> kernel_named("matern12 + se(length_scale=3)")
    Sum(k1=Matern(length_scale=1.0, variance=1.0, nu=0.5), k2=SquaredExponential(length_scale=3, variance=1.0))
    """
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, str):
        raise InputError(f"kernel={kernel!r} is neither a kernel nor the name of one; {spelling.FORM}")
    return _built(spelling.kernel_tree(kernel), kernel)


def _built(node: ast.expr, text: str) -> Kernel:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _built(node.left, text) + _built(node.right, text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _built(node.left, text) * _built(node.right, text)
    if isinstance(node, ast.Name):
        return NAMED_KERNELS[spelling.kernel_name(node.id)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        return _with_values(NAMED_KERNELS[spelling.kernel_name(node.func.id)], node, text)
    raise spelling.unreadable_kernel(text)


def _with_values(kernel: Kernel, call: ast.Call, text: str) -> Kernel:
    values: dict[str, Any] = {}
    for word in call.keywords:
        try:
            value = ast.literal_eval(word.value)
        except ValueError:
            value = None
        if word.arg is None or not _is_numeric(value):
            raise InputError(f"{word.arg} in the kernel {text!r} is no number; {spelling.FORM}")
        values[word.arg] = value
    return kernel.replace(**values)


def _is_numeric(value: Any) -> bool:
    many = isinstance(value, tuple)
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (value if many else (value,)))

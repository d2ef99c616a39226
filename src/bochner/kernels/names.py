"""Kernels by name: `matern32`, `matern12+matern32`, `matern32(length_scale=50, variance=2)`.

A new kernel joins by one call of `register_kernel`.
"""

from __future__ import annotations

import ast
import difflib
import re
from typing import Any

from bochner import archive
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

FORM = "write a name such as matern32, names joined by + or *, or values: matern32(length_scale=50, variance=2)."


def register_kernel(name: str, kernel: Kernel) -> None:
    """Let a kernel be called by a name (lower case, hyphens), on the command line too, and be in model files."""
    archive.register(type(kernel))
    NAMED_KERNELS[name] = kernel


def kernel_named(kernel: str | Kernel) -> Kernel:
    """Kernel from its name, with values in parentheses if any, joined by ``+`` and ``*``. Or the kernel itself.

    >>> kernel_named("matern12 + se(length_scale=3)")
    Sum(k1=Matern(length_scale=1.0, variance=1.0, nu=0.5), k2=SquaredExponential(length_scale=3, variance=1.0))
    """
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, str):
        raise InputError(f"kernel={kernel!r} is neither a kernel nor the name of one; {FORM}")
    try:
        # a hyphen within a name; one before a number is a sign
        tree = ast.parse(re.sub(r"(?<=[A-Za-z])-(?=[A-Za-z])", "_", kernel.strip()), mode="eval").body
    except (SyntaxError, ValueError):
        raise InputError(f"the kernel {kernel!r} cannot be read; {FORM}") from None
    return _built(tree, kernel)


def _built(node: ast.expr, text: str) -> Kernel:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _built(node.left, text) + _built(node.right, text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _built(node.left, text) * _built(node.right, text)
    if isinstance(node, ast.Name):
        return _known(node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        return _with_values(_known(node.func.id), node, text)
    raise InputError(f"the kernel {text!r} cannot be read; {FORM}")


def _known(name: str) -> Kernel:
    name = name.replace("_", "-").lower()
    if name not in NAMED_KERNELS:
        near = difflib.get_close_matches(name, NAMED_KERNELS, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        names = ", ".join(NAMED_KERNELS)
        raise InputError(f"kernel {name!r} is not known; {hint}Choose from {names}, or join them by +.")
    return NAMED_KERNELS[name]


def _with_values(kernel: Kernel, call: ast.Call, text: str) -> Kernel:
    values: dict[str, Any] = {}
    for word in call.keywords:
        try:
            value = ast.literal_eval(word.value)
        except ValueError:
            value = None
        if word.arg is None or not _is_numeric(value):
            raise InputError(f"{word.arg} in the kernel {text!r} is no number; {FORM}")
        values[word.arg] = value
    return kernel.replace(**values)


def _is_numeric(value: Any) -> bool:
    many = isinstance(value, tuple)
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (value if many else (value,)))

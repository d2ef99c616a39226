"""Kernels by name: what can be written, and what is said to what cannot."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.exceptions import InputError, KernelError
from bochner.kernels import NAMED_KERNELS, Linear, Matern, Periodic, SquaredExponential, kernel_named


@pytest.mark.parametrize("name", NAMED_KERNELS)
def test_every_name_is_a_kernel(name):
    """In any case, with hyphens or underscores, alone and in a sum."""
    kernel = kernel_named(name)
    assert kernel_named(f" {name.upper().replace('-', '_')} ") == kernel
    assert kernel_named(f"{name}+linear") == kernel + Linear()
    assert np.isfinite(kernel(np.arange(6.0).reshape(3, 2))).all()


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("matern12 + matern32", Matern(nu=0.5) + Matern(nu=1.5)),
        ("matern32(length_scale=(2, 3), variance=4)", Matern((2, 3), 4, nu=1.5)),
        ("squared-exponential * periodic(period=7)", SquaredExponential() * Periodic(period=7)),
        ("(matern12 + se) * linear", (Matern(nu=0.5) + SquaredExponential()) * Linear()),
        ("matern(nu=0.7)", Matern(nu=0.7, learn_nu=True)),
    ],
)
def test_kernels_are_written_as_they_are_said(text, kernel):
    assert kernel_named(text) == kernel


def test_a_kernel_is_its_own_name():
    kernel = Matern(3.0)
    assert kernel_named(kernel) is kernel


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mattern32", r"'mattern32' is not known; did you mean 'matern32'\? Choose from matern12, "),
        ("matern32(", r"'matern32\(' cannot be read; write a name such as matern32"),
        ("matern32 - linear", r"cannot be read"),
        ("__import__('os')", r"cannot be read"),
        ("matern32(length_scale='long')", r"length_scale in the kernel .* is no number"),
        ("matern32(**{})", r"None in the kernel .* is no number"),
        ("", r"cannot be read"),
        ("\x00", r"cannot be read"),
        (3, r"kernel=3 is neither a kernel nor the name of one; write a name such as matern32"),
        (None, r"kernel=None is neither"),
    ],
)
def test_what_is_no_kernel_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        kernel_named(text)


def test_unknown_values_are_refused_by_the_kernel():
    with pytest.raises(KernelError, match=r"Matern has no parameter 'colour'"):
        kernel_named("matern32(colour=3)")


def test_kernels_add_up_by_sum():
    """`sum` begins with 0, which is no kernel; any other number is refused."""
    k1, k2 = Matern(0.5), Matern(2.0, 3.0)
    assert sum([k1, k2]) == k1 + k2
    with pytest.raises(TypeError):
        1 + k1

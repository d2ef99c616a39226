"""Names that are known without the rooms that hold their parts: the same ones, in the same order."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bochner import spelling
from bochner.exceptions import InputError
from bochner.kernels import kernel_named

REGISTRIES = """
from bochner import formats, spelling
lists = [spelling.FAMILIES, spelling.KERNELS, spelling.FEATURES, formats.MAPS, formats.PARTS]
before = [list(names) for names in lists]
from bochner.families import FAMILIES
from bochner.frequencies import RULES
from bochner.inference.schemes.choose import SCHEMES
from bochner.kernels import NAMED_KERNELS
from bochner.maps.files.writers import WRITERS
from bochner.sources.opening import ENDINGS
families, kernels, features, maps, parts = before
assert families == list(FAMILIES), (families, list(FAMILIES))
assert kernels == list(NAMED_KERNELS), (kernels, list(NAMED_KERNELS))
sizes = {name: (one.size_name, one.bounded_by_size and one.size_name is not None) for name, one in FAMILIES.items()}
assert {name: tuple(size) for name, size in spelling.SIZES.items()} == sizes, sizes
assert features == ["auto", *SCHEMES, *RULES], (features, list(SCHEMES), list(RULES))
assert maps == list(WRITERS), (maps, list(WRITERS))
assert set(parts) == set(ENDINGS), (parts, list(ENDINGS))
assert lists == before, lists
"""


def test_names_are_those_of_the_registries():
    done = subprocess.run([sys.executable, "-c", REGISTRIES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "matern33",
        "matern32+",
        "matern32 + se * rational-quadratik",
        "matern32(length_scale=3) + cauhcy(length_scale=2)",
        "matern32(3)",
        "matern32 - se",
        "[matern32]",
        "",
    ],
)
def test_a_kernel_is_refused_by_its_names_as_by_its_values(text):
    """The check of the words alone says what building the kernel says."""
    with pytest.raises(InputError) as told:
        spelling.check_kernel(text)
    with pytest.raises(InputError) as built:
        kernel_named(text)
    assert str(told.value) == str(built.value)


@pytest.mark.parametrize("text", ["se", "Matern12 + se(length_scale=3)", "rational-quadratic * matern(nu=-1)"])
def test_words_of_a_kernel_that_are_right_pass(text):
    spelling.check_kernel(text)


def test_a_name_that_is_registered_is_known():
    names = ["one"]
    spelling.learn(names, "two")
    spelling.learn(names, "one")
    assert names == ["one", "two"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("matern23", "matern32"), ("Matern-52", "matern52"), ("expnential", "exponential"), ("SE", "se"), ("wave", None)],
)
def test_a_name_is_suggested_as_it_was_meant(word, meant):
    """Digits in another order are the same letters; capitals are no other ones."""
    assert spelling.nearest_name(word, spelling.KERNELS) == meant
    assert spelling.nearest_name(word, []) is None

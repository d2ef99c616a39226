"""Configuration of the documentation: `make docs` builds it."""

from importlib.metadata import version as installed_version

project = "bochner"
author = "The bochner developers"
copyright = author
release = version = installed_version("bochner")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
default_role = "code"  # `theta` in a docstring is code
# docstrings write a modulus as mathematics does; reStructuredText takes it for a substitution
rst_prolog = r"""
.. |omega| replace:: \|omega\|
.. |tau / l| replace:: \|tau / l\|
"""

html_theme = "furo"
html_title = f"bochner {release}"
html_static_path = ["_static"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# The names of a module's __all__ are its reference, wherever they are defined.
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"  # the docstrings name types and shapes
napoleon_google_docstring = False
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "show_memory": False,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,
}

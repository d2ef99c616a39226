"""Configuration of the documentation: `make docs` builds it."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for gallery_order and gallery_thumbnails

from gallery_thumbnails import legible_thumbnails

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
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
# the n of a shape (n,) is no reference, though attributes of that name exist
suppress_warnings = ["ref.python"]
default_role = "code"  # `theta` in a docstring is code
# docstrings write a modulus as mathematics does; reStructuredText takes it for a substitution
rst_prolog = r"""
.. |omega| replace:: \|omega\|
.. |tau / l| replace:: \|tau / l\|
"""

html_theme = "furo"
html_title = f"bochner {release}"
html_static_path = ["_static"]
html_logo = "_static/logo.svg"
html_css_files = ["doors.css"]

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
    "within_subsection_order": "gallery_order.StoryOrder",
    "abort_on_example_error": True,
    "show_memory": False,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,
}


def write_command_reference(app):
    """Make the page of the command line from its own `--help`."""
    from typer.testing import CliRunner

    from bochner.cli import application, command_names

    lines = ["# Command line", "", "What `bochner --help` and `bochner COMMAND --help` say.", ""]
    for command in ["", *(name.replace("_", "-") for name in command_names())]:
        arguments = [*command.split(), "--help"]
        shown = CliRunner().invoke(application(), arguments, prog_name="bochner", terminal_width=84)
        lines += [f"## bochner {command}".rstrip(), "", "```text", shown.output.rstrip(), "```", ""]
    page = Path(app.srcdir) / "generated" / "command_line.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n".join(lines), encoding="utf-8")


def setup(app):
    app.connect("builder-inited", write_command_reference)
    app.connect("builder-inited", legible_thumbnails, priority=900)  # after the gallery

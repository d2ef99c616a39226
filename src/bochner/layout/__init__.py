"""Layout: from a table as the user has it to the rows of a model."""

from bochner.layout.bending import bent
from bochner.layout.columns import Columns
from bochner.layout.curves import Curve
from bochner.layout.encoding import Encoding
from bochner.layout.formula import Design, Formula, parse_formula
from bochner.layout.layout import Layout
from bochner.layout.training import Given, Training, lay_out
from bochner.layout.trend import Trend

__all__ = [
    "Columns",
    "Curve",
    "Design",
    "Encoding",
    "Formula",
    "Given",
    "Layout",
    "Training",
    "Trend",
    "bent",
    "lay_out",
    "parse_formula",
]

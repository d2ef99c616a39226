"""Report: a fitted model as one page that opens offline, in any browser, and can be printed.

`write_report` makes it. The page holds the predictive law on a grid, so its reader can ask for the probability of
exceeding any threshold, and no row of the data unless they are handed in::

    write_report(model, "report.html")
    write_report(model, "report.html", data=(X, y), response="temperature", unit="°C")
"""

from bochner.report.answer import Answer, answer_of
from bochner.report.card import card
from bochner.report.layers import MapLayers, predict_layers
from bochner.report.page import write_report
from bochner.report.survey import Survey

__all__ = ["Answer", "MapLayers", "Survey", "answer_of", "card", "predict_layers", "write_report"]

"""The small charts: ticks, numbers and well-formed, escaped markup."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.report.colours import ramps
from bochner.report.svg import Chart, number, ticks, widened


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 7.9), (1e-7, 3e-7), (5e8, 5.1e8), (0, 0.95)])
def test_ticks_are_round_and_inside(low, high):
    found = np.array(ticks(low, high))
    assert 2 <= len(found) <= 8
    assert found.min() >= low - 1e-9 * (high - low) and found.max() <= high + 1e-9 * (high - low)
    step = np.diff(found)
    assert_allclose(step, step[0])
    assert round(float(step[0] / 10 ** np.floor(np.log10(step[0]) + 1e-9)), 6) in (1, 2, 2.5, 5)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.5, "0.5"), (-2, "−2"), (1234.5, "1,234.5"), (5000, "5,000"), (2e-5, "2e-5"), (3e7, "3e7")],
)
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_a_range_without_length_is_widened():
    assert widened(3.0, 3.0) == pytest.approx((2.85, 3.15))
    assert widened(0.0, 0.0) == (-1.0, 1.0)


def test_a_chart_is_well_formed_and_escaped():
    nasty = "<script>alert(\"1\")</script> & 'x'"
    chart = Chart(nasty, nasty, nasty, (0, 10), (0, 2))
    chart.line([0, 5, 10], [0, 1, 2], "first", nasty).band([0, 10], [0, 0], [1, 2], "first")
    chart.bars([0, 1, 2], [1, 2], "first", [nasty, nasty]).points(
        [1, 2], [1, 1], "first", [nasty, ""], error=[0.1, 0.2]
    )
    chart.vertical(5, nasty).vertical(99, "outside")
    text = chart.render()
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and root.get("aria-label") == nasty
    titles = [node.text for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == [nasty] * 4
    assert "<script" not in text and "outside" not in text


def test_marks_lie_where_their_numbers_say():
    root = ElementTree.fromstring(Chart("t", "x", "y", (0, 10), (0, 2)).points([0, 10], [0, 2], "first").render())
    dots = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert [float(dot.get("cx")) for dot in dots] == [58.0, 448.0]
    assert [float(dot.get("cy")) for dot in dots] == [254.0, 14.0]


def test_ramps_rise_or_fall_evenly_in_lightness():
    """Light and dark carry the order, for those who see no hues and for grey printers."""

    def luminance(colour: str) -> float:
        linear = [(int(colour[i : i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5)]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    found = {name: np.array([luminance(c) for c in ramp]) for name, ramp in ramps().items()}
    assert np.all(np.diff(found["mean"]) > 0)
    assert np.all(np.diff(found["sd"]) < 0)
    middle = len(found["exceedance"]) // 2
    assert found["exceedance"].argmax() == middle

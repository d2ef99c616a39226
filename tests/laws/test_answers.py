"""What small models answer is written down. It changes on purpose only, by `python -m tests.laws.write_answers`.

Laws say what is right; this says what was, to two hundredths. A change to how hyperparameters are sought, forms
compared, doubts averaged or rows held out shows here first, as the numbers that became other ones.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.laws.answers import answered, differences
from tests.laws.registry_answers import CASES

WRITTEN = json.loads((Path(__file__).parents[1] / "data" / "answers.json").read_text(encoding="utf-8"))


@pytest.mark.every_case
@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_that_were_written_down(name):
    found = list(differences(answered(CASES[name]), WRITTEN[name]))
    assert not found, "\n".join(["python -m tests.laws.write_answers, if this is meant:", *found])


def test_every_answer_is_asked_for():
    assert list(WRITTEN) == list(CASES)

"""What small models answer is written down. It changes on purpose only, by `python -m tests.laws.write_answers`.

Laws say what is right; this says what was. A change to how hyperparameters are sought, kernels chosen, doubts averaged
or rows held out shows here first, as the numbers that became other ones.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.laws.answers import ELSEWHERE, NEAR, answered, answered_part, differences, same_text, versions
from tests.laws.registry_answers import CASES, DELICATE, SLOW
from tests.laws.registry_parts import PARTS

WRITTEN = json.loads((Path(__file__).parents[1] / "data" / "answers.json").read_text(encoding="utf-8"))


@pytest.mark.every_case
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CASES])
def test_answers_are_those_that_were_written_down(name):
    here = versions() == WRITTEN["versions"]
    if name in DELICATE and not here:
        pytest.skip(f"written down with {WRITTEN['versions']}, and landmarks are of one version")
    found = list(differences(answered(CASES[name]), WRITTEN[name], NEAR if here else ELSEWHERE, texts=here))
    assert not found, "\n".join(["python -m tests.laws.write_answers, if this is meant:", *found])


@pytest.mark.every_case
@pytest.mark.parametrize("name", PARTS)
def test_parts_give_the_numbers_that_were_written_down(name):
    found = list(differences(answered_part(PARTS[name]), WRITTEN[name], 1e-6))
    assert not found, "\n".join(["python -m tests.laws.write_answers, if this is meant:", *found])


def test_every_answer_is_asked_for():
    assert list(WRITTEN) == ["versions", *CASES, *PARTS]
    assert CASES.keys() >= {*DELICATE, *SLOW}


def test_texts_are_the_same_up_to_their_last_digits():
    assert same_text("best of 0.5 (-31.1), 40 rows", "best of 0.5 (-31.2), 40 rows")
    assert not same_text("40 rows", "41 rows") and not same_text("a sum, 40 rows", "one, 40 rows")
    assert same_text("2e-09 left", "3e-09 left") and not same_text("gains 1.0", "gains 1.3")

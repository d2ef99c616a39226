"""The words of the page: every decision and every score has a name that a reader knows."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import bochner
from bochner.choices import Choice
from bochner.diagnostics import diagnose
from bochner.families import FAMILIES
from bochner.report import words
from bochner.validation import SCORES

SOURCE = Path(bochner.__file__).parent


def names_of_choices() -> set[str]:
    """Names of all choices that any line of the library can make."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = any(
            isinstance(node, ast.ImportFrom)
            and node.module == Choice.__module__
            and any(alias.name == Choice.__name__ for alias in node.names)
            for node in ast.walk(tree)
        )
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and imported)
        for call in (call for call in calls if isinstance(call.func, ast.Name) and call.func.id == Choice.__name__):
            if isinstance(call.args[0], ast.Constant):  # else one that was made before, read from a file
                found.add(call.args[0].value)
    return found


def test_every_choice_of_a_fit_has_a_label():
    """No raw name reaches the page, and no label waits for a choice that nobody makes."""
    by_family = {name for family in FAMILIES.values() for name in family.unknown}  # what a family has to learn
    assert names_of_choices() | by_family == set(words.CHOICES)


@pytest.mark.parametrize("link", ["identity", "log"])
def test_choices_are_shown_by_their_labels(fitted, link):
    model = fitted(link).model
    shown = words.choices(model.fitted_)
    assert [label for label, _ in shown] == [words.CHOICES[name] for name in model.choices_]
    assert [text for _, text in shown] == [str(choice) for choice in model.choices_.values()]


def test_scores_are_shown_by_their_labels_and_meanings(fitted):
    table = words.score_table(diagnose(fitted("logit").model).held_out)
    known = {score.label: score.meaning for score in SCORES.values()}
    assert {row[0]: row[-1] for row in table.rows} == known


def test_a_score_of_ones_own_is_shown_by_its_name(fitted):
    held = diagnose(fitted("identity").model).held_out[0]
    held.scores["skill"] = 0.5
    assert words.score_table([held]).rows[-1] == ["skill", "0.5", ""]

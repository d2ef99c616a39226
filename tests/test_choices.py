"""Decisions as values: text for people, fields for code, the same after a pickle and in a model file."""

from __future__ import annotations

import json
import pickle

from bochner.choices import Choice, collected


def test_a_choice_is_its_sentence_and_its_parts():
    choice = Choice("features", "exact", "400 rows are few", given=True)
    assert choice == "exact: 400 rows are few"
    assert (choice.name, choice.value, choice.reason, choice.given) == ("features", "exact", "400 rows are few", True)
    assert Choice("n_frequencies", 2_048, "as asked") == "2,048: as asked"
    assert Choice("noise", 0.012345, "learned") == "0.0123: learned"
    assert Choice("solver", "primal", text="solved in the columns") == "solved in the columns"


def test_survives_pickle_json_and_plain_values():
    choice = Choice("noise", 0.5, "learned", given=False)
    for other in (pickle.loads(pickle.dumps(choice)), Choice.from_dict(json.loads(json.dumps(choice.as_dict())))):
        assert other == choice
        assert (other.name, other.value, other.reason, other.given) == ("noise", 0.5, "learned", False)


def test_the_last_word_of_a_name_counts_in_its_first_place():
    first, second, other = Choice("a", 1), Choice("a", 2), Choice("b", 3)
    assert list(collected([first, other, second]).items()) == [("a", second), ("b", other)]

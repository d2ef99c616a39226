"""Parts of one's own, one file each, as CONTRIBUTING tells; `tests/test_recipes.py` puts them to the laws."""

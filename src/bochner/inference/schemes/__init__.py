"""Schemes: how a model is represented and solved, one file each, and the choice between them."""

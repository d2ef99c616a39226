"""Fuzzing of every door: whatever comes in, an answer goes out, or one of our errors.

``python -m tests.fuzz`` runs the long target and prints a table; ``test_fuzz.py`` runs a sample of the same cases.
"""

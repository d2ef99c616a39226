"""Faults: signals, full disks, folders that may not be written to, inputs that vanish, two at one output.

``python -m tests.faults`` runs the long target and prints a table; ``test_faults.py`` runs a sample of the same.
"""

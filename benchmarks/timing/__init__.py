"""Rows of `benchmarks/speed.py`: what is timed, beside what, and how it is told."""

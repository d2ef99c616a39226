"""Checks of `benchmarks/capabilities.py`, by subject. Each asks one thing through the public interface."""

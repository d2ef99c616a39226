"""Adaptive features: waves that look at the data before they are chosen."""

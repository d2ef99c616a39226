"""What was observed: rows, responses, their sizes and what was asked of the fit."""

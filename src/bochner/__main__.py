"""`python -m bochner`: the command line."""

from bochner.cli import main

main()

"""Studio: the whole workflow in a browser window, served from the user's own machine.

The server (`server`) holds no model: every job is a `bochner` command that a worker process runs in the folder of a
project, and what the page draws is computed by workers from the model file. `bochner studio` starts it.
"""

"""`bochner studio`: the whole workflow in a browser window."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def studio(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Data to begin with; copied into a new project.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=65535, help="Port to listen at; default: any that is free.")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open no browser.")] = False,
    project: Annotated[
        Path, typer.Option("--project", metavar="DIR", help="Folder of the projects; made if it is missing.")
    ] = Path("bochner-studio"),
) -> None:
    """Open a page on this machine where a file becomes a map, and every click a command that can be kept.

    The server listens to 127.0.0.1 alone, asks nothing of the network and writes into the folder of the projects only.
    Its address has a token: whoever has it may use the page. Ctrl-C ends the server and all work that it runs.

    \b
    Examples:
      bochner studio
      bochner studio villages.csv --project surveys
    """
    from bochner.cli._files import must_exist
    from bochner.exceptions import InputError, MissingExtraError

    must_exist(file)
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "the studio needs fastapi and uvicorn; install them with: pip install 'bochner[studio]'"
        ) from error
    import webbrowser

    from bochner.cli._terminal import say
    from bochner.studio.desk import Desk
    from bochner.studio.server import serve

    if project.exists() and not project.is_dir():
        raise InputError(f"{project} is a file; needed is a folder for the projects: give another name.")
    project.mkdir(parents=True, exist_ok=True)
    desk = Desk(project.resolve())
    if file is not None:
        desk.adopt(file)

    def opened(address: str) -> None:
        say(address)
        if not no_browser:
            webbrowser.open(address)

    serve(desk, port, opened)

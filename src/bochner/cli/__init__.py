"""The command line: `bochner COMMAND`, one file per command.

A file `cli/<command>.py` holds a function of the same name, with its options, and is found by itself; a file whose
name begins with an underscore is no command. At the top it imports only what its options need; the work is imported
inside the function, so that `bochner --help` stays quick.

Other packages add commands of their own: by an entry point of the group ``bochner.commands``, which names the function,
or in a session by `register_command`.
"""

from __future__ import annotations

import errno
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextvars import copy_context
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated

import typer

from bochner._version import __version__
from bochner.cli._signals import STOPPED, stopped_by_signals
from bochner.exceptions import BochnerError, ConvergenceError, FallbackWarning, InputError, OutputError, warn

Command = Callable[..., None]

HELP = "Spatial regression: from a table of places and measurements to a map with honest uncertainty."
FAILURE, USERS_MISTAKE = 1, 2
# What the operating system refuses because of what was asked for; a full disk is none of them.
MISTAKES = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EROFS}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 when all went well, 2 for a mistake of the user, 1 for any other failure.

    A mistake is told in one line, without a traceback.
    """
    with warnings.catch_warnings(), stopped_by_signals(for_good=arguments is None):
        warnings.showwarning = _teller()
        try:
            given = sys.argv[1:] if arguments is None else list(arguments)
            refuse_options_ahead(given)
            refuse_pipes(given)
            # what options put in force, --jobs and --device, ends with the command
            copy_context().run(application(*given[:1]), None if arguments is None else given)
        except KeyboardInterrupt:  # before the command itself began
            sys.exit(STOPPED + signal.SIGINT)
        except (BochnerError, OSError, MemoryError) as error:
            typer.echo(f"bochner: {one_line(error)}", err=True)
            sys.exit(exit_code(error))


def refuse_options_ahead(arguments: Sequence[str]) -> None:
    """Refuse options of a command that stand before its name."""
    first = arguments[0].partition("=")[0] if arguments else ""
    command = next((one for one in arguments[1:] if one.replace("-", "_") in command_names()), None)
    if first.startswith("-") and first not in ("--version", "--help", "-h") and command is not None:
        raise InputError(f"{first} stands before the command; write it after: bochner {command} {first} ...")


PIPES = ("-", "/dev/stdin", "/dev/stdout", "/dev/stderr")


def refuse_pipes(arguments: Sequence[str]) -> None:
    """Refuse the standard streams as files: formats are known by the ending of a name, and files are read twice."""
    own = bool(arguments) and arguments[0].replace("-", "_") in command_names()  # others may read them
    for argument in arguments if own else ():
        name = argument.rpartition("=")[2] if argument.startswith("--") else argument
        if name in PIPES or name.startswith("/dev/fd/"):
            raise InputError(
                f"{name} is a pipe, and files are needed: their format is known by the ending of their name, and some "
                f"are read twice. Write a file first, places.csv, say, and name it."
            )


def exit_code(error: Exception) -> int:
    """2 if the user can mend it by changing what was given, otherwise 1."""
    if isinstance(error, BochnerError):
        return FAILURE if isinstance(error, (ConvergenceError, OutputError)) else USERS_MISTAKE
    return USERS_MISTAKE if isinstance(error, OSError) and error.errno in MISTAKES else FAILURE


def _teller() -> Callable[..., None]:
    """What shows a warning: as one line, without the source line that raised it, and no line twice."""
    told: set[str] = set()

    def tell(message: Warning | str, *_: object) -> None:
        line = " ".join(str(message).split())
        if line not in told:
            typer.echo(f"bochner: warning: {line}", err=True)
        told.add(line)

    return tell


def application(asked: str = "") -> typer.Typer:
    """Typer application with the command of this package that is asked for, or else with every command.

    One takes a third of the time of all, and no other package is looked for.
    """
    app = typer.Typer(
        help=HELP,
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,  # plain help: the same in a terminal, in a file and in the documentation
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(options)
    own = {name.replace("_", "-"): name for name in command_names()}
    if asked in own:
        commands = {asked: command_named(own[asked])}
    else:
        commands = {**{shown: command_named(name) for shown, name in own.items()}, **installed_commands(), **REGISTERED}
    for shown, function in commands.items():
        app.command(shown)(function)
    return app


ORDER = (
    *("fit", "merge", "predict", "map", "fill", "aggregate", "hotspots", "validate", "report"),
    *("simulate", "studio", "demo", "paper"),
)
GROUP = "bochner.commands"
REGISTERED: dict[str, Command] = {}


def register_command(command: Command, name: str | None = None) -> Command:
    """Add a command to this session: a function with typer's options and a docstring with an example.

    Its name is that of the function, unless one is given. Also a decorator.
    """
    name = command.__name__.replace("_", "-") if name is None else name
    if name in command_names():
        raise InputError(
            f"bochner has a command {name!r} already; give another name: register_command(function, 'my-{name}')."
        )
    REGISTERED[name] = command
    return command


def command_names() -> list[str]:
    """Files of this package, each of which is a command, in the order in which they are usually needed."""
    found = {module.name for module in iter_modules(__path__) if not module.name.startswith("_")}
    return [*(name for name in ORDER if name in found), *sorted(found - set(ORDER))]


def command_named(name: str) -> Command:
    """The function of a file of this package."""
    command: Command = getattr(import_module(f"{__name__}.{name}"), name)
    return command


def installed_commands() -> dict[str, Command]:
    """Commands of other packages; one that cannot be loaded, or has a name of ours, is told of and left out."""
    from importlib.metadata import entry_points

    found: dict[str, Command] = {}
    for entry in entry_points(group=GROUP):
        try:
            if entry.name in command_names():
                raise ImportError("the name is that of a command of bochner")
            found[entry.name] = entry.load()
        except (ImportError, AttributeError) as error:
            warn(f"the command {entry.name!r} ({entry.value}) cannot be used: {error}.", FallbackWarning)
    return found


def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=lambda on: show_version(on), is_eager=True
        ),
    ] = False,
) -> None:
    """Options of `bochner` itself."""


def show_version(asked: bool) -> None:
    """Print the version and stop, if it was asked for."""
    if asked:
        typer.echo(f"bochner {__version__}")
        raise typer.Exit


def one_line(error: Exception) -> str:
    """Message of an error on one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return " ".join(str(error).split()) or "there is not enough memory; give less at once, or a memory limit."

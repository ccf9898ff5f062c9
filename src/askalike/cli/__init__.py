"""The command line: one file per command group; a command parses, calls the library, prints."""

import ast
import errno
import gc
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from askalike.cli._command import USAGE_ERROR, ArchiveCommand, CommandGroup
from askalike.core.errors import AskalikeError

INTERRUPTED_EXIT_CODE = 130
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Error numbers of writing to a full or failing disk."""
FILES = {
    "importing": "import",
    "health": "check info",
    "search": "index search answer",
    "rank": "rank",
    "evaluate": "evaluate compare split experiment",
    "replaying": "replay",
    "tune": "tune",
    "calibrate": "calibrate",
    "models": "train models promote rollback",
    "encoder": "encoder",
    "distil": "distil",
    "moderation": "dedupe gaps suggest-tags",
    "drafts": "drafts",
    "copies": "export backup restore",
    "service": "serve keys feedback purge",
    "assistants": "mcp",
    "askalike.opensearch.commands": "opensearch",
}
"""File of this folder, or a module elsewhere → its commands; `split` is the function or group `split_command`."""
GROUPS = {
    "Start": "import check info index",
    "Search": "search rank answer suggest-tags",
    "Improve": "tune calibrate train encoder distil promote rollback models",
    "Measure": "evaluate compare split experiment replay",
    "Moderate": "dedupe gaps drafts feedback",
    "Serve": "serve mcp keys opensearch",
    "Maintain": "export backup restore purge",
}
"""The commands by their heading in the help, in the order in which a newcomer needs them."""
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names.split()}
GC_THRESHOLD = 200_000
"""Number of new objects after which Python collects garbage: imports create many, none of which is garbage."""
PYDANTIC_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
"""The variable that stops pydantic from looking for plugins in every installed package."""
COMPLETION_VARIABLES = ("_TYPER_COMPLETE_ARGS", "COMP_WORDS")
"""Variables in which a shell passes a command line for completion."""


class _OrderedCommands(CommandGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order of GROUPS."""
        order = {name: place for place, name in enumerate(GROUP_OF)}
        return sorted(super().list_commands(ctx), key=lambda name: order.get(name, len(order)))


app = typer.Typer(
    name="askalike",
    cls=_OrderedCommands,
    help="""Find the questions in a Q&A archive that ask the same thing.

    Examples:

    ```
    askalike import table FAQ.csv -o DIR
    askalike search DIR "How do I reset my password?"
    askalike search --help
    ```
    """,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(app: typer.Typer, only: str = "") -> None:
    """Register commands with the application: all, or only those in the file of the command `only`."""
    app.registered_commands, app.registered_groups = [], []
    files = [file for file, commands in FILES.items() if only in commands.split()] or FILES
    for file in files:
        module = importlib.import_module(_module_name(file))
        for name in FILES[file].split():
            command = getattr(module, f"{name.replace('-', '_')}_command")
            if isinstance(command, typer.Typer):
                for each in command.registered_commands:
                    each.cls = ArchiveCommand
                app.add_typer(command, name=name, cls=command.info.cls or CommandGroup, rich_help_panel=GROUP_OF[name])
            else:
                app.command(name, cls=ArchiveCommand, rich_help_panel=GROUP_OF[name])(command)


def register_summaries(app: typer.Typer) -> None:
    """Register all commands with only their summaries, for the list of commands: none is imported or can be run."""
    app.registered_commands, app.registered_groups = [], []
    for file in FILES:
        for name, summary in _read_summaries(file):
            app.command(name, help=summary, rich_help_panel=GROUP_OF[name])(lambda: None)


def _read_summaries(file: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a file with the docstring of each function, or the help of each group."""
    path = Path(__file__).parents[2].joinpath(*_module_name(file).split(".")).with_suffix(".py")
    source = path.read_text(encoding="utf-8")
    texts: dict[str, str] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            texts[node.name] = ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            helps = (k.value for k in node.value.keywords if k.arg == "help")
            texts[ast.unparse(node.targets[0])] = next((str(h.value) for h in helps if isinstance(h, ast.Constant)), "")
    for name in FILES[file].split():
        yield name, texts[f"{name.replace('-', '_')}_command"]


def _module_name(file: str) -> str:
    return file if "." in file else f"askalike.cli.{file}"


def _print_version(requested: bool) -> None:
    if requested:
        print(f"askalike {sys.modules['askalike'].__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """The options that come before any command."""


def main() -> None:
    """Run the command line. An error that a user can fix is one line on stderr, with exit code 2."""
    gc.set_threshold(GC_THRESHOLD)
    os.environ.setdefault(PYDANTIC_PLUGINS, "__all__")
    try:
        command = _find_command()
        register(app, command) if command else register_summaries(app)
        code = app(prog_name="askalike", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:  # before typer, which handles it itself, has started
        code = INTERRUPTED_EXIT_CODE
    except AskalikeError as error:
        _exit_with_error(str(error))
    except USAGE_ERROR as error:
        _exit_with_error(_format_usage_error(error))
    except (BrokenPipeError, SystemExit) as error:
        if not isinstance(error.__context__ or error, BrokenPipeError):
            raise
        _discard_output()  # the reader has closed the pipe, as `head -1` does
        sys.exit(0)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        _discard_output()
        _exit_with_error(f"the output cannot be written ({error.strerror}); free some space, or write it elsewhere")
    if code == INTERRUPTED_EXIT_CODE:
        print("askalike: interrupted; all committed changes are kept", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def _find_command() -> str:
    """Return the command in the command line, to be run or completed; empty if there is none."""
    completed = next((os.environ[name].split() for name in COMPLETION_VARIABLES if name in os.environ), sys.argv)
    name = next(iter(completed[1:]), "")
    return name if name in GROUP_OF else ""


def _discard_output() -> None:
    """Discard all output, including what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_with_error(message: str) -> NoReturn:
    if message:
        print(f"askalike: {message}", file=sys.stderr)
    sys.exit(2)


def _format_usage_error(error: Any) -> str:
    """Return what is wrong with the command line and where to find help; empty if the help was shown instead."""
    problem = " ".join(error.format_message().split()).removesuffix(".").replace("Value error, ", "")
    command = error.ctx.command_path if error.ctx else "askalike"
    return f"{problem[:1].lower()}{problem[1:]}; see: {command} --help" if problem else ""

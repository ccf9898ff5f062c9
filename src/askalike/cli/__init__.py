"""The command line: one file per command group; a command parses, calls the library, prints."""

import atexit
import errno
import gc
import importlib
import os
import sys
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Annotated, Any, NoReturn

import typer

from askalike.cli.command import ArchiveCommand, CommandGroup
from askalike.core import registry
from askalike.core.errors import AskalikeError
from askalike.core.output import escape_controls

INTERRUPTED_EXIT_CODE = 130
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "demo": ("install", "Import, search and measure an example archive; each command is shown before it runs."),
        "init": ("archives", "Create an empty archive, which an application fills over HTTP."),
        "import": ("archives", "Import questions and answers from files, a dump or a running site."),
        "check": ("health", "Check an archive: titles, templates, label leaks, languages, references."),
        "info": ("health", "Show what an archive holds: counts, lengths, dates, tags, splits, sizes."),
        "index": ("search", "Build or update the index of a ranker."),
    },
    "Search": {
        "search": ("search", "Find the questions most similar to a text."),
        "rank": ("search", "Rank the archive's questions for many queries, as a TREC run."),
        "answer": ("search", "Answer a question from the archive's stored answers."),
        "suggest-tags": ("moderation", "Suggest tags for a question, from those of the most similar questions."),
    },
    "Improve": {
        "tune": ("tune", "Find the ranker that suits an archive best, activate it, and calibrate it."),
        "calibrate": ("calibrate", "Turn a ranker's scores into probabilities, and measure how reliable they are."),
        "encoder": ("models", "List the pre-trained encoders at hand, and choose the one of an archive."),
        "distil": (
            "models",
            "Make searches with a slow encoder fast: look queries up instead; "
            "the encoder still encodes each document once.",
        ),
        "promote": ("models", "Activate a ranker if it is significantly better on held-out links and feedback."),
        "rollback": ("models", "Deactivate the current ranker and return to the one before it."),
        "models": ("models", "List an archive's trained models and its active ranker, or remove a model."),
    },
    "Measure": {
        "evaluate": ("evaluate", "Measure a ranker on an archive's labels, or a run file against qrels."),
        "split": ("evaluate", "Divide a split into train, dev and test, or folds."),
    },
    "Moderate": {
        "dedupe": ("moderation", "Find clusters of duplicates and propose an original for each."),
        "gaps": ("moderation", "List questions that people ask and the archive does not answer."),
        "drafts": ("moderation", "Propose FAQ entries: frequent solved questions that have no entry yet."),
        "feedback": ("service", "Export people's verdicts on the hits that they saw."),
    },
    "Serve": {
        "serve": ("service", "Serve archives over HTTP: pages, a JSON API and a widget."),
        "mcp": ("service", "Serve an archive's read-only tools to assistants over the Model Context Protocol."),
        "keys": ("service", "Create, list and revoke the keys of an archive's HTTP interface."),
    },
    "Maintain": {
        "compile": ("install", "Compile the inner loops for this machine, so that the first search need not."),
        "export": ("archives", "Export an archive to a new folder."),
        "backup": ("archives", "Save an archive to one file; the archive may be in use."),
        "restore": ("archives", "Restore an archive from a backup, after checking every byte."),
        "purge": ("service", "Delete what people posted: queries, feedback and drafts; the archive's questions stay."),
    },
}
"""Heading in the help → command → its file in this folder and its summary, in the order in which a newcomer needs them.

The summary is the first paragraph of the command's help, shown without importing its file; `split` is the function or
group `split_command`.
"""
HEADING_OF = {name: heading for heading, commands in COMMANDS.items() for name in commands}
FILE_OF = {name: file for commands in COMMANDS.values() for name, (file, _) in commands.items()}
GC_THRESHOLD = 200_000
"""Number of new objects after which Python collects garbage: imports create many, none of which is garbage."""
PYDANTIC_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
"""The variable that stops pydantic from looking for plugins in every installed package."""
SAFE_PATH = "PYTHONSAFEPATH"
"""The variable that keeps the current folder out of the path of each Python that a command starts."""
COMPLETION_VARIABLES = ("_TYPER_COMPLETE_ARGS", "COMP_WORDS")


class _OrderedCommands(CommandGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order of COMMANDS, those of other packages last."""
        order = {name: place for place, name in enumerate(HEADING_OF)}
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
    for name, file in FILE_OF.items():
        if not only or file == FILE_OF.get(only):
            module = importlib.import_module(f"askalike.cli.{file}")
            _add(app, name, getattr(module, f"{name.replace('-', '_')}_command"), HEADING_OF[name])
    for name, command in _other_commands().items() if only not in FILE_OF else ():
        if only in ("", name):
            _add(app, name, resolve_name(command.target), command.heading)


def register_summaries(app: typer.Typer) -> None:
    """Register all commands with only their summaries, for the list of commands: none is imported or can be run."""
    app.registered_commands, app.registered_groups = [], []
    for heading, commands in COMMANDS.items():
        for name, (_, summary) in commands.items():
            app.command(name, help=summary, rich_help_panel=heading)(lambda: None)
    for name, command in _other_commands().items():
        app.command(name, help=command.summary, rich_help_panel=command.heading)(lambda: None)


def _other_commands() -> Mapping[str, registry.Command]:
    """Return the commands of other packages by name."""
    return {name.replace("_", "-"): registry.load("command", name) for name in registry.names("command")}


def _add(app: typer.Typer, name: str, command: Any, heading: str) -> None:
    if not isinstance(command, typer.Typer):
        app.command(name, cls=ArchiveCommand, rich_help_panel=heading)(command)
        return
    for each in command.registered_commands:
        each.cls = ArchiveCommand
    app.add_typer(command, name=name, cls=command.info.cls or CommandGroup, rich_help_panel=heading)


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
    atexit.register(gc.freeze)  # the interpreter would look through all objects twice before it ends
    os.environ.setdefault(PYDANTIC_PLUGINS, "__all__")
    os.environ[SAFE_PATH] = "1"
    try:
        command = _find_command()
        if command:
            register(app, command)
        elif sys.argv[1:] != ["--version"]:
            register_summaries(app)
        code = app(prog_name="askalike", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:  # before typer, which handles it itself, has started
        code = INTERRUPTED_EXIT_CODE
    except AskalikeError as error:
        _exit_with_error(str(error))
    except typer.TyperException as error:
        _exit_with_error(_format_usage_error(error))
    except (BrokenPipeError, SystemExit) as error:
        if not isinstance(error.__context__ or error, BrokenPipeError):
            raise
        _discard_output()  # the reader has closed the pipe, as `head -1` does
        sys.exit(0)
    except (MemoryError, OSError) as error:
        if isinstance(error, MemoryError) or error.errno == errno.ENOMEM:
            _exit_with_error("the memory does not suffice; allow more of it, or give the command less to do at once")
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
    return name if name in HEADING_OF or (name[:1] != "-" and name in _other_commands()) else ""


def _discard_output() -> None:
    """Discard all output, including what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_with_error(message: str) -> NoReturn:
    if message:
        print(escape_controls(f"askalike: {message}"), file=sys.stderr)
    sys.exit(2)


def _format_usage_error(error: Any) -> str:
    """Return what is wrong with the command line and where to find help; empty if the help was shown instead."""
    problem = " ".join(error.format_message().split()).removesuffix(".").replace("Value error, ", "")
    if errors := getattr(error.__cause__, "errors", None):  # pydantic's, which is imported only then
        from askalike.core.config import describe_expected

        wrong = errors()[0]
        problem = problem.replace(wrong["msg"], f"{wrong['input']!r}: {describe_expected(wrong)}")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "askalike"
    return f"{problem[:1].lower()}{problem[1:]}; see: {command} --help" if problem else ""

"""The command line: one file per command group; a command parses, calls the library, prints."""

import sys

import typer

from askalike.errors import AskalikeError

app = typer.Typer(
    name="askalike",
    help="Finds the questions in a Q&A archive that ask the same thing.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def main() -> None:
    """Runs the command line: what a person can mend is one line on stderr and exit code 2."""
    from askalike.cli import commands

    commands.register(app)
    try:
        app()
    except AskalikeError as error:
        print(f"askalike: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("askalike: interrupted; what was committed before is kept", file=sys.stderr)
        sys.exit(130)

"""askalike demo, compile: show a new installation, and make it ready."""

import os
import shlex
import sys
import time
from importlib.resources import files
from pathlib import Path
from shutil import which
from typing import Annotated

from rich.markup import escape
from typer import Argument, Exit, Option

from askalike.cli.output import open_console, progress_bar
from askalike.core.errors import InputError, SettingsError
from askalike.core.parallel import count_processors, map_pieces, run_module, use_workers
from askalike.core.values import format_count
from askalike.native.compiled import CACHE_VARIABLE, StoredCode, find_modules, store_code

EXAMPLE_FILE = "riverside.csv"
COMMANDS = (
    "import table {table} -o {archive}",
    "index {archive}",
    'search {archive} "my bicycle was stolen, what now" -k 3 --explain',
    'search {archive} "Wie lange darf ich das Buch behalten?" -k 1 --explain',
    'search {archive} "lost my libary card" -k 1 --tag card',
    'search {archive} "best pizza in Rome"',
    'evaluate {archive} --split rephrasings --measures "Success@1 Success@10"',
    "encoder list {archive}",
)
AFTERWARDS = """
{folder} holds the table and the archive that was made of it. Both were written for this demonstration:
with your own data, expect rarer matches until the archive is tuned and calibrated.

Ask it something yourself, or open its pages at http://127.0.0.1:8080:
    {program} search {archive} "your question"
    {program} serve {archive}
Then import your own: {program} import --help"""


def demo_command(
    folder: Annotated[Path, Argument(metavar="DIR", help="A folder for the example; created if new.")] = Path("demo"),
) -> None:
    """Import, search and measure an example archive; each command is shown before it runs.

    Examples:

    ```
    askalike demo
    askalike demo /tmp/demo
    ```
    """
    console = open_console(highlight=False)
    table = folder / EXAMPLE_FILE
    archive = folder / "archive"
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the example: askalike demo DIR")
    folder.mkdir(parents=True, exist_ok=True)
    table.write_bytes(files("askalike.cli").joinpath(EXAMPLE_FILE).read_bytes())
    names = {"table": shlex.quote(str(table)), "archive": shlex.quote(str(archive))}
    for command in (line.format(**names) for line in COMMANDS):
        console.print(f"\n[bold]$ askalike {escape(command)}[/bold]", soft_wrap=True)
        if code := run_module("askalike", shlex.split(command)):
            raise Exit(code)
    program = "askalike" if which("askalike") else os.path.relpath(sys.argv[0])
    console.print(
        AFTERWARDS.format(folder=folder, program=program, archive=names["archive"]), soft_wrap=True, markup=False
    )


def compile_command(
    jobs: Annotated[
        int | None,
        Option("--jobs", min=1, help="Number of processes that share the work.", show_default="all processors"),
    ] = None,
) -> None:
    """Compile the inner loops for this machine, so that the first search need not.

    Examples:

    ```
    askalike compile
    askalike compile --jobs 1
    ```
    """
    started = time.perf_counter()
    code = compile_all(jobs)
    if code.refused:
        advice = f"set {CACHE_VARIABLE} to a folder that this user can write, and nobody else"
        raise SettingsError(f"the machine code of {format_count(code.refused, 'function')} cannot be written; {advice}")
    print(f"{format_count(code.stored, 'function')} compiled in {time.perf_counter() - started:.1f} s")


def compile_all(jobs: int | None = None) -> StoredCode:
    """Compile all functions that have no machine code, and show the progress. jobs: number of processes."""
    modules = list(find_modules())
    codes: list[StoredCode] = []
    with use_workers(jobs or count_processors()), progress_bar("compiling") as report:
        for code in map_pieces(store_code, modules):
            codes.append(code)
            if report:
                report(len(codes), len(modules))
    return StoredCode(*map(sum, zip(*codes, strict=True)))

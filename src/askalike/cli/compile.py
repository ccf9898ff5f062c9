"""askalike compile: machine code for this machine, right after an installation instead of in the first search."""

import os
import time
from typing import Annotated

from typer import Option

from askalike.cli._output import progress_bar
from askalike.core.counts import format_count
from askalike.core.errors import SettingsError
from askalike.core.parallel import map_pieces, use_workers
from askalike.native.ahead import find_modules, store_code
from askalike.native.compiled import CACHE_VARIABLE

Jobs = Annotated[
    int | None, Option("--jobs", min=1, help="Number of processes that share the work.", show_default="all processors")
]


def compile_command(jobs: Jobs = None) -> None:
    """Compile the inner loops for this machine, so that the first search need not.

    Examples:

    ```
    askalike compile
    askalike compile --jobs 1
    ```
    """
    modules, started = list(find_modules()), time.perf_counter()
    stored = refused = 0
    with use_workers(jobs or os.cpu_count() or 1), progress_bar("compiling") as report:
        for done, code in enumerate(map_pieces(store_code, modules), 1):
            stored, refused = stored + code.stored, refused + code.refused
            if report:
                report(done, len(modules))
    if refused:
        advice = f"set {CACHE_VARIABLE} to a folder that this user can write, and nobody else"
        raise SettingsError(f"the machine code of {format_count(refused, 'function')} cannot be written; {advice}")
    print(f"{format_count(stored, 'function')} compiled in {time.perf_counter() - started:.1f} s")

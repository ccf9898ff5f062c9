"""Size, speed and agreement of a static site: what a browser finds, beside what the archive's ranker finds.

python packages/browser/benchmarks/agreement.py ARCHIVE SITE [N]

SITE is a folder written by `askalike export ARCHIVE --format static-site`. N titles of the archive are drawn (seed 1):
each as it is, its first 60 % of characters, and with a word misspelt. Needs Playwright and Chromium.
"""

import os
import random
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from askalike import rankers
from askalike.core.files import measure_folder
from askalike.core.records import Question
from askalike.store import Archive
from askalike.text.typos import misspell

SEED, K = 1, 10
SEARCH = """([texts, k]) => texts.map((text) => {
    const start = performance.now(), { hits } = askalikeSite.search(text, { k, all: true })
    return [hits.map(({ id }) => id), performance.now() - start]
})"""
LOAD = """() => askalikeSite.ready.then(() => performance.now()).then((ready) =>
    askalikeSite.complete.then(() => [ready, performance.now()]))"""


def main(directory: str, site: str, count: str = "500") -> None:
    """Print the size, the time to load, and a line for each kind of query."""
    folder = Path(site)
    print(f"{measure_folder(folder) / 1e6:.2f} MB")
    for file in sorted(folder.glob("data/*.js"), key=lambda path: -path.stat().st_size)[:4]:
        print(f"  {file.name} {file.stat().st_size / 1e6:.2f} MB")
    with Archive.open(Path(directory)) as archive, sync_playwright() as running:
        searcher = rankers.open_current(rankers.create(archive=archive), archive.view())
        titles = [question.title for _, question in archive.view().questions()]
        rng = random.Random(SEED)
        chosen = rng.sample(titles, min(int(count), len(titles)))
        browser = running.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium")
        )
        page = browser.new_page()
        page.goto(f"{folder.resolve().as_uri()}/index.html")
        ready, complete = page.evaluate(LOAD)
        print(f"words after {ready:.0f} ms, vectors after {complete:.0f} ms, from the disk")
        for name, typed in {
            "whole": chosen,
            "first 60 %": [title[: int(0.6 * len(title))] for title in chosen],
            "a word misspelt": [misspell(title, 1, rng) for title in chosen],
        }.items():
            queries = {str(n): Question(f" typed {n}", title) for n, title in enumerate(typed)}
            run = rankers.rank(searcher, queries, K, prefix=True)
            expected = [[hit.id for hit in run[id]] for id in queries]
            before = measure_browser_s()
            found = page.evaluate(SEARCH, [typed, K])
            processor_ms = 1_000 * (measure_browser_s() - before) / len(typed)
            pairs = [(own, other) for own, (other, _) in zip(expected, found, strict=True)]
            same = np.mean([own[:1] == other[:1] for own, other in pairs])
            shared = np.mean([len({*own} & {*other}) / max(1, len(own)) for own, other in pairs])
            times = np.percentile([ms for _, ms in found], (50, 95))
            print(
                f"{name}: n {len(typed)}  same first hit {100 * same:.1f} %  shared of ten {100 * shared:.1f} %  "
                f"ms median {times[0]:.1f}, 95 % {times[1]:.1f}, of processors {processor_ms:.1f}"
            )
        browser.close()


def measure_browser_s() -> float:
    """Return the processor time of all of the browser's processes so far, in seconds: other work does not count."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, fields = stat.read_text().rpartition(") ")
            if "chrom" in name or "headless" in name:
                ticks += sum(map(int, fields.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(*sys.argv[1:])

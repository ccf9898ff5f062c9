"""Size, speed and agreement of a static site: what a browser finds, beside what the archive's ranker finds.

python packages/browser/benchmarks/agreement.py ARCHIVE SITE [N [RANKER]]

SITE is a folder written by `askalike export ARCHIVE --format static-site [--ranker RANKER]`. N titles of the archive
are drawn (seed 1): each as it is, its first 60 % of characters, and with a word misspelt: these find all that the
rankers find. In a polite frame of experiments/people, each finds only what is similar enough, with its grade. Needs
Playwright and Chromium.
"""

import os
import random
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from askalike import SearchRequest, load
from askalike.core.files import measure_folder
from askalike.text.typos import misspell

SEED, K = 1, 10
SEARCH = """([texts, k]) => texts.map((text) => {
    const start = performance.now(), { hits } = askalikeSite.search(text, { k, all: true })
    return [hits.map(({ id }) => id), performance.now() - start]
})"""
GRADED = """([texts, k]) => texts.map((text) =>
    askalikeSite.search(text, { k }).hits.map(({ id, grade }) => [id, grade]))"""
POLITE = Path(__file__).parents[3] / "experiments/people/polite.tsv"
LOAD = """() => askalikeSite.ready.then(() => performance.now()).then((ready) =>
    askalikeSite.complete.then(() => [ready, performance.now()]))"""


def main(directory: str, site: str, count: str = "500", ranker: str | None = None) -> None:
    """Print the size, the time to load, and a line for each kind of query."""
    folder = Path(site)
    print(f"{measure_folder(folder) / 1e6:.2f} MB")
    for file in sorted(folder.glob("data/*.js"), key=lambda path: -path.stat().st_size)[:4]:
        print(f"  {file.name} {file.stat().st_size / 1e6:.2f} MB")
    with load(directory, ranker) as engine, sync_playwright() as running:
        titles = [question.title for _, question in engine.archive.view().questions()]
        rng = random.Random(SEED)
        chosen = rng.sample(titles, min(int(count), len(titles)))
        browser = running.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"), args=["--no-sandbox"]
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
            requests = [SearchRequest(title, k=K, prefix=True, min_similarity=0) for title in typed]
            expected = [[hit.id for hit in hits] for hits in engine.search_batch(requests)]
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
        polite = [draw_frame(rng).format(title) for title in chosen]
        expected = [
            [(hit.id, hit.grade) for hit in hits]
            for hits in engine.search_batch([SearchRequest(text, k=K, prefix=True) for text in polite])
        ]
        found = [[tuple(hit) for hit in hits] for hits in page.evaluate(GRADED, [polite, K])]
        pairs = list(zip(expected, found, strict=True))
        first, shown = (
            np.mean([key(own) == key(other) for own, other in pairs]) for key in (lambda hits: hits[:1], bool)
        )
        print(f"polite: n {len(pairs)}  same first hit and grade {100 * first:.1f} %  as silent {100 * shown:.1f} %")
        browser.close()


def draw_frame(rng: random.Random) -> str:
    """Return what somebody writes around a question, with braces in its place."""
    rows = [line.split("\t") for line in POLITE.read_text("utf-8").splitlines()]
    before, after = rng.choice([row[1:] for row in rows if row[0] == "en"])
    return " ".join(f"{before} {{}} {after}".replace("\\n", " ").split())


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

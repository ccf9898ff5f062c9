"""What "Possible Duplicate: TITLE" in bodies is worth: without it, and as CQADupStack's copies have it.

    python experiments/leak.py DUMP RANKER …

DUMP is the folder of a Stack Exchange dump that still has such notices. Bodies are put on one line, as in those copies,
so that nobody can see where the title ends. Queries are whole questions, the relevant one is the other end of the
link. The last two columns are without the queries that have a notice.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree.ElementTree import iterparse

from askalike import rankers
from askalike.core.records import Question
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.intervals import BinomialProportion
from askalike.evaluation.trec import separate_ties
from askalike.health import run_checks
from askalike.health.leaks import named_originals
from askalike.labels.splits import load_split
from askalike.readers import import_archive
from askalike.store import Archive
from askalike.text.banners import words_after_banner
from askalike.text.clean import plain_text

MEASURES = ("Success@1", "Success@5", "Success@10")
DEPTH = 100


def main(dump: str, *names: str) -> None:
    """Print what `check` finds, and a row of a table for each ranker."""
    with TemporaryDirectory() as folder:
        import_archive("stackexchange", dump, Path(folder) / "imported")
        with (
            Archive.open(Path(folder) / "imported") as imported,
            Archive.create(Path(folder) / "without") as without,
            Archive.create(Path(folder) / "with") as leaky,
        ):
            questions = {question.id: question for _, question in imported.view().questions()}
            noticed = read_noticed(Path(dump) / "Posts.xml", questions)
            cleaned = {id: put_on_one_line(question) for id, question in questions.items()}
            links = [*imported.view().links("duplicate")]
            without.upsert([*cleaned.values(), *links])
            leaky.upsert([*{**cleaned, **noticed}.values(), *links])
            [finding] = run_checks(leaky, checks=(named_originals,))
            print(f"{len(noticed)} of {len(questions)} bodies begin with a notice; check: {finding.count} of "
                  f"{finding.n} {finding.unit} name their original")  # fmt: skip
            print("| ranker | without notices | with notices | without, other queries | with, other queries |")
            print("| --- | --- | --- | --- | --- |")
            for name in names:
                cells = [
                    measure(archive, name, left_out)
                    for left_out in (set(), set(noticed))
                    for archive in (without, leaky)
                ]
                print(f"| {name} | {' | '.join(cells)} |", flush=True)


def read_noticed(path: Path, questions: Mapping[str, Question]) -> dict[str, Question]:
    """Return the questions whose body begins with a notice in the dump, with that body on one line."""
    found = {}
    for _, row in iterparse(path):
        id, body = row.get("Id", ""), row.get("Body", "")
        if id in questions and words_after_banner(body, "html"):
            found[id] = put_on_one_line(replace(questions[id], body=body, markup="html"))
        row.clear()
    return found


def put_on_one_line(question: Question) -> Question:
    """Return a question whose body is plain text on one line."""
    return replace(question, body=" ".join(plain_text(question.body, question.markup).split()), markup="text")


def measure(archive: Archive, name: str, left_out: set[str]) -> str:
    """Return Success@1/5/10 in percent on the duplicates, and the interval of the first."""
    labels = load_split(archive, "duplicates")
    queries = {id: query for id, query in labels.queries.items() if id not in left_out}
    searcher = rankers.open_current(rankers.create(name, {}, archive), archive.view())
    run = separate_ties(rankers.rank(searcher, queries, DEPTH))
    result = evaluate(run, {id: labels.qrels[id] for id in queries}, MEASURES, "trec_eval")
    shares = "/".join(f"{100 * result.means[each]:.1f}" for each in MEASURES)
    low, high = BinomialProportion(round(result.n * result.means[MEASURES[0]]), result.n).interval
    return f"{shares} ({100 * low:.0f}–{100 * high:.0f}, n = {result.n})"


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What people are shown: of the answers that are found the share that is shown, and silence where there is none.

python experiments/shown.py TEXTS ARCHIVE:QUERIES[:SISTER] … > experiments/reports/shown.json

TEXTS is the folder people/ or people/test/, on which alone nothing was chosen. QUERIES is the name of the archive in
these texts, or a split of the archive. SISTER is another archive, whose titles are asked, too. The archive's own
ranker answers, by the engine that every way of searching uses. Each kind of query is a row: as people ask (plain),
the same with a greeting before and thanks behind (polite), the first 60 % of own titles (half), own titles, everyday
questions that set no limit, and the sister's titles.
"""

import json
import os
import random
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from askalike.labels.splits import load_split
from askalike.search.archive_retriever import ArchiveRetriever, SearchRequest
from askalike.store import Archive
from askalike_research.experiments.provenance import collect_provenance

K, SAMPLE, SEED = 5, 400, 0


class Asked(NamedTuple):
    """A text, and the ids of the questions that it should find; none if it has nothing to do with the archive."""

    text: str
    relevant: frozenset[str] = frozenset()
    prefix: bool = False


def main(texts: str, *places: str) -> None:
    """Write the rows as a JSON list, one in each line."""
    rows = []
    command = shlex.join(["python", "experiments/shown.py", *map(os.path.basename, (texts, *places))])
    for place in places:
        path, queries, *sisters = place.split(":")
        name = Path(path).name
        with ArchiveRetriever.open(path) as retriever:
            retriever.search(place)  # finds the limits of grades
            for kind, asked in collect(retriever, Path(texts), name, queries, sisters).items():
                rows.append({"archive": name, "kind": kind, "n": len(asked)} | measure(retriever, asked))
                print(rows[-1], file=sys.stderr, flush=True)
                rows[-1]["provenance"] = collect_provenance(retriever.archive, command)
    print("[", ",\n".join(map(json.dumps, rows)), "]", sep="\n")


def collect(
    retriever: ArchiveRetriever, folder: Path, name: str, queries: str, sisters: Sequence[str]
) -> dict[str, list[Asked]]:
    """Return kind → what is asked."""
    view = retriever.archive.view()
    titles = [(id, title) for _, id, title in view.titles() if title]
    language = view.language or max(view.languages, default="en")
    plain = read_people(folder, queries, language) or read_split(retriever.archive, queries)
    own = draw([Asked(title, frozenset([id])) for id, title in titles])
    everyday = [Asked(text) for code, _, text in read(folder / "everyday.tsv") if code == language]
    sets = {
        "plain": plain,
        "polite": make_polite(folder, plain, language),
        "own": own,
        "half": [Asked(cut(one.text), one.relevant, prefix=True) for one in own],
        "everyday": everyday,
        "everyday, polite": make_polite(folder, everyday, language),
    }
    for sister in sisters:
        with Archive.open(Path(sister)) as other:
            sets[f"titles of {Path(sister).name}"] = draw(
                [Asked(title) for _, _, title in other.view().titles() if title]
            )
    return {kind: asked for kind, asked in sets.items() if asked}


def measure(retriever: ArchiveRetriever, asked: Sequence[Asked]) -> dict[str, Any]:
    """Return the shares in per cent: found among five, of these shown and shown as the same, silence, no `same`."""
    requests = [SearchRequest(one.text, k=K, prefix=one.prefix, min_similarity=0.0, explain=False) for one in asked]
    results = [
        result
        for start in range(0, len(requests), 50)
        for result in retriever.search_batch(requests[start : start + 50])
    ]
    if asked[0].relevant:
        right = [[hit for hit in result if hit.id in one.relevant] for one, result in zip(asked, results, strict=True)]
        grades = [{hit.grade for hit in hits} for hits in right if hits]
        first = [bool(result) and result[0].id in one.relevant for one, result in zip(asked, results, strict=True)]
        return {
            "found @1": share(first),
            "found @5": share(map(bool, right)),
            "of which shown": share(g != {None} for g in grades),
            "as the same": share("same" in g for g in grades),
        }
    grades = [{hit.grade for hit in result} for result in results]
    return {
        "silent": share(not g - {None} for g in grades),
        "none the same": share("same" not in g for g in grades),
    }


def read_people(folder: Path, queries: str, language: str) -> list[Asked]:
    """Return the colloquial questions to an archive, in its language."""
    rows = [
        (id, text)
        for archive, id, code, text in read(folder / "colloquial.tsv")
        if (archive, code) == (queries, language)
    ]
    return [Asked(text, frozenset([id])) for id, text in rows]


def read_split(archive: Archive, split: str) -> list[Asked]:
    """Return the titles of a split's queries that have a right question."""
    labels = load_split(archive, split)
    relevant = {
        id: frozenset(document for document, grade in judged.items() if grade > 0)
        for id, judged in labels.qrels.items()
    }
    return draw([Asked(q.title, relevant[id]) for id, q in labels.queries.items() if relevant.get(id)])


def make_polite(folder: Path, asked: Sequence[Asked], language: str) -> list[Asked]:
    """Return the questions between a greeting and thanks."""
    frames = [(before, after) for code, before, after in read(folder / "polite.tsv") if code == language]
    if not frames:
        return []
    polite = []
    for n, one in enumerate(asked):
        before, after = frames[n % len(frames)][0], frames[7 * n % len(frames)][1]
        polite.append(one._replace(text=f"{before} {one.text} {after}".replace("\\n", "\n").strip()))
    return polite


def read(table: Path) -> list[list[str]]:
    """Return the rows of a table."""
    return [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()]


def cut(title: str) -> str:
    """Return the first 60 % of a title's words."""
    words = title.split()
    return " ".join(words[: max(1, round(0.6 * len(words)))])


def draw(asked: list[Asked]) -> list[Asked]:
    """Return at most SAMPLE of them, in a random order."""
    return random.Random(SEED).sample(asked, min(len(asked), SAMPLE))


def share(values: Any) -> float | None:
    """Return a share in per cent; None of nothing."""
    listed = list(values)
    return round(100 * sum(listed) / len(listed), 1) if listed else None


if __name__ == "__main__":
    main(*sys.argv[1:])

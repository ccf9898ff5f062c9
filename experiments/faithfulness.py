"""Whether the words that an explanation names matter: without them, the score must decrease.

python experiments/faithfulness.py TEXTS ARCHIVE:QUERIES … > experiments/reports/faithfulness.json

TEXTS is the folder people/ or people/test/, QUERIES the name of the archive in its colloquial questions, each followed
by as many titles of the archive's own, which do not find themselves. Of each of the seven best hits, at most three
words are named, those with the highest contributions. In `document`, the words with the stems of the document's are
removed from it, and the encoder compares it again. In `query`, those of the query's are removed from it, and the
archive's ranker scores again. Rows: the words of a usual explanation, those among these that both have (shared), those
of an exact explanation (full), and random content words of document and query.
"""

import json
import random
import re
import shlex
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from shown import read

from askalike import rankers
from askalike.core.hits import CORRECTED, PAIR, Explanation
from askalike.core.records import Question
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.text.clean import plain_text
from askalike.text.language import find_function_languages, mark_languages, stem
from askalike_research.experiments.provenance import collect_provenance

HITS, NAMED, QUERIES, SEED = 7, 3, 100, 0
WORD = re.compile(r"\w[\w'’-]*")
Pairs = Sequence[tuple[str, str]]
"""A word of the query and one of the document each."""


@dataclass(frozen=True)
class Judged:
    """How much the score of a query and a document decreases without some words."""

    retriever: ArchiveRetriever
    query: Question
    document: Question
    language: str

    def document_loss(self, words: Iterable[str]) -> float:
        """Return the decrease of the encoder's similarity without these words in the document."""
        dense: Any = next(part for part in self.retriever.ranker.parts if hasattr(part, "encoder"))
        fields = dense.field_encoder(self.retriever.archive.view())
        shorter = self._without(self.document, words)
        [queries] = fields.encode_queries([self.query]).parts
        [documents] = fields.encode_documents([self._without(self.document, ()), shorter]).parts
        whole, rest = (queries.values @ np.asarray(documents.values).T)[0].tolist()
        return float(whole - rest)

    def query_loss(self, words: Iterable[str]) -> float:
        """Return the decrease of the ranker's absolute score without these words in the query."""
        whole, rest = map(self._compare, (self._without(self.query, ()), self._without(self.query, words)))
        return whole - rest

    def _compare(self, query: Question) -> float:
        """Return the absolute score of the document for a query, 0 without a title."""
        if not query.title:
            return 0.0
        searcher = self.retriever.searcher()
        found = rankers.search(searcher, {query.id: query}, 1, candidates={query.id: [self.document.id]})
        [scores] = rankers.add_absolute(searcher, found).absolute or ()
        return float(np.clip(scores[0], 0, 1))

    def _without(self, text: Question, words: Iterable[str]) -> Question:
        stems = {self._stem(word) for word in words}
        title, body = (
            " ".join(WORD.sub(lambda word: "" if self._stem(word[0]) in stems else word[0], plain).split())
            for plain in (plain_text(text.title, "text"), plain_text(text.body, text.markup))
        )
        return replace(text, title=title, body=body, markup="text", rephrasings=())

    def _stem(self, word: str) -> str:
        return stem(word.casefold().strip("'’-"), self.language)


def main(texts: str, *places: str) -> None:
    """Write the rows as a JSON list, one in each line."""
    command = shlex.join(["python", "experiments/faithfulness.py", *map(shorten, (texts, *places))])
    rows = []
    for place in places:
        path, name = place.rsplit(":", 1)
        with ArchiveRetriever.open(path) as retriever:
            language = retriever.archive.view().language or "en"
            for kind, found in measure(retriever, collect(retriever, Path(texts), name, language), language).items():
                rows.append({"archive": Path(path).name, "language": language, "words": kind, **found})
                print(rows[-1], file=sys.stderr, flush=True)
                rows[-1]["provenance"] = collect_provenance(retriever.archive, command)
    print("[", ",\n".join(map(json.dumps, rows)), "]", sep="\n")


def shorten(place: str) -> str:
    """Return a path without the folders before its last two."""
    return "/".join(Path(place).parts[-2:])


def collect(retriever: ArchiveRetriever, texts: Path, name: str, language: str) -> list[Question]:
    """Return people's questions, and as many of the archive's own, without their bodies."""
    rows = read(texts / "colloquial.tsv")
    asked = [
        Question(f"asked {n}", text) for n, (of, _, code, text) in enumerate(rows) if (of, code) == (name, language)
    ]
    view = retriever.archive.view()
    ids = [id for _, id, title in view.titles() if title]
    drawn = random.Random(SEED).sample(ids, min(len(ids), QUERIES - len(asked)))
    return [*asked, *(replace(own, body="") for own in view.get_questions(drawn).values())]


def measure(retriever: ArchiveRetriever, queries: Sequence[Question], language: str) -> Mapping[str, Mapping[str, Any]]:
    """Return kind of words → the mean decreases of the scores without them, and their number, over all hits."""
    chance = random.Random(SEED)
    losses = defaultdict[str, list[tuple[float, float, int]]](list)
    for query in queries:
        hits = retriever.find_similar(query, HITS, min_similarity=0.0)
        documents = [hit.matched_duplicate or hit.question for hit in hits]
        ids = [document.id for document in documents]
        usual, full = (retriever.explain(query, ids, exact=exact) for exact in (False, True))
        for document in documents:
            judged = Judged(retriever, query, document, language)
            named = name_pairs(usual[document.id])
            kinds = {
                "usual": named,
                "shared": [pair for pair in named if pair[0] == pair[1]],
                "full": name_pairs(full[document.id]),
                "random": list(zip(*(draw(chance, text, language) for text in (query, document)), strict=False)),
            }
            for kind, pairs in kinds.items():
                own, others = ([pair[side] for pair in pairs] for side in (0, 1))
                losses[kind].append((judged.document_loss(others), judged.query_loss(own), len(pairs)))
    return {kind: summarise(rows, len(queries)) for kind, rows in losses.items()}


def name_pairs(explanation: Explanation) -> Pairs:
    """Return the words that contribute most, each with its own in the document."""
    rows = [row for row in explanation.contributions if row.fields and row.score > 0]
    words = [row.word.rpartition(CORRECTED)[2] for row in rows]
    pairs = [(word.partition(PAIR)[0], word.rpartition(PAIR)[2]) for word in words]
    return list(dict.fromkeys(pairs))[:NAMED]


def draw(chance: random.Random, text: Question, language: str) -> Sequence[str]:
    """Return random content words of a text."""
    words = WORD.findall(f"{plain_text(text.title, 'text')} {plain_text(text.body, text.markup)}")
    marked = mark_languages([language])
    content: Collection[str] = dict.fromkeys(w.casefold() for w in words if not find_function_languages(w) & marked)
    return chance.sample(list(content), min(NAMED, len(content)))


def summarise(rows: Sequence[tuple[float, float, int]], queries: int) -> Mapping[str, Any]:
    """Return the means of the decreases and of the number of words."""
    document, query, count = np.mean(rows, axis=0).round(4).tolist()
    return {"n": len(rows), "queries": queries, "document": document, "query": query, "named": count}


if __name__ == "__main__":
    main(*sys.argv[1:])

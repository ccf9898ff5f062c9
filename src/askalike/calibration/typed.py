"""Queries that need no labels: an archive's own titles with a slip, and everyday questions that ask nothing of it."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from askalike.calibration.abstention import EverydayQuestion, everyday_questions
from askalike.core.records import Question, Split
from askalike.labels.splits import load_known_split, sample_queries
from askalike.store import Archive, Clusters, Snapshot
from askalike.text.typos import misspell

MAX_TYPED = 200
"""Maximum number of own titles, and of everyday questions."""


def type_own_titles(archive: Archive, clusters: Clusters, with_bodies: bool, seed: int = 0) -> Split:
    """Return titles of the archive as people type them: with one word misspelt. Each is to find its question.

    clusters: the archive's; a duplicate of the question is right, too. with_bodies: whether the questions' bodies
    follow, as if somebody asked them again. Empty if no question has a title.
    """
    if not any(title.strip() for _, _, title in archive.view().titles()):
        return Split({}, {})
    known = sample_queries(load_known_split(archive), MAX_TYPED, seed)
    slips = random.Random(seed)
    members = defaultdict[str, dict[str, int]](dict)
    for id, name in clusters.name_by_text.items():
        members[name][id] = 1
    sources = archive.view().get_questions(map(source_of, known.queries)) if with_bodies else {}

    def retype(id: str, query: Question) -> Question:
        source = sources.get(source_of(id), query)
        title = misspell(query.title, 1, slips)
        return replace(query, title=title, body=source.body, markup=source.markup)

    return Split(
        {id: retype(id, query) for id, query in known.queries.items()},
        {id: {**grades, **members[clusters.cluster_of(source_of(id))]} for id, grades in known.qrels.items()},
    )


def source_of(query_id: str) -> str:
    """Return the id of the question whose title was typed."""
    return query_id.rpartition(":")[0]


def spoken_questions(view: Snapshot) -> Sequence[EverydayQuestion]:
    """Return the everyday questions in the archive's languages; all if there are none in these."""
    spoken = {view.language, *view.languages}
    questions = everyday_questions()
    return [question for question in questions if question.language in spoken] or questions


def load_everyday_split(view: Snapshot, seed: int = 0) -> Split:
    """Return everyday questions in the archive's languages. Nothing is relevant to them."""
    asked = spoken_questions(view)
    drawn = sorted(random.Random(seed).sample(range(len(asked)), min(MAX_TYPED, len(asked))))
    queries = [Question(f"\n{n}:everyday", asked[n].text, language=asked[n].language) for n in drawn]
    return Split({f"{asked[n].topic}:everyday {n}": query for n, query in zip(drawn, queries, strict=True)}, {})

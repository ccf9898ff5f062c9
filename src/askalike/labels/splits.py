"""Splits: imported ones, those derived from an archive's own labels, parts of partitions, and what people type.

`SPLIT:title` is any split by its queries' titles alone, `SPLIT@PERCENT` by the first words of its titles. No model is
evaluated on a split with labels that it was trained on.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.iteration import chunks
from askalike.core.model_folders import LearnedLabels
from askalike.core.records import DocumentKind, Question, Split
from askalike.store import (
    Archive,
    Clusters,
    View,
    imported_splits,
    labels,
    partition_parts,
    read_labels,
    shuffle_names,
    takes_archive,
)
from askalike.store.labels import ANSWERS_SPLIT, parse_typed_split, part_query_ids

T = TypeVar("T")
DERIVED_SPLITS = ("duplicates", "rephrasings")
"""The derived splits of questions."""
KNOWN_SPLIT = "known"
"""The split whose queries are titles of the archive's own questions, which they are to find."""
KNOWN_QUERIES, KNOWN_SEED = 400, 0
"""The number of questions drawn for it, and the seed of the draw."""


def labelled_splits(archive: Archive, kind: DocumentKind = "questions") -> list[str]:
    """Return the names of the splits with judgements or candidates of this document kind.

    The imported splits come first, or without any the non-empty derived splits: `duplicates` and `rephrasings`, or
    `answers` if documents are answers. Then come the parts of partitions, `PARTITION/PART`.
    """
    uncut = uncut_splits(archive, kind)
    judged = {*uncut, *DERIVED_SPLITS} if kind == "questions" else set(uncut)
    parts = partition_parts(archive)

    def is_judged(name: str) -> bool:
        return name in judged or (name in parts and is_judged(parts[name].source_split))

    return uncut + list(filter(is_judged, parts))


def document_kind(archive: Archive, name: str) -> DocumentKind:
    """Return the document kind of a split: answers for the split `answers` and its parts, else questions."""
    return "answers" if labels.ranks_answers(archive, name) else "questions"


def uncut_splits(archive: Archive, kind: DocumentKind = "questions") -> list[str]:
    """Return the names of the labelled splits without the parts of partitions."""
    judged = labels.judged_splits(archive, kind)
    names = [name for name in imported_splits(archive) if name in judged]
    if names:
        return names
    if kind == "answers":
        return [ANSWERS_SPLIT] * labels.split_exists(archive, ANSWERS_SPLIT)
    return [name for name in DERIVED_SPLITS if labels.split_exists(archive, name)]


def default_split(
    archive: Archive, preferred: str | None = None, *, last_resort: str = "", min_queries: int = 0, parts: bool = False
) -> str | None:
    """Return the split to use if none is named; None if no split meets the requirements.

    That is `preferred` if the archive has it, else the first split with at least `min_queries` judged queries.
    last_resort: a split that is used only if there is no other. parts: whether parts of partitions qualify, too.
    """
    names = labelled_splits(archive) if parts else uncut_splits(archive)
    names = [name for name in names if name != last_resort or len(names) == 1]
    if preferred in names:
        return preferred
    return next((n for n in names if not min_queries or len(load_split(archive, n).qrels) >= min_queries), None)


def splits_to_hold_out(archive: Archive, name: str) -> list[str]:
    """Return the splits to hold out of training for an evaluation on the split `name`.

    These are the split itself, or none for `known`, which has no labels; for a part also the dev and test parts of its
    partition, and the splits held out for the source split except the source split itself; for an imported split also
    all other imported splits but train. For a typed split these are the ones of its source.
    """
    part = (parts := partition_parts(archive)).get(name)
    if name in (imported := imported_splits(archive)):
        return [split for split in imported if split != "train" or split == name]
    if part is None:
        source = parse_typed_split(name)[0]
        return splits_to_hold_out(archive, source) if source != name else [name] * (name != KNOWN_SPLIT)
    siblings = [split for split, other in parts.items() if other.partition == part.partition]
    held_out = [split for split in siblings if split == name or parts[split].name in ("dev", "test")]
    return held_out + [split for split in splits_to_hold_out(archive, part.source_split) if split != part.source_split]


@takes_archive
def load_split(archive: Archive, name: str, kind: DocumentKind = "questions") -> Split:
    """Return the queries, judgements and candidates of the imported split, derived split or part of that name.

    archive: or its directory. An imported split has all its queries, in the order of import. Its candidates are in
    their imported order; if no query has candidates, `candidates` is None. A candidate without a judgement is not in
    the qrels. A part has the judgements and candidates of its source split for its own queries. See `type_titles` for
    `SPLIT:title@PERCENT`. Raises ArchiveError if there is no such split.
    """
    if queries := labels.imported_queries(archive, name):
        return _load_imported(archive, name, kind, queries)
    if kind == "questions" and name in DERIVED_SPLITS and (derived := _load_derived(archive, name)).queries:
        return derived
    if kind == "answers" and name == ANSWERS_SPLIT and (answered := load_answers_split(archive)).queries:
        return answered
    if part := partition_parts(archive).get(name):
        return restrict_split(load_split(archive, part.source_split, kind), part_query_ids(archive, part))
    source, share = parse_typed_split(name)
    if share:
        return type_titles(load_split(archive, source, kind), share)
    if name == KNOWN_SPLIT and kind == "questions" and (known := load_known_split(archive)).queries:
        return known
    names = ", ".join(labelled_splits(archive, kind)) or "none; import an evaluation set, or duplicate links"
    raise ArchiveError(
        f"{archive.path}: no split {name!r} with judged {kind}; there are: {names}; and known; "
        "NAME:title and NAME@60 are the titles of a split, and the first 60 % of their words"
    )


def load_known_split(archive: Archive) -> Split:
    """Return at most KNOWN_QUERIES titles, drawn at random; every question with that very title is relevant.

    A query `ID:title` is as if somebody typed it: it is no question of the archive, so that it finds its own.
    """
    view = archive.view()
    drawn = set(shuffle_names((id for _, id, title in view.titles() if title.strip()), KNOWN_SEED)[:KNOWN_QUERIES])
    questions = view.get_questions(drawn)
    titles = {question.title for question in questions.values()}
    relevant = defaultdict[str, dict[str, int]](dict)
    for _, id, title in view.titles():
        if title in titles:
            relevant[title][id] = 1
    queries = {f"{q.id}:title": Question(f"\n{q.id}:title", q.title, language=q.language) for q in questions.values()}
    return Split(queries, {id: relevant[query.title] for id, query in queries.items()}, has_labels=False)


def type_titles(split: Split, share: float) -> Split:
    """Return a split by the first words of its titles: that share of them, rounded up, the last one finished.

    Details are written after the title, so the queries have no body.
    """

    def typed(question: Question) -> Question:
        words = question.title.split()
        return replace(question, title=" ".join(words[: math.ceil(round(share * len(words), 6))]), body="")

    return replace(split, queries={id: typed(question) for id, question in split.queries.items()})


def identify_queries(view: View, queries: Mapping[str, Question]) -> dict[str, Question]:
    """Return external queries by their own ids, with the archive's id if they are a question of the archive.

    They are if id and title are equal; `ID#N` is the N-th phrasing of a question if their texts are equal. Others with
    the id of a question get one that no question has, so that they can find a document with an equal id.
    """
    known = view.get_questions({id for query in queries for id in (query, query.rpartition("#")[0])})
    titles = {id: question.title for id, question in known.items()}
    titles |= {f"{q.id}#{n}": text for q in known.values() for n, text in enumerate(q.rephrasings, 1)}
    others = {id for id in queries if known.keys().isdisjoint((id, id.rpartition("#")[0]))}
    return {
        id: query if id in others or titles.get(id) == query.title else replace(query, id=f"\n{id}")
        for id, query in queries.items()
    }


def load_answers_split(archive: Archive) -> Split:
    """Return the questions with an answer not labelled bad; answers to exactly the same text are relevant."""
    queries: dict[str, Question] = {}
    relevant: dict[tuple[str, str], dict[str, int]] = {}
    view = archive.view()
    for chunk in chunks(question for _, question in view.questions()):
        answers = view.get_answers_to([question.id for question in chunk])
        for question in chunk:
            if good := [a.id for a in answers[question.id] if a.body.strip() and a.label in (None, "Good")]:
                queries[question.id] = question
                relevant.setdefault((question.title, question.body), {}).update(dict.fromkeys(good, 1))
    return Split(queries, {id: relevant[question.title, question.body] for id, question in queries.items()})


def identical_answers(view: View) -> dict[str, str]:
    """Map the id of each answer with a text to the id of the first answer with the same text, whitespace aside."""
    first_ids: dict[str, str] = {}
    identical: dict[str, str] = {}
    for _, answer in view.answers():
        if text := " ".join(answer.body.split()):
            identical[answer.id] = first_ids.setdefault(text, answer.id)
    return identical


def _load_derived(archive: Archive, name: str) -> Split:
    """Return a derived split of questions: duplicates, or rephrasings as queries `QUESTION_ID#N`, N counted from 1."""
    queries: dict[str, Question] = {}
    qrels: dict[str, dict[str, int]] = {}
    for chunk in chunks(read_labels(archive, name)):
        questions = archive.view().get_questions({label.text_id for label in chunk})
        for id, text_id, relevant in chunk:
            query = questions[text_id]
            if id != text_id:
                text = query.rephrasings[int(id.removeprefix(f"{text_id}#")) - 1]
                query = Question(id, text, language=query.language)
            queries[id] = query
            qrels.setdefault(id, {})[str(relevant)] = 1
    return Split(queries, qrels)


def restrict_split(parent: Split, query_ids: set[str]) -> Split:
    """Return a split with some of the queries of another. A query without candidates remains without."""

    def restrict(rows: Mapping[str, T]) -> dict[str, T]:
        return {id: row for id, row in rows.items() if id in query_ids}

    candidates = None if parent.candidates is None else restrict(parent.candidates)
    return replace(parent, queries=restrict(parent.queries), qrels=restrict(parent.qrels), candidates=candidates)


def sample_queries(labels: Split, size: int, seed: int = 0) -> Split:
    """Return at most `size` of a split's judged queries, drawn without replacement, in the split's order."""
    judged = [q for q in labels.queries if q in labels.qrels]
    if len(judged) <= size:
        return labels
    drawn = np.random.default_rng(seed).choice(len(judged), size, replace=False)
    return restrict_split(labels, {judged[i] for i in drawn})


def group_names(archive: Archive) -> Sequence[str]:
    """Return the names of an archive's groups, whose ids begin with `GROUP/`; none if it has no groups."""
    return archive.meta.get("groups") or ()


def ids_of_group(name: str, ids: Iterable[str]) -> list[str]:
    """Return those of the ids that are of a group."""
    return [id for id in ids if id.startswith(f"{name}/")]


def split_groups(archive: Archive, split: Split) -> Iterator[tuple[str, Split]]:
    """Yield each group of the archive that has queries, with these; the group "" with all queries if it has none."""
    names = group_names(archive)
    if not names:
        yield "", split
    for name in names:
        part = restrict_split(split, set(ids_of_group(name, split.queries)))
        if part.queries:
            yield name, part


def count_learned(learned: LearnedLabels, archive: Archive, labels: Split, rank_answers: bool = False) -> int:
    """Return the number of queries of a split whose clusters have labels that the model was trained on."""
    if not (learned and labels.has_labels):
        return 0
    is_learned = learned_test(learned, archive, rank_answers)
    texts = {id: [query.id] for id, query in labels.queries.items()}
    for id, grades in labels.qrels.items() if not rank_answers else ():
        texts.get(id, []).extend(document for document, grade in grades.items() if grade > 0)
    return sum(any(map(is_learned, ids)) for ids in texts.values())


def learned_test(learned: LearnedLabels, archive: Archive, rank_answers: bool = False) -> Callable[[str], bool]:
    """Return a function that returns whether the model was trained on a label of a text's cluster."""
    clusters = Clusters.read(archive)
    known = {clusters.cluster_of(id) for id in (learned.answers if rank_answers else learned.duplicates)}
    return lambda id: clusters.cluster_of(id) in known


def unlearned_splits(learned: LearnedLabels, archive: Archive) -> list[str]:
    """Return the names of the splits suitable for testing the model, those named test first."""
    names = labelled_splits(archive, "questions") + labelled_splits(archive, "answers")

    def is_unlearned(name: str) -> bool:
        kind = document_kind(archive, name)
        return not count_learned(learned, archive, load_split(archive, name, kind), kind == "answers")

    return sorted(filter(is_unlearned, names), key=lambda name: name.split("/")[-1] != "test")


def require_unlearned(
    learned: LearnedLabels, archive: Archive, model: str, labels: Split, *, rank_answers: bool = False
) -> None:
    """Raise SettingsError if the model was trained on labels that it is to be evaluated on."""
    if n := count_learned(learned, archive, labels, rank_answers=rank_answers):
        tests = ", ".join(unlearned_splits(learned, archive)) or "none; make one (askalike split) and train again"
        raise SettingsError(
            f"{model} was trained on the labels of {n} of these {len(labels.queries)} queries, so they cannot "
            f"test it; splits that it has not learned from: {tests}"
        )


def _load_imported(archive: Archive, name: str, kind: DocumentKind, queries: Mapping[str, Question]) -> Split:
    qrels: dict[str, dict[str, int]] = {}
    for query, document, relevance in labels.imported_qrels(archive, name, kind):
        if query in queries:
            qrels.setdefault(query, {})[document] = relevance
    candidates: dict[str, list[str]] = {id: [] for id in queries}
    for query, document in labels.imported_candidates(archive, name, kind):
        if query in candidates:
            candidates[query].append(document)
    return Split(queries, qrels, candidates if any(candidates.values()) else None)

"""What of an archive's ranker a browser can run: words by one similarity, and vectors that are looked up."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from askalike import Ranker, SettingsError, build
from askalike.plugin.exports import VectorScores, WordScores

SIMILARITY = "lm_jelinek_mercer"
"""The similarity by which a browser ranks words."""
FIXED_SETTINGS = {"tokenizer": "standard", "stop_words": False, "lengths": "byte"}
"""What a browser cannot do otherwise."""
ANSWER = "answer"
"""The field that a browser does not search."""


class Parts(NamedTuple):
    """What a browser runs, the weights of both scores, and what is otherwise in the archive's ranker."""

    words: WordScores
    vectors: VectorScores | None
    weights: Sequence[float]
    is_whole: bool
    """Whether this is all of the archive's ranker, so that its rule of what is not shown holds."""
    remarks: Sequence[str]
    """A line on each thing that the archive's ranker does and a browser cannot."""


def find_parts(ranker: Ranker, language: str | None = None) -> Parts:
    """Return the parts of a ranker that a browser can run; what it cannot run is replaced.

    language: of the archive's questions; the weights depend on it. Raises SettingsError for a ranker that searches only
    answers.
    """
    every = list(_iter_parts(ranker))
    by_words = next((part for part in every if part.word_scores), None)
    by_vectors = next((part for part in every if part.vector_scores and part.vector_scores.encoder.lookup), None)
    words, remarks = _replace_words(by_words.word_scores if by_words else None, ranker.name)
    is_whole = not remarks and (ranker is by_words or tuple(ranker.parts) == (by_words, by_vectors))
    if by_vectors is None or by_vectors.vector_scores is None:
        remarks.append("The page searches by words: the archive's ranker has no vectors that a browser can look up.")
        return Parts(words, None, (1.0,), is_whole, remarks)
    weights = next(filter(None, (_find_weights(part, language) for part in every)), None)
    scores, share = by_vectors.vector_scores, by_vectors.vector_scores.encoder.lexical_weight
    vectors = _drop_answers(scores)
    weights = weights or (share / (1 + share), 1 / (1 + share))
    return Parts(words, vectors, weights, is_whole and vectors == scores, remarks)


def _iter_parts(ranker: Ranker) -> Iterator[Ranker]:
    yield ranker
    for part in ranker.parts:
        yield from _iter_parts(part)


def _find_weights(ranker: Ranker, language: str | None) -> Sequence[float] | None:
    """Return the weights of a sum of words and vectors; None for another ranker."""
    if len(ranker.parts) != 2 or not ranker.parts[0].word_scores or not ranker.parts[1].vector_scores:
        return None
    return ranker.weights_for(language)


def _replace_words(scores: WordScores | None, name: str) -> tuple[WordScores, list[str]]:
    """Return how a browser scores words instead, and a line on each difference. name: the ranker's."""
    default = build(SIMILARITY, {"joined": True}).word_scores
    assert default is not None
    if scores is None:
        return default, [f"The page ranks by words as {SIMILARITY} does, which the archive's ranker {name} does not."]
    remarks = []
    if scores.similarity != SIMILARITY:
        remarks.append(f"The page ranks words by {SIMILARITY} instead of {scores.similarity}.")
        scores = default._replace(settings=scores.settings)
    for key, value in FIXED_SETTINGS.items():
        if scores.settings[key] != value:
            remarks.append(f"The page reads words with {key}={value} instead of {scores.settings[key]}.")
    settings = {**scores.settings, **FIXED_SETTINGS}
    if ANSWER in settings["fields"].split(","):
        remarks.append("The page does not search answers, as the archive's ranker does.")
        settings |= _drop_answer_field(settings)
    return scores._replace(settings=settings), remarks


def _drop_answer_field(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without answers, and their weights."""
    fields = settings["fields"].split(",")
    weights = settings["field_weights"] or [None] * len(fields)
    kept = [(field, weight) for field, weight in zip(fields, weights, strict=True) if field != ANSWER]
    if not kept:
        problem = "the archive's ranker searches only answers, and a page of questions cannot"
        raise SettingsError(f"export static-site: {problem}; activate one that searches titles")
    own = tuple(weight for _, weight in kept)
    return {"fields": ",".join(field for field, _ in kept), "field_weights": own if settings["field_weights"] else None}


def _drop_answers(scores: VectorScores) -> VectorScores:
    """Return the scores without answers; the whole text if there is no other field."""
    kept = [pair for pair in zip(scores.fields, scores.weights, strict=True) if pair[0] != ANSWER] or [("text", 1.0)]
    fields, weights = zip(*kept, strict=True)
    return scores._replace(fields=fields, weights=weights)

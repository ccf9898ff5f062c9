"""The ranker of a site: the archive's own where a browser can run it, else the nearest one that a browser can.

A browser ranks words by one similarity, and compares vectors if those of queries are looked up. askalike can do both,
too, and measures the limits of what the site shows with the same ranker.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from askalike import Archive, Ranker, SettingsError, build
from askalike.plugin.exports import VectorScores, WordScores

SIMILARITY, VECTORS = "lm_jelinek_mercer", "static"
"""The similarity by which a browser ranks words, and the packaged vectors."""
FIXED_SETTINGS = {"tokenizer": "standard", "stop_words": False, "lengths": "byte"}
"""What a browser cannot do otherwise."""
ANSWER = "answer"
"""The field that a browser does not search."""


class SiteRanker(NamedTuple):
    """What a browser runs, and a line on each thing that the archive's ranker does and a browser cannot."""

    ranker: Ranker
    remarks: Sequence[str]

    @property
    def words(self) -> WordScores:
        """How it ranks words."""
        scores = self.word_ranker.word_scores
        assert scores is not None
        return scores

    @property
    def word_ranker(self) -> Ranker:
        """The part that ranks words, which answers alone until the vectors are loaded."""
        return self.ranker.parts[0] if self.ranker.parts else self.ranker

    @property
    def vectors(self) -> VectorScores | None:
        """How it compares vectors, if it does."""
        return self.ranker.parts[1].vector_scores if self.ranker.parts else None

    def weights(self, language: str | None) -> Sequence[float]:
        """Return the weights of both scores. language: of the archive's questions."""
        return self.ranker.weights_for(language) or (1.0,)


def find_site_ranker(ranker: Ranker, archive: Archive | None = None) -> SiteRanker:
    """Return the ranker of a site. archive: that of the ranker's models.

    Raises SettingsError for a ranker that searches only answers.
    """
    every = list(_iter_parts(ranker))
    words = next((part for part in every if part.word_scores), None)
    vectors = next((part for part in every if part.vector_scores and part.vector_scores.encoder.lookup), None)
    values, remarks = _read_words(words.word_scores if words else None, ranker.name)
    others = [part.name for part in every if part.vector_scores]
    if vectors is None and others:
        vectors = build(VECTORS, {"fields": values["fields"]})
        remarks.append(f"The page compares packaged vectors, as a browser cannot compute those of {', '.join(others)}.")
    if vectors is None:
        remarks.append("The page searches by words: the archive's ranker has no vectors that a browser can look up.")
        return SiteRanker(build(SIMILARITY, values), remarks)
    settings = {
        "parts": (SIMILARITY, vectors.name), "weights": _find_weights(every, vectors),
        **{f"{SIMILARITY}.{key}": value for key, value in values.items()},
        **{f"{vectors.name}.{key}": value for key, value in _drop_answers(vectors.values).items()},
    }  # fmt: skip
    return SiteRanker(build("hybrid", settings, archive=archive), remarks)


def _iter_parts(ranker: Ranker) -> Iterator[Ranker]:
    yield ranker
    for part in ranker.parts:
        yield from _iter_parts(part)


def _find_weights(every: Sequence[Ranker], vectors: Ranker) -> Sequence[float] | None:
    """Return the weights that somebody chose for words and these vectors; None for the usual ones."""
    sums = (one for one in every if len(one.parts) == 2 and one.parts[1] is vectors and one.parts[0].word_scores)
    return next((one.values.get("weights") for one in sums), None)


def _read_words(scores: WordScores | None, name: str) -> tuple[dict[str, Any], list[str]]:
    """Return the settings by which a browser ranks words, and a line on each difference. name: the ranker's."""
    default = build(SIMILARITY, {"joined": True}).word_scores
    assert default is not None
    if scores is None:
        remark = f"The page ranks by words as {SIMILARITY} does, which the archive's ranker {name} does not."
        return {**default.settings, **default.parameters}, [remark]
    remarks = []
    parameters = scores.parameters
    if scores.similarity != SIMILARITY:
        remarks.append(f"The page ranks words by {SIMILARITY} instead of {scores.similarity}.")
        parameters = default.parameters
    for key, value in FIXED_SETTINGS.items():
        if scores.settings[key] != value:
            remarks.append(f"The page reads words with {key}={value} instead of {scores.settings[key]}.")
    if ANSWER in scores.settings["fields"].split(","):
        remarks.append("The page does not search answers, as the archive's ranker does.")
    return {**_drop_answers(scores.settings), **parameters, **FIXED_SETTINGS}, remarks


def _drop_answers(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without the field of answers and its weight."""
    fields = settings["fields"].split(",")
    weights = settings["field_weights"] or [None] * len(fields)
    kept = [(field, weight) for field, weight in zip(fields, weights, strict=True) if field != ANSWER]
    if not kept:
        problem = "the archive's ranker searches only answers, and a page of questions cannot"
        raise SettingsError(f"export static-site: {problem}; activate one that searches titles")
    own = tuple(weight for _, weight in kept) if settings["field_weights"] else None
    return {**settings, "fields": ",".join(field for field, _ in kept), "field_weights": own}

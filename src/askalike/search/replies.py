"""Replies to a question from a retriever's hits: stored answers, or text written by a model of the archive.

Text that a model has written is always labelled as such.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol, get_args

from askalike import rankers
from askalike.calibration.calibration import Calibration
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.hits import Hit, SearchHit
from askalike.core.records import Answer, Question
from askalike.encoders import MODEL_FILE, AnswerGenerator, open_encoder, read_model_file
from askalike.store import Archive, View
from askalike.store.contents import has_content
from askalike.text.clean import readable_text

AnswerMode = Literal["nearest", "generate", "auto"]
CACHED_MODELS = 4
QUESTIONS_PER_ANSWER = 5
"""Number of retrieved questions per requested answer, since not all questions have answers."""
DEFAULT_SURE = 0.5
"""Minimum probability at which the nearest question's answer is the reply."""


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """A stored answer with its question. `score` and `probability` are those of the hit; higher is better."""

    answer: Answer
    question: Question
    score: float
    probability: float | None = None

    @property
    def text(self) -> str:
        """The answer as plain text, including links and code."""
        return readable_text(self.answer.body, self.answer.markup)

    @property
    def author(self) -> str | None:
        """The author of the answer."""
        return self.answer.author

    @property
    def license(self) -> str | None:
        """The answer's licence, else its question's."""
        return self.answer.license or self.question.license

    @property
    def url(self) -> str | None:
        """The address of the answer, else of its question."""
        return self.answer.url or self.question.url


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a question.

    `text` is the text to show: None without an answer, else the first source's text or, if `generated`, the model's.
    The `sources` of generated text are the most similar stored answers; it was not derived from them unless it is
    `grounded`.
    """

    text: str | None
    generated: bool
    sources: tuple[AnswerSource, ...]
    model: str | None = None
    """The model that wrote generated text."""
    matches: tuple[SearchHit, ...] = ()
    """The similar questions that were searched for stored answers."""
    grounded: bool = False
    """Whether each sentence of generated text cites a source, by its question's id, and is supported by it."""
    removed: int = 0
    """The number of sentences of the model that were left out, as no source that they cite supports them."""

    @property
    def abstained(self) -> bool:
        """Whether there is no answer."""
        return self.text is None


def writer_folders(archive: Path) -> list[Path]:
    """Return the folders of all models that write, by name. Raises InputError for a model that cannot be read."""
    folders = [path.parent for path in sorted((archive / "models").glob(f"[!.]*/{MODEL_FILE}"))]
    return [folder for folder in folders if read_model_file(folder).get("network", {}).get("writes")]


def find_writer(archive: Path, name: str | None = None) -> Path:
    """Return the folder of the writing model with that name, or of the only one. Raises SettingsError or InputError."""
    writers = writer_folders(archive)
    if name is not None:
        writers = [folder for folder in writers if folder.name == name]
    if len(writers) == 1:
        return writers[0]
    if writers:
        names = " or ".join(folder.name for folder in writers)
        raise SettingsError(f"{archive}: several models write answers; choose one: --model {names}")
    what = "no model of this archive can write answers" if name is None else f"no model {name!r} that can write answers"
    raise SettingsError(f"{archive}: {what}; to train one see docs/answers.md")


def open_generator(folder: Path) -> AnswerGenerator:
    """Return the writer of answers of the model in a folder of `models/`, cached.

    Raises InputError, and SettingsError if the model cannot write or no installed package opens it.
    """
    description = folder / MODEL_FILE
    return _open_cached(folder, description.stat().st_mtime_ns if description.exists() else 0)


@lru_cache(CACHED_MODELS)
def _open_cached(folder: Path, mtime_ns: int) -> AnswerGenerator:
    generator = open_encoder(folder).generator
    if generator is None:
        raise SettingsError(f"{folder.name}: this model cannot write answers; for one that can see docs/answers.md")
    return generator


def require_same_archive(view: View, folder: Path) -> None:
    """Raise SettingsError if a model was trained on another archive, whose content is not in this one."""
    trained = read_model_file(folder).get("trained", {})
    change, then = trained.get("change", 0), trained.get("made_at")
    if change > view.change or (then is not None and (view.change_date(change) or "") != then):
        raise SettingsError(f"{folder}: this model was trained on another archive; train one on this: askalike train")


class AnsweringRetriever(Protocol):
    """The part of a retriever that answers need."""

    archive: Archive

    @property
    def calibration(self) -> Calibration | None:
        """The valid calibration; None if there is none."""

    def search(
        self, title: str, k: int = 5, *, body: str = "", min_probability: float | None = None
    ) -> Sequence[SearchHit]:
        """Return the k most similar questions."""


def answer_question(
    retriever: AnsweringRetriever,
    question: Question,
    mode: AnswerMode,
    k: int,
    *,
    min_probability: float | None,
    sure: float | None,
    model: str | None,
) -> Reply:
    """Return an answer to a typed question; see ArchiveRetriever.answer."""
    view = retriever.archive.view()
    _require_used_options(mode, min_probability, sure, model)
    require_answers(view)
    if mode == "generate":
        return _write_reply(retriever.archive, question, k, model)
    hits = retriever.search(
        question.title, QUESTIONS_PER_ANSWER * k, body=question.body, min_probability=min_probability
    )
    stored = nearest_reply(view, hits, k, any_grade=min_probability is not None)
    known = [source.probability for source in stored.sources[:1] if source.probability is not None]
    threshold = DEFAULT_SURE if sure is None else sure
    if mode == "auto" and retriever.calibration and hits and (stored.abstained or known[0] < threshold):
        return replace(_write_reply(retriever.archive, question, k, model), matches=stored.matches)
    return stored


def _require_used_options(
    mode: AnswerMode, min_probability: float | None, sure: float | None, model: str | None
) -> None:
    """Raise SettingsError for an unknown mode, an option that it does not use, or a value that is not a probability."""
    if mode not in get_args(AnswerMode):
        raise SettingsError(f"mode {mode!r}: expected nearest, generate or auto")
    if sure is not None and mode != "auto":
        raise SettingsError(f"sure={sure} needs mode auto, got {mode}")
    if model is not None and mode == "nearest":
        raise SettingsError(f"model={model!r} needs mode generate or auto, got {mode}")
    if min_probability is not None and mode == "generate":
        raise SettingsError(f"min_probability={min_probability} needs mode nearest or auto, got {mode}")
    if sure is not None and not 0 <= sure <= 1:
        raise SettingsError(f"sure={sure}: expected a probability from 0 to 1")


def _write_reply(archive: Archive, question: Question, k: int, model: str | None) -> Reply:
    """Return a generated text with the stored answers that share its words."""
    folder = find_writer(archive.path, model)
    require_same_archive(archive.view(), folder)
    text = open_generator(folder).write(question)
    if not text:
        return Reply(None, False, ())
    answers = archive.view(kind="answers")
    words = rankers.open_committed(rankers.create("lm_jelinek_mercer", {"fields": "title"}), answers)
    hits = rankers.rank(words, {question.id: Question(question.id, text)}, QUESTIONS_PER_ANSWER * k)[question.id]
    return Reply(text, True, sources_from_answers(archive.view(), hits, k), folder.name)


def require_answers(view: View) -> None:
    """Raise ArchiveError if the archive has no answer with a text."""
    if not has_content(view, "answers"):
        raise ArchiveError(f"{view.path}: the archive has no answers; import questions with their answers")


def sources_from_questions(view: View, matches: Sequence[SearchHit], k: int) -> tuple[AnswerSource, ...]:
    """Return the accepted, else most voted, usable answers of the first k questions that have one; no text twice."""
    answers = view.get_answers_to(match.question.id for match in matches)
    found: dict[str, AnswerSource] = {}
    for match in matches:
        best = next(filter(_is_usable, answers[match.question.id]), None)
        if best and len(found) < k:
            found.setdefault(best.body, AnswerSource(best, match.question, match.score, match.probability))
    return tuple(found.values())


def sources_from_answers(view: View, hits: Iterable[Hit], k: int) -> tuple[AnswerSource, ...]:
    """Return the first k of these answers, with their questions."""
    listed = list(hits)
    answers = view.get_answers(hit.id for hit in listed)
    questions = view.get_questions({answer.question_id for answer in answers.values()})
    known = [(answers[hit.id], hit.score) for hit in listed if hit.id in answers and _is_usable(answers[hit.id])]
    found = ((a, questions[a.question_id], score) for a, score in known if a.question_id in questions)
    return tuple(AnswerSource(*source) for source in found)[:k]


def nearest_reply(view: View, matches: Sequence[SearchHit], k: int, *, any_grade: bool = False) -> Reply:
    """Return the reply with the first stored answer of those that ask the same; an empty one if there is none.

    any_grade: related questions answer, too.
    """
    sources = sources_from_questions(view, [match for match in matches if any_grade or match.grade == "same"], k)
    return Reply(sources[0].text if sources else None, False, sources, matches=tuple(matches))


def _is_usable(answer: Answer) -> bool:
    return bool(answer.body.strip()) and answer.label in (None, "Good")

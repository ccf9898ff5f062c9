"""Adds a pre-trained encoder to an archive: a copy in its `models/`, which the default ranker then uses.

What each encoder at hand would give is estimated without labels: of a sample of the archive's questions, each title is
typed to 60 % of its words, and each rephrasing is asked: is its question first? The ranker that needs no encoder is
measured on the same sample. Both are proxies: a new question has fewer of the archive's words, so that an encoder gains
more there.
"""

import re
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

import tomli_w

from askalike import rankers
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.files import compute_sha256, folder_errors, replace_folder
from askalike.core.model_folders import LearnedLabels, find_model
from askalike.core.types import TYPED_QUERY_ID, Question
from askalike.encoders import MODEL_FILE, PACKAGED_ENCODERS, build, find_package, read_model_file
from askalike.encoders.onnx.hub import fetch_model, needed_files
from askalike.encoders.pretrained import MODEL_FOLDER, PretrainedEncoder
from askalike.rankers import MODELS_FOLDER, Searcher
from askalike.search import interim
from askalike.search.retriever import QuestionsView
from askalike.store import Archive, count_questions_by, sample_questions, serve_ranker, takes_archive
from askalike.store.deployments import ArchiveEncoder, announce_encoding, get_archive_encoder, set_archive_encoder
from askalike.tuning.candidates import DEFAULT_RANKER
from askalike.tuning.promotion import is_served

MAX_QUESTIONS = 1_000
"""The number of questions that are sampled; encoding them takes seconds."""
MAX_QUERIES = 300
TYPED_SHARE = 0.6
SEED = 0
TIMED_QUERIES = 50


@dataclass(frozen=True, slots=True)
class EncoderTrial:
    """The result of a ranker: the share of questions that are first for 60 % of their title, and for a rephrasing.

    encoder: None for the default ranker without an encoder. rephrasings: None if the sample has none. query_ms: the
    median time of a search, in milliseconds; questions_per_s: read when they are indexed.
    """

    encoder: str | None
    typed_titles: float
    rephrasings: float | None
    query_ms: float
    questions_per_s: float
    questions: int


def try_encoders(archive: Archive, names: Sequence[str]) -> list[EncoderTrial]:
    """Return the results of the default ranker without an encoder, then of the hybrid with each encoder.

    names: of encoders of extras, or models of the archive. Raises SettingsError for one that cannot be used.
    """
    questions = list(islice(sample_questions(archive.view(), MAX_QUESTIONS, SEED), MAX_QUESTIONS))
    return [_try(archive, questions, name) for name in (None, *names)] if questions else []


def _try(archive: Archive, questions: Sequence[Question], name: str | None) -> EncoderTrial:
    settings = {"parts": [DEFAULT_RANKER, name]} if name else {}
    ranker = rankers.create("hybrid" if name else rankers.default_name(), settings, archive)
    view: Any = QuestionsView([replace(question, rephrasings=()) for question in questions], archive.view().language)
    _share_first(rankers.open_current(ranker, view), {questions[0].id: "a"})  # loads the model
    rankers.delete_indexes(ranker, view)
    started = time.perf_counter()
    searcher = rankers.open_current(ranker, view)
    per_s = len(questions) / (time.perf_counter() - started)
    titles = {q.id: _first_words(q.title) for q in questions[:MAX_QUERIES] if len(q.title.split()) > 1}
    rephrased = {q.id: q.rephrasings[n % len(q.rephrasings)] for n, q in enumerate(questions) if q.rephrasings}
    rephrasings = _share_first(searcher, dict(islice(rephrased.items(), MAX_QUERIES))) if rephrased else None
    query_ms = median(_search_ms(searcher, text) for text in islice(titles.values(), TIMED_QUERIES)) if titles else 0.0
    return EncoderTrial(name, _share_first(searcher, titles), rephrasings, query_ms, per_s, len(questions))


def _first_words(title: str) -> str:
    words = title.split()
    return " ".join(words[: ceil(TYPED_SHARE * len(words))])


def _share_first(searcher: Searcher, texts: Mapping[str, str]) -> float:
    """Return the share of questions that are the first hit for their text. texts: id of a question → text."""
    queries = {f"{TYPED_QUERY_ID}{n}": Question(f"{TYPED_QUERY_ID}{n}", text) for n, text in enumerate(texts.values())}
    retrieved = rankers.search(searcher, queries, 1)
    wanted = searcher.view.docids(texts)
    pairs = zip(texts, retrieved.docids, strict=True)
    first = [docids[:1].tolist() == [wanted[id]] for id, docids in pairs]
    return sum(map(bool, first)) / max(1, len(first))


def _search_ms(searcher: Searcher, text: str) -> float:
    started = time.perf_counter()
    rankers.search(searcher, {TYPED_QUERY_ID: Question(TYPED_QUERY_ID, text)}, 1)
    return 1000 * (time.perf_counter() - started)


HYBRID = "hybrid"
HUB_NAME_PATTERN = re.compile(r"[\w.-]+/[\w.-]+")
NEARLY_ALL = 0.9
PROBE = Question("probe", "How do I do this?")
TOLD_KEY = "encoder_suggested"
"""Key in an archive's metadata: that the encoder at hand has been named, or declined."""


@takes_archive
def adopt_encoder(archive: Archive, model: str, *, name: str = "", download: bool = False) -> ArchiveEncoder:
    """Copy a model into the archive, and activate the hybrid of the lexical ranker and this encoder.

    archive: or its directory. model: an encoder of an extra (PACKAGED_ENCODERS), a folder or an installed package; with
    `download`, a model's name on the hub. name: its name in the archive; by default the last part of `model`, and
    always that of an extra's encoder. A model that the archive already has is not copied again. Its vectors are
    computed by the next search, by `askalike index`, or by a running service. Raises SettingsError if there is no such
    model, the name is taken or an extra is missing, InputError for a model that cannot be run.
    """
    check_source(model, download)
    if model in PACKAGED_ENCODERS and not Path(model).is_dir():
        encoder = _find_packaged(model)
    else:
        name = name or _derive_name(model)
        rankers.check_model_name(name)
        encoder = _copy_model(archive, model, name, download)
    set_archive_encoder(archive, encoder)
    settings = {"parts": [DEFAULT_RANKER, encoder.name]}
    if not is_served(archive, rankers.create(HYBRID, settings, archive)):
        serve_ranker(archive, HYBRID, settings, f"{encoder.name} is the archive's encoder")
    if not archive.engine and len(archive.view()) > interim.AT_ONCE:
        announce_encoding(archive.path, encoder.name, len(archive.view()))
    return encoder


def fitting_encoder(archive: Archive) -> str | None:
    """Return the installed encoder that knows the languages of an archive's questions; None if there is none.

    It is the first that knows those of nearly all questions, else the one that knows most, but at least half: for
    queries in other languages, words count more.
    """
    view = archive.view()
    counts = count_questions_by(view, "language", default=view.language)
    known = {
        name: sum(n for language, n in counts.items() if package.knows([language])) / max(1, len(view))
        for name in PACKAGED_ENCODERS
        if (package := find_package(name)).is_installed
    }
    best = max(known, key=lambda name: min(known[name], NEARLY_ALL), default=None)
    return best if best and known[best] >= 1 / 2 else None


def suggest_encoder(archive: Archive) -> str | None:
    """Return the encoder that fits an archive that uses none; only once, as it is then recorded as told."""
    if archive.meta.get(TOLD_KEY) or get_archive_encoder(archive) or not (name := fitting_encoder(archive)):
        return None
    decline_encoder(archive)
    return name


def decline_encoder(archive: Archive) -> None:
    """Record that no encoder has to be suggested for an archive any more; nothing if it cannot be written."""
    with suppress(ArchiveError):
        archive.set_meta(**{TOLD_KEY: True})


def _find_packaged(name: str) -> ArchiveEncoder:
    """Return the encoder of an installed package, after a try; nothing is copied, as its hash is known."""
    build(name).encode_queries([PROBE])
    package = find_package(name)
    return ArchiveEncoder(name, package.weights.package, None, {})


def check_source(model: str, download: bool) -> None:
    """Raise SettingsError if `adopt_encoder` would not find the model on this machine."""
    if download or (model in PACKAGED_ENCODERS and find_package(model).is_installed):
        return
    if model in PACKAGED_ENCODERS and not Path(model).is_dir():
        raise SettingsError(f"{model} is not installed: pip install 'askalike[{find_package(model).extra}]'")
    if HUB_NAME_PATTERN.fullmatch(model) and not Path(model).exists():
        raise SettingsError(f"{model}: no such folder; add --download to fetch it from the hub")
    find_model(model, "encoder")


def _copy_model(archive: Archive, model: str, name: str, download: bool) -> ArchiveEncoder:
    """Copy a model into the archive under a name and try it; return the encoder."""
    folder, current = archive.path / MODELS_FOLDER / name, get_archive_encoder(archive)
    if current and (current.name, current.source) == (name, model) and folder.exists():
        return current
    if folder.exists():
        raise ArchiveError(f"{folder}: a model of this name already exists; choose another --name, or remove it first")
    with folder_errors(folder, "free some space"), replace_folder(folder) as new:
        place = new / MODEL_FOLDER
        revision = _fetch_or_copy(model, place, download)
        digests = {path.relative_to(place).as_posix(): compute_sha256(path) for path in _files(place)}
        encoder = ArchiveEncoder(name, model, revision, digests)
        described = {"source": model} | ({"revision": revision} if revision else {})
        learned, trained = (LearnedLabels(), {}) if download else _read_training(find_model(model, "encoder"))
        learned.write(new)
        tables = {"encoder": "pretrained", "pretrained": described, **trained}
        (new / MODEL_FILE).write_text(tomli_w.dumps(tables), encoding="utf-8")
    return encoder


def _read_training(source: Path) -> tuple[LearnedLabels, dict[str, Any]]:
    """Return the labels that a model fine-tuned by askalike has learned from, and the date of the newest as a table.

    source: its subfolder `pretrained`. Nothing is known about the training of any other model.
    """
    folder = source.resolve().parent
    if source.name != MODEL_FOLDER or not (folder / MODEL_FILE).exists():
        return LearnedLabels(), {}
    described = read_model_file(folder)
    until = described.get("trained", {}).get("trained_until")
    return LearnedLabels.read(folder), {"trained": {"trained_until": until}} if until else {}


def _fetch_or_copy(model: str, target: Path, download: bool) -> str | None:
    """Fill a folder with a model that can be run; return its commit on the hub, None for a local model."""
    if download:
        revision = fetch_model(model, target)
        _check_runs(target)
        return revision
    source = find_model(model, "encoder")
    _check_runs(source)
    _copy_files(source, target)
    return None


def _check_runs(folder: Path) -> None:
    PretrainedEncoder.from_settings({"encoder": str(folder)}).encode_queries([PROBE])


def _copy_files(source: Path, target: Path) -> None:
    for file in needed_files([path.relative_to(source).as_posix() for path in _files(source)], source):
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file, target / file)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _derive_name(model: str) -> str:
    return re.sub("[^a-z0-9_.-]+", "-", Path(model).name.lower()).strip("-._")

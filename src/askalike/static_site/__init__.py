"""Writes an archive as a static site: a page, a script that puts the search into other pages, and their data.

The folder works on any web server and from a disk. It needs no service, sends nothing anywhere, and searches nearly as
the archive's default ranker does: by the words of titles and texts, and by vectors if the archive's ranker looks up
those of queries, see `vectors.py`.
"""

import base64
import gzip
import html
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike import rankers
from askalike.calibration.abstention import AbstentionRule, AbstentionThreshold
from askalike.core.errors import IndexBusyError, ReadOnlyIndexError, UnwritableIndexError
from askalike.core.iteration import ProgressTracker, chunks
from askalike.core.types import Answer, Question
from askalike.core.values import safe_url
from askalike.rankers import Ranker
from askalike.rankers.dense import DenseRanker
from askalike.rankers.hybrid import HybridRanker
from askalike.rankers.lexical import LexicalRanker, LexicalSettings, TermExtractor
from askalike.similarities.lm_jelinek_mercer import LmJelinekMercerSimilarity
from askalike.static_site.vectors import VectorTables, find_lookup
from askalike.static_site.words import WordIndex, shown_title
from askalike.store import Archive, View
from askalike.text.clean import readable_blocks, truncate

VECTORS_FILE = "data/vectors.js"
ANSWERS_PER_FILE = 256
"""Number of questions whose texts are in one file, which is loaded when somebody unfolds one of them."""
MAX_ANSWERS, MAX_TEXT = 3, 4_000
"""Maximum number of a question's answers on the page, and of characters of a text."""
FILES = ("search.js", "page.js", "page.css")
ANSWERED, DESCRIBED = 1, 2
"""Kinds of texts that can be unfolded below a title: answers, or only the question's own body."""

ALIGNMENT = 8
"""Arrays begin at multiples of this, as the browser's typed arrays require."""

Texts = dict[str, list[list[tuple[int, str]]]]
"""`body` and `answers`: each text in blocks, with 1 for code."""


class Parts(NamedTuple):
    """The parts of an archive's ranker that a browser can run, and the weights of their scores."""

    lexical: LexicalRanker
    dense: DenseRanker | None
    weights: Sequence[float]


def write_static_site(archive: Archive, folder: Path, track: ProgressTracker) -> dict[str, int]:
    """Write the files of a static site; return the number of questions, words, vectors and texts in them.

    `index.html` is the page, `widget.js` the script for other pages, `search.js` the search of both. `data/` has the
    titles, the words, the vectors (see VECTORS_FILE; not with every ranker), and the texts of answers.
    """
    view = archive.view()
    questions = [q for _, q in track(view.questions(), total=len(view), description="questions")]
    data = folder / "data"
    data.mkdir()
    rows = {"index.html": len(questions)}
    ranker = rankers.create(archive=archive)
    parts = find_parts(ranker, view.language)
    rows |= _write_search(data, view, questions, parts, _find_rule(archive, ranker, parts) if questions else None)
    rows["data/texts-*.js"] = _write_titles(data, view, track(questions, total=len(questions), description="texts"))
    _write_page(folder, archive.meta.get("name") or archive.path.name, view)
    return {name: n for name, n in rows.items() if n or name == "index.html"}


def find_parts(ranker: Ranker, language: str | None = None) -> Parts:
    """Return the parts of a ranker that a browser can run; a missing or another lexical part is replaced.

    language: of the archive's questions; the weights depend on it.
    """
    every = list(_iter_parts(ranker))
    lexical = next((part for part in every if isinstance(part, LexicalRanker)), None)
    dense = next((p for p in every if isinstance(p, DenseRanker) and find_lookup(p.encoder)), None)
    if lexical is None or not isinstance(lexical.similarity, LmJelinekMercerSimilarity):
        settings = lexical.settings if lexical else LexicalSettings(joined=True)
        lexical = LexicalRanker(LmJelinekMercerSimilarity(), settings, "lm_jelinek_mercer")
    if dense is None:
        return Parts(lexical, None, (1.0,))
    hybrid = next((part for part in every if isinstance(part, HybridRanker)), None)
    if hybrid is not None and list(map(type, hybrid.parts)) == [LexicalRanker, DenseRanker]:
        return Parts(lexical, dense, hybrid.weights_for(language))
    weight = dense.lexical_weight
    return Parts(lexical, dense, (weight / (1 + weight), 1 / (1 + weight)))


def _iter_parts(ranker: Ranker) -> Iterator[Ranker]:
    yield ranker
    for part in ranker.parts:
        yield from _iter_parts(part)


def _make_extractor(lexical: LexicalRanker, view: View) -> TermExtractor:
    """Return the extractor of terms; without bodies a title is the whole text, and one field is enough."""
    settings = lexical.settings
    if not view.has_bodies and len(settings.field_names) > 1:
        settings = settings.model_copy(update={"fields": "title", "field_weights": None})
    return TermExtractor(settings)


def phrase(questions: Sequence[Question], settings: LexicalSettings) -> Iterator[Question]:
    """Yield each question, then its rephrasings, as the rows of the words."""
    for question in questions:
        yield question
        for text in question.rephrasings if settings.rephrasings else ():
            yield replace(question, title=text, body="")


def _describe_ranking(parts: Parts, rule: AbstentionRule | None) -> dict[str, Any]:
    similarity = parts.lexical.similarity
    assert isinstance(similarity, LmJelinekMercerSimilarity)
    return {
        "lambda": similarity.lam,
        "weights": list(parts.weights),
        "minScore": parts.dense.min_score if parts.dense else None,
        "threshold": rule.lenient if rule else None,
    }


def _find_rule(archive: Archive, ranker: Ranker, parts: Parts) -> AbstentionRule | None:
    """Return the rule of what the ranker does not show; None if the browser ranks otherwise, or nothing is indexed."""
    if ranker is not parts.lexical and ranker.parts != (parts.lexical, parts.dense):
        return None
    view = archive.view()
    try:
        rankers.open_committed(ranker, view)
    except (IndexBusyError, ReadOnlyIndexError, UnwritableIndexError):
        return None
    return AbstentionThreshold(archive, ranker).prepare(view)


def _write_search(
    data: Path, view: View, questions: Sequence[Question], parts: Parts, rule: AbstentionRule | None
) -> dict[str, int]:
    """Write what the search reads; return the number of words and, if there are any, of vectors."""
    index = WordIndex(_make_extractor(parts.lexical, view), view.language)
    for number, question in enumerate(questions):
        index.add(number, question)
    values = index.values() | {"ranking": _describe_ranking(parts, rule), "vectors": parts.dense is not None}
    write_data(data, "words", values, index.arrays())
    if parts.dense is None:
        return {"data/words.js": index.count_words()}
    searched = list(phrase(questions, parts.lexical.settings))
    tables = VectorTables(parts.dense, view, searched, view.has_bodies)
    background = tables.rotate(rule.background.vectors if rule else np.empty((0, len(tables.axes)), np.float32))
    everyday: dict[str, NDArray[Any]] = {"background": background.values.ravel(), "backgroundScales": background.scales}
    write_data(data, "vectors", tables.values(), tables.arrays(index.words) | everyday)
    return {"data/words.js": index.count_words(), VECTORS_FILE: len(searched)}


def _write_titles(data: Path, view: View, questions: Iterable[Question]) -> int:
    """Write the titles and addresses, and the texts that unfold below them; return the number of questions with any."""
    titles: dict[str, list[str]] = {"titles": [], "urls": [], "ids": []}
    kinds: list[int] = []
    for number, batch in enumerate(chunks(questions, ANSWERS_PER_FILE)):
        kinds += _write_texts(data, f"texts-{number}", view, batch)
        for question in batch:
            titles["titles"].append(shown_title(question))
            titles["urls"].append(safe_url(question.url) or "")
            titles["ids"].append(question.id)
    write_data(data, "titles", {**titles, "perFile": ANSWERS_PER_FILE}, {"kinds": np.array(kinds, np.uint8)})
    return sum(kind > 0 for kind in kinds)


def _write_texts(data: Path, name: str, view: View, questions: Sequence[Question]) -> list[int]:
    """Write the texts that unfold below some titles, if there are any; return what each question has, or 0."""
    answers = view.get_answers_to(question.id for question in questions)
    texts = [_collect_texts(question, answers[question.id]) for question in questions]
    kinds = [ANSWERED if own["answers"] else DESCRIBED if own["body"] else 0 for own in texts]
    if any(kinds):
        write_data(data, name, {"texts": texts}, {})
    return kinds


def _collect_texts(question: Question, answers: Sequence[Answer]) -> Texts:
    best = sorted(answers, key=lambda a: (a.id != question.accepted_answer_id, -(a.votes or 0)))[:MAX_ANSWERS]
    return {
        "body": [_shorten(question.body, question.markup)] if question.body.strip() else [],
        "answers": [_shorten(answer.body, answer.markup) for answer in best],
    }


def _shorten(text: str, markup: Any) -> list[tuple[int, str]]:
    blocks, left = [], MAX_TEXT
    for block in readable_blocks(text, markup):
        blocks.append((int(block.is_code), truncate(block.text, left)))
        left -= len(block.text)
        if left <= 0:
            break
    return blocks


def _write_page(folder: Path, name: str, view: View) -> None:
    own = files("askalike.static_site") / "files"
    for file in FILES:
        (folder / file).write_bytes((own / file).read_bytes())
    (folder / "widget.js").write_text(build_widget(own / "widget.js"), encoding="utf-8")
    messages: Mapping[str, Mapping[str, str]] = json.loads((own / "messages.json").read_text(encoding="utf-8"))
    language = view.language if view.language and view.language in messages else "en"
    inserted = {"name": name, "language": language, **messages[language]}
    page = (own / "index.html").read_text(encoding="utf-8")
    for key, text in inserted.items():
        page = page.replace(f"{{{{{key}}}}}", html.escape(text))
    data = json.dumps(messages, ensure_ascii=False).replace("<", "\\u003c")
    (folder / "index.html").write_text(page.replace("{{messages}}", data), encoding="utf-8")


def build_widget(source: Traversable) -> str:
    """Return the script that puts a list of similar questions below a field of any page.

    It is the list, which this site's widget and the service's share, then what a widget of its own asks and tells.
    """
    shared = (files("askalike.static_site") / "files" / "suggestions.js").read_text(encoding="utf-8")
    return f"(() => {{\n{shared}\n{source.read_text(encoding='utf-8')}}})()\n"


def write_data(folder: Path, name: str, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write `NAME.js`, which hands values and arrays to the search: compressed by gzip, as base64.

    A browser loads scripts, unlike other files, also from a folder that no server serves (`file://`).
    Uncompressed these are the length of the JSON text (4 bytes), the text, then the arrays, little-endian. The text's
    field `arrays` has the type, the first byte and the length of each array.
    """
    places: dict[str, tuple[str, int, int]] = {}
    header = json.dumps({**values, "arrays": places}, ensure_ascii=False)
    while True:  # the places are part of the text, whose length they depend on
        start = _align(4 + len(header.encode()))
        for key, array in arrays.items():
            places[key] = array.dtype.name, start, len(array)
            start = _align(start + array.nbytes)
        if header == (header := json.dumps({**values, "arrays": places}, ensure_ascii=False)):
            break
    content = bytearray(start)
    text = header.encode()
    content[:4], content[4 : 4 + len(text)] = len(text).to_bytes(4, "little"), text
    for key, array in arrays.items():
        at = places[key][1]
        content[at : at + array.nbytes] = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    packed = base64.b64encode(gzip.compress(bytes(content), 9, mtime=0)).decode()
    (folder / f"{name}.js").write_text(f'askalikeSite.receive("{name}","{packed}")\n', encoding="ascii")


def _align(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT

"""Writes an archive as a static site: a page, a script that puts the search into other pages, and their data.

The folder works on any web server and from a disk. It needs no service, sends nothing anywhere, and searches nearly as
the archive's ranker does: by the words of titles and texts, and by vectors that are looked up, see `parts.py`.
"""

import html
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike import Answer, Archive, ArchiveError, Question, Ranker, Settings, View, build
from askalike.plugin.exports import (
    AbstentionRule,
    LogCallback,
    ProgressTracker,
    TermExtractor,
    WordScores,
    abstention_rule,
    build_widget,
    chunks,
    find_originals,
    formula_files,
    has_content,
    readable_blocks,
    safe_url,
    stop_words,
    truncate,
)
from askalike_browser.data import write_data
from askalike_browser.parts import SiteRanker, find_site_ranker
from askalike_browser.vectors import VectorTables
from askalike_browser.words import WordIndex, shown_title

VECTORS_FILE = "data/vectors.js"
ANSWERS_PER_FILE = 256
"""Number of questions whose texts are in one file, which is loaded when somebody unfolds one of them."""
MAX_ANSWERS, MAX_TEXT = 3, 4_000
"""Maximum number of a question's answers on the page, and of characters of a text."""
FILES = ("page.js", "page.css")
SCRIPTS = ("readings.js", "search.js")
"""The parts of the site's search.js."""
ANSWERED, DESCRIBED = 1, 2
"""Kinds of texts that can be unfolded below a title: answers, or only the question's own body."""

Texts = dict[str, list[list[tuple[int, str]]]]
"""`body` and `answers`: each text in blocks, with 1 for code."""


class StaticSiteExport(Settings):
    """A page that searches the questions in the browser, without a service.

    `index.html` is the page, `widget.js` the script for other pages, `search.js` the search of both; `formulas.js` is
    loaded with KaTeX, from `static/`, where a title or a text that is shown has a formula. `data/` has the
    titles, the words, the vectors (see VECTORS_FILE; not with every ranker), and the texts of answers.
    """

    ranker: str | None = Field(None, description="the ranker that the page follows; by default the active one")

    def write(self, archive: Archive, folder: Path, track: ProgressTracker, log: LogCallback) -> Mapping[str, int]:
        """Write the files; return the number of questions, words, vectors and texts in them."""
        view = archive.view()
        site = find_site_ranker(build(self.ranker, archive=archive), archive)
        questions = [q for _, q in track(view.questions(), total=len(view), description="questions")]
        data = folder / "data"
        data.mkdir()
        rows = {"index.html": len(questions)}
        ranking = _describe_ranking(site, view.language) | (_find_limits(archive, site) if questions else {})
        rows |= _write_search(data, view, questions, site, ranking)
        rows["data/texts-*.js"] = _write_titles(data, view, track(questions, total=len(questions), description="texts"))
        _write_page(folder, archive.meta.get("name") or archive.path.name, view)
        for remark in site.remarks:
            log(remark)
        return {name: n for name, n in rows.items() if n or name == "index.html"}


def _make_extractor(words: WordScores, view: View) -> TermExtractor:
    """Return the extractor of terms; without bodies a title is the whole text, and one field is enough."""
    extractor = TermExtractor.from_settings(words.settings)
    if has_content(view, "bodies") or len(extractor.fields) == 1:
        return extractor
    return TermExtractor.from_settings({**words.settings, "fields": "title", "field_weights": None})


def phrase(questions: Sequence[Question], rephrasings: bool) -> Iterator[Question]:
    """Yield each question, then its rephrasings if they are searched, as the rows of the words."""
    for question in questions:
        yield question
        for text in question.rephrasings if rephrasings else ():
            yield replace(question, title=text, body="")


def _describe_ranking(site: SiteRanker, language: str | None) -> dict[str, Any]:
    return {
        "lambda": site.words.parameters["lambda"],
        "weights": list(site.weights(language)),
        "minScore": site.vectors.min_score if site.vectors else None,
    }


def _find_limits(archive: Archive, site: SiteRanker) -> dict[str, Any]:
    """Return the limits of what is shown, of the ranker and of its words alone, and words that tell languages apart.

    In an archive of one language everything that is typed counts as in it.
    """
    rules = {"limits": _fit_rule(archive, site.ranker), "wordLimits": _fit_rule(archive, site.word_ranker)}
    language = archive.view().language
    written = {"usual"} if language else {"usual", "languages"}
    tables = {name: {"languages": {}} | own.model_dump(include=written) for name, own in rules.items()}
    codes = () if language else rules["limits"].languages
    return {**tables, "functionWords": {code: sorted(stop_words(code)) for code in codes}}


def _fit_rule(archive: Archive, ranker: Ranker) -> AbstentionRule:
    if rule := abstention_rule(archive, ranker):
        return rule
    problem = f"the index of {ranker.name}, which measures what is similar enough, cannot be written now"
    raise ArchiveError(f"export static-site: {problem}; try again where the archive's folder can be written")


def _write_search(
    data: Path, view: View, questions: Sequence[Question], site: SiteRanker, ranking: Mapping[str, Any]
) -> dict[str, int]:
    """Write what the search reads; return the number of words and, if there are any, of vectors."""
    index = WordIndex(_make_extractor(site.words, view), view.language)
    for number, question in enumerate(questions):
        index.add(number, question)
    tables = None
    if site.vectors:
        searched = list(phrase(questions, site.words.settings["rephrasings"]))
        tables = VectorTables(site.vectors, view, searched)
    if tables and (limits := ranking.get("limits")):
        for rule in (limits["usual"], *limits["languages"].values()):
            rule["direction"] = tables.rotate_direction(rule["direction"])
    values = index.values() | {"ranking": ranking, "vectors": tables is not None}
    write_data(data, "words", values, index.arrays())
    if tables is None:
        return {"data/words.js": index.count_words()}
    write_data(data, "vectors", tables.values(), tables.arrays(index.words))
    return {"data/words.js": index.count_words(), VECTORS_FILE: len(searched)}


def _write_titles(data: Path, view: View, questions: Iterable[Question]) -> int:
    """Write the titles and addresses, and the texts that unfold below them; return the number of questions with any."""
    titles: dict[str, list[str]] = {"titles": [], "urls": [], "ids": []}
    rephrasings: dict[int, Sequence[str]] = {}
    kinds: list[int] = []
    known: list[Question] = []
    for number, batch in enumerate(chunks(questions, ANSWERS_PER_FILE)):
        kinds += _write_texts(data, f"texts-{number}", view, batch)
        for question in batch:
            if question.rephrasings:
                rephrasings[len(known)] = question.rephrasings
            known.append(question)
            titles["titles"].append(shown_title(question))
            titles["urls"].append(safe_url(question.url) or "")
            titles["ids"].append(question.id)
    values = {**titles, "rephrasings": rephrasings, "perFile": ANSWERS_PER_FILE}
    write_data(data, "titles", values, {"kinds": np.array(kinds, np.uint8), **_describe_states(view, known)})
    return sum(kind > 0 for kind in kinds)


def _describe_states(view: View, questions: Sequence[Question]) -> dict[str, NDArray[Any]]:
    """Return for each question the number of its original, or its own, and whether that is answered and open."""
    numbers = {question.id: n for n, question in enumerate(questions)}
    found = find_originals(view, numbers).in_archive
    originals = [numbers.get(found.get(question.id, question.id), n) for n, question in enumerate(questions)]
    settled = [questions[n].is_settled for n in originals]
    return {"originals": np.array(originals, np.int32), "settled": np.array(settled, np.uint8)}


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
    own = files("askalike_browser") / "files"
    for path, file in {**{name: own / name for name in FILES}, **formula_files()}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(file.read_bytes())
    search = "".join((own / file).read_text(encoding="utf-8") for file in SCRIPTS)
    (folder / "search.js").write_text(f"(() => {{\n{search}}})()\n", encoding="utf-8")
    (folder / "widget.js").write_text(build_widget(own / "widget.js"), encoding="utf-8")
    messages: Mapping[str, Mapping[str, str]] = json.loads((own / "messages.json").read_text(encoding="utf-8"))
    language = view.language if view.language and view.language in messages else "en"
    inserted = {"name": name, "language": language, **messages[language]}
    page = (own / "index.html").read_text(encoding="utf-8")
    for key, text in inserted.items():
        page = page.replace(f"{{{{{key}}}}}", html.escape(text))
    data = json.dumps(messages, ensure_ascii=False).replace("<", "\\u003c")
    (folder / "index.html").write_text(page.replace("{{messages}}", data), encoding="utf-8")

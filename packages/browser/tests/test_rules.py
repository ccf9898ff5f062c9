"""What JavaScript and Python have in common stands once, in Python: the export writes it into the data."""

import base64
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import askalike_browser
from askalike import Archive, Question, export_archive, rankers
from askalike.calibration import abstention
from askalike.index import rows
from askalike.index.lexical import vocabulary
from askalike.rankers import _spelling
from askalike.search import archive_retriever, readings, select
from askalike.store.deployments import serve_ranker
from askalike.text import analyzer, clean, passages, subwords, talk, typos, words
from askalike_browser.patterns import as_script_pattern
from askalike_browser.words import MAX_ENDING, MIN_BEGINNING, name_as_script

FILES = Path(askalike_browser.__file__).parent / "files"
CONSTANTS = {
    "texts": {"invisible": clean.INVISIBLE.pattern, "linkToken": clean.LINK_TOKEN},
    "words": {
        "cjk": words.cjk_pattern().pattern.removesuffix("+"),
        "apostrophes": words.APOSTROPHES,
        "hyphens": words.HYPHENS,
        "droppedMarks": analyzer.DROPPED_MARKS.pattern,
        "maxJoined": analyzer.MAX_JOINED,
        "contracting": [*analyzer.CONTRACTING],
    },
    "spelling": {
        "minLetters": _spelling.MIN_LETTERS,
        "twoEditsFrom": _spelling.TWO_EDITS_FROM,
        "maxUnknown": _spelling.MAX_UNKNOWN,
        "joints": _spelling.JOINTS,
    },
    "typos": {
        "keyboards": [[*keys] for keys in typos.KEYBOARDS],
        "vowels": "".join(sorted(typos.VOWELS)),
        "sounds": [[*pair] for pair in typos.SAME_SOUNDS],
        "phoneticFrom": typos.MIN_PHONETIC_LENGTH,
        "unlikelyCost": typos.UNLIKELY_COST,
    },
    "readings": {
        "maxSentences": readings.MAX_SENTENCES,
        "minTerms": readings.MIN_TERMS,
        "clearTerms": readings.CLEAR_TERMS,
        "questionMarks": [*readings.QUESTION_MARKS],
    },
    "hits": {
        "maxCompletions": vocabulary.MAX_COMPLETIONS,
        "maxTitles": rows.MAX_TITLES,
        "minCharacters": abstention.MIN_CHARACTERS,
        "answeredFirst": select.ANSWERED_FIRST,
        "depthFactor": rankers.DEPTH_FACTOR,
        "maxDepthFactor": archive_retriever.MAX_DEPTH_FACTOR,
    },
    "subwords": {"wordStart": subwords.WORD_START, "maxWordPart": subwords.MAX_WORD_PART},
}
"""Table → name in JavaScript → Python's constant."""
OWN_NUMBERS = {
    "0", "1", "2", "4", "8", "10", "16", "29", "64", "1024", "1025", "2000", "2047", "0.5",
    "3", "5", "7", "12", "31", "32", "2654435761", "0xEDB88320", "0x9E3779B97F4A7C15", "0xBF58476D1CE4E5B9",
}  # fmt: skip
"""What search.js counts by: its own limits (HEAD, EXACT, …), and the formulas of idf and of hashes."""


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    titles = ("Renew a library card", "Where is the library?", "Print the annual report", "Book a meeting room")
    with Archive.create(tmp_path / "archive") as opened:
        opened.upsert(Question(str(n), title) for n, title in enumerate(titles))
        opened.set_meta(language="en")
        yield opened


def read_words(folder: Path) -> Any:
    script = (folder / "data" / "words.js").read_text("ascii")
    content = gzip.decompress(base64.b64decode(script.rpartition(',"')[2].rpartition('"')[0]))
    return json.loads(content[4 : 4 + int.from_bytes(content[:4], "little")])


def test_data_has_the_constants_of_python(archive: Archive, tmp_path: Path) -> None:
    export_archive(archive, "static-site", tmp_path / "site")
    written = read_words(tmp_path / "site")
    link = written["rules"]["texts"].pop("link")
    phrases = written["rules"].pop("talk"), written["rules"].pop("sentences")
    assert phrases == (
        json.loads(json.dumps(name_as_script(talk.talk_rules()))),
        name_as_script(passages.sentence_rules()),
    )
    assert written["rules"] == CONSTANTS
    assert (written["minBeginning"], written["maxEnding"]) == (MIN_BEGINNING, MAX_ENDING)
    text = "see https://a.example/b(c) and (www.b.example), ftp://c.example."
    found = re.findall(link, text, re.IGNORECASE)
    assert found == ["https://a.example/b(c)", "www.b.example", "ftp://c.example"]
    plain = clean.plain_text(text, "text")
    assert " ".join(re.sub(link, f" {clean.LINK_TOKEN} ", text, flags=re.IGNORECASE).split()) == " ".join(plain.split())


def test_search_js_has_no_number_of_its_own() -> None:
    script = "".join((FILES / name).read_text("utf-8") for name in ("readings.js", "search.js"))
    for name in (name for table in CONSTANTS.values() for name in table):
        assert name == "contracting" or re.search(rf"\b{name}\b", script), name
    for rule in ("qwert", "aeiou", "’\\-", "\\u200b", "xxurl", "▁", "https?"):
        assert rule not in script, rule
    code = re.sub(r"//.*|/(?:\\.|\[[^\]]*\]|[^/\n\\ ])+/[gimu]*|\"(?:\\.|[^\"\\])*\"", "", script)
    code = re.sub(r"const multiply = .*?\n  }\n", "", code, flags=re.DOTALL)  # four components at a time
    numbers = set(re.findall(r"(?<![\w.$])(?:0x[\dA-F]+|\d+(?:\.\d+)?)", code))
    assert numbers <= OWN_NUMBERS, numbers - OWN_NUMBERS


def open_site(browser: Any, folder: Path) -> Any:
    page = browser.new_page()
    page.goto(f"{folder.as_uri()}/index.html")
    page.evaluate("askalikeSite.complete")
    return page


CORRECT = "text => Object.values(askalikeSite.search(text, { prefix: false, all: true }).corrections)"
FIND = "text => askalikeSite.search(text, { all: true }).hits.map((hit) => hit.id)"


def test_other_rules_change_what_the_page_finds(
    browser: Any, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_ranker(archive, "lm_jelinek_mercer", {}, "chosen")
    export_archive(archive, "static-site", tmp_path / "usual")
    monkeypatch.setattr(_spelling, "MIN_LETTERS", 9)
    monkeypatch.setattr("askalike.plugin.exports.MAX_COMPLETIONS", 0)
    export_archive(archive, "static-site", tmp_path / "other")
    usual, other = (open_site(browser, tmp_path / name) for name in ("usual", "other"))
    assert (usual.evaluate(CORRECT, "librray"), other.evaluate(CORRECT, "librray")) == (["library"], [])
    assert (set(usual.evaluate(FIND, "libr")), other.evaluate(FIND, "libr")) == ({"0", "1"}, [])


def test_links_are_read_as_in_the_archive(browser: Any, archive: Archive, tmp_path: Path) -> None:
    archive.upsert([Question("link", "Broken https://a.example/b(c).")])
    export_archive(archive, "static-site", tmp_path / "site")
    page = open_site(browser, tmp_path / "site")
    assert page.evaluate(FIND, "broken https://b.example/c(d)")[0] == "link"


PATTERNS = {
    r"(?P<stop>\.)[\"”]*\s+": "a. b.” c",
    r"(?<![!?])[!?]++\.*+\s*": "a?! b!!. c",
    r"just\ a\ day\b": "just a day, just a days, just a dayю",
    r"[\w.'-]+": "Зоя-a_1 b.c'd",
    r"([^\W\d_])\1{2,}": "thaaanks 1111 приветттт",
    r"\s+[-–—]+\s+": "a -- b – c",
    r"\w\-\w": "a-b c-d",
}


@pytest.mark.parametrize(("pattern", "text"), PATTERNS.items())
def test_patterns_match_alike_in_javascript(browser: Any, pattern: str, text: str) -> None:
    page = browser.new_page()
    match_all = "([pattern, text]) => [...text.matchAll(new RegExp(pattern, 'gu'))].map((match) => match[0])"
    found = page.evaluate(match_all, [as_script_pattern(pattern), text])
    assert found == [match[0] for match in re.finditer(pattern, text)]
    assert found


def test_names_become_those_of_javascript() -> None:
    assert name_as_script({"a_bc_d": {"e_f": 1}, "g": [2]}) == {"aBcD": {"eF": 1}, "g": [2]}

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
import Stemmer
from hypothesis import given, strategies as st
from lxml import etree

from askalike.core.config import validate_settings
from askalike.core.errors import SettingsError
from askalike.text.analyzer import Analyzer, AnalyzerSettings
from askalike.text.clean import LINK_TOKEN, plain_text
from askalike.text.language import stop_words

SETTINGS = [
    AnalyzerSettings(),
    AnalyzerSettings(stop_words=True, language="de"),
    AnalyzerSettings(tokenizer="ptb", stem=False),
    AnalyzerSettings(tokenizer="ptb", stop_words=True),
    AnalyzerSettings(tokenizer="whitespace"),
]
ANALYZERS = [Analyzer(settings) for settings in SETTINGS]
WORDS = [
    "don't",
    "John’s",
    "cannot",
    "e.g.",
    "C++",
    "3.14",
    "1,000",
    "...",
    "如何煮鸡蛋",
    "猫",
    "за\u0301мок",
    "हिन्दी",
    "İ",
    " ",
    "\n",
]
TEXTS = st.text() | st.lists(st.sampled_from(WORDS) | st.text(max_size=2)).map("".join)


def reference(text: str) -> list[str]:
    return Stemmer.Stemmer("english").stemWords(re.findall(r"\w+", text.lower()))


@given(st.text(st.characters(max_codepoint=0x17F, exclude_characters="İ")))
def test_standard_english_is_lower_case_stems(text: str) -> None:
    assert Analyzer().analyze(text) == reference(text)


def test_standard_english_on_a_whole_community(shared_data: Path) -> None:
    posts = shared_data / "stackexchange/cs.stackexchange.com/Posts.xml"
    rows = [row.attrib for _, row in etree.iterparse(posts, tag="row")]
    texts = [plain_text(f"{row['Title']}. {row['Body']}", "html") for row in rows]
    analyzer = Analyzer()
    unlike = [text for text in texts if analyzer.analyze(text) != reference(text)]
    assert len(unlike) <= 2  # one holds Greek words, one a letter with a combining mark


@pytest.mark.parametrize(
    ("text", "language", "terms"),
    [
        ("Boiling the eggs", None, ["boil", "the", "egg"]),
        ("Wie lange kochen die Häuser", "de", ["wie", "lang", "koch", "die", "haus"]),
        ("Установка пакетов Python packages", "ru", ["установк", "пакет", "python", "packag"]),
        ("Установка пакетов Python packages", None, ["установк", "пакет", "python", "packag"]),
        ("Instalación de paquetes", "es", ["instal", "de", "paquet"]),
        ("Installer des paquets", "fr", ["install", "de", "paquet"]),
        ("instalacja pakietów", "pl", ["instalacja", "pakietów"]),
        ("kusakinisha packages", "sw", ["kusakinisha", "packages"]),
    ],
)
def test_every_language_has_its_stems(text: str, language: str | None, terms: list[str]) -> None:
    assert Analyzer().analyze(text, language) == terms


def test_set_language_is_that_of_all_texts() -> None:
    assert Analyzer(AnalyzerSettings(language="de")).analyze("Häuser", "en") == ["haus"]


def test_chinese_japanese_and_korean_become_pairs() -> None:
    assert Analyzer().analyze("用Python煮鸡蛋 猫 한국어") == ["用", "python", "煮鸡", "鸡蛋", "猫", "한국", "국어"]
    assert Analyzer().analyze_with_spans("x 煮鸡蛋") == [("x", 0, 1), ("煮鸡", 2, 4), ("鸡蛋", 3, 5)]


def test_combining_marks_do_not_break_words() -> None:
    unstemmed = Analyzer(AnalyzerSettings(stem=False))
    assert unstemmed.analyze("हिन्दी में ที่นี่ عَرَبِيّ") == ["हिन्दी", "में", "ที่นี่", "عَرَبِيّ"]
    assert unstemmed.analyze("за\u0301мок cafe\u0301 İstanbul x\u0304") == ["замок", "café", "istanbul", "x"]


def test_stop_words_go_where_asked() -> None:
    analyzer = Analyzer(AnalyzerSettings(stop_words=True))
    assert analyzer.analyze("How do I boil the eggs and don't burn") == ["boil", "egg", "burn"]
    assert analyzer.analyze("Как мне варить яйца", "ru") == ["вар", "яйц"]
    assert analyzer.analyze("die Häuser und der Topf", "de") == ["haus", "topf"]
    assert analyzer.analyze("to be or not to be") == []


@pytest.mark.parametrize("language", ["en", "ru", "de", "fr", "es"])
def test_stop_words_are_lower_case_words(language: str) -> None:
    words = stop_words(language)
    assert len(words) > 100
    assert all(word == word.lower() for word in words)


PTB = [
    ("I don't, can’t; cannot.", ["i", "do", "n't", ",", "ca", "n't", ";", "can", "not", "."]),
    ("John's dogs' they've o'clock", ["john", "'s", "dogs", "'", "they", "'ve", "o'clock"]),
    ("3.14 1,000.5 10:30 50%", ["3.14", "1,000.5", "10:30", "50", "%"]),
    ("e.g. the U.S. is (big)...", ["e.g.", "the", "u.s.", "is", "(", "big", ")", "..."]),
    ("state-of-the-art -- and/or C++", ["state-of-the-art", "--", "and/or", "c++"]),
    ("'quoted' \"words\" 煮鸡蛋!", ["'", "quoted", "'", '"', "words", '"', "煮鸡", "鸡蛋", "!"]),
    (f"see {LINK_TOKEN} .", ["see", LINK_TOKEN, "."]),
]


@pytest.mark.parametrize(("text", "terms"), PTB)
def test_penn_treebank_words(text: str, terms: list[str]) -> None:
    assert Analyzer(AnalyzerSettings(tokenizer="ptb", stem=False)).analyze(text) == terms


def test_stems_are_for_penn_treebank_words_too() -> None:
    assert Analyzer(AnalyzerSettings(tokenizer="ptb")).analyze("Boiling eggs!") == ["boil", "egg", "!"]


def test_white_space_leaves_words_as_they_are() -> None:
    analyzer = Analyzer(AnalyzerSettings(tokenizer="whitespace", stop_words=True))
    assert analyzer.analyze("The  Boiling EGGS, 煮鸡蛋\tdon't") == ["The", "Boiling", "EGGS,", "煮鸡蛋", "don't"]


@pytest.mark.parametrize("analyzer", ANALYZERS)
@given(text=TEXTS, language=st.sampled_from([None, "ru", "zh", "xx"]))
def test_spans_are_the_tokens_with_their_places(analyzer: Analyzer, text: str, language: str | None) -> None:
    spans = analyzer.analyze_with_spans(text, language)
    assert [term for term, _, _ in spans] == analyzer.analyze(text, language)
    assert all(0 <= start < end <= len(text) for _, start, end in spans)
    assert all(a[1] < b[1] and a[2] <= b[2] for a, b in pairwise(spans))


@pytest.mark.parametrize("analyzer", ANALYZERS)
@given(text=TEXTS)
def test_a_finished_prefix_is_the_tokens(analyzer: Analyzer, text: str) -> None:
    assert analyzer.split_prefix(text + " ") == (analyzer.analyze(text + " "), None)


@pytest.mark.parametrize(
    ("text", "terms", "last"),
    [
        ("Boiling Eg", ["boil"], "eg"),
        ("Boiling eggs ", ["boil", "egg"], None),
        ("boiling eggs?", ["boil", "egg"], None),
        ("Boili", [], "boili"),
        ("", [], None),
        (" .", [], None),
        ("煮鸡蛋", ["煮鸡", "鸡蛋"], "蛋"),
        ("how 煮", ["how"], "煮"),
        ("煮 Eg", ["煮"], "eg"),
    ],
)
def test_prefix_tells_the_unfinished_word(text: str, terms: list[str], last: str | None) -> None:
    assert Analyzer().split_prefix(text) == (terms, last)


@pytest.mark.parametrize("analyzer", ANALYZERS)
@pytest.mark.parametrize("text", ["", "?!... ---", "\0\x01\x7f", "\ud800 a \udfff", "word " * 100_000, "é" * 100_000])
def test_no_text_is_too_strange(analyzer: Analyzer, text: str) -> None:
    terms = analyzer.analyze(text)
    assert "".join(terms).encode().decode() == "".join(terms)
    assert [term for term, *_ in analyzer.analyze_with_spans(text)] == terms
    assert len(analyzer.split_prefix(text)[0]) <= len(terms)


def test_threads_get_the_same_terms() -> None:
    texts = [f"running{i} houses{i % 7} configurations{i}s" for i in range(2000)]
    analyzer = Analyzer()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(analyzer.analyze, texts)) == [reference(text) for text in texts]


def test_memory_of_terms_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askalike.text.analyzer._MAX_CACHED_WORDS", 10)
    text = " ".join(f"words{i}" for i in range(35))
    assert Analyzer().analyze(text) == reference(text)


def test_fingerprints_differ_with_every_setting() -> None:
    others = [{"tokenizer": "ptb"}, {"language": "de"}, {"stem": False}, {"stop_words": True}, {"code": "drop"}]
    prints = {
        Analyzer(AnalyzerSettings.model_validate(other)).fingerprint for other in [*others, {"links": "keep"}, {}]
    }
    assert len(prints) == 7
    assert Analyzer().fingerprint == Analyzer(AnalyzerSettings()).fingerprint
    assert re.fullmatch("[0-9a-f]{64}", Analyzer().fingerprint)


def test_text_follows_the_settings() -> None:
    raw = "<p>see <code>x</code> http://a.b</p>"
    assert Analyzer().plain_text(raw, "html") == "see x xxurl"
    assert Analyzer(AnalyzerSettings(code="drop")).plain_text(raw, "html") == "see xxurl"
    assert Analyzer(AnalyzerSettings(code="keep", links="keep")).plain_text(raw, "html") == "see x http://a.b"


def test_an_unknown_language_is_one_clear_line() -> None:
    with pytest.raises(SettingsError, match=r"analyzer: language='xx': .*expected auto or one of ar, bg"):
        validate_settings(AnalyzerSettings, {"language": "xx"}, "analyzer")


@pytest.fixture(scope="module")
def joining():
    return Analyzer(AnalyzerSettings(joined=True))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Shor's", "shors"),
        ("can't", "cant"),
        ("don’t", "dont"),
        ("O'Reilly's", "oreilly"),
        ("the class's boss", "the class boss"),
        ("it’s", "its"),
        ("rock'n'roll", "rocknroll"),
    ],
)
def test_an_apostrophe_may_be_left_out(joining, text, same):
    assert joining.analyze(text) == joining.analyze(same)
    assert joining.analyze(text.replace("'", "’")) == joining.analyze(same)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("e-mail", ["email", "e", "mail"]),
        ("Wi\u2011Fi set‐up", ["wifi", "wi", "fi", "setup", "set", "up"]),
        ("utf-8", ["utf8", "utf", "8"]),
        ("2024-05-06", ["2024", "05", "06"]),
        ("state-of-the-art", ["state", "of", "the", "art"]),
        ("e-mail's", ["email", "e", "mail"]),
        ("- a - b -", ["a", "b"]),
        ("foo_bar 'quoted'", ["foo_bar", "quot"]),
        ("漢字 e-mail", ["漢字", "email", "e", "mail"]),
    ],
)
def test_hyphenated_words_are_found_joined_and_apart(joining, text, terms):
    assert joining.analyze(text) == terms
    assert [term for term, _, _ in joining.analyze_with_spans(text)] == terms
    assert joining.find_terms([text], terms[:1])[0][0][0] == terms[0]


def test_spans_of_joined_words(joining):
    assert joining.analyze_with_spans("my e-mail's") == [("my", 0, 2), ("email", 3, 11), ("e", 3, 4), ("mail", 5, 11)]


def test_apostrophe_divides_words_where_none_is_dropped(joining):
    assert joining.analyze("l'hôtel d’été", "fr") == ["l", "hôtel", "d", "été"]
    assert joining.analyze("l'e-mail", "fr") == ["l", "e", "mail"]


@pytest.mark.parametrize(
    ("typed", "finished", "unfinished"),
    [("Shor's", ["shor"], None), ("I can't", ["i"], "cant"), ("my e-ma", ["my", "e"], "ma"), ("set-", ["set"], None)],
)
def test_an_unfinished_joined_word(joining, typed, finished, unfinished):
    assert joining.split_prefix(typed) == (finished, unfinished)


def test_stop_words_are_dropped_from_joined_words():
    assert Analyzer(AnalyzerSettings(joined=True, stop_words=True)).analyze("the set-up") == ["setup", "set"]


@pytest.mark.parametrize("tokenizer", ["ptb", "whitespace"])
def test_other_tokenizers_join_as_before(tokenizer):
    text = "Shor's e-mail can't l’hôtel"
    settings = AnalyzerSettings(tokenizer=tokenizer)
    joined = settings.model_copy(update={"joined": True})
    assert Analyzer(joined).analyze(text) == Analyzer(settings).analyze(text)


@pytest.mark.parametrize("text", ["Cards, card's CARD", "e-mail my Email", "Eier kochen 怎么煮鸡蛋 煮", ""])
def test_first_forms_are_the_terms_first_words(text):
    for settings in (AnalyzerSettings(), AnalyzerSettings(joined=True), AnalyzerSettings(tokenizer="ptb")):
        analyzer = Analyzer(settings)
        expected = {}
        for term, start, end in analyzer.analyze_with_spans(text, "en"):
            expected.setdefault(term, text[start:end])
        assert analyzer.first_forms(text, "en") == expected

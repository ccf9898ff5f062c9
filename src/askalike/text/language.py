"""What is known of languages: which one a text is in, the stems of its words, and function words."""

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache, reduce
from io import BytesIO
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import Stemmer

from askalike.core.arrays import Array
from askalike.core.files import user_cache
from askalike.native.code_files import CodeFolder

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LANGUAGES: Final[Mapping[str, str | None]] = {
    "ar": "arabic", "bg": None, "ca": "catalan", "cs": None, "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "eu": "basque", "fa": None, "fi": "finnish", "fr": "french", "ga": "irish",
    "he": None, "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "ja": None,
    "ko": None, "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": None, "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "th": None, "tr": "turkish",
    "uk": None, "vi": None, "zh": None,
}  # fmt: skip
"""ISO 639-1 code → Snowball stemmer, None if there is none (words are not stemmed; zh, ja, ko become bigrams)."""

MIN_PROBABILITY: Final = 0.6
"""Minimum probability, among the candidate languages, that counts as certain."""

_LETTER, _WORD = re.compile(r"[^\W\d_]"), re.compile(r"\w+")
_HAN = "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_KANA = "[\u3041-\u30ff\uff66-\uff9d]"
_HANGUL = "[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]"
_MAX_CHARACTERS = 1000
"""Maximum number of characters examined, which suffices for any question."""
_LABELS, _SUFFIX = "classes", ".npy"
_MAX_HEAD_BYTES = 1 << 12
_ARRAYS = ("ptc", "pc", "nextmove", "row", "output")
"""The arrays of the model, by their names in py3langid's `load_model`."""
_ALPHABETS: Final = (
    ("latin", "az"), ("latin", "\u00aa\u024f"), ("greek", "\u0370\u03ff"), ("cyrillic", "\u0400\u052f"),
    ("armenian", "\u0530\u058f"), ("hebrew", "\u0590\u05ff"), ("arabic", "\u0600\u06ff"), ("arabic", "\u0750\u077f"),
    ("devanagari", "\u0900\u097f"), ("tamil", "\u0b80\u0bff"), ("thai", "\u0e00\u0e7f"), ("latin", "\u1e00\u1eff"),
    ("greek", "\u1f00\u1fff"),
)  # fmt: skip
_ALPHABET_BY_LANGUAGE: Final = {
    **dict.fromkeys(("bg", "ru", "sr", "uk"), "cyrillic"),
    **dict.fromkeys(("hi", "ne"), "devanagari"),
    **dict.fromkeys(("ar", "fa"), "arabic"),
    **dict.fromkeys(("ja", "ko", "zh"), "cjk"),
    "el": "greek", "hy": "armenian", "he": "hebrew", "ta": "tamil", "th": "thai",
}  # fmt: skip
_DEFAULT_LANGUAGE_BY_ALPHABET: Final = {
    "latin": "en", "greek": "el", "cyrillic": "ru", "armenian": "hy", "arabic": "ar", "devanagari": "hi", "tamil": "ta",
}  # fmt: skip
"""The presumed language of a word in another alphabet than that of the text's language."""

_MAX_LETTERS: Final = 30
"""Maximum number of a word's letters that are examined."""
_WORDS: Final[Mapping[str, str]] = {
    "en": """
        a about above after again against all am an and any are aren as at be because been before being below between
        both but by can cannot could couldn did didn do does doesn doing don down during each few for from further had
        hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
        just let me more most mustn my myself needn no nor not now of off on once only or other ought our ours ourselves
        out over own same shall shan she should shouldn so some such than that the their theirs them themselves then
        there these they this those through to too under until up very was wasn we were weren what when where which
        while who whom why will with won would wouldn you your yours yourself yourselves s t d m ll re ve n't 's 'd 'm
        'll 're 've ca wo
    """,
    "de": """
        aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus bei beim
        bin bis bist da dadurch daher damit dann darf darum das dass daß dein deine deinem deinen deiner dem den denen
        denn der deren des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem
        einen einer eines er es etwas euch euer eure eurem euren eurer für gegen gewesen hab habe haben hat hatte hatten
        hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder jedes
        jene jenem jenen jener jenes jetzt kann kannst kein keine keinem keinen keiner können könnt könnte machen man
        manche manchem manchen mancher mein meine meinem meinen meiner mich mir mit muss musst müssen nach nicht nichts
        noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind so solche solchem solchen
        solcher soll sollen sollte sondern sonst über um und uns unser unsere unserem unseren unserer unter viel vom von
        vor war waren warst was weg weil weiter welche welchem welchen welcher wenn wer werde werden wie wieder will wir
        wird wirst wo wollen würde würden zu zum zur zwar zwischen
    """,
    "es": """
        a al algo algunas algunos ante antes aquel aquella aquellas aquello aquellos aquí así aún aunque bajo cada como
        cómo con contra cual cuál cuales cuáles cuando cuándo cuanto cuánto de del desde donde dónde durante e el él
        ella ellas ello ellos en entre era eran eres es esa esas ese eso esos esta está estaba estado estamos están
        estar estas estás este esto estos estoy fue fueron ha haber había han has hasta hay he hemos la las le les lo
        los más me mi mí mientras mis mucho muchos muy nada ni no nos nosotras nosotros nuestra nuestras nuestro
        nuestros o os otra otras otro otros para pero poco por porque pues que qué quien quién quienes se sea sean según
        ser si sí sido siempre sin sobre sois somos son soy su sus suya suyo también tampoco tan tanto te tenemos tener
        tengo ti tiene tienen toda todas todavía todo todos tu tú tus tuya tuyo un una unas uno unos usted ustedes va
        vosotras vosotros vuestra vuestro y ya yo
    """,
    "fr": """
        a ai aie ainsi alors après as au aucun aucune aussi autre autres aux avaient avais avait avant avec avez avoir
        avons ayant c car ce ceci cela celle celles celui ces cet cette ceux chaque chez comme comment d dans de depuis
        des donc dont du elle elles en encore entre es est et étaient étais était étant été êtes être eu eux fait faire
        font il ils j je jusqu l la là le les leur leurs lors lui m ma mais me même mêmes mes moi moins mon n ne ni non
        nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi puis qu quand que quel quelle
        quelles quels qui quoi s sa sans se sera serait ses si sinon soit sommes son sont sous suis sur t ta te tes toi
        ton tous tout toute toutes très trop tu un une vers voici voilà vos votre vous y
    """,
    "ru": """
        а без бы был была были было быть в вам вами вас ваш ваша ваше ваши ведь весь во вот все всё всего всей всем всех
        всю вы где да даже для до его ее её ей ему если есть еще ещё ею же за зачем здесь и из или им ими их к как какая
        какие какого какое какой каком какую когда ко кто кого кому ли либо лишь меня мне мной мной мог могу может можно
        мои мой моя мы на над надо нам нами нас наш наша наше наши не него нее неё ней нем нём нет ни них но ну о об обо
        он она они оно от ото очень по под пока после потому почему при про с сам сама сами само свой свои своя себе
        себя со так такая такие такое такой там те тебе тебя тем теперь то тобой тогда того тоже той только том тот ту
        тут ты у уже хотя чего чей чем через что чтоб чтобы чья эта эти этим этих это этого этой этом этот эту я
    """,
}


ENGLISH: Final = "en"
STOP_WORD_LANGUAGES: Final = tuple(_WORDS)
"""The languages that have a list, English first."""


def detect_language(text: str, candidates: Sequence[str] | None = None) -> str | None:
    """Return the ISO 639-1 code of the language of plain `text`; None if it is uncertain or there are no letters.

    candidates: the languages to choose from (by default all of LANGUAGES). Chinese, Japanese and Korean are recognised
    by their script, the others by py3langid's byte n-grams; unpacking its model takes a fraction of a second, once per
    machine. The language of a few words is often uncertain: pass as much text as possible, or fewer candidates.
    """
    text = text[:_MAX_CHARACTERS]
    letters = len(_LETTER.findall(text))
    if not letters:
        return None
    languages = tuple(LANGUAGES) if candidates is None else tuple(candidates)
    code = _detect_by_script(text, letters) or _detect_by_ngrams(text, languages)
    return code if code in languages else None


def _detect_by_script(text: str, letters: int) -> str | None:
    """Return zh, ja or ko if at least a third of the letters are in its script: there may be many Latin names."""
    if text.isascii():
        return None
    han, kana, hangul = (len(re.findall(script, text)) for script in (_HAN, _KANA, _HANGUL))
    if 3 * (han + kana + hangul) < letters:
        return None
    if hangul > han + kana:
        return "ko"
    return "ja" if 10 * kana > han else "zh"


@lru_cache(maxsize=1024)  # a search needs the language of the same words several times
def _detect_by_ngrams(text: str, languages: tuple[str, ...]) -> str | None:
    ranked = _load_identifier().rank(text)
    eligible = [(probability, code) for code, probability in ranked if code in languages]
    probability, code = max(eligible, default=(0.0, None))
    certain = probability >= MIN_PROBABILITY * sum(p for p, _ in eligible) and probability >= ranked[0][1] / 2
    return code if certain else None


@cache
def _load_identifier() -> "LanguageIdentifier":
    """Return the identifier with its model from the cache, which is faster than unpacking it each time.

    It is unpacked once per machine, and again where the file is damaged or somebody else could have written it.
    """
    from py3langid.langid import MODEL_DIR, MODEL_FILE

    packed = MODEL_DIR / MODEL_FILE
    stat = packed.stat()
    try:
        folder = CodeFolder.own(user_cache() / f"languages-{stat.st_size}-{stat.st_mtime_ns}")
    except RuntimeError:  # no home
        return _open(_unpack(packed))
    mapped = {name: folder.map(f"{name}{_SUFFIX}") for name in (*_ARRAYS, _LABELS)}
    contents = {name: content for name, content in mapped.items() if content is not None}
    if len(contents) < len(mapped):
        contents = _unpack(packed)
        for name, content in contents.items():
            folder.write(f"{name}{_SUFFIX}", bytes(content))
    return _open(contents)


def _unpack(packed: Path) -> dict[str, memoryview]:
    """Return the arrays of py3langid's model and its labels, by name, in NumPy's format."""
    from py3langid.modelio import load_model

    ptc, pc, labels, nextmove, row, output = load_model(packed)
    contents = {}
    values = (ptc, pc, nextmove, row, np.array(output, np.int32), np.array(labels))
    for name, value in zip((*_ARRAYS, _LABELS), values, strict=True):
        file = BytesIO()
        np.save(file, np.ascontiguousarray(value), allow_pickle=False)
        contents[name] = file.getbuffer()
    return contents


def _open(contents: Mapping[str, memoryview]) -> "LanguageIdentifier":
    from py3langid.langid import LanguageIdentifier

    arrays = {name: _read_array(content) for name, content in contents.items()}
    moves, output = arrays["nextmove"].data, arrays["output"].data  # views whose items are Python numbers
    rows = arrays["row"].tolist()
    labels = arrays[_LABELS].tolist()
    return LanguageIdentifier(arrays["ptc"], arrays["pc"], labels, moves, output, norm_probs=True, tk_row=rows)


def _read_array(content: memoryview) -> Array:
    """Return the array in a file of NumPy's format, without a copy."""
    head = BytesIO(content[:_MAX_HEAD_BYTES])
    np.lib.format.read_magic(head)
    shape, _, number_type = np.lib.format.read_array_header_1_0(head)
    return np.frombuffer(content, number_type, offset=head.tell()).reshape(shape)


def word_language(word: str, language: str) -> str | None:
    """Return the language of a lower-case word in a text in `language`: a Russian text's Latin words are English.

    A word with a letter of the language's alphabet, or without any letter, is in that language; any other word is in
    the default language of its alphabet, None if there is none.
    """
    expected = _ALPHABET_BY_LANGUAGE.get(language, "latin")
    if expected == "latin" and word.isascii():  # nearly always
        return language
    foreign = None
    for alphabet in map(_find_alphabet, word[:_MAX_LETTERS]):
        if alphabet == expected:
            return language
        foreign = foreign or alphabet
    return _DEFAULT_LANGUAGE_BY_ALPHABET.get(foreign) if foreign else language


def stem(word: str, language: str | None) -> str:
    """Return the Snowball stem of a lower-case word; the word itself if there is no stemmer. Thread-safe."""
    name = LANGUAGES.get(language) if language else None
    if name is None:
        return word
    stemmer, lock = _get_stemmer(name)
    with lock:
        return stemmer.stemWord(word) or word


def stem_all(words: Sequence[str], language: str) -> list[str]:
    """Return the `stem` of each of many words."""
    if (name := LANGUAGES.get(language)) is None:
        return list(words)
    stemmer, lock = _get_stemmer(name)
    with lock:
        stems: list[str] = stemmer.stemWords(words)
    return stems if all(stems) else [stemmed or word for stemmed, word in zip(stems, words, strict=True)]


@cache
def _get_stemmer(name: str) -> tuple[Stemmer.Stemmer, threading.Lock]:
    """Return a shared stemmer and its lock: two threads may not use a PyStemmer object at once."""
    return Stemmer.Stemmer(name, 0), threading.Lock()


@lru_cache(4096)
def _find_alphabet(letter: str) -> str | None:
    return next((name for name, (first, last) in _ALPHABETS if first <= letter <= last), None)


@lru_cache(1024)
def stop_words(language: str) -> frozenset[str]:
    """Return the lower-case function words of an ISO 639-1 language; only en, de, es, fr and ru have any."""
    return frozenset(_WORDS.get(language, "").split())


@lru_cache(1 << 16)
def find_function_languages(word: str) -> int:
    """Return the languages in which all parts of a word, such as those of `what's`, are function words, as bits."""
    folded = word.casefold()
    known = _function_languages()
    if folded.isalnum():
        return known.get(folded, 0)
    parts = _WORD.findall(folded)
    return reduce(and_, (known.get(part, 0) for part in parts)) if parts else 0


def mark_languages(languages: Iterable[str | None]) -> int:
    """Return languages as the bits of `find_function_languages`; all if none of them is known."""
    known = [language for language in languages if language]
    return sum(1 << n for n, language in enumerate(STOP_WORD_LANGUAGES) if not known or language in known)


@cache
def _function_languages() -> Mapping[str, int]:
    """Return the function words of all languages, each with the languages that it is one of, as bits."""
    languages: dict[str, int] = {}
    for n, code in enumerate(STOP_WORD_LANGUAGES):
        languages |= {word: languages.get(word, 0) | 1 << n for word in stop_words(code)}
    return languages


@lru_cache(1024)
def function_words(language: str | None) -> frozenset[str]:
    """Return the function words of a language; of all languages if it is not known."""
    return frozenset().union(*map(stop_words, [language] if language else STOP_WORD_LANGUAGES))

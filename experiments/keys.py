"""What people see while they type, key by key, and with slips.

python experiments/keys.py ARCHIVE … > experiments/reports/keys.json

The archive's own ranker answers, by the engine that every way of searching uses. The rows of an archive:

- keys: titles of the archive, key by key. A list vanishes if it is empty between two keys at which there is one. Found:
  the share of keys at which the own question is among five, after so many parts of the title's keys.
- words: words of titles that are the beginning of others, such as *car* of *card*, typed alone. Before: questions
  without the word that stand before one with it.
- slips: titles, and two words of one (the rarest two), with misspelt words: the own question is among five.
- held: misspellings that one or two questions of the archive have, in place of the word that they stand for.
"""

import json
import os
import random
import re
import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from askalike.search.archive_retriever import ArchiveRetriever, SearchRequest
from askalike.text.analyzer import content_analyzer
from askalike.text.clean import plain_text
from askalike.text.typos import is_likely_typo, misspell, misspell_word
from askalike.text.words import WORD
from askalike_research.experiments.provenance import collect_provenance

K, TITLES, KEYED_TITLES, SEED = 5, 400, 200, 0
HELD_LETTERS, HELD_COUNT = 6, 50
PARTS = (60, 70, 80, 90, 100)


class Asked(NamedTuple):
    """A text as far as it is typed, and the id of the question that it should find, if there is one."""

    text: str
    id: str = ""


def main(*places: str) -> None:
    """Write the rows as a JSON list, one in each line."""
    rows = []
    command = shlex.join(["python", "experiments/keys.py", *map(os.path.basename, places)])
    for place in places:
        with ArchiveRetriever.open(place) as retriever:
            retriever.search(place)  # finds the limits of grades
            for kind, figures in measure(retriever):
                rows.append({"archive": Path(place).name, "kind": kind, **figures})
                print(rows[-1], file=sys.stderr, flush=True)
                rows[-1]["provenance"] = collect_provenance(retriever.archive, command)
    print("[", ",\n".join(map(json.dumps, rows)), "]", sep="\n")


def measure(retriever: ArchiveRetriever) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each kind of row with its figures."""
    titles = [Asked(title, id) for _, id, title in retriever.archive.view().titles() if len(title.split()) > 2]
    rng = random.Random(SEED)
    drawn = rng.sample(titles, min(len(titles), TITLES))
    counts = Counter(word for title in titles for word in set(content_words(title.text)))
    yield "keys", measure_keys(retriever, drawn[:KEYED_TITLES])
    yield "words", measure_words(retriever, counts)
    for kind, asked in make_slips(drawn, counts, rng).items():
        yield kind, measure_found(retriever, asked)
    yield "held", measure_found(retriever, find_held(retriever, titles))


def measure_keys(retriever: ArchiveRetriever, titles: Sequence[Asked]) -> dict[str, Any]:
    """Return how many lists vanish between two keys, in a thousand, and the shares found after parts of the keys."""
    keys = vanished = 0
    found: dict[int, list[bool]] = defaultdict(list)
    for title in titles:
        lists = search(retriever, [title.text[:end] for end in range(1, len(title.text) + 1)])
        shown = [bool(own) for own in lists]
        first = shown.index(True) if True in shown else len(shown)
        gone = [n for n in range(first, len(shown)) if not shown[n] and any(shown[n:])]
        if gone and os.environ.get("VERBOSE"):
            print([title.text[: n + 1] for n in gone], file=sys.stderr)
        keys += len(lists)
        vanished += len(gone)
        for part in PARTS:
            found[part].append(title.id in lists[max(1, round(part * len(lists) / 100)) - 1])
    shares = {f"found at {part} %": share(own) for part, own in found.items()}
    return {"n": keys, "vanished in 1,000": round(1000 * vanished / keys, 2), **shares}


def measure_words(retriever: ArchiveRetriever, counts: Counter[str]) -> dict[str, Any]:
    """Return the share of lists in which no question without a complete word comes before one with it."""
    words = sorted(word for word, n in counts.items() if n > 1 and word.isalpha() and len(word) > 2)
    longer = [word for word, after in pairwise(words) if after.startswith(word)]
    asked = random.Random(SEED).sample(longer, min(len(longer), TITLES))
    in_order, in_order_of_names = [], []
    for texts, kept in (asked, in_order), ([f"{word}'s" for word in asked], in_order_of_names):
        for word, hits in zip(asked, search_titles(retriever, texts), strict=True):
            [term] = content_analyzer().analyze(word)
            has_word = [term in content_analyzer().analyze(text) for text in hits]
            kept.append(has_word == sorted(has_word, reverse=True))
            if not kept[-1] and os.environ.get("VERBOSE"):
                print(word, hits, file=sys.stderr)
    return {"n": len(asked), "first": share(in_order), "first with 's": share(in_order_of_names)}


def make_slips(titles: Sequence[Asked], counts: Counter[str], rng: random.Random) -> dict[str, list[Asked]]:
    """Return kind of slip → texts. A name is a capitalised word inside a title."""
    slips: dict[str, list[Asked]] = defaultdict(list)
    for text, id in titles:
        words = sorted(set(content_words(text)), key=lambda word: (counts[word], word))
        rare = [word for word in words if len(word) > 3 and word.isalpha() and counts[word] > 1][:2]
        names = [word for word in text.split()[1:] if word[0].isupper() and word.isalpha() and len(word) > 3
                 and not word.isupper()]  # fmt: skip
        slips["no slip"].append(Asked(text, id))
        slips["one of its words"].append(Asked(misspell(text, 1, rng), id))
        slips["two of its words"].append(Asked(misspell(text, 2, rng), id))
        if len(rare) == 2:
            slips["two words"].append(Asked(" ".join(rare), id))
            slips["two words of two"].append(Asked(" ".join(misspell_word(word, rng) for word in rare), id))
        if names:
            slips["a name in it"].append(Asked(text.replace(names[0], misspell_word(names[0], rng)), id))
            slips["a name alone"].append(Asked(names[0], id))
            slips["a misspelt name alone"].append(Asked(misspell_word(names[0], rng), id))
    return slips


def find_held(retriever: ArchiveRetriever, titles: Sequence[Asked]) -> list[Asked]:
    """Return titles with a frequent word misspelt as one or two of the archive's questions have it."""
    view = retriever.archive.view()
    texts = (f"{question.title} {plain_text(question.body, question.markup)}" for _, question in view.questions())
    counts = Counter(word for text in texts for word in set(WORD.findall(text.lower())))
    long = {word: n for word, n in counts.items() if len(word) >= HELD_LETTERS and word.isalpha()}
    titled: dict[str, Asked] = {}
    for title in titles:
        titled |= dict.fromkeys(WORD.findall(title.text.lower()), title)
    frequent = [word for word in titled if long.get(word, 0) >= HELD_COUNT]
    held = []
    for typed in sorted(word for word, n in long.items() if n <= 2):
        meant = [word for word in frequent if abs(len(word) - len(typed)) < 2 and is_likely_typo(typed, word, 1)
                 and not {typed + "s", typed[:-1]} & {word, word + "s"}]  # fmt: skip
        for word in meant[:1]:
            if os.environ.get("VERBOSE"):
                print("held", typed, word, file=sys.stderr)
            text, id = titled[word]
            held.append(Asked(re.sub(rf"\b{word}\b", typed, text, flags=re.IGNORECASE), id))
    return held


def measure_found(retriever: ArchiveRetriever, asked: Sequence[Asked]) -> dict[str, Any]:
    """Return the share of texts that find their question among five, and of those that find nothing."""
    lists = search(retriever, [one.text for one in asked], prefix=False)
    found = share(one.id in own for one, own in zip(asked, lists, strict=True))
    return {"n": len(asked), "found": found, "silent": share(not own for own in lists)}


def search(retriever: ArchiveRetriever, texts: Iterable[str], prefix: bool = True) -> list[list[str]]:
    """Return the ids of the questions that are shown for each text."""
    requests = [SearchRequest(text, k=K, prefix=prefix, explain=False) for text in texts]
    return [[hit.id for hit in result] for result in retriever.search_batch(requests)]


def search_titles(retriever: ArchiveRetriever, texts: Iterable[str]) -> list[list[str]]:
    """Return the titles and bodies of the questions that are shown for each text that is being typed."""
    requests = [SearchRequest(text, k=K, prefix=True, explain=False) for text in texts]
    found = retriever.search_batch(requests)
    return [[f"{hit.question.title} {hit.question.body}" for hit in result] for result in found]


def content_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without function words."""
    return [word for word in WORD.findall(text.lower()) if content_analyzer().analyze(word)]


def share(values: Iterable[bool]) -> float | None:
    """Return a share in per cent; None of nothing."""
    listed = list(values)
    return round(100 * sum(listed) / len(listed), 1) if listed else None


if __name__ == "__main__":
    main(*sys.argv[1:])

"""How well does `askalike conflicts` find contradictory answers? On pairs made from medquad.

python experiments/conflicts.py medquad.jsonl.gz [dev|test]

One answer of each question that has several (the first 20 sentences), half of the questions dev, half test, by a hash.
An answer is edited harmlessly: half of its sentences dropped, the rest shuffled, "for example" inserted, "and" for a
comma. Conflicting pairs: an answer and its edit in which one sentence has another number (× 2, or 1 for 0), the next
month, or a "not" added after is, are, can, may, will, should, or removed. Other pairs: an answer and its edit, and the
unchanged answers of two sources.
"""

import gzip
import hashlib
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator

from askalike.evaluation.proportion import BinomialProportion
from askalike.text.claims import MIN_WORDS, Claims, content_words
from askalike.text.sentences import split_sentences

MAX_SENTENCES = 20
VERB = re.compile(r"\b(is|are|can|may|will|should)\b(?! not\b)")
DENIED = re.compile(r"\b(is|are|can|may|will|should|do|does) not\b")
NUMBER = re.compile(r"(?<![\d.,-])\d{1,4}(?![\d.,-]*\d)")
MONTHS = [
    "January", "February", "March", "April", "June", "July", "August", "September", "October", "November", "December",
]  # fmt: skip
DATE = re.compile(rf"\b({'|'.join(MONTHS)})\b")


def change_number(sentence: str) -> str:
    """Return the sentence with its first number doubled, or 1 more if that is 0."""
    return NUMBER.sub(lambda match: str(int(match[0]) * 2 or 1), sentence, count=1)


def change_month(sentence: str) -> str:
    """Return the sentence with the month after its first month."""
    return DATE.sub(lambda match: MONTHS[(MONTHS.index(match[0]) + 1) % len(MONTHS)], sentence, count=1)


def negate(sentence: str) -> str:
    """Return the sentence with a "not" removed, or inserted."""
    if DENIED.search(sentence):
        return DENIED.sub(r"\1", sentence, count=1)
    return VERB.sub(r"\1 not", sentence, count=1)


CHANGES: dict[str, Callable[[str], str]] = {"number": change_number, "date": change_month, "negation": negate}


def edit_harmlessly(sentences: list[str], draw: random.Random) -> list[str]:
    """Return half of the sentences (at least two), in another order and slightly reworded."""
    chosen = draw.sample(sentences, max(2, len(sentences) // 2))
    return [f"For example, {s}" if draw.random() < 0.3 else s.replace(", ", " and ", 1) for s in chosen]


def make_pairs(path: str, part: str) -> Iterator[tuple[str, bool, str, str]]:
    """Yield the kind of a pair, whether it conflicts, and both texts."""
    answers: dict[str, list[dict[str, str]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["answer"]:
                answers[row["question"].strip().lower()].append(row)
    for question, rows in answers.items():
        texts = list(dict.fromkeys(" ".join(split_sentences(row["answer"])[:MAX_SENTENCES]) for row in rows))
        if len(texts) < 2 or (hashlib.sha256(question.encode()).digest()[0] % 2 == 0) != (part == "dev"):
            continue
        draw = random.Random(question)
        yield "two sources", False, texts[0], texts[1]
        sentences = list(dict.fromkeys(split_sentences(texts[0])))
        if len(sentences) < 3:
            continue
        yield "harmless edit", False, texts[0], "\n".join(edit_harmlessly(sentences, draw))
        for kind, change in CHANGES.items():
            edited = edit_harmlessly(sentences, draw)
            places = [n for n, s in enumerate(edited) if change(s) != s and len(content_words(s)) >= MIN_WORDS]
            if places:
                place = draw.choice(places)
                edited[place] = change(edited[place])
                yield kind, True, texts[0], "\n".join(edited)


def main(path: str, part: str = "dev") -> None:
    """Print recall by kind, false alarms by kind, and the precision over all pairs."""
    found: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    for kind, conflicts, one, other in make_pairs(path, part):
        found[kind, conflicts].append(bool(Claims(one).differences(Claims(other))))
    for (kind, conflicts), flags in found.items():
        share = BinomialProportion(sum(flags), len(flags))
        low, high = share.interval
        what = "found" if conflicts else "false alarms"
        print(f"{kind}: {what} {share.value:.3f} [{low:.3f}, {high:.3f}], {share.count} of {share.n}")
    for negatives in ("harmless edit", "two sources"):
        right = sum(sum(flags) for (_, conflicts), flags in found.items() if conflicts)
        precision = BinomialProportion(right, right + sum(found[negatives, False]))
        low, high = precision.interval
        print(f"precision beside {negatives}: {precision.value:.3f} [{low:.3f}, {high:.3f}], n = {precision.n}")


if __name__ == "__main__":
    main(*sys.argv[1:])

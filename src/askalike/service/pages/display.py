"""Texts of an archive as a page shows them, and in words why two ask the same. All HTML is sanitised.

Words and formulas in a text are highlighted, and so are the differences of two texts."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import ceil

import nh3
from markupsafe import Markup, escape
from selectolax.lexbor import LexborHTMLParser

from askalike.core import registry
from askalike.core.hits import PAIR, Contribution, Explanation, SearchHit
from askalike.core.records import Markup as Kind, Question
from askalike.service.pages import languages
from askalike.service.pages.languages import mark
from askalike.text.clean import is_deep, readable_text
from askalike.text.passages import FORMULA, find_formulas, has_formula_sign
from askalike.text.words import WORD, any_word_pattern

MARKED, DIFFERENT, PLAIN = Markup("<mark>{}</mark>"), Markup('<em class="only">{}</em>'), Markup("{}")
MATH = Markup('<span class="math">{}</span>')
"""A formula with its delimiters, which the page's script renders."""
TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
MAX_TOKENS = 600
"""Longer passages that differ are shown whole, before and after."""
MIN_PASSAGE = 2
"""Number of content words from which two texts have a passage in common."""
MAX_DIFFERENCE = 6
"""Number of words up to which what stands between two common passages is marked as different."""
CONTEXT_LENGTH = 60
"""Number of characters shown around a change."""
DELETED, INSERTED, SAME = Markup("<del>{}</del>"), Markup("<ins>{}</ins>"), Markup("{}")
MAX_WORDS = 12
N_STRENGTHS = 4
MIN_WORD_SHARE = 0.05
"""Minimum share of the heaviest word's score for a word to be shown."""


def highlight(text: str, words: Collection[str]) -> Markup:
    """Return the text, escaped, with these words in `<mark>`, except inside formulas."""
    return wrap_matches(text, any_word_pattern(words), lambda _: MARKED)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a text, from `start` to `end`, that another text has too (`is_same`), or has otherwise."""

    start: int
    end: int
    is_same: bool


def compare_texts(one: str, other: str, function_words: Collection[str] = ()) -> tuple[list[Stretch], list[Stretch]]:
    """Return of both texts the passages that they have in common, and what differs between two such passages.

    A passage has at least MIN_PASSAGE words besides the function words. What differs is marked only where it is at most
    MAX_DIFFERENCE words long.
    """
    words = [list(WORD.finditer(text))[:MAX_TOKENS] for text in (one, other)]
    folded = [[word[0].casefold() for word in text] for text in words]
    passages = [
        block
        for block in SequenceMatcher(None, folded[0], folded[1], autojunk=False).get_matching_blocks()
        if sum(word not in function_words for word in folded[0][block.a : block.a + block.size]) >= MIN_PASSAGE
    ]
    ends = [[(block[side], block[side] + block.size) for block in passages] for side in (0, 1)]
    near = [
        max(ends[side][n + 1][0] - ends[side][n][1] for side in (0, 1)) <= MAX_DIFFERENCE
        for n in range(len(passages) - 1)
    ]
    first, second = (_to_stretches(words[side], ends[side], near) for side in (0, 1))
    return first, second


def _to_stretches(
    words: Sequence[re.Match[str]], ends: Sequence[tuple[int, int]], near: Sequence[bool]
) -> list[Stretch]:
    """Return the stretches of a text. ends: of each passage, in words; near: whether what follows each is compared."""
    stretches = []
    for n, (start, end) in enumerate(ends):
        stretches.append(Stretch(words[start].start(), words[end - 1].end(), True))
        if n < len(near) and near[n] and end < ends[n + 1][0]:
            stretches.append(Stretch(words[end].start(), words[ends[n + 1][0] - 1].end(), False))
    return stretches


def mark_stretches(text: str, stretches: Sequence[Stretch], offset: int = 0) -> Markup:
    """Return the text, escaped, with same stretches in `<mark>` and different ones in `<em class="only">`.

    offset: the place of the text in the one that the stretches belong to.
    """
    parts, end = [], 0
    for stretch in stretches:
        start = max(stretch.start - offset, end)
        stop = min(stretch.end - offset, len(text))
        if start < stop:
            template = MARKED if stretch.is_same else DIFFERENT
            parts += [highlight(text[end:start], ()), template.format(highlight(text[start:stop], ()))]
            end = stop
    return Markup("").join([*parts, highlight(text[end:], ())])


def wrap_matches(text: str, pattern: re.Pattern[str], choose_template: Callable[[str], Markup]) -> Markup:
    """Return the text, escaped, with formulas in MATH and each other match of the pattern in its template."""
    parts = []
    end = 0
    formulas = find_formulas(text)
    for start, stop in formulas:
        parts += [text[end:start], MATH.format(text[start:stop])]
        end = stop
    parts.append(text[end:])
    escaped = [part.replace("\\$", "$") for part in parts[::2]] if formulas else parts  # as MathJax shows them
    parts[::2] = [_wrap_plain(part, pattern, choose_template) for part in escaped]
    return Markup("").join(parts)


def _wrap_plain(text: str, pattern: re.Pattern[str], choose_template: Callable[[str], Markup]) -> Markup:
    parts, end = [], 0
    for match in pattern.finditer(text):
        parts += [escape(text[end : match.start()]), choose_template(match[0]).format(match[0])]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def render_difference(before: str, after: str) -> Markup:
    """Return both texts merged: removed words in `<del>`, added ones in `<ins>`, long equal passages shortened."""
    old, new = TOKEN.findall(before), TOKEN.findall(after)
    start, end = _equal_ends(old, new)
    old_end, new_end = len(old) - end, len(new) - end
    parts = [_shorten("".join(old[:start]), is_first=True)] if start else []
    parts += _render_middle(old[start:old_end], new[start:new_end])
    parts += [_shorten("".join(old[old_end:]), is_last=True)] if end else []
    return Markup("").join(parts)


def _equal_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return the number of tokens that both have in common at the start, and at the end."""
    shorter = min(len(old), len(new))
    start = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    rest = shorter - start
    return start, next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)


def _render_middle(old: Sequence[str], new: Sequence[str]) -> Iterator[Markup]:
    if max(len(old), len(new)) > MAX_TOKENS:
        operations = [("replace", 0, len(old), 0, len(new))]
    else:
        operations = list(SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
    for operation, i, j, k, m in operations:
        if operation == "equal":
            yield _shorten("".join(old[i:j]))
            continue
        if i < j:
            yield DELETED.format("".join(old[i:j]))
        if k < m:
            yield INSERTED.format("".join(new[k:m]))


def _shorten(text: str, is_first: bool = False, is_last: bool = False) -> Markup:
    """Return a text that both have without its middle; the first without its start, the last without its end."""
    head = "" if is_first else text[:CONTEXT_LENGTH]
    tail = "" if is_last else text[-CONTEXT_LENGTH:]
    return SAME.format(text if len(text) <= len(head) + len(tail) + 3 else f"{head} … {tail}")


ALLOWED_TAGS = {
    "a", "abbr", "b", "blockquote", "br", "code", "dd", "del", "dl", "dt", "em", "hr", "i", "ins", "kbd", "li", "ol",
    "p", "pre", "q", "s", "samp", "span", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "u",
    "ul", "var",
}  # fmt: skip
ALLOWED_ATTRIBUTES = {"a": {"href", "title"}, "abbr": {"title"}, "ol": {"start"}, "th": {"colspan"}, "td": {"colspan"}}
URL_SCHEMES = {"http", "https", "mailto"}
LINK_REL = "nofollow noopener noreferrer ugc"
LINK = Markup(f'<a href="{{0}}" rel="{LINK_REL}">{{0}}</a>')
URL_OR_BREAK = re.compile(r"""https?://[^\s<>"']+[^\s<>"'.,;:!?)\]]|\n""")
INSIDE_FORMULA = {"br": " ", "em": "_", "i": "_", "strong": "__", "b": "__"}
"""The text that an element between the dollars of a formula stood for, before Markdown read the formula."""
WIDE_TAGS = {tag: {"tabindex": "0"} for tag in ("pre", "table")}
"""Elements that may be wider than a page; each scrolls on its own, by keyboard too."""
LANGUAGE_PATTERN = re.compile("[a-z]{2,3}")
HEADING_PATTERN = re.compile(r"<(/?)h[1-6](?=[\s>])[^<>]*>", re.IGNORECASE)
IMAGE_PATTERN = re.compile(r"<img(?=[\s/>])", re.IGNORECASE)
TAG_PATTERN = re.compile(r"(<(?!/?(?:br|em|i|strong|b)\b)[^<>]*>)", re.IGNORECASE)
INNER_TAG_PATTERN = re.compile(r"</?(br|em|i|strong|b)\b[^<>]*>", re.IGNORECASE)
CODE_TAG_PATTERN = re.compile(r"<(/?)(?:pre|code)\b", re.IGNORECASE)
MAX_STEPS = 10_000_000
"""Of sanitising HTML, see `is_deep`: a tenth of a second. What takes more is shown as plain text."""
ICONS = {
    "check": "M4 12.5l5 5L20 6.5", "cross": "M6 6l12 12M18 6L6 18", "skip": "M5 5l7 7-7 7M13 5l7 7-7 7",
    "undo": "M9 5L4 10l5 5M4 10h10a6 6 0 010 12h-3", "link": "M10 14L20 4M14 4h6v6M19 14v6H4V5h6",
}  # fmt: skip


def render_body(text: str, markup: Kind) -> Markup:
    """Return a body as HTML for a page, with only text formatting and links; an image becomes a link to it."""
    if markup == "text":
        paragraphs = [p for p in re.split(r"\n\s*\n", text.strip()) if p]
        return Markup("").join(Markup("<p>{}</p>").format(_render_lines(p)) for p in paragraphs)
    if is_deep(text, MAX_STEPS):
        return render_body(readable_text(text, markup), "text")
    text = _wrap_formulas(_replace_images(HEADING_PATTERN.sub(r"<\1p>", text)))
    cleaned = nh3.clean(
        text,
        ALLOWED_TAGS,
        attributes=ALLOWED_ATTRIBUTES,
        url_schemes=URL_SCHEMES,
        link_rel=LINK_REL,
        allowed_classes={"span": {"math"}},
        set_tag_attribute_values=WIDE_TAGS,
    )
    return Markup(cleaned)  # an edit could turn text of an attribute into elements


def display_title(question: Question) -> str:
    """Return the question's title, or its id if it has none."""
    return question.title.strip() or question.id


def lang_attribute(question: Question) -> Markup:
    """Return the `lang` attribute for the question's language, empty if it is not known."""
    match = LANGUAGE_PATTERN.fullmatch(question.language or "")
    return Markup(' lang="{}"').format(match[0]) if match else Markup("")


def describe_solution(hit: SearchHit) -> str:
    """Return the release or day in which a problem was solved; "" if it is unknown."""
    question = hit.question
    if question.solved_in:
        return languages.translate("was solved in %(release)s") % {"release": question.solved_in}
    if hit.solution and question.closed_at:
        return languages.translate("was solved on %(day)s") % {"day": languages.format_day(question.closed_at)}
    return ""


def render_icon(name: str) -> Markup:
    """Return an icon. It only decorates the text next to it, so screen readers skip it."""
    return Markup('<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="{}"/></svg>').format(ICONS[name])


def _render_lines(paragraph: str) -> Markup:
    return wrap_matches(paragraph, URL_OR_BREAK, lambda match: Markup("<br>") if match == "\n" else LINK)


def _wrap_formulas(text: str) -> str:
    """Return HTML with its formulas in elements that the page's script renders; formulas in code stay as they are."""
    if not has_formula_sign(text):
        return text
    parts = TAG_PATTERN.split(text)  # tags have odd indices
    in_code = False
    for place, part in enumerate(parts):
        if place % 2 and (tag := CODE_TAG_PATTERN.match(part)):
            in_code = not tag[1]
        elif not place % 2 and not in_code:
            parts[place] = FORMULA.sub(_render_formula, part)
    return "".join(parts)


def _render_formula(formula: re.Match[str]) -> str:
    source = INNER_TAG_PATTERN.sub(lambda tag: INSIDE_FORMULA[tag[1].lower()], formula[0])
    return f'<span class="math">{source}</span>'


def _replace_images(text: str) -> str:
    """Replace images by links: other hosts must not learn who reads here."""
    if not IMAGE_PATTERN.search(text):
        return text
    tree = LexborHTMLParser(text)
    for image in tree.css("img"):
        name = escape(image.attributes.get("alt") or "image")
        link = f'<a href="{escape(image.attributes.get("src") or "")}">[{name}]</a>'
        if node := LexborHTMLParser(link).css_first("a"):
            image.replace_with(node)
    return (tree.body and tree.body.inner_html) or ""


@dataclass(frozen=True, slots=True)
class WeightedWord:
    """A word that contributes to a match (`bicycle ≈ bike` for a synonym)."""

    text: str
    strength: int
    """Its strength, from 1 to N_STRENGTHS."""


@dataclass(frozen=True, slots=True)
class ExplanationSummary:
    """An explanation as a page shows it."""

    shared: Sequence[WeightedWord]
    """The query's words that the document has, the heaviest first."""
    similar: Sequence[WeightedWord]
    """Those next to a similar word of the document."""
    parts: Sequence[tuple[str, float]]
    """The shares of the score that come from shared words and from meaning, the greater first."""
    matched: frozenset[str]
    """The document's words that matched, case-folded."""
    phrasing: str
    """The alternative phrasing of the document that matched; "" if its own title did."""


def summarise_explanation(explanation: Explanation | None) -> ExplanationSummary:
    """Return the summary of an explanation."""
    explanation = explanation or Explanation(0.0)
    matching = [c for c in explanation.contributions if c.fields and c.score > 0]
    max_score = max((c.score for c in matching), default=0.0)
    heavy: dict[str, Contribution] = {}
    for contribution in matching:
        if contribution.score > MIN_WORD_SHARE * max_score:
            heavy.setdefault(contribution.word.casefold(), contribution)
    words = [WeightedWord(c.word, ceil(N_STRENGTHS * c.score / max_score)) for c in list(heavy.values())[:MAX_WORDS]]
    return ExplanationSummary(
        [word for word in words if PAIR not in word.text],
        [word for word in words if PAIR in word.text],
        _part_shares(explanation),
        matched_words(explanation),
        explanation.text.get("rephrasing", ""),
    )


def matched_words(explanation: Explanation | None) -> frozenset[str]:
    """Return the words of a document that matched, as written in it, case-folded."""
    if explanation is None:
        return frozenset()
    return frozenset(explanation.text[s.field][s.start : s.end].casefold() for s in explanation.spans)


def _part_shares(explanation: Explanation) -> list[tuple[str, float]]:
    lexical = registry.names("similarity")
    sums: dict[str, float] = defaultdict(float)
    for name, score in explanation.parts.items():
        sums[mark("shared words") if name in lexical else mark("meaning")] += max(score, 0.0)
    shares = [(name, score / sum(sums.values())) for name, score in sums.items() if score > 0]
    return sorted(shares, key=lambda share: -share[1])

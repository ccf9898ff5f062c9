"""The text of an issue that its author wrote: without the lines of the repository's templates."""

import re
from collections import Counter
from collections.abc import Iterable, Set

MIN_SHARE, MIN_ISSUES = 0.05, 5
"""A line that at least this share of the issues have, and at least this number of them, is a template's."""
FORM_LINE = re.compile(r"\s*(?:_No response_|[-*+] \[[ xX]\].*)\s*$")
"""What an issue form writes for an empty answer, and for its boxes."""


def clean_body(body: str | None, template_lines: Set[str]) -> str:
    """Return a body without comments, boxes, empty answers, and the lines of templates."""
    lines = _lines(body)
    kept = [line.rstrip() for line in lines if not FORM_LINE.match(line) and line.strip() not in template_lines]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def find_template_lines(bodies: Iterable[str | None]) -> set[str]:
    """Return the lines that many issues share. Lines without a letter, such as fences, are not among them."""
    counts: Counter[str] = Counter()
    n_bodies = 0
    for body in bodies:
        n_bodies += 1
        counts.update({line.strip() for line in _lines(body) if re.search(r"\w", line)})
    least = max(MIN_ISSUES, MIN_SHARE * n_bodies)
    return {line for line, count in counts.items() if count >= least}


def _lines(body: str | None) -> list[str]:
    """Return the lines of a body without comments; a pattern would look for an end after each beginning."""
    text, kept, at = (body or "").replace("\r\n", "\n"), [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join((*kept, text[at:])).split("\n")

"""askalike conflicts: answers to the same question that say different things."""

from collections import Counter
from dataclasses import asdict
from itertools import islice
from typing import Annotated

from typer import Option

from askalike.cli._options import Directory, Json
from askalike.cli._output import to_json
from askalike.counts import format_count
from askalike.moderation.conflicts import AnswerConflict, find_conflicts
from askalike.store import Archive

MAX_SHOWN = 100


def conflicts_command(
    directory: Directory,
    limit: Annotated[int, Option("-n", "--limit", min=1, help="Maximum number of pairs of answers.")] = MAX_SHOWN,
    json: Json = False,
) -> None:
    """Find answers to the same question that say different things: other numbers, dates, or a "not".

    Compared are the answers of one question, and those of questions that ask the same: by links and labels, by their
    wording, and by probable proposals of a calibrated service. Rules find them; a person decides which is right.

    Examples:

    ```
    askalike conflicts DIR
    askalike conflicts DIR --json
    ```
    """
    with Archive.open(directory) as archive:
        conflicts = list(islice(find_conflicts(archive), limit))
    if json:
        print(to_json([asdict(conflict) for conflict in conflicts]))
        return
    for conflict in conflicts:
        _print_conflict(conflict)
    kinds = Counter(difference.kind for conflict in conflicts for difference in conflict.differences)
    counts = ", ".join(f"{count} by a {kind}" for kind, count in sorted(kinds.items()))
    print(f"{format_count(len(conflicts), 'pair')} of answers differing{f': {counts}' if counts else ''}")


def _print_conflict(conflict: AnswerConflict) -> None:
    ids, titles = dict.fromkeys(conflict.question_ids), dict.fromkeys(conflict.titles)
    print(f"{' · '.join(ids)}  {' / '.join(titles)}")
    for difference in conflict.differences:
        print(f"    {difference.kind}: answer {conflict.answer_ids[0]}: {difference.one}")
        print(f"    {' ' * len(difference.kind)}  answer {conflict.answer_ids[1]}: {difference.other}")

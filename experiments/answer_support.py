"""How often does the check of grounded answers accept sentences that a text does not support?

python experiments/answer_measures.py ARCHIVE

Each sentence of an archive's first answers is checked against its own answer, against the answer of the most similar
other question, and against its own with a "not" inserted ("is" → "is not").
"""

import sys

import askalike
from askalike.evaluation.intervals import wilson_interval
from askalike.search.answering.grounded import is_supported
from askalike.text.clean import readable_text
from askalike.text.passages import split_sentences


def main(path: str) -> None:
    """Print the share of sentences that count as supported, with its 95 % interval, for each kind of text."""
    with askalike.load(path, "lm_jelinek_mercer") as engine:
        questions = [question for _, question in engine.archive.view().questions(0)]
        answers = engine.archive.view().get_answers_to([question.id for question in questions])
        texts = {
            q.id: readable_text(answers[q.id][0].body, answers[q.id][0].markup) for q in questions if answers[q.id]
        }
        checks: dict[str, list[bool]] = {"own answer": [], "nearest other answer": [], "own answer, negated": []}
        for question in (q for q in questions if q.id in texts):
            own = f"{question.title}\n{texts[question.id]}"
            hits = [h for h in engine.find_similar(question, 5) if texts.get(h.id) not in (None, texts[question.id])]
            for sentence in split_sentences(texts[question.id]) if hits else ():
                checks["own answer"].append(is_supported(sentence, own))
                other = f"{hits[0].title}\n{texts[hits[0].id]}"
                checks["nearest other answer"].append(is_supported(sentence, other))
                if " is " in sentence and " not " not in sentence:
                    checks["own answer, negated"].append(is_supported(sentence.replace(" is ", " is not ", 1), own))
    for name, found in checks.items():
        low, high = wilson_interval(sum(found), len(found))
        print(f"{name}: {sum(found)} of {len(found)} supported [{low:.3f}, {high:.3f}]")


if __name__ == "__main__":
    main(sys.argv[1])

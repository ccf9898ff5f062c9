"""Drafts of FAQ entries: from which questions they are made, and what becomes of them."""

import threading
from dataclasses import replace

import pytest

from askalike import Answer, Archive, ArchiveError, Link, Question
from askalike.moderation.drafts import choose_answer, find_drafts, find_groups
from askalike.rankers import create
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.store import AlreadyDecidedError
from askalike.store.candidate_pairs import CandidatePair, add_proposals, decide_proposal
from askalike.store.drafts import Draft, accept_draft, add_drafts, list_drafts, reject_draft
from commands import askalike


@pytest.fixture
def archive(archive):
    archive.upsert([
        Question("1", "How do I renew my library card?", accepted_answer_id="1a", votes=1),
        Question("2", "Renew library card", accepted_answer_id="2a"),
        Question("3", "My library card ran out, what now to renew the card?"),
        Question("4", "Where do I park?"), Question("5", "Parking?"),
        Question("6", "Is there tea?", accepted_answer_id="6a"),
        Question("7", "Lost keys", accepted_answer_id="7a"), Question("8", "I lost my keys"),
        Answer("1a", "1", "At the desk.", votes=2), Answer("2a", "2", "Online.", votes=7),
        Answer("3a", "3", "No idea."),
        Answer("6a", "6", "Yes."), Answer("7a", "7", "<p>Ask.</p>", "html"),
    ])  # fmt: skip
    archive.upsert([Link("2", "1"), Link("3", "1"), Link("5", "4"), Link("8", "7")])
    return archive


def test_repeated_solved_questions_make_one_draft_each(archive) -> None:
    assert find_drafts(archive) == 2
    cards, keys = list_drafts(archive)
    assert (cards.title, cards.answer, cards.source_ids) == ("Renew library card", "Online.", ("2", "1", "3"))
    assert set(cards.rephrasings) == {
        "How do I renew my library card?",
        "My library card ran out, what now to renew the card?",
    }
    assert (keys.answer, keys.markup) == ("<p>Ask.</p>", "html")
    assert find_drafts(archive) == 0
    assert len(archive.view()) == 8  # nobody is shown a draft


def test_choose_answer_passes_over_an_accepted_joke() -> None:
    question, old = Question("1", "Cards?"), Question("2", "Cards?", marks=("outdated",))
    joke = Answer("a", "1", "Never.", votes=90, accepted=True)
    short, full = Answer("b", "1", "At the desk. " * 20, votes=3), Answer("c", "1", "At the desk, or online. " * 20)
    outdated = Answer("d", "2", "By post. " * 40, votes=50)
    given = [(question, joke), (question, short), (question, full), (old, outdated)]
    assert choose_answer(given) == (question, short)
    equal = [(question, replace(answer, votes=None)) for answer in (short, full)]
    assert choose_answer(equal)[1].id == "c"
    equal[0] = question, replace(equal[0][1], accepted=True)
    assert choose_answer(equal)[1].id == "b"


def test_accepted_draft_is_a_question_with_its_answer(archive) -> None:
    find_drafts(archive)
    question = accept_draft(archive, 1, "ann", title="How do I renew a card?")
    stored = archive.view().get_questions([question.id])[question.id]
    assert (stored.title, stored.states, len(stored.rephrasings)) == ("How do I renew a card?", ("answered",), 3)
    assert [a.body for a in archive.view().get_answers_to([question.id])[question.id]] == ["Online."]
    links = [link for link in archive.view().links("duplicate") if link.target == question.id]
    assert {link.source for link in links} == {"1", "2", "3"}
    [accepted] = list_drafts(archive, "accepted")
    assert (accepted.decided_by, accepted.question_id) == ("ann", question.id)
    with pytest.raises(ArchiveError, match="draft 1 was accepted on .*; expected an open one"):
        reject_draft(archive, 1)
    assert find_drafts(archive) == 0


def test_a_rejected_draft_does_not_come_back(archive) -> None:
    find_drafts(archive)
    reject_draft(archive, 1)
    archive.upsert([Question("9", "Card renewal?"), Link("9", "1")])
    assert find_drafts(archive) == 0
    assert [draft.number for draft in list_drafts(archive)] == [2]
    with pytest.raises(ArchiveError, match="no draft 9"):
        accept_draft(archive, 9)


def test_one_of_two_concurrent_deciders_does(archive) -> None:
    drafts = [Draft(f"How does part {n} work?", (), "Well.", "text", (f"x{n}",)) for n in range(20)]
    add_drafts(archive, drafts)
    together, refused = threading.Barrier(2), []

    def decide_all(decide) -> None:
        with Archive.open(archive.path) as own:
            for number in range(1, len(drafts) + 1):
                together.wait()
                try:
                    decide(own, number)
                except AlreadyDecidedError:
                    refused.append(number)

    people = [threading.Thread(target=decide_all, args=[decide]) for decide in (accept_draft, reject_draft)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert sorted(refused) == list(range(1, len(drafts) + 1))
    accepted = {draft.question_id for draft in list_drafts(archive, "accepted")}
    assert accepted == {question.id for _, question in archive.view().questions() if question.id.startswith("faq-")}


def test_only_groups_that_are_large_enough(archive) -> None:
    assert find_drafts(archive, 3) == 1


STEPS = "Go to the desk with your card and some proof of your address, and ask for a new one."


@pytest.mark.parametrize(
    ("answer", "is_kept"),
    [
        (None, True),
        ("Go to the desk with your card and some proof of your address. It costs a euro.", True),
        ("Write to us.", False),
    ],
)
def test_accepted_draft_keeps_what_its_licence_asks(archive, answer, is_kept) -> None:
    origin = {"license": "CC BY-SA 4.0"}
    archive.upsert([
        Question("1", "How do I renew my library card?", tags=("cards",), category="Desk", language="en", **origin,
                 author="ada", url="https://x/q/1", accepted_answer_id="1a"),
        Question("2", "Renew library card", tags=("renewal", "cards"), author="bob", url="https://x/q/2", **origin),
        Answer("1a", "1", f"<p>{STEPS}</p>", "html", author="cyd", url="https://x/a/1a", **origin),
    ])  # fmt: skip
    find_drafts(archive)
    question = accept_draft(archive, 1, answer=answer)
    assert (question.title, question.author, question.url, question.license) == (
        "Renew library card", "bob", "https://x/q/2", "CC BY-SA 4.0",
    )  # fmt: skip
    assert (question.tags, question.category, question.language) == (("cards", "renewal"), "Desk", "en")
    [stored] = archive.view().get_answers_to([question.id])[question.id]
    expected = ("cyd", "https://x/a/1a", "CC BY-SA 4.0") if is_kept else (None, None, None)
    assert (stored.author, stored.url, stored.license) == expected


def test_search_shows_an_accepted_draft_without_its_sources(archive) -> None:
    find_drafts(archive)
    question = accept_draft(archive, 1)
    engine = ArchiveRetriever(archive, create("lm_jelinek_mercer"))
    hits = [hit.question for hit in engine.search("Renew library card", 10)]
    assert (hits[0].id, [hit.title for hit in hits].count("Renew library card")) == (question.id, 1)
    assert {"1", "2", "3"}.isdisjoint(hit.id for hit in hits)


def test_long_answer_is_cut_between_words(archive) -> None:
    archive.upsert([Answer("2a", "2", f"<p>{'Ask at the desk. ' * 40}</p>", "html", votes=7)])
    answer, _ = [line for line in askalike("drafts", archive.path).stdout.splitlines() if "answer: " in line]
    assert answer.startswith("    answer: Ask at the desk.")
    assert answer.removesuffix("…").split()[-1] in {"Ask", "at", "the", "desk."}
    assert answer.endswith("…")


@pytest.fixture
def groups(tmp_path):
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert([
            Question("1", "How much is a new card?", accepted_answer_id="1a"), Question("2", "Fee for a lost card"),
            Question("3", "May dogs come in?"), Question("4", "may dogs come in? "), Question("5", "When do you open?"),
            Question("6", "Opening hours", accepted_answer_id="6a"), Question("7", "Is there tea?"),
            Answer("1a", "1", "<p>A new card costs <b>5</b> euros.</p>", "html"),
            Answer("2a", "2", "A new card costs 8 euros."),
            Answer("3a", "3", "Dogs may come in."), Answer("4a", "4", "Dogs may not come in."),
            Answer("5a", "5", "The library opens at nine."), Answer("6a", "6", "The library opens at 10."),
            Answer("7a", "7", "We serve tea on Mondays."), Answer("7b", "7", "We serve tea on Fridays."),
        ])  # fmt: skip
        archive.upsert([Link("2", "1")])
        yield archive


def test_find_groups_with_proposals_until_rejected(groups) -> None:
    assert find_groups(groups) == [["1", "2"], ["3", "4"]]
    add_proposals(groups, [
        CandidatePair("5", "6", 0.95, 1.0, "bm25"), CandidatePair("7", "1", 0.8, 1.0, "bm25"),
        CandidatePair("7", "3", 0.1, 9.0, "bm25"),
    ])  # fmt: skip
    assert find_groups(groups) == [["1", "2"], ["3", "4"], ["5", "6"]]
    assert find_drafts(groups) == 2
    assert {draft.source_ids for draft in list_drafts(groups)} == {("1", "2"), ("6", "5")}
    decide_proposal(groups, 1, "reject")
    assert find_groups(groups) == [["1", "2"], ["3", "4"]]

"""Completions count over all segments, live documents only, however the index came to be."""

from brute import fresh

from askalike.index.lexical.index import LexicalIndex, LexicalLayout


def committed(path, batches):
    index = LexicalIndex.open(path, LexicalLayout("x"))
    for change, batch in enumerate(batches, 1):
        with index.writer() as writer:
            for number, terms in sorted(batch.items()):
                writer.add(number, [(0, terms)])
            writer.commit(change)
    return index.searcher


def test_term_first_in_no_segment_may_win(tmp_path):
    one = {n: [f"a{n % 150:03}", *(["azz"] if n < 2 else [])] for n in range(450)}  # 150 terms thrice, azz twice
    two = {1_000 + n: [t if t == "azz" else f"{t}b" for t in terms] for n, terms in one.items()}
    expected = fresh({n: [(0, terms)] for n, terms in (one | two).items()}).complete("a")
    assert expected[0] == "azz"
    assert committed(tmp_path, [one, two]).complete("a") == expected


def test_terms_of_deleted_questions_take_no_place(tmp_path):
    deleted = {n: [f"a{n:03}"] for n in range(100)}
    index = LexicalIndex.open(tmp_path, LexicalLayout("x"))
    rephrased = {200: [(0, ["b"]), (1, ["azz"])]}
    with index.writer() as writer:
        for number, terms in deleted.items():
            writer.add(number, [(0, terms)])
        for number in range(110, 190):
            writer.add(number, [(0, ["c"])])
        writer.add(200, rephrased[200])
        writer.commit(1)
    with index.writer() as writer:
        writer.delete(range(90))
        writer.commit(2)
    assert index.searcher.complete("a") == [*(f"a{n:03}" for n in range(90, 100)), "azz"]


def test_reader_takes_deletions_and_reads_segments_once(tmp_path):
    documents = {n: [f"a{n % 7}", "ab" if n % 2 else "ac"] for n in range(60)}
    committed(tmp_path, [documents])
    reader, writer = (LexicalIndex.open(tmp_path, LexicalLayout("x")) for _ in range(2))
    [before] = reader.segments
    for gone in (range(9), range(20, 29)):
        assert reader.searcher.complete("a")
        writer.delete(gone)
        assert reader.refresh()
        [after] = reader.segments
        documents = {n: own for n, own in documents.items() if n not in gone}
        expected = fresh({n: [(0, terms)] for n, terms in documents.items()})
        assert after.live.segment is before.live.segment
        assert reader.searcher.complete("a") == expected.complete("a")
        assert reader.searcher.speller.docids_of_each(["ab"], 5) == expected.speller.docids_of_each(["ab"], 5)
        rebuilt = LexicalIndex.create()
        rebuilt.add(documents)
        [found], [wanted] = (index.search([["a1", "ab"]]) for index in (reader, rebuilt))
        assert (found.docids.tolist(), found.scores.tolist()) == (wanted.docids.tolist(), wanted.scores.tolist())

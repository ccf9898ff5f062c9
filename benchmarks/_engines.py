"""The compared engines, with a common interface: build, open, search, all on lists of tokens."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

Tokens = Sequence[str]


class Askalike:
    """This project's index, with one of the six similarities."""

    def build(self, documents: Iterable[Tokens], path: Path) -> None:
        from askalike.index.lexical.index import LexicalIndex, LexicalLayout

        index = LexicalIndex.open(path, LexicalLayout("benchmark"))
        with index.writer() as writer:
            for number, tokens in enumerate(documents, 1):
                writer.add(number, [(0, tokens)])
            writer.commit(1)

    def open(self, path: Path) -> None:
        from askalike.index.lexical.index import LexicalIndex, LexicalLayout

        self.searcher = LexicalIndex.open(path, LexicalLayout("benchmark")).searcher

    def prepare(self, similarity: str) -> None:
        from askalike.core import registry

        self.similarity = registry.load("similarity", similarity)()

    def search(self, queries: Sequence[Tokens], k: int) -> Any:
        from askalike.index.lexical.prepared import QueryTerms

        return self.searcher.search(self.searcher.prepare([QueryTerms(q) for q in queries], self.similarity), k)

    def pairs(self, hits: Any) -> Iterator[tuple[int, float]]:
        """Yield the hits of a query: numbers of documents, from 1 on, and scores."""
        return zip(hits.docids.tolist(), hits.scores.tolist(), strict=True)


class Bm25s:
    """bm25s with its numba back end."""

    def build(self, documents: Iterable[Tokens], path: Path) -> None:
        import bm25s

        retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
        retriever.index(list(documents), show_progress=False)
        retriever.save(path)

    def open(self, path: Path) -> None:
        import bm25s

        self.retriever = bm25s.BM25.load(path)
        self.retriever.backend = "numba"

    def prepare(self, similarity: str) -> None:
        pass

    def search(self, queries: Sequence[Tokens], k: int) -> Any:
        return self.retriever.retrieve(list(queries), k=k, show_progress=False, n_threads=0)


class Tantivy:
    """tantivy: BM25, one segment, tokens separated by white space."""

    def _schema(self) -> Any:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=False, tokenizer_name="whitespace", index_option="freq")
        return builder.build()

    def build(self, documents: Iterable[Tokens], path: Path) -> None:
        import tantivy

        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        index = tantivy.Index(self._schema(), path=str(path))
        writer = index.writer(heap_size=1 << 30, num_threads=1)
        for tokens in documents:
            writer.add_document(tantivy.Document(text=" ".join(tokens)))
        writer.commit()
        writer.wait_merging_threads()

    def open(self, path: Path) -> None:
        import tantivy

        self.index = tantivy.Index.open(str(path))
        self.searcher = self.index.searcher()

    def prepare(self, similarity: str) -> None:
        pass

    def search(self, queries: Sequence[Tokens], k: int) -> Any:
        import tantivy

        schema, should = self.index.schema, tantivy.Occur.Should
        for query in queries:
            terms = [(should, tantivy.Query.term_query(schema, "text", t, index_option="freq")) for t in query]
            self.searcher.search(tantivy.Query.boolean_query(terms), k, count=False)


ENGINES = {"askalike": Askalike, "bm25s": Bm25s, "tantivy": Tantivy}
SETTINGS = {
    "askalike": "one segment, mapped from the disk, all queries in one call",
    "bm25s": "method lucene, k1 = 1.2, b = 0.75, back end numba, n_threads = 0, all queries in one call",
    "tantivy": "one segment, mapped from the disk, frequencies without positions, term queries, count = False",
}
"""Engine → how it is built and asked."""
